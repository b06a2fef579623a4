"""The gate on fixed numbers, dates and features with a hierarchy: what a cell may say and what not."""

import json
import re
from datetime import date
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published_folder import Categories, ClassOf, Fragment, Range, Span, build, days

from tasks.errors import InputError
from tasks.read_config import parse_config
from validations.cell_grammar import CELL_KINDS, macros
from validations.check_release import promised_by_run
from validations.gate import check_folder
from validations.gather import gather_evidence
from validations.promises import read_promises

PRECISIONS = ("day", "month", "quarter", "year")
PRICES = Fragment(
    {"price": "fixed_2", "part": "fixed_18", "it's": "grouped"},
    [
        ClassOf(
            (
                Range(Decimal("-0.50"), Decimal("12.50")),
                Range(Decimal(f"0.{'0' * 17}1"), Decimal(f"0.{'9' * 18}")),
                Categories(("250*",)),
            ),
            {"a": 3, "b": 2},
        ),
        ClassOf(
            (
                Range(Decimal("9007199254740993.01"), Decimal("9007199254740993.01"), missing=True),
                Range(None, None, missing=True),
                Categories(("[30, 40)",), missing=True),
            ),
            {"a": 4, "b": 2},
        ),
        ClassOf(
            (Range(Decimal("0.00"), Decimal("0.00")), Range(None, None, missing=True), Categories(())),
            {"a": 3, "b": 4},
        ),
    ],
)
DATES = Fragment(
    {f"by {precision}": f"date_{precision}" for precision in PRECISIONS},
    [
        ClassOf(
            (
                Span("2024-02-29", "2024-03-05"),
                Span("2023-02", "2024-02", missing=True),
                Span("2024-Q1", "2024-Q1"),
                Span("0001", "9999"),
            ),
            {"a": 5, "b": 4},
        ),
        ClassOf(
            (
                Span("1969-12-31", "1969-12-31"),
                Span("2024-12", "2024-12"),
                Span("2024-Q2", "2024-Q4"),
                Span(None, None, missing=True),
            ),
            {"a": 5, "b": 4},
        ),
    ],
)


@pytest.fixture
def release():
    return build([PRICES, DATES], k=5)


def check(release, folder):
    release.write(folder)
    return check_folder(folder, read_promises(folder))


def broken(verdict):
    return {outcome.name for outcome in verdict.promises if not outcome.success}


def test_a_sound_folder_keeps_every_promise_and_its_queries_show_it(release, tmp_path, monkeypatch):
    verdict = check(release, tmp_path)
    assert broken(verdict) == set()
    assert verdict.figures.equivalence_classes == (3, 2)
    monkeypatch.chdir(tmp_path)
    shown = {o.name: duckdb.sql(o.query).fetchall() for o in verdict.promises if o.query}
    assert {count for _, count in shown["formats"]} == {0}
    assert {count for _, count in shown["fragments"]} == {0}
    assert {count for _, count in shown["order"]} == {0}
    assert sorted({row[1:] for row in shown["k"]}) == [(5, 3), (9, 2)]


def test_the_queries_speak_of_the_kinds_that_occur(tmp_path):
    verdict = check(build([PRICES, DATES._replace(features={**DATES.features})], k=5), tmp_path)
    texts = {outcome.name: outcome.query for outcome in verdict.promises}
    assert "DECIMAL(18,2)" in texts["formats"]
    assert not re.search(r"DOUBLE|BIGINT|DECIMAL\(18,3\)", texts["formats"])
    plain = build([Fragment({"x": "integer"}, [ClassOf((Range(1, 2),), {"a": 5})])], k=5)
    queries = {outcome.name: outcome.query for outcome in check(plain, tmp_path / "plain").promises}
    assert not re.search(r"AS DATE|DECIMAL", queries["formats"] + queries["fragments"])


