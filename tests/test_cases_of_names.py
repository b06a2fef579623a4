"""Small inputs that every release tool must survive: names of columns, dates, and columns without a role."""

from decimal import Decimal

import pytest
from case_releases import CANARY, every_record_is_in, publish, read_fragments, refuse, unjoin, write_csv

ROWS = 12

# --- names ------------------------------------------------------------------------------------------------

NAMES = [
    "n" * 300,
    'x"); DROP TABLE source; --',
    "'; DELETE FROM source; --",
    "new\nline",
    "tab\tquote'",
    "$x^$ \\frac{",
    "{{ 7 * 7 }} {% raw %}",
    "<script>alert(1)</script>",
    "=1+1",
    "%s %(name)s {0}",
    "rowid",
    "fragment",
    "../../x",
    "\u202ename",
    "ＮＡＭＥ",  # noqa: RUF001 - wide letters
    " or missing",
]


@pytest.fixture(scope="module")
def odd_names(tmp_path_factory):
    columns = {
        name: [str((row + place) % (2 + place % 5)) for row in range(ROWS)]
        for place, name in enumerate(NAMES)
    }
    released, _ = publish(
        tmp_path_factory.mktemp("names"),
        {**columns, "sel'ect \"class": ["a", "b"] * 6, 'id"; --': [f"{CANARY}{n}" for n in range(ROWS)]},
        pictures=True,
        columns={"class": "sel'ect \"class", "identifiers": ['id"; --']},
        fragmentation={"fragments": 2},
    )
    return released, columns


def test_names_are_data_and_never_code(odd_names):
    released, columns = odd_names
    fragments = read_fragments(released)
    assert sorted(name for fragment in fragments for name in fragment.features) == sorted(NAMES)
    for fragment in fragments:
        assert every_record_is_in(fragment, {name: [*map(Decimal, of)] for name, of in columns.items()})
    report = (released / "report.html").read_text(encoding="utf-8")
    assert "<script" not in report
    assert "{{ 7 * 7 }}" in report
    assert unjoin("audit", released).code == 0


@pytest.mark.parametrize(
    "header, named",
    [
        ("x,x,class", "'x'"),
        ("x,x ,class", "'x '"),
        ("x,X,class", "'X'"),
        ("\u00e9,e\u0301,class", "'e\u0301'"),
        ("x,,class", "2"),
        ("x,  ,class", "2"),
        ("x,class,class", "'class'"),
        ("class,class ,x", "'class '"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_names_that_are_blank_or_too_much_alike_are_refused_by_name(tmp_path, header, named, end):
    (tmp_path / "table.csv").write_bytes(end.join([header, *[f"{CANARY},1,a"] * 4, ""]).encode())
    (line,) = refuse(tmp_path, 2, tmp_path / "table.csv").faults
    assert named in line


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_marks_and_line_ends_are_part_of_no_name_and_no_cell(tmp_path, end, encoding):
    # the refusal names both columns as they are, and the last cell of a line is a class value as it is
    table = {"d": ["2024-03-05"] * 4, "x": [CANARY, "1", "2", "3"], "class": ["a", "b"] * 2}
    path = write_csv(tmp_path, table, end=end, encoding=encoding)
    ended = refuse(tmp_path, 2, path, columns={"types": {"x": "numeric", "d": "categorical"}})
    (line,) = ended.faults
    assert "column 'x': " in line
    assert "1" in line


# --- dates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form, good, bad",
    [
        ("%d.%m.%Y", "05.03.2024", ["31.02.2024", "2024-03-05", "5.3.24", CANARY]),
        ("%Y-%m-%d", "2024-03-05", ["2023-02-29", "2024-13-01", "05.03.2024", "2024-03-05 10:00"]),
        ("%m/%d/%Y", "03/31/2024", ["31/03/2024", "0/1/2024", "03/31/20244"]),
        (
            "%Y-%m-%d %H:%M:%S",
            "2024-03-05 10:00:00",
            ["2024-03-05", "2024-03-05 24:00:00", "2024-03-05T10:00:00"],
        ),
        ("%d %b %Y", "05 Mar 2024", ["05 Mrz 2024", "05 03 2024"]),
    ],
)
def test_dates_that_are_written_otherwise_are_counted_and_their_rows_named(tmp_path, form, good, bad):
    table = {"seen": [good, *bad, good, good], "class": ["a"] * (3 + len(bad))}
    (line,) = refuse(tmp_path, 2, table, input={"dates": {"seen": form}}).faults
    assert "column 'seen'" in line
    rows = [str(row) for row in range(2, 2 + len(bad))]
    assert [word for word in words(line) if word.isdigit()] == [str(len(bad)), *rows]
    assert not any(text in line for text in bad)


def words(line):
    return "".join(letter if letter.isalnum() else " " for letter in line).split()


@pytest.mark.parametrize(
    "dates",
    [
        ["2024-03-05", "2024-03-06"],
        ["05.03.2024", "06.03.2024"],
        ["03/05/2024", "03/31/2024"],
        ["2024-03-05 10:00:00", "2024-03-05T10:00:00"],
        ["05-Mar-2024", "31-Dec-1999"],
    ],
)
def test_a_column_that_looks_like_dates_and_is_not_declared_is_refused(tmp_path, dates):
    ended = refuse(tmp_path, 2, {"x": ["1"] * 8, "seen": [*dates, ""] * 2 + dates, "class": ["a"] * 8})
    assert "column 'seen'" in ended.text
    assert "input.dates" in ended.text
    assert not any(text in ended.text for text in dates)


@pytest.mark.parametrize("seen", ["2024-03-05", "5"])
def test_a_column_without_a_role_is_refused_by_name(tmp_path, seen):
    table = {"x": ["1", "2"] * 4, "seen": [seen] * 8, "class": ["a"] * 8}
    (line,) = refuse(tmp_path, 2, table, columns={"features": ["x"]}).faults
    assert "'seen'" in line
    assert seen not in line
