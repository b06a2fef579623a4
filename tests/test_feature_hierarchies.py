"""Features with a hierarchy, from the table to the published files and back."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from flows.audit import audit
from flows.release import release
from tasks.errors import ConfigurationError, InputError
from tasks.hierarchies import read_ancestors
from tasks.load import load_table
from tasks.partitions.mondrian import partition
from tasks.partitions.regions import regions
from tasks.partitions.requirements import KAnonymity
from tasks.read_config import parse_config
from tasks.store import create_workspace, open_store
from tasks.tables import read_codes, read_domains
from tasks.trials.take_records import take_records

CANARY = "Zanzibar4711"
DIABETES = Path(__file__).resolve().parents[2] / "shared" / "data" / "diabetes130.csv.gz"

CITIES = """\
Bonn;Germany;Europe
Oslo;Norway;Europe
Ulm;Germany;Europe
Lima;Peru;America
"""


def config_of(table, hierarchies, *, k=2, columns=None, **settings):
    return parse_config(
        {
            "input": {"path": str(table), **settings},
            "columns": {"class": "class", "features": "rest", "hierarchies": hierarchies, **(columns or {})},
            "privacy": {"k": k},
            "fragmentation": {"fragments": 1},
            "output": {"name": "trial", "directory": str(table.parent / "releases")},
            "run": {"workspace": str(table.parent / "runs"), "engine": "plain"},
        }
    )


def load(table, hierarchies, **settings):
    store = create_workspace(table.parent / "workspace")
    load_table(store, config_of(table, hierarchies, **settings))
    return store


def feature(store, name="x"):
    """Return a feature's domain and codes, and the rows of its hierarchy."""
    with open_store(store) as connection:
        (domain,) = (domain for domain in read_domains(connection)[0] if domain.name == name)
        codes = read_codes(connection, [domain])[:, 0]
        above = read_ancestors(connection, name)
    return domain, codes, [(value, *path) for value, path in zip(domain.values.tolist(), above, strict=True)]


@pytest.fixture
def write(tmp_path):
    """Write a table of one feature and a class of two values."""

    def _write(cells, name="table.csv", **more):
        frame = pd.DataFrame({"x": cells, **more, "class": (["a", "b"] * len(cells))[: len(cells)]})
        (tmp_path / name).parent.mkdir(exist_ok=True)
        frame.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    return _write


@pytest.fixture
def file(tmp_path):
    def _file(text, name="x.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return _file


def test_codes_follow_the_hierarchy_and_missing_comes_first(write, file):
    domain, codes, rows = feature(
        load(write(["Ulm", "", "Lima", "Bonn", "Oslo", "Bonn"]), {"x": file(CITIES)})
    )
    assert domain.values.tolist() == ["Bonn", "Ulm", "Oslo", "Lima"]
    assert_array_equal(codes, [2, 0, 4, 1, 3, 1])
    assert rows[1] == ("Ulm", "Germany", "Europe", "*")
    assert domain.tree.label(0, 1) == "Germany"
    assert domain.tree.label(0, 3) == "*"


def test_values_that_look_like_numbers_are_matched_as_they_are_written(write, file):
    table = write(["07", "7", "7.0", "07", "7", "7.0"])
    domain, _, _ = feature(load(table, {"x": file("7;a\n7.0;b\n07;b\n")}))
    assert domain.kind == "categorical"
    assert domain.values.tolist() == ["7", "7.0", "07"]


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["Bonn", "Ulm", CANARY, "Ulm"], "1 of its 3 values has no row in its hierarchy (row 3): add it"),
        ([CANARY, "Ulm", CANARY, ""], "1 of its 2 values has no row in its hierarchy (rows 1, 3): add it"),
        (
            ["Ulm", *(f"{CANARY}{number}" for number in range(10))],
            "10 of its 11 values have no row in its hierarchy (rows 2, 3, 4, 5, 6, 7, 8, 9, 10, 11): add",
        ),
        (
            ["Ulm", *[CANARY, "bonn"] * 6],
            "2 of its 3 values have no row in its hierarchy (rows 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more)",
        ),
    ],
)
def test_values_without_a_row_are_counted_and_their_rows_named(write, file, cells, told):
    with pytest.raises(InputError) as caught:
        load(write(cells), {"x": file(CITIES)})
    assert str(caught.value).startswith(f"column 'x': {told}")
    assert CANARY not in str(caught.value)


