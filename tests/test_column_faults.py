"""Sensitive attributes, orders, hierarchies: how they are read, what is refused, that no value is told."""

from itertools import count

import duckdb
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tasks.errors import ConfigurationError, InputError
from tasks.load import Shape, load_table
from tasks.read_config import parse_config
from tasks.store import create_workspace
from tasks.tables import read_class_domain, read_domains, read_sensitive_domains

CANARY = "Zanzibar4711"


@pytest.fixture
def load(tmp_path):
    """Load a table whose columns are given as lists of cells; return its shape and the path of its store."""
    runs = count()

    def _load(table, *, columns=None, missing=("",), **privacy):
        frame = pd.DataFrame(table)
        path = tmp_path / "table.csv"
        frame.to_csv(path, index=False)
        asked = {"class": "class", "features": "rest", "sensitive": ["s"], **(columns or {})}
        config = parse_config(
            {
                "input": {"path": path, "missing": missing},
                "columns": asked,
                "privacy": {"k": 2} | (privacy or {"l": 2}),
                "fragmentation": {"fragments": 1},
                "output": {"name": "trial"},
            }
        )
        store = create_workspace(tmp_path / f"workspace {next(runs)}")
        return load_table(store, config), store

    return _load


@pytest.fixture
def refused(load):
    """Return the lines with which a table is refused; no value of the table may be in them."""

    def _refused(table, kind=InputError, **asked):
        with pytest.raises(kind) as caught:
            load(table, **asked)
        assert CANARY not in str(caught.value)
        return str(caught.value).splitlines()

    return _refused


