"""Small inputs that every release tool must survive: missing values, ties, one value, odd texts."""

import csv
import datetime as dt
import io
from collections import Counter
from decimal import Decimal

import duckdb
import pytest
from case_releases import (
    CANARY,
    NOTHING,
    Cell,
    every_record_is_in,
    manifest_of,
    publish,
    read_fragments,
    refuse,
    unjoin,
    write_csv,
)
from published_folder import Categories, ClassOf, Fragment, Range, build

ROWS = 12


def number(lower, upper=None, *, missing=False):
    return Cell(Decimal(lower), Decimal(lower if upper is None else upper), missing=missing)


def day(lower, upper=None, *, missing=False):
    return Cell(*map(dt.date.fromisoformat, (lower, upper or lower)), missing=missing)


def one_of(*values, missing=False):
    return Cell(values=frozenset(values), missing=missing)


def spread(**times):
    """Return the cells of a column: each text so many times."""
    return [text for text, number in times.items() for _ in range(number)]


def only(folder):
    (fragment,) = read_fragments(folder)
    return fragment


# --- one missing value, or one value ---------------------------------------------------------------

# A record differs from the eleven others in what is missing: whatever the kind, it must stay with them.
BESIDE_MISSING = {
    "number": ("30", "integer", number(30, missing=True)),
    "decimal": ("1e-05", "decimal", number("1e-05", missing=True)),
    "amount": ("12.50", "fixed", number("12.50", missing=True)),
    "day": ("05.03.2024", "date", day("2024-03-05", missing=True)),
    "quarter": ("05.03.2024", "date", day("2024-01-01", "2024-03-31", missing=True)),
    "category": ("red", "categorical", one_of("red", missing=True)),
    "code": ("25011", "categorical", one_of("25011", missing=True)),
}


@pytest.fixture(scope="module", params=[("", 1), ("?", 11)], ids=str)
def beside_missing(request, tmp_path_factory):
    """Release eleven records, and one that lacks what they have or has what they lack."""
    token, lacking = request.param
    folder = tmp_path_factory.mktemp("missing")
    columns = {
        name: [text] * (ROWS - lacking) + [token] * lacking for name, (text, _, _) in BESIDE_MISSING.items()
    }
    released, _ = publish(
        folder,
        {**columns, "class": ["a"] * 11 + ["b"]},
        input={"dates": dict.fromkeys(["day", "quarter"], "%d.%m.%Y"), "missing": [token]},
        columns={"precision": {"quarter": "quarter"}, "hierarchies": {"code": {"prefix": [3]}}},
    )
    return released


def test_a_missing_value_that_is_unique_stays_and_its_cell_says_so(beside_missing):
    manifest = manifest_of(beside_missing)
    fragment = only(beside_missing)
    assert {column["name"]: column["kind"] for column in manifest["columns"]} == {
        name: kind for name, (_, kind, _) in BESIDE_MISSING.items()
    }
    assert set(fragment.lines) == {tuple(cell for _, _, cell in BESIDE_MISSING.values())}
    assert len(fragment.lines) + manifest["suppressed_records"] == ROWS
    assert Counter(fragment.classes) == {"a": 11, "b": 1}


@pytest.mark.parametrize("lines, code", [(1, 1), (2, 0)])
def test_a_line_that_stands_alone_for_what_is_missing_fails_the_audit(tmp_path, lines, code):
    classes = [
        ClassOf((Range(30, 30), Categories(("red",))), {"a": 3}),
        ClassOf((Range(None, None, missing=True), Categories((), missing=False)), {"b": lines}),
    ]
    fragment = Fragment({"number": "integer", "colour": "categorical"}, classes)
    ended = unjoin("audit", build([fragment], k=2).write(tmp_path / "made"))
    assert (ended.code, "false\tk" in ended.text) == (code, code == 1), ended.text


def test_sensitive_values_that_are_missing_are_no_values_and_are_not_dropped(tmp_path):
    sensitive = ["flu", ""] * 3 + ["flu", "cold"] * 3
    table = {"x": spread(**{"1": 6, "2": 6}), "illness": sensitive, "class": ["a", "b"] * 6}
    asked = {"columns": {"sensitive": ["illness"]}, "privacy": {"l": 2}}
    fragment = only(publish(tmp_path, table, **asked)[0])
    # x = 1 has {flu, missing}: it cannot stand alone
    assert set(fragment.lines) == {(number(1, 2),)}
    rows = csv.DictReader(io.StringIO((publish_folder(tmp_path) / "fragment_1.csv").read_text(), newline=""))
    assert Counter(row["illness"] for row in rows) == {"flu": 6, "cold": 3, "": 3}