def in_both(release, number, column, old, cell):
    """Put another cell in the place of one, in both formats; the order by cells is kept."""
    table = release.tables[number]
    place = table.names.index(column)
    both = list(zip(table.csv, table.parquet, strict=True))
    for texts, values in both:
        if texts[place] == old:
            texts[place], values[place] = cell.text, cell.value
    both.sort(key=lambda row: [text.encode() for text in row[0]])
    table.csv, table.parquet = ([row[side] for row in both] for side in (0, 1))


SAID_TWICE = {
    "two names of a hierarchy": (0, "it's", "250*", Categories(("250*", "251*"))),
    "two names or missing": (0, "it's", "250*", Categories(("250*", "251*"), missing=True)),
    "a day in the place of a month": (1, "by month", "2024-12", Span("2024-12-05", "2024-12-05")),
    "a month in the place of a day": (1, "by day", "1969-12-31", Span("1969-12", "1969-12")),
    "a month in the place of a quarter": (1, "by quarter", "2024-Q1", Span("2024-01", "2024-03")),
}


@pytest.mark.parametrize("change", SAID_TWICE.values(), ids=SAID_TWICE)
def test_a_cell_that_both_files_say_wrong(change, release, tmp_path):
    in_both(release, *change)
    assert broken(check(release, tmp_path)) == {"formats"}


def test_another_cell_that_both_files_say_is_none_of_the_gates_business(release, tmp_path):
    in_both(release, 0, "it's", "250*", Categories(("25*",)))
    in_both(release, 1, "by quarter", "2024-Q1", Span("2023-Q4", "2024-Q1"))
    assert broken(check(release, tmp_path)) == set()


HOSTILE = {
    "an upper bound within a month": ("by month", {"upper": date(2024, 12, 30)}),
    "a lower bound within a quarter": ("by quarter", {"lower": date(2024, 4, 2)}),
    "a day of another kind": ("by month", {"lower": date(2024, 11, 30)}),
    "no upper bound": ("by day", {"upper": None}),
}


@pytest.mark.parametrize(("column", "bound"), HOSTILE.values(), ids=HOSTILE)
def test_a_parquet_date_that_is_no_span(column, bound, release, tmp_path):
    table = release.tables[1]
    for texts, values in zip(table.csv, table.parquet, strict=True):
        if texts[0] == "1969-12-31":
            values[table.names.index(column)] |= bound
    assert broken(check(release, tmp_path)) == {"formats"}