def table(sensitive, classes=None):
    """Return a table of one feature with the given sensitive values, each four times."""
    rows = 4 * len(sensitive)
    return {
        "x": [1] * rows,
        "s": sensitive * 4,
        "class": (classes or ["a", "b"]) * (rows // len(classes or "ab")),
    }


# Reading


def test_sensitive_attributes_stand_between_the_features_and_the_class(load):
    wide = {"class": list("ab") * 4, "s": list("uv") * 4, "x": [1] * 8, "r": list("pppq") * 2, "y": [2] * 8}
    shape, store = load(wide, columns={"sensitive": ["r", "s"]})
    assert shape == Shape(records=8, features=2, class_values=2)
    with duckdb.connect(store, read_only=True) as connection:
        told = connection.execute("SELECT name, role, kind FROM columns ORDER BY position").fetchall()
        places = [name for name, *_ in connection.execute("DESCRIBE codes").fetchall()]
        features, class_domain = read_domains(connection)
        sensitive = read_sensitive_domains(connection)
        assert read_class_domain(connection).name == class_domain.name == "class"
    assert told == [
        ("x", "feature", "integer"),
        ("y", "feature", "integer"),
        ("s", "sensitive", "categorical"),
        ("r", "sensitive", "categorical"),
        ("class", "class", "categorical"),
    ]
    assert places == ["x", "y", "s", "r", "class"]
    assert [domain.name for domain in features] == ["x", "y"]
    assert [domain.values.tolist() for domain in sensitive] == [["u", "v"], ["p", "q"]]


def test_without_sensitive_attributes_nothing_stands_there(load):
    _, store = load({"x": [1, 1], "class": ["a", "a"]}, columns={"sensitive": []})
    with duckdb.connect(store, read_only=True) as connection:
        assert read_sensitive_domains(connection) == ()


def test_sensitive_values_are_texts_as_read_and_may_be_missing(load):
    _, store = load(table(["007", "1.50", "", "1e3", " x"]))
    with duckdb.connect(store, read_only=True) as connection:
        values = [value for (value,) in connection.execute("SELECT s FROM source LIMIT 5").fetchall()]
        codes = connection.execute("SELECT s FROM codes LIMIT 5").fetchnumpy()["s"]
        (domain,) = read_sensitive_domains(connection)
    assert values == ["007", "1.50", None, "1e3", " x"]
    assert domain.missing
    assert domain.values.tolist() == [" x", "007", "1.50", "1e3"]
    assert_array_equal(codes, [2, 3, 0, 4, 1])


# Roles


def test_a_sensitive_attribute_has_no_other_role_and_no_type(refused):
    columns = {"sensitive": ["s", "class", "gone"], "drop": ["s"], "types": {"s": "numeric"}}
    assert refused(table([CANARY, "v"]), ConfigurationError, columns=columns) == [
        "columns.sensitive: the table has no column 'gone'",
        "column 'class': has more than one role (class, sensitive): keep one",
        "column 's': has more than one role (sensitive, drop): keep one",
        "columns.types: only features have a type, not 's'",
    ]
    columns = {"types": {"s": "categorical"}}
    assert refused(table([CANARY, "v"]), ConfigurationError, columns=columns) == [
        "columns.types: only features have a type, not 's'"
    ]


def test_a_sensitive_attribute_is_no_feature(refused):
    columns = {"features": ["x", "s"]}
    assert refused(table([CANARY, "v"]), ConfigurationError, columns=columns) == [
        "column 's': has more than one role (sensitive, features): keep one"
    ]
    assert refused({"s": [CANARY] * 4, "class": list("abab")}, ConfigurationError) == [
        "columns.features: no column is left to be a feature"
    ]


# Values


def test_a_sensitive_attribute_without_any_value_is_refused(refused):
    assert refused(table(["", ""])) == ["column 's': is missing in every record: drop it"]


def test_a_sensitive_attribute_of_one_value_is_read(load):
    shape, _ = load(table(["u", "u"]))
    assert shape.records == 8


def test_empty_sensitive_texts_are_refused_unless_they_are_missing(refused):
    (told,) = refused(table([CANARY, ""]), missing=["?"])
    assert told.startswith("column 's': is an empty text in 4 records, which reads as missing: ")


@pytest.mark.parametrize("features", ["rest", ["x"]])
@pytest.mark.parametrize("absent", [0, 3, 90])
def test_what_may_tell_who_a_record_is_about_is_never_published_as_sensitive(refused, features, absent):
    cells = [f"{CANARY}{number % 6}" for number in range(10)] + [""] * absent
    rows = {"x": [1] * len(cells), "s": cells, "class": ["a"] * len(cells)}
    (told,) = refused(rows, columns={"features": features})
    assert told.startswith("column 's': holds 6 values in 10 records, as an identifier does")
    assert told.endswith("group its values into fewer")


def test_numbers_are_categories_there_and_half_as_many_as_records_are_fine(load, refused):
    cells = [number % 5 for number in range(10)]
    shape, _ = load({"x": [1] * 10, "s": cells, "class": ["a"] * 10})
    assert shape.records == 10
    assert len(refused({"x": [1] * 10, "s": [number % 6 for number in range(10)], "class": ["a"] * 10})) == 1


# Orders

ORDERED = {"t": 0.3, "t_distance": "ordered"}


def test_values_in_an_order_are_read(load):
    orders = {"s": ["low", "mid", "high", "never seen"], "class": ["b", "a"]}
    assert load(table(["mid", "low", ""]), columns={"orders": orders}, **ORDERED)


def test_numbers_need_no_order(load):
    assert load(table(["10", "9", "-1.5", "+2e3", "", ".5"], classes=["1", "2"]), **ORDERED)


def test_an_order_must_name_every_value_that_occurs(refused):
    orders = {"s": ["low"], "class": ["a", "c"]}
    assert refused(table([CANARY, "low", "mid", ""]), columns={"orders": orders}, **ORDERED) == [
        "column 'class': 1 of its 2 values are not in its order: add them to columns.orders",
        "column 's': 2 of its 3 values are not in its order: add them to columns.orders",
    ]


@pytest.mark.parametrize("cell", [CANARY, "1e999", "inf", "nan", "0x10", "1,5", "1_0", " 7"])
def test_values_that_are_no_finite_numbers_need_an_order(refused, cell):
    (told,) = refused(table(["1", "2", cell]), columns={"orders": {"class": ["a", "b"]}}, **ORDERED)
    assert told.startswith("column 's': 1 of its 3 values are not numbers")
    assert told.endswith("list all values in columns.orders")


def test_the_class_needs_an_order_too(refused):
    (told,) = refused(table(["1", "2"]), **ORDERED)
    assert told.startswith("column 'class': 2 of its 2 values are not numbers")


@pytest.mark.parametrize("cell", ["1.0", "01", "+1", "1e0", "1.00000000000000000000001"])
def test_values_that_are_one_number_have_no_order(refused, cell):
    (told,) = refused(table(["1", "2", cell], classes=["1", "2"]), **ORDERED)
    assert told.startswith("column 's': 1 of its 3 values are the same number as another: write them alike")


def test_other_distances_need_no_order(load):
    assert load(table([CANARY, "1", "1.0"]), t=0.3)


# Hierarchies


def hierarchical(folder, **contents):
    """Write a hierarchy per column; return the settings that name them."""
    for name, content in contents.items():
        (folder / f"{name}.csv").write_text(content)
    return {
        "columns": {"hierarchies": {name: folder / f"{name}.csv" for name in contents}},
        "t": 0.3,
        "t_distance": "hierarchical",
    }


def test_values_in_a_hierarchy_are_read(load, tmp_path):
    files = {"class": "a;x\nb;x\nc;y\n", "s": "u;x\nv;y\nw;y\n"}
    assert load(table(["u", "v", ""]), **hierarchical(tmp_path, **files))


def test_a_hierarchy_must_hold_every_value_that_occurs(refused, tmp_path):
    files = {"class": "a;x\nc;y\n", "s": "u;x\n"}
    assert refused(table(["u", CANARY, "w", ""]), **hierarchical(tmp_path, **files)) == [
        "column 'class': 1 of its 2 values have no row in its hierarchy: add them",
        "column 's': 2 of its 3 values have no row in its hierarchy: add them",
    ]


def test_a_hierarchy_is_checked_before_any_record_is_read(refused, tmp_path):
    files = {"class": "a;x\nb;x\n", "s": f"{CANARY};x\n{CANARY};x\n"}
    ragged = {"x": ["1"] * 4, "s": ["u"] * 4, "class": ["a"] * 4}
    (told,) = refused(ragged, ConfigurationError, **hierarchical(tmp_path, **files))
    assert told.startswith("columns.hierarchies: s.csv: 1 row (number 2) has a value that a row before has")
    assert not list(tmp_path.rglob("store.duckdb"))


# All together


def test_all_faults_of_all_columns_are_told_together(refused):
    rows = 10
    ids = {
        "x": [f"{CANARY}{number}" for number in range(rows)],
        "s": list(range(rows)),
        "class": ["", "a"] * 5,
    }
    found = refused(ids, columns={"orders": {"s": ["1"]}}, **ORDERED)
    assert [line.partition(":")[0] for line in found] == [
        "column 'class'",
        "column 's'",
        "column 'class'",
        "column 's'",
        "column 'x'",
    ]


def test_sensitive_columns_of_parquet_are_texts(tmp_path):
    frame = pd.DataFrame({"x": [1] * 4, "s": [1.5, np.nan, 2.0, 2.0], "class": list("abab")})
    frame.to_parquet(tmp_path / "t.parquet")
    config = parse_config(
        {
            "input": {"path": tmp_path / "t.parquet"},
            "columns": {"class": "class", "features": "rest", "sensitive": ["s"]},
            "privacy": {"k": 2, "l": 2},
            "fragmentation": {"fragments": 1},
            "output": {"name": "trial"},
        }
    )
    store = create_workspace(tmp_path / "workspace")
    with pytest.raises(InputError, match="holds 2 values in 3 records, as an identifier does"):
        load_table(store, config)
    pd.concat([frame] * 2).to_parquet(tmp_path / "t.parquet")
    load_table(store, config)
    with duckdb.connect(store, read_only=True) as connection:
        held = connection.execute("SELECT s FROM source LIMIT 4").fetchall()
    assert held == [("1.5",), (None,), ("2.0",), ("2.0",)]


@pytest.mark.parametrize("twin", [CANARY.upper(), f"{CANARY} ", f" {CANARY}"])
def test_values_that_differ_in_spelling_only_are_refused(refused, twin):
    (told,) = refused(table([CANARY, twin, "w"]))
    assert told.startswith("column 's': 1 of its 3 values differ from another only in case")
    (told,) = refused(table(["u", "v"], [CANARY, twin]))
    assert told.startswith("column 'class': 1 of its 2 values differ from another only in case")