def test_a_column_that_is_missing_everywhere_needs_no_row(write, file):
    domain, codes, rows = feature(load(write([""] * 4, y=[1, 2, 1, 2]), {"x": file(CITIES)}))
    assert (domain.size, domain.tree, rows) == (1, None, [])
    assert not codes.any()


def test_faults_of_all_files_are_told_together_before_the_table_is_read(write, file, tmp_path):
    table = write(["Bonn", CANARY] * 3, y=["u", "v"] * 3)
    hierarchies = {"x": file("Bonn;x\nBonn;x\n"), "y": str(tmp_path / "none.csv")}
    with pytest.raises(ConfigurationError) as caught:
        load(table, hierarchies)
    assert str(caught.value).splitlines() == [
        "columns.hierarchies: x.csv: 1 row (number 2) has a value that a row before has: keep one",
        "columns.hierarchies: none.csv cannot be read (No such file or directory)",
    ]


def test_faults_of_all_columns_are_told_together(write, file):
    table = write(["Bonn", CANARY] * 3, y=["ab", "a*"] * 3, z=["1", CANARY] * 3)
    hierarchies = {"x": file(CITIES), "y": {"prefix": [1]}, "z": {"ranges": [5]}}
    with pytest.raises(InputError) as caught:
        load(table, hierarchies)
    assert [line.partition(" values ")[0] for line in str(caught.value).splitlines()] == [
        "column 'x': 1 of its 2",
        "column 'y': 1 of its 2",
        "column 'z': 1 of its 2",
    ]
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("column", ["class", "id", "out"])
def test_a_hierarchy_of_a_column_that_is_no_feature_is_refused(write, file, column):
    table = write(["Bonn", "Ulm"] * 3, id=range(6), out=range(6))
    with pytest.raises(ConfigurationError, match=f"columns.hierarchies: .*'{column}'"):
        load(table, {column: file(CITIES)}, columns={"identifiers": ["id"], "drop": ["out"]})


def test_ranges_are_in_the_order_of_numbers(write):
    domain, _, rows = feature(load(write(["9", "10", "-3", "100"] * 2), {"x": {"ranges": [10, 100]}}))
    assert domain.values.tolist() == ["-3", "9", "10", "100"]
    assert [row[1:] for row in rows] == [
        ("[-10, 0)", "[-100, 0)", "*"),
        ("[0, 10)", "[0, 100)", "*"),
        ("[10, 20)", "[0, 100)", "*"),
        ("[100, 110)", "[100, 200)", "*"),
    ]


@pytest.mark.parametrize(
    ("precision", "values"),
    [
        ("day", ["2023-12-31", "2024-02-01"]),
        ("month", ["2023-12", "2024-02"]),
        ("quarter", ["2023-Q4", "2024-Q1"]),
    ],
)
def test_dates_are_grouped_from_their_precision_on(write, precision, values):
    table = write(["01.02.2024", "31.12.2023", "n/a"] * 2)
    store = load(
        table,
        {"x": {"dates": ["year"]}},
        dates={"x": "%d.%m.%Y"},
        missing=["n/a"],
        columns={"precision": {"x": precision}},
    )
    domain, codes, rows = feature(store)
    assert domain.values.tolist() == values
    assert_array_equal(codes, [2, 1, 0] * 2)
    assert [row[1:] for row in rows] == [("2023", "*"), ("2024", "*")]


@pytest.mark.parametrize(
    ("hierarchy", "settings", "told"),
    [
        ({"dates": ["year"]}, {}, "its hierarchy is made of dates, but it holds none: give their format"),
        ({"prefix": [4]}, {"dates": {"x": "%Y-%m-%d"}}, "holds dates: make its hierarchy of dates"),
        ({"rare": 4}, {"dates": {"x": "%Y-%m-%d"}}, "holds dates: make its hierarchy of dates"),
        ({"ranges": [4]}, {}, "2 of its 2 values are not written as numbers, of which ranges are"),
    ],
)
def test_a_hierarchy_of_another_kind_of_values_is_refused(write, hierarchy, settings, told):
    with pytest.raises(InputError, match=rf"column 'x': {told}"):
        load(write(["2024-01-02", "2024-01-03"] * 3), {"x": hierarchy}, **settings)