@pytest.mark.parametrize("text", ["infinity", "-infinity", "5881580-07-10", "10000-01-01", "0001-12-31 (BC)"])
def test_a_parquet_date_beyond_the_years_of_four_digits(text, tmp_path):
    dated = Fragment({"by quarter": "date_quarter"}, [ClassOf((Span("2024-Q1", "2024-Q1"),), {"a": 5})])
    release = build([dated], k=5)
    release.write(tmp_path)
    path = tmp_path / "fragment_1.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"""CREATE TABLE kept AS SELECT * REPLACE (
            {{'lower': DATE '{text}', 'upper': DATE '{text}', 'missing': false}} AS "by quarter")
            FROM '{path}'""")
        connection.execute(f"COPY kept TO '{path}' (FORMAT parquet)")
    assert broken(check_folder(tmp_path, read_promises(tmp_path))) == {"hashes", "formats"}


@pytest.mark.parametrize("stated", [{"scale": 3}, {"kind": "decimal"}])
def test_another_scale_than_stated(stated, release, tmp_path, monkeypatch):
    release.manifest["columns"][0] |= stated
    if "kind" in stated:
        del release.manifest["columns"][0]["scale"]
    verdict = check(release, tmp_path)
    assert broken(verdict) == {"fragments", "formats", "order"}
    monkeypatch.chdir(tmp_path)
    (query,) = (outcome.query for outcome in verdict.promises if outcome.name == "fragments")
    assert dict(duckdb.sql(query).fetchall())["fragment_1.parquet"] == 1


def test_a_query_shows_that_formats_differ(release, tmp_path, monkeypatch):
    for row in release.tables[1].parquet:
        row[2]["upper"] = date(2024, 9, 30)
    verdict = check(release, tmp_path)
    assert broken(verdict) == {"formats"}
    monkeypatch.chdir(tmp_path)
    (query,) = (outcome.query for outcome in verdict.promises if outcome.name == "formats")
    assert dict(duckdb.sql(query).fetchall()) == {"fragment 1": 0, "fragment 2": 8}


ASKED = {"by month": "month", "by quarter": "quarter", "by year": "year"}


@pytest.mark.parametrize(
    ("precision", "hierarchies", "broken_fragments"),
    [
        (ASKED, {"it's": {"prefix": [2]}}, 0),
        (ASKED | {"by day": "year"}, {"it's": {"rare": 5}}, 1),
        (ASKED, {}, 0),
    ],
)
def test_a_run_is_held_to_what_its_configuration_asks(
    precision, hierarchies, broken_fragments, release, tmp_path
):
    config = parse_config(
        {
            "input": {"path": str(tmp_path / "table.csv")},
            "columns": {
                "class": "class",
                "features": "rest",
                "precision": precision,
                "hierarchies": hierarchies,
            },
            "privacy": {"k": 5},
            "output": {"directory": str(tmp_path), "name": "prices"},
        }
    )
    with duckdb.connect(tmp_path / "store") as connection:
        connection.execute("CREATE TABLE source AS FROM range(18)")
        connection.execute(
            "CREATE TABLE columns (position INTEGER, name VARCHAR, role VARCHAR, kind VARCHAR, scale INTEGER)"
        )
        for position, each in enumerate(release.manifest["columns"], 1):
            row = [position, each["name"], each["kind"], each.get("scale", 0)]
            connection.execute("INSERT INTO columns VALUES ($1, $2, 'feature', $3, $4)", row)
    folder = release.write(tmp_path / "folder")
    promises = promised_by_run(tmp_path / "store", config, folder)
    assert promises.kinds["it's"] == ("grouped" if hierarchies else "categorical")
    unsound = [each.csv.unsound for each in gather_evidence(folder, promises).fragments]
    assert sum(count > 0 for count in unsound) == broken_fragments


CONTRADICTIONS = {
    "no scale": (0, {"scale": None}, "scale"),
    "a scale of none": (0, {"scale": 0}, "scale"),
    "a scale beyond all digits": (0, {"scale": 19}, "scale"),
    "a scale as text": (0, {"scale": "2"}, "scale"),
    "a precision of a number": (0, {"precision": "day"}, "precision"),
    "a hierarchy of a number": (0, {"hierarchy": {"made": "file"}}, "hierarchy"),
    "a scale of a date": (3, {"scale": 2}, "scale"),
    "no precision": (3, {"precision": None}, "precision"),
    "a precision that is none": (3, {"precision": "hour"}, "precision"),
    "a builder that is none": (2, {"hierarchy": {"made": "magic"}}, "hierarchy"),
    "a builder without its setting": (2, {"hierarchy": {"made": "rare"}}, "hierarchy"),
    "a builder with another's setting": (2, {"hierarchy": {"made": "file", "rare": 5}}, "hierarchy"),
    "a builder with an empty setting": (2, {"hierarchy": {"made": "prefix", "prefix": []}}, "hierarchy"),
    "a label that is none": (2, {"label": 5}, "label"),
}


@pytest.mark.parametrize(("place", "stated", "named"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_columns_state_what_their_kind_has(place, stated, named, release, tmp_path):
    release.manifest["columns"][place] |= stated
    release.write(tmp_path)
    with pytest.raises(InputError, match=f"release.json cannot be used: .*{named}"):
        read_promises(tmp_path)


@pytest.mark.parametrize(
    "stated",
    [{"made": "file"}, {"made": "ranges", "ranges": [5, 10.0]}, {"made": "dates", "dates": ["month"]}],
)
def test_hierarchies_may_be_made_in_several_ways(stated, release, tmp_path):
    release.manifest["columns"][2] |= {"hierarchy": stated, "label": "Diagnosis"}
    release.write(tmp_path)
    assert read_promises(tmp_path).kinds["it's"] == "grouped"


@pytest.fixture(scope="module")
def grammar():
    with duckdb.connect() as connection:
        connection.execute(macros(CELL_KINDS))
        yield connection


def is_sound(grammar, kind, texts):
    """Return which texts are sound cells, in the file and as the values that they stand for."""
    grammar.execute("CREATE OR REPLACE TABLE cells AS SELECT unnest($1::VARCHAR[]) AS t", [texts])
    rows = grammar.execute(f"""
        SELECT {kind}_sound(t, v), {kind}_value_sound(v), v
        FROM (SELECT t, {kind}_cell(t) AS v FROM cells)""").fetchall()
    assert [sound for sound, of_value, _ in rows if sound and not of_value] == []
    return [bool(sound) for sound, *_ in rows]


SOUND = {
    "fixed_1": ["0.0", "-0.1", "10.0", "[-0.5, 0.0]", ""],
    "fixed_2": ["12.50", "-0.50", "[12.50, 13.00]", "[12.50, 13.00] or missing", "0.00 or missing", ""],
    "fixed_18": [f"0.{'0' * 17}1", f"[-0.{'9' * 18}, 0.{'0' * 18}]"],
    "date_day": [
        "2024-02-29",
        "[2024-03-05, 2024-04-01]",
        "0001-01-01",
        "[0001-01-01, 9999-12-31] or missing",
    ],
    "date_month": ["2024-03", "[2023-12, 2024-01] or missing", "9999-12", ""],
    "date_quarter": ["2024-Q1", "[2023-Q4, 2024-Q1]", "9999-Q4 or missing"],
    "date_year": ["2024", "[0001, 9999]", "2024 or missing"],
    "grouped": ["250*", '{"[30, 40)"}', '{"[30, 40)"} or missing', "a, b", "250* or missing", ""],
}
UNSOUND = {
    "fixed_1": ["-0.0", "[-0.0, 1.0]", "[-1.0, -0.0]", "1.00", "1", "1.", ".5", "-.5"],
    "fixed_2": [
        *("12.5", "12.500", "12", "012.50", "-0.00", "[-0.00, 1.00]", "+1.00", "1e2", "1.0e0", "1,50"),
        *("[2.00, 1.00]", "[1.00, 1.00]", "[1.00]", "[1.00, 2.00", "[1.00,2.00]", "nan", " or missing"),
        *("1.00 or  missing", " 1.00", "1.00\n", "12345678901234567.00", "[1.00, 2.0]"),
    ],
    "fixed_18": ["1." + "0" * 18, "." + "5" * 18, "0." + "5" * 17],
    "date_day": [
        *("2024-13-01", "2024-02-30", "2023-02-29", "0000-01-01", "2024-3-5", "20240305", "2024-03", "2024"),
        *(
            "[2024-03-05, 2024-03-05]",
            "[2024-03-05, 2024-03-04]",
            "[2024-03-05]",
            "10000-01-01",
            "-001-01-01",
        ),
        *(
            "2024-03-05 00:00:00",
            "infinity",
            "2024-00-10",
            "2024-01-00",
            "[2024-03, 2024-03-05]",
            "2024-03-05\n",
        ),
    ],
    "date_month": [
        *("2024-13", "2024-00", "2024-3", "0000-01", "2024-03-01", "2024", "[2024-03, 2024-03]", "2024-Q1"),
        *("[2024-04, 2024-03]", "[2024-03, 2024-04-30]", "[2024-03, 2024]", "99999-01"),
    ],
    "date_quarter": ["2024-Q0", "2024-Q5", "2024-q1", "2024-1", "2024Q1", "[2024-Q2, 2024-Q1]", "0000-Q1"],
    "date_year": ["0000", "24", "20245", "[2024, 2024]", "[2025, 2024]", "2024-01", "+2024", "2024.0"],
    "grouped": ['{"a", "b"}', '{"a", "b"} or missing', '{"a"}', "{}", "[30, 40)", '{"b", "a"}', '{"a", "a"}'],
}


@pytest.mark.parametrize("kind", SOUND)
def test_cells_have_the_forms_of_their_kind(kind, grammar):
    for texts, sound in ((SOUND[kind], True), (UNSOUND[kind], False)):
        found = is_sound(grammar, kind, texts)
        assert [text for text, held in zip(texts, found, strict=True) if held != sound] == []


YEARS = {f"{year:04d}" for year in range(1, 10_000)}
SIGNS = {
    "fixed_2": "0019.-[], ",
    "date_day": "0219-[], ",
    "date_quarter": "0124-Q[], ",
    "date_year": "029[], ",
}


@st.composite
def nearly_cells(draw, kind):
    """Draw a text that is a cell, or one a sign away from one."""
    text = draw(st.sampled_from(SOUND[kind]) | st.text(SIGNS[kind], max_size=12))
    place = draw(st.integers(0, len(text)))
    sign = draw(st.sampled_from(SIGNS[kind]))
    changes = [text, text[:place] + sign + text[place:], text[:place] + text[place + 1 :]]
    return draw(st.sampled_from([*changes, text[:place] + sign + text[place + 1 :]]))


def by_definition(kind, text):
    """Return the value of a sound cell; None of any other."""
    body = text.removesuffix(" or missing")
    if not text:
        return {"lower": None, "upper": None, "missing": True}
    ranged = body.startswith("[") and body.endswith("]")
    parts = body[1:-1].split(", ") if ranged else [body]
    if len(parts) != 1 + ranged or not all(is_written(kind, part) for part in parts):
        return None
    read = Decimal if kind.startswith("fixed") else days
    lower, upper = read(parts[0]), read(parts[-1])
    if ranged and lower >= upper:
        return None
    bounds = (lower, upper) if kind.startswith("fixed") else (lower[0], upper[1])
    return dict(zip(("lower", "upper", "missing"), (*bounds, body != text), strict=True))


def is_written(kind, part):
    """Return whether a text is what Python writes of the value that it reads in it."""
    if not re.fullmatch(r"[-0-9.Q]+", part):
        return False
    if kind == "fixed_2":
        number = number_in(part)
        return f"{number:.2f}" == part and abs(number) < 10**16 and not (number == 0 and part[0] == "-")
    if kind == "date_day":
        return part in dates_of(part)
    quarters = {f"{year}-Q{quarter}" for year in part.split("-")[:1] for quarter in range(1, 5)}
    return part in quarters and part[:-3] in YEARS if kind == "date_quarter" else part in YEARS


def number_in(text):
    try:
        return Decimal(text)
    except ArithmeticError:
        return Decimal("NaN")


def dates_of(text):
    try:
        return {date.fromisoformat(text).isoformat()}
    except ValueError:
        return set()


@pytest.mark.parametrize("kind", SIGNS)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_cell_is_sound_if_it_is_what_its_value_is_written_as(kind, grammar, data):
    texts = data.draw(st.lists(nearly_cells(kind), min_size=1, max_size=20))
    expected = [by_definition(kind, text) for text in texts]
    assert is_sound(grammar, kind, texts) == [value is not None for value in expected]
    values = [value for value in expected if value is not None]
    grammar.execute(f"SELECT {kind}_cell(t) FROM cells WHERE {kind}_sound(t, {kind}_cell(t)) ORDER BY rowid")
    assert grammar.fetchall() == [(value,) for value in values]


def test_release_json_keeps_kind_and_detail_apart(release, tmp_path):
    stated = json.loads((release.write(tmp_path) / "release.json").read_text())["columns"]
    assert stated[0] == {"name": "price", "fragment": 1, "kind": "fixed", "scale": 2}
    kinds = read_promises(tmp_path).kinds
    assert [kinds[each["name"]] for each in stated] == [*PRICES.features.values(), *DATES.features.values()]