def publish_folder(folder):
    return (folder / "releases" / "people" / "latest").resolve()


@pytest.mark.parametrize("token", ["", "?", "unknown"])
def test_one_sensitive_value_and_a_missing_one_are_not_two(tmp_path, token):
    refuse(
        tmp_path,
        3,
        {"x": ["1", "2"] * 4, "illness": [CANARY, token] * 4, "class": ["a", "b"] * 4},
        input={"missing": ["", token]},
        columns={"sensitive": ["illness"]},
        privacy={"l": 2},
    )


# --- ties -------------------------------------------------------------------------------------------

# Of each column how often its texts occur, and what a release of this feature alone says of how many records.
TIES = {
    "at the median": ({"1": 9, "2": 2, "3": 1}, {number(1): 9, number(2, 3): 3}),
    "above": ({"3": 9, "2": 2, "1": 1}, {number(3): 9, number(1, 2): 3}),
    "between": ({"1": 2, "2": 8, "3": 2}, {number(1): 2, number(2): 8, number(3): 2}),
    "no cut": ({"1": 1, "2": 10, "3": 1}, {number(1, 3): 12}),
    "missing": ({"": 2, "30": 10}, {NOTHING: 2, number(30): 10}),
    "texts": ({"a": 9, "b": 2, "c": 1}, {one_of("a"): 9, one_of("b", "c"): 3}),
    "days": (
        {"2024-03-05": 9, "2024-03-06": 2, "2024-04-01": 1},
        {day("2024-03-05"): 9, day("2024-03-06", "2024-04-01"): 3},
    ),
    "rare": ({"a": 9, "b": 1, "c": 1, "d": 1}, {one_of("a"): 9, one_of("b", "c", "d"): 3}),
}


@pytest.fixture(scope="module")
def ties(tmp_path_factory):
    """Release the columns in one fragment each, by the way of cutting; return the fragments."""
    released = {}

    def of(mode, bounds):
        if (mode, bounds) not in released:
            columns = {name: spread(**texts) for name, (texts, _) in TIES.items()}
            folder, _ = publish(
                tmp_path_factory.mktemp("ties"),
                {**columns, "class": ["a"] * ROWS},
                input={"dates": {"days": "%Y-%m-%d"}},
                fragmentation={"fragments": len(TIES)},
                anonymization={"mode": mode, "bounds": bounds},
            )
            released[mode, bounds] = {fragment.features[0]: fragment for fragment in read_fragments(folder)}
        return released[mode, bounds]

    return of


@pytest.mark.parametrize("name", TIES)
def test_where_the_median_ties_another_cut_is_found_and_both_sides_keep_k(ties, name):
    published = ties("strict", "tight")[name]
    assert Counter(cells[0] for cells in published.lines) == TIES[name][1]


def true_value(text, name):
    if not text:
        return None
    if name == "days":
        return dt.date.fromisoformat(text)
    return Decimal(text) if text.isdigit() else text


@pytest.mark.parametrize("name", TIES)
def test_ties_on_both_sides_and_boxes_of_cuts_hold_every_record(ties, name):
    published = ties("relaxed", "cuts")[name]
    texts = spread(**TIES[name][0])
    assert every_record_is_in(published, {name: [true_value(text, name) for text in texts]}, ["a"] * ROWS)
    assert min(Counter(published.lines).values()) >= 2


# --- one value ----------------------------------------------------------------------------------------

CONSTANT = {
    "number": ("7", number(7)),
    "amount": ("0.50", number("0.50")),
    "decimal": ("-1e-300", number("-1e-300")),
    "day": ("2024-03-05", day("2024-03-05")),
    "category": (CANARY, one_of(CANARY)),
    "nothing": ("", NOTHING),
}


