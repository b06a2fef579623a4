"""Numbers are read, ordered and published exactly, or refused."""

from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_load import CANARY, column, kinds, load, message, rows, write  # noqa: F401  a fixture

from tasks.domain import Domain
from tasks.errors import InputError
from tasks.loading.column_texts import told_exactly
from tasks.partitions.cells import parse_cell
from tasks.partitions.regions import NumericRegions
from tasks.released import write_regions
from tasks.tables import read_domains, read_regions
from tasks.typed_values import as_stored, as_typed

quick = settings(deadline=None, max_examples=60)
MOST = 10**18 - 1


def domain_of(store):
    with duckdb.connect(store, read_only=True) as connection:
        ((domain, *_), _) = read_domains(connection)
    return domain


# Texts


@pytest.mark.parametrize(
    "cells, kind, scale, values",
    [
        (["12.50", "-0.50", "3.25"], "fixed", 2, [-50, 325, 1250]),
        (["0.0", "-0.0", "+1.5", ".5"], "fixed", 1, [0, 5, 15]),
        (["999999999999999999.", "1.5"], "decimal", 0, None),
        (["12345678901234567.5", "0.1"], "fixed", 1, [1, 123456789012345675]),
        (["0.123456789012345678", "0.000000000000000001"], "fixed", 18, [1, 123456789012345678]),
        (["1.5", "1.25"], "decimal", 0, [1.25, 1.5]),
        (["1.5", "2"], "decimal", 0, [1.5, 2.0]),
        (["1.5", "2e3"], "decimal", 0, [1.5, 2000.0]),
        (["-0", "0.0", "1e-05"], "decimal", 0, [0.0, 1e-05]),
        (["1.5", "0.30000000000000004"], "decimal", 0, [0.30000000000000004, 1.5]),
        (["5e-324", "1.7976931348623157e+308"], "decimal", 0, [5e-324, 1.7976931348623157e308]),
        (["-0", "+0", "7"], "integer", 0, [0, 7]),
        (["-9223372036854775808", "9223372036854775807"], "integer", 0, [-(2**63), 2**63 - 1]),
    ],
)
def test_numbers_keep_what_they_say(write, cells, kind, scale, values):  # noqa: F811
    if values is None:
        assert "1 numbers with more digits" in message(InputError, write(rows(cells, times=1) + "0,a\n1,b\n"))
        return
    domain = domain_of(load(write(rows(cells))))
    assert (domain.kind, domain.scale) == (kind, scale)
    assert domain.values.tolist() == values


@pytest.mark.parametrize(
    "cell",
    [
        "0.12345678901234567890123",
        "9007199254740993.5",
        "1e-400",
        "1.0000000000000001",
        "1e23456789012345678901",
    ],
)
def test_what_no_double_tells_is_refused_unless_it_may_be_rounded(write, cell):  # noqa: F811
    told = message(InputError, write(rows([cell, "1", "2.25"])))
    if "e2345" in cell:
        assert "column 'x': 4 numbers are infinite, or too large" in told
        return
    assert told == (
        "column 'x': holds 4 numbers with more digits than can be told exactly: set columns.types for it to "
        '"float" to round them, or to "categorical", or drop it'
    )
    store = load(write(rows([cell, "1", "2.25"]), "again/t.csv"), columns={"types": {"x": "float"}})
    assert column(store, "x")[:3] == [float(cell), 1.0, 2.25]


def test_nineteen_digits_are_no_fixed_number(write):  # noqa: F811
    cells = ["123456789012345678.5", "0.5"]
    assert "holds 4 numbers with more digits" in message(InputError, write(rows(cells)))


def test_any_number_can_be_declared_a_float_and_no_text(write):  # noqa: F811
    table = write(rows(["007,1.50,9223372036854775808"], header="x,y,z,class"))
    store = load(table, columns={"types": dict.fromkeys("xyz", "float")})
    assert set(kinds(store).values()) == {"decimal", "categorical"}
    assert [column(store, name)[0] for name in "xyz"] == [7.0, 1.5, 2.0**63]
    told = message(InputError, write(rows([CANARY, "1"]), "again/t.csv"), columns={"types": {"x": "float"}})
    assert told.startswith(
        "column 'x': 4 values (rows 1, 3, 5, 7) are no number, though columns.types says so"
    )


def test_codes_with_leading_zeros_are_numbers_only_where_declared(write):  # noqa: F811
    table = write(rows(["00.50,00.50", "01.25,01.25"], header="x,y,class"))
    store = load(table, columns={"types": {"y": "numeric"}})
    assert column(store, "x")[0] == "00.50"
    assert column(store, "y")[0] == Decimal("0.50")


@given(
    st.lists(
        st.from_regex(r"[+-]?[0-9]{0,20}([.][0-9]{0,20})?([eE][+-]?[0-9]{1,4})?", fullmatch=True),
        min_size=1,
        max_size=3,
    )
)
@quick
def test_a_number_told_exactly_is_its_doubles_shortest_text(texts):
    for text in texts:
        try:
            number = float(text)
        except ValueError:
            continue
        if np.isfinite(number):
            assert told_exactly(text) == (Decimal(text) == Decimal(repr(number)))


@pytest.mark.parametrize("text", ["0e99999999999999999999", "-0.000", "1e99999999999999999999"])
def test_extreme_exponents_need_no_arithmetic(text):
    assert told_exactly(text)
    assert not told_exactly("1e-99999999999999999999")


# Typed columns


