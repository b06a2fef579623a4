"""Faults of several stages are told together; the first kind decides the exit code; remarks tell no value."""

from itertools import count

import duckdb
import pandas as pd
import pytest
from test_load import CANARY

from tasks.errors import ConfigurationError, InfeasibleError, InputError
from tasks.events import listening
from tasks.load import load_table
from tasks.loading.faults import MOST_LINES, Faults
from tasks.read_config import parse_config
from tasks.store import create_workspace


@pytest.fixture
def load(tmp_path):
    """Load a table given as columns of cells; return the path of its store."""
    runs = count()

    def _load(table, *, columns=None, k=2, **settings):
        path = tmp_path / "t.csv"
        pd.DataFrame(table).to_csv(path, index=False)
        config = parse_config(
            {
                "input": {"path": path, **settings},
                "columns": {"class": "class", "features": "rest", **(columns or {})},
                "privacy": {"k": k},
                "fragmentation": {"fragments": 1},
                "output": {"name": "trial"},
            }
        )
        store = create_workspace(tmp_path / f"workspace {next(runs)}")
        load_table(store, config)
        return store

    return _load


def lines(load, kind, table, **asked):
    with pytest.raises(kind) as caught:
        load(table, **asked)
    assert type(caught.value) is kind
    assert CANARY not in str(caught.value)
    return str(caught.value).splitlines()


def heads(found):
    return [line.partition(": ")[0] for line in found]


def test_two_columns_with_bad_dates_and_too_many_class_values_are_three_lines(load):
    table = {
        "x": ["2020-01-31", CANARY] * 5,
        "y": ["2020-01-31"] * 9 + [CANARY],
        "class": [f"{CANARY}{number}" for number in range(10)],
    }
    found = lines(load, InputError, table, dates={"x": "%Y-%m-%d", "y": "%Y-%m-%d"})
    assert heads(found) == ["column 'x'", "column 'y'", "column 'class'"]


def test_faults_of_the_configuration_come_first_and_hide_no_others(load):
    table = {"x": [CANARY, "1"] * 5, "id": range(10), "d": ["2020-01-31"] * 10, "class": ["a", None] * 5}
    columns = {"drop": ["gone"], "types": {"x": "numeric", "lost": "float"}}
    found = lines(load, ConfigurationError, table, columns=columns, dates={"d": "%d"})
    assert found[:3] == [
        "columns.drop: the table has no column 'gone'",
        "columns.types: the table has no column 'lost'",
        (
            "input.dates: the format of 'd' lacks the year and the month: add what is there, or set "
            "columns.precision to what dates are told by"
        ),
    ]
    assert heads(found[3:]) == ["column 'x'", "column 'class'", "column 'id'"]


def test_a_class_that_the_table_lacks_hides_no_faults_of_features(load):
    found = lines(load, ConfigurationError, {"x": [f"{CANARY}{n}" for n in range(9)], "y": [1] * 9})
    assert heads(found) == ["columns.class", "column 'x'"]


def test_where_no_column_can_be_read_that_is_all_that_is_told(load):
    table = {"x": [CANARY, "1"] * 5, "y": [1] * 10}
    found = lines(load, ConfigurationError, table, columns={"types": {"x": "float"}, "drop": ["y"]})
    assert heads(found) == ["columns.class", "column 'x'"]


def test_a_table_too_small_is_told_with_the_faults_before_it(load):
    found = lines(load, ConfigurationError, {"x": [1], "class": ["a"]}, columns={"drop": ["gone"]})
    assert heads(found) == ["columns.drop", "the table has 1 records, fewer than k = 2"]
    assert lines(load, InfeasibleError, {"x": [1], "class": ["a"]})


@pytest.mark.parametrize("more", [0, 1])
def test_at_most_twenty_lines_are_told(load, more):
    columns = MOST_LINES + more
    table = {f"x{n}": [f"{CANARY}{row}" for row in range(9)] for n in range(columns)} | {"class": ["a"] * 9}
    found = lines(load, InputError, table)
    assert found[MOST_LINES:] == [f"and {more} more"] * more
    assert heads(found[:MOST_LINES]) == [f"column 'x{n}'" for n in range(MOST_LINES)]


def test_nothing_is_told_where_nothing_was_noted():
    faults = Faults()
    with faults.noted(), faults.told_with():
        faults.note(InputError, [])
    faults.tell()


# Roles