@pytest.fixture(scope="module")
def constant(tmp_path_factory):
    """Release columns of one value beside one that varies; so have class and sensitive attribute one."""
    folder = tmp_path_factory.mktemp("constant")
    columns = {name: [text] * ROWS for name, (text, _) in CONSTANT.items()}
    columns |= {"varies": ["1", "2"] * 6, "illness": ["flu"] * ROWS, "class": ["a"] * ROWS}
    released, text = publish(
        folder,
        columns,
        input={"dates": {"day": "%Y-%m-%d"}},
        columns={"sensitive": ["illness"]},
        privacy={"t": 0},
        fragmentation={"fragments": 2},
        run={"keep_workspace": True},
    )
    (store,) = folder.glob("workspace/*/store.duckdb")
    return released, text, store


def test_a_column_of_one_value_is_never_cut_and_costs_and_tells_nothing(constant):
    released, text, store = constant
    found = {}
    for fragment in read_fragments(released):
        for place, name in enumerate(fragment.features):
            found[name] = {cells[place] for cells in fragment.lines}
    assert found == {name: {cell} for name, (_, cell) in CONSTANT.items()} | {
        "varies": {number(1), number(2)}
    }
    losses = manifest_of(released)["measures"]["information_loss"]
    assert set(losses["features"].values()) == {0}
    assert losses["fragmented"] == losses["unfragmented"] == 0
    with duckdb.connect(store, read_only=True) as connection:
        information = connection.execute("SELECT * FROM mutual_information").fetchall()
    told = [row[-1] for row in information if set(row[:2]) & {*CONSTANT, "class", "illness"}]
    assert told
    assert set(told) == {0}
    assert all(f"column '{name}': " in text for name in CONSTANT)
    assert CANARY not in text


def test_a_class_and_a_sensitive_attribute_of_one_value_have_distance_0(constant):
    released, _, _ = constant
    assert manifest_of(released)["guarantees"]["t"] == {"asked": 0, "achieved": 0}
    assert unjoin("audit", released).code == 0


# --- values that are read back exactly ------------------------------------------------------------------