def parquet(folder, **columns):
    rows_of = len(next(iter(columns.values())))
    table = pa.table({**columns, "class": pa.array(list("ab") * (rows_of // 2))})
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def decimals(texts, digits, scale):
    return pa.array(
        [None if text is None else Decimal(text) for text in texts] * 2, pa.decimal128(digits, scale)
    )


def test_decimals_keep_their_scale(tmp_path):
    table = parquet(
        tmp_path,
        money=decimals(["1.50", None], 18, 2),
        whole=decimals(["15", None], 10, 0),
        wide=decimals(["15", "-9223372036854775808"], 38, 0),
        long=decimals(["9999999999999999.99", None], 38, 2),
        rounded=decimals(["0.5", None], 10, 4),
    )
    store = load(table, columns={"types": {"rounded": "float"}})
    assert list(kinds(store).values()) == ["fixed", "integer", "integer", "fixed", "decimal", "categorical"]
    assert column(store, "money")[:2] == [Decimal("1.50"), None]
    assert column(store, "wide")[:2] == [15, -(2**63)]
    assert column(store, "long")[:2] == [Decimal("9999999999999999.99"), None]
    assert column(store, "rounded")[:2] == [0.5, None]


@pytest.mark.parametrize(
    "digits, scale, text, told",
    [
        (38, 0, "9223372036854775808", "2 whole numbers need more than 64 bits"),
        (38, 2, "10000000000000000.00", "holds 4 numbers with more digits than can be told exactly"),
        (38, 19, "0.5", "holds 4 numbers with more digits than can be told exactly"),
    ],
)
def test_wider_numbers_are_refused_by_their_values(tmp_path, digits, scale, text, told):
    assert f"column 'x': {told}" in message(
        InputError, parquet(tmp_path, x=decimals([text, "0"], digits, scale))
    )


def test_unsigned_numbers_are_whole_numbers_while_they_fit(tmp_path):
    fitting = pa.array([2**63 - 1, None] * 2, pa.uint64())
    assert column(load(parquet(tmp_path, x=fitting)), "x")[:2] == [2**63 - 1, None]
    (tmp_path / "again").mkdir()
    told = message(InputError, parquet(tmp_path / "again", x=pa.array([2**63, None] * 2, pa.uint64())))
    assert "column 'x': 2 whole numbers need more than 64 bits" in told


def test_columns_without_any_value_are_categories_and_truth_values_too(tmp_path):
    store = load(parquet(tmp_path, x=pa.nulls(4), y=pa.array([True, False, None, True])))
    assert kinds(store) == {"x": "categorical", "y": "categorical", "class": "categorical"}
    assert column(store, "y") == ["true", "false", None, "true"]


@pytest.mark.parametrize("role", ["x", "class"])
def test_bytes_are_refused_in_any_role(tmp_path, role):
    table = pa.table({"x": [1] * 4, "class": ["a"] * 4})
    at = table.column_names.index(role)
    pq.write_table(table.set_column(at, role, [[b"a"] * 4]), tmp_path / "t.parquet")
    told = message(InputError, tmp_path / "t.parquet")
    assert f"column {role!r}: holds values of type BLOB, which cannot be released: drop it" in told


# What is released


@given(st.lists(st.integers(-MOST, MOST), min_size=1, max_size=6, unique=True), st.integers(1, 18), st.data())
@example([-MOST, MOST], 2, None)
@quick
def test_released_fixed_numbers_read_back_exactly(numbers, scale, data):
    domain = Domain("x", "fixed", np.sort(np.array(numbers)), missing=True, scale=scale)
    codes = st.integers(1, len(numbers))
    pairs = (
        [[1, len(numbers)]]
        if data is None
        else [sorted(data.draw(st.tuples(codes, codes))) for _ in range(3)]
    )
    lower, upper = np.array(pairs, dtype=np.int32).T
    present, missing = np.arange(len(pairs)) < 2, np.arange(len(pairs)) > 0
    region = NumericRegions(domain, lower * present, upper * present, present, missing)
    with duckdb.connect() as connection:
        write_regions(connection, 1, [region])
        (again,) = read_regions(connection, 1, [domain])
        typed = connection.execute("SELECT f1 FROM typed_regions_1 ORDER BY rowid").fetchall()
        ((described, *_),) = [row[1:2] for row in connection.execute("DESCRIBE typed_regions_1").fetchall()]
    bounds = f"lower DECIMAL(18,{scale}), upper DECIMAL(18,{scale})"
    assert described.replace('"', "") == f"STRUCT({bounds}, missing BOOLEAN)"
    assert again.texts() == region.texts()
    for (cell,), text, (low, high), known in zip(typed, region.texts(), pairs, present, strict=True):
        read = parse_cell(text, "fixed", scale)
        assert (read.lower, read.upper) == (cell["lower"], cell["upper"])
        if known:
            bounds = [int(cell[bound].scaleb(scale)) for bound in ("lower", "upper")]
            assert bounds == [domain.values[low - 1], domain.values[high - 1]]


@given(st.integers(-MOST, MOST), st.integers(1, 18))
@quick
def test_typed_values_and_stored_ones_are_the_same(number, scale):
    with duckdb.connect() as connection:
        typed = as_typed("n", "fixed", scale)
        ((stored, text),) = connection.execute(
            f"SELECT {as_stored(typed, 'fixed', scale)}, CAST({typed} AS VARCHAR) "
            "FROM (SELECT ?::BIGINT AS n)",
            [number],
        ).fetchall()
    assert stored == number
    assert Decimal(text) == Decimal(number).scaleb(-scale)


def test_neighbours_beyond_floats_stay_apart_beside_missing_ones(tmp_path):
    frame = pd.DataFrame(
        {"x": ["90071992547409.93", "90071992547409.92", None, "0.01"] * 2, "class": list("abab") * 2}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    domain = domain_of(load(tmp_path / "t.csv"))
    assert domain.values.tolist() == [1, 2**53, 2**53 + 1]
    assert domain.missing