def test_rare_values_are_counted_by_persons_where_there_are_persons(write):
    cells, who = ["a"] * 6 + ["b"] * 3, [1, 1, 1, 2, 2, 2, 3, 4, 5]
    by_records = feature(load(write(cells), {"x": {"rare": 4}}))[2]
    assert [row[1] for row in by_records] == ["a", "rare values"]
    by_persons = feature(
        load(write(cells, "p/t.csv", who=who), {"x": {"rare": 3}}, columns={"entity": "who"})
    )[2]
    assert [row[1] for row in by_persons] == ["rare values", "b"]


def test_some_records_have_the_hierarchy_of_their_own_values(write, file, tmp_path):
    store = load(write(["Ulm", "", "Lima", "Bonn", "Oslo", "Bonn"]), {"x": file(CITIES)})
    domain, codes, rows = feature(take_records(store, np.array([0, 2, 4]), tmp_path / "some"))
    assert domain.values.tolist() == ["Ulm", "Oslo", "Lima"]
    assert_array_equal(codes, [0, 2, 1])
    assert rows[0] == ("Ulm", "Germany", "Europe", "*")
    assert not domain.missing
    assert (domain.tree.label(0, 1), domain.tree.label(0, 2)) == ("Europe", "*")


@pytest.mark.parametrize(
    ("enforcement", "anonymization"),
    [("min_distortion", {"split": "infogain"}), ("coarsen", {"mode": "relaxed", "bounds": "cuts"})],
)
def test_a_release_with_hierarchies_passes_its_gate_and_its_audit(write, file, enforcement, anonymization):
    rng = np.random.default_rng(3)
    rows = 300
    city = rng.choice(["Bonn", "Ulm", "Oslo", "Lima", ""], rows)
    table = write(
        city, code=rng.choice(["250.0", "250.1", "401", "V45"], rows), age=rng.integers(20, 60, rows)
    )
    frame = pd.read_csv(table, dtype=str, keep_default_na=False)
    frame["class"] = rng.choice(list("abcd"), rows)
    frame.to_csv(table, index=False)
    hierarchies = {"x": file(CITIES), "code": {"prefix": [3, 1]}, "age": {"ranges": [5, 10]}}
    asked = config_of(table, hierarchies, k=5).model_dump(by_alias=True)
    asked["privacy"]["enforcement"], asked["fragmentation"]["fragments"] = enforcement, 2
    asked["anonymization"] |= anonymization
    asked["evaluation"]["attacks"] = 20
    folder = release.fn(parse_config(asked))
    assert audit(folder).success
    columns = {
        column["name"]: column for column in json.loads((folder / "release.json").read_text())["columns"]
    }
    assert columns["x"]["hierarchy"] == {"made": "file"}
    assert columns["code"]["hierarchy"] == {"made": "prefix", "prefix": [3, 1]}
    assert columns["age"]["hierarchy"] == {"made": "ranges", "ranges": [5, 10]}
    (fragment,) = (path for path in folder.glob("*.parquet") if "code" in pd.read_parquet(path).columns)
    published = duckdb.sql(f"SELECT DISTINCT unnest(code) FROM '{fragment}'").fetchall()
    assert {name for (name,) in published} <= {"250.0", "250.1", "250*", "401", "V45", "*"}


@pytest.mark.skipif(not DIABETES.exists(), reason="the shared tables are not here")
def test_diagnoses_are_published_by_their_prefixes(tmp_path):
    frame = pd.read_csv(
        DIABETES, dtype=str, keep_default_na=False, usecols=["diag_1", "diag_2", "readmitted"]
    )
    table = tmp_path / "table.csv"
    frame.iloc[:20_000].rename(columns={"readmitted": "class"}).to_csv(table, index=False)
    prefix = {"prefix": [3, 1]}
    store = load(table, {"diag_1": prefix, "diag_2": prefix}, missing=["?"])
    with open_store(store) as connection:
        domains, _ = read_domains(connection)
        codes = read_codes(connection, domains)
    found = partition(codes, domains, np.zeros(len(codes), dtype=np.int32), KAnonymity(40), "strict")
    labels, released = regions(codes, domains, found, "tight")
    assert np.bincount(labels).min() >= 40
    for number, region in enumerate(released):
        cells = frame[domains[number].name].iloc[:20_000].to_numpy()
        for label, text in enumerate(region.texts()):
            held = set(cells[labels == label])
            name = text.removesuffix(" or missing")
            assert ("?" in held) == (name != text or not name)
            values = held - {"?"}
            assert all(value.startswith(name.rstrip("*")) for value in values)
            if len(values) == 1:
                assert name in values