@pytest.mark.parametrize("cells", [[f"20{n:02}-01-01" for n in range(40)], [f"{n}.50" for n in range(40)]])
def test_dates_and_measured_numbers_may_all_differ(load, cells):
    dates = {"x": "%Y-%m-%d"} if "-" in cells[0] else {}
    assert load({"x": cells, "class": ["a", "b"] * 20}, dates=dates)


def class_of(values, times=3):
    return {"x": [1] * (len(values) * times), "class": [value for value in values for _ in range(times)]}


@pytest.mark.parametrize(
    "values",
    [list(range(101)), [f"{n}.5" for n in range(21)], [*range(20), "0.5"]],
    ids=["whole numbers", "decimals", "some decimals"],
)
def test_a_class_of_many_numbers_is_refused_with_the_hint_to_bin_it(load, values):
    (found,) = lines(load, InputError, class_of(values))
    assert found == (
        f"column 'class': is made of {len(values)} different numbers, as what is measured or counted, "
        "and a class has few values: group them into ranges, or write codes as text"
    )


@pytest.mark.parametrize(
    "values",
    [list(range(100)), [f"{n}.5" for n in range(20)], [f"c{n}" for n in range(101)]],
    ids=["whole numbers", "decimals", "codes"],
)
def test_a_class_of_a_few_numbers_or_many_codes_is_read(load, values):
    assert load(class_of(values))


def test_a_class_too_fine_for_k_is_told_so_alone(load):
    (found,) = lines(load, InputError, class_of([f"{n}.5" for n in range(30)], times=1))
    assert "more than one per k = 2 records: group them into fewer, numbers into ranges" in found


def test_a_constant_class_is_read(load):
    assert load({"x": [1, 2, 3, 4] * 3, "class": ["a"] * 12})


# Remarks


def remarks(store):
    with duckdb.connect(store, read_only=True) as connection:
        return connection.execute('SELECT "column", remark FROM remarks ORDER BY rowid').fetchall()


def test_remarks_say_what_a_person_should_know(load):
    table = {
        "one": [5] * 12,
        "gaps": ["NA", *map(str, range(5))] * 2,
        "money": ["1,50", "2,25"] * 6,
        "sums": ["=1+1", "x"] * 6,
        "minus": ["-x", "x"] * 6,
        "number": [-1, 2] * 6,
        "code": [f"{CANARY}{n}" for n in range(12)],
        "some": [1, None] * 6,
        "class": ["@a", "b"] * 6,
    }
    heard = []
    with listening(heard.append):
        store = load(table, columns={"features": [name for name in table if name != "class"]})
    told = dict(remarks(store))
    assert list(told) == ["one", "gaps", "money", "sums", "minus", "code", "class"]
    assert told["one"] == "holds one value in all records, and tells nothing"
    assert told["gaps"] == "numbers but for 2 values, so read as categories: declare what stands for missing"
    assert told["money"].startswith("numbers with a decimal comma, so read as categories")
    assert told["sums"] == told["minus"] == told["class"]
    assert 'start with "=", "+", "-" or "@", which spreadsheets take for formulas' in told["sums"]
    assert told["code"] == "has nearly as many values as records, as an identifier does"
    assert CANARY not in str(told)
    texts = [event.text for event in heard if event.kind == "remark"]
    assert texts == [f"column {name!r}: {text}" for name, text in told.items()]


def test_a_table_that_gives_no_reason_has_no_remarks(load):
    assert remarks(load({"x": [1, 2] * 6, "y": [None, *"abcde"] * 2, "class": ["a", "b"] * 6})) == []


@pytest.mark.parametrize(("others", "told"), [(5, True), (6, False)])
def test_a_few_texts_among_more_numbers_are_remarked(load, others, told):
    cells = [f"text {n}" for n in range(others)] + ["1", "2", "3"] * 3
    found = dict(remarks(load({"x": cells * 2, "class": ["a", "b"] * len(cells)})))
    assert (found.get("x", "").startswith(f"numbers but for {2 * others} values")) is told


def test_of_many_remarks_the_first_are_heard_and_all_are_stored(load):
    heard = []
    with listening(heard.append):
        store = load({f"x{n}": [1] * 4 for n in range(22)} | {"class": list("abab")})
    assert len(remarks(store)) == 22
    texts = [event.text for event in heard if event.kind == "remark"]
    assert len(texts) == 21
    assert texts[-1] == "and 2 more remarks on columns"