PAIRS = {
    # 7 and 8: numbers
    "signs": ["-5", "-3", "1e-05", "-1e-05", "0", "2.5E3"],
    "below zero": ["-10", "-9", "-1", "0", "1", "10"],
    "ends": [
        "9223372036854775807",
        "9223372036854775806",
        "-9223372036854775808",
        "-9223372036854775807",
        "0",
        "1",
    ],
    "above 2^53": ["9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "", "0"],
    "18 digits": [f"{sign}123456789012345.67{digit}" for sign in ("", "-") for digit in "789"],
    "cents": ["12.50", "-0.50", "0.05", "12.49", "12.00", ""],
    "doubles": ["0.1", "0.30000000000000004", "1.7976931348623157e308", "5e-324", "1e22", "123456789.0"],
    # codes stay text
    "codes": ["01234", "00234", "1234", "0", "00", "000"],
    "plus": ["+49", "0049", "49", "049", "49 ", " 49"],
    # 9: separators and quotes
    "separators": ["a,b", "a;b", 'a"b', "{x}", " or missing", "x or missing"],
    "brackets": ["[1, 2]", "{", '{"a", "b"}', "]", '"', '""'],
    "formulas": ["=1+1", "+1", "-x", "@x", "\tx", "'x"],
    "controls": ["a\nb", "a\r\nb", "\\", "a\tb", "<b>", "$x^$"],
    # 10: twins
    "twins": ["\u00e9", "e\u0301", "\u00e9 ", " \u00e9", "E\u0301", "\u00c9"],
    "more twins": ["a", "a ", "A", "\u00a0a", "a\u200b", "\uff41"],
    # 13: words that stand for nothing elsewhere
    "words": ["*", "NULL", "NA", "None", "nan", "N/A"],
    "more words": ["NaN", "null", "-", "?", "#N/A", "missing"],
    "truth": ["true", "false", "True", "FALSE", "yes", "t"],
    # 12: dates
    "moments": [
        "05.03.2024 23:59",
        "05.03.2024 00:00",
        "29.02.2024 12:00",
        "01.01.1900 00:00",
        "31.12.9999 10:00",
        "",
    ],
    "months": ["01.1999", "12.1999", "02.2000", "03.2024", "", "12.0001"],
}
NUMBERS = ["signs", "below zero", "ends", "above 2^53", "18 digits", "cents", "doubles"]
DATES = {"moments": "%d.%m.%Y %H:%M", "months": "%m.%Y"}
NA_IS_MISSING = {"sites": ["NA", "NAM", "na", "N A", "None", "NULL"]}


def truths(name, texts):
    """Return the true values of a column, as a person reads its texts."""
    if name in DATES:
        parts = [[int(part) for part in text[:10].split(".")] if text else None for text in texts]
        return [each and dt.date(*each[:-4:-1], *[1] * (3 - len(each))) for each in parts]
    if name in NUMBERS:
        return [Decimal(text) if text else None for text in texts]
    return [text or None for text in texts]


def all_columns():
    return {**PAIRS, **NA_IS_MISSING, "class": [text for text in PAIRS["separators"][-3:] for _ in range(2)]}


def released_pairs(folder, k, **sections):
    """Release the columns, every value twice, from a file as Windows writes it."""
    table = {name: [text for text in texts for _ in range(2)] for name, texts in all_columns().items()}
    return publish(
        folder,
        write_csv(folder, table, end="\r\n", encoding="utf-8-sig"),
        input={"dates": DATES, "missing_in": {"sites": ["NA"]}},
        columns={"precision": {"months": "month"}},
        privacy={"k": k},
        **sections,
    )


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    released, text = released_pairs(tmp_path_factory.mktemp("exact"), 2)
    fragment = only(released)
    return fragment, text, released


@pytest.fixture(scope="module")
def ranges(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranges")
    return read_fragments(released_pairs(folder, 4, fragmentation={"fragments": 3})[0])


def ends_of(cell):
    return {cell.lower, cell.upper} if cell.lower is not None else cell.values


@pytest.mark.parametrize("name", PAIRS)
def test_single_values_are_read_back_exactly(exact, name):
    fragment, _, _ = exact
    place = fragment.features.index(name)
    found = Counter()
    for cells in fragment.lines:
        cell = cells[place]
        assert cell == NOTHING or not cell.missing
        if name == "months" and cell != NOTHING:
            assert (cell.lower.day, (cell.upper + dt.timedelta(1)).day if cell.upper.year < 9999 else 1) == (
                1,
                1,
            )
            found[cell.lower] += 1
        elif cell == NOTHING:
            found[None] += 1
        else:
            (value,) = ends_of(cell)
            found[value] += 1
    assert found == Counter(truths(name, PAIRS[name]) * 2)


def test_a_line_that_is_true_of_no_record_is_noticed(exact):
    fragment, _, _ = exact
    true = {name: truths(name, texts * 2) for name, texts in PAIRS.items()} | {
        "sites": [None, *NA_IS_MISSING["sites"][1:]] * 2
    }
    assert every_record_is_in(fragment, true)
    for name, wrong in [
        ("signs", Decimal("1.1e-05")),
        ("twins", "e"),
        ("moments", dt.date(2024, 3, 6)),
        ("cents", None),
    ]:
        assert not every_record_is_in(fragment, true | {name: [wrong, *true[name][1:]]})


def test_class_values_are_read_back_exactly(exact):
    assert Counter(exact[0].classes) == Counter(PAIRS["separators"][-3:] * 4)


def test_a_word_is_missing_only_where_it_is_declared(exact):
    fragment, _, _ = exact
    place = fragment.features.index("sites")
    assert {cells[place] for cells in fragment.lines} == {
        NOTHING,
        *map(one_of, ["NAM", "na", "N A", "None", "NULL"]),
    }


def test_ranges_end_in_values_and_hold_every_record(ranges):
    texts = {name: [text for text in texts for _ in range(2)] for name, texts in all_columns().items()}
    true = {name: truths(name, of) for name, of in texts.items()}
    true["sites"] = [None if text == "NA" else text for text in texts["sites"]]
    assert sorted(name for fragment in ranges for name in fragment.features) == sorted({*PAIRS, "sites"})
    for fragment in ranges:
        assert every_record_is_in(fragment, true)
        assert min(Counter(fragment.lines).values()) >= 4
        for place, name in enumerate(fragment.features):
            if name != "months":
                ends = set().union(*(ends_of(cells[place]) for cells in fragment.lines))
                assert ends <= set(true[name]), name


def test_cells_that_spreadsheets_take_for_formulas_are_pointed_out(exact):
    _, text, released = exact
    pointed = {line.split("'")[1] for line in text.splitlines() if "spreadsheets" in line}
    assert {"formulas"} <= pointed <= {"formulas", "plus", "more words"}
    assert "plus" in pointed
    assert "formulas" in (released / "report.html").read_text(encoding="utf-8")
