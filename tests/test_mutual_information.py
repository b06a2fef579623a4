"""Mutual information: from theory, by hand, and against two other implementations."""

from itertools import product
from math import log

import duckdb
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mutual_info_score

from tasks.compiled import compiled
from tasks.information.compiled_counts import StackedGroups
from tasks.information.groups import Group, pack
from tasks.load import load_table
from tasks.mutual_information import (
    discretise,
    measure_mutual_information,
    mutual_information_matrix,
)
from tasks.read_config import parse_config
from tasks.store import create_workspace
from tasks.tables import read_matrix

quick = settings(deadline=None, max_examples=60)


def as_columns(*columns):
    return [np.array(column, dtype=np.int32) for column in columns]


def equals_scikit_learn(matrix, columns):
    expected = [[mutual_info_score(x, y) for y in columns] for x in columns]
    assert_allclose(matrix, expected, atol=1e-9)


@given(oracles.tables())
@quick
def test_matrix_is_the_plug_in_estimate_over_a_crosstab(table):
    columns = [*table.codes.T, table.classes]
    expected = [[oracles.mutual_information(x, y) for y in columns] for x in columns]
    assert_allclose(mutual_information_matrix(columns), expected, atol=1e-9)


@given(oracles.tables())
@quick
def test_matrix_equals_scikit_learn(table):
    columns = [*table.codes.T, table.classes]
    equals_scikit_learn(mutual_information_matrix(columns), columns)


@given(oracles.tables())
@quick
def test_matrix_is_symmetric_not_negative_and_has_entropies_on_its_diagonal(table):
    columns = [*table.codes.T, table.classes]
    matrix = mutual_information_matrix(columns)
    assert_array_equal(matrix, matrix.T)
    assert matrix.min() >= 0
    assert_allclose(matrix.diagonal(), [oracles.entropy(column) for column in columns], atol=1e-9)


def test_matrix_of_many_columns_of_all_sizes():
    rng = np.random.default_rng(1)
    sizes = [1, 2, 2, 3, 10, 10, 10, 10, 11, 40, 127, 128, 129, 700]
    columns = [(rng.normal(size=900).argsort() % size).astype(np.int32) for size in sizes]
    equals_scikit_learn(mutual_information_matrix(columns), columns)


def test_matrix_of_columns_with_thousands_of_values():
    rng = np.random.default_rng(2)
    columns = as_columns(rng.permutation(3000), rng.permutation(3000) // 2, rng.permutation(3000) % 3)
    equals_scikit_learn(mutual_information_matrix(columns), columns)


def test_matrix_of_a_two_by_two_table_by_hand():
    matrix = mutual_information_matrix(as_columns([0] * 4 + [1] * 4, [0, 0, 0, 1, 0, 1, 1, 1]))
    assert matrix[0, 1] == pytest.approx(3 / 4 * log(3 / 2) + 1 / 4 * log(1 / 2))
    assert matrix[0, 0] == pytest.approx(log(2))


def test_independent_columns_tell_nothing():
    x, y = zip(*product(range(3), range(4)), strict=True)
    assert mutual_information_matrix(as_columns(x, y))[0, 1] == pytest.approx(0, abs=1e-12)


def test_a_column_with_one_value_tells_nothing():
    assert_array_equal(mutual_information_matrix(as_columns([0, 0, 0], [0, 1, 2]))[0], [0, 0])


def test_renaming_values_changes_nothing():
    x, y = [0, 1, 2, 2, 1, 0, 0], [0, 0, 1, 1, 2, 2, 1]
    renamed = [2 - value for value in x]
    matrix = mutual_information_matrix(as_columns(x, y, renamed))
    assert matrix[0, 1] == pytest.approx(matrix[2, 1])
    assert matrix[0, 2] == pytest.approx(matrix[0, 0])


@given(oracles.tables(), st.integers(1, 12))
@quick
def test_bins_follow_the_order_of_numbers_and_keep_missing_apart(table, bins):
    for codes, domain in zip(table.codes.T, table.domains, strict=True):
        binned = discretise(codes, domain.size, numeric=domain.numeric, missing=domain.missing, bins=bins)
        is_missing = domain.missing & (codes == 0)
        assert not set(binned[is_missing]) & set(binned[~is_missing])
        assert_array_equal(np.unique(binned), np.arange(binned.max() + 1))
        if domain.numeric:
            assert len(np.unique(binned)) <= bins + domain.missing
            assert (np.diff(binned[np.argsort(codes, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("bins", [1, 2, 5, 10])
def test_different_numbers_fill_all_bins_equally(bins):
    codes = np.random.default_rng(3).permutation(40).astype(np.int32)
    binned = discretise(codes, 40, numeric=True, missing=False, bins=bins)
    assert_array_equal(np.bincount(binned), [40 // bins] * bins)


def test_equal_numbers_share_a_bin():
    codes = np.array([0] * 30 + [1, 2, 3, 4], dtype=np.int32)
    binned = discretise(codes, 5, numeric=True, missing=False, bins=10)
    assert len(set(binned[:30])) == 1
    assert len(set(binned)) < 5


def test_missing_numbers_do_not_move_the_bins_of_the_others():
    present = np.arange(40, dtype=np.int32)
    with_missing = np.concatenate([[0] * 25, present + 1]).astype(np.int32)
    binned = discretise(with_missing, 41, numeric=True, missing=True, bins=10)
    assert_array_equal(binned[25:] - 1, discretise(present, 40, numeric=True, missing=False, bins=10))


def test_categories_are_their_own_bins():
    codes = np.array([3, 0, 1, 2, 3, 3], dtype=np.int32)
    assert_array_equal(discretise(codes, 4, numeric=False, missing=True, bins=2), codes)


def test_the_stored_matrix_holds_features_sensitive_attributes_and_the_class(tmp_path):
    rng = np.random.default_rng(9)
    columns = {name: rng.integers(0, size, 60) for name, size in (("s", 4), ("y", 2), ("class", 3), ("x", 5))}
    cells = {name: np.where(column == 0, "", column.astype(str)) for name, column in columns.items()}
    cells["class"] = columns["class"].astype(str)
    lines = [",".join(row) for row in zip(*cells.values(), strict=True)]
    (tmp_path / "table.csv").write_text("\n".join([",".join(cells), *lines]) + "\n")
    config = parse_config(
        {
            "input": {"path": tmp_path / "table.csv"},
            "columns": {"class": "class", "features": "rest", "sensitive": ["s"]},
            "privacy": {"k": 2, "l": 2},
            "output": {"name": "trial"},
        }
    )
    store = create_workspace(tmp_path / "workspace")
    load_table(store, config)
    assert measure_mutual_information(store, config) == 6
    with duckdb.connect(store, read_only=True) as connection:
        equals_scikit_learn(read_matrix(connection), [columns[name] for name in ("y", "x", "s", "class")])
        pairs = connection.execute("SELECT DISTINCT x FROM mutual_information ORDER BY x").fetchall()
    assert pairs == [("class",), ("s",), ("x",), ("y",)]


# Compiled counts


def grouped(columns):
    sizes = [int(column.max()) + 1 for column in columns]
    return [Group(members, columns, sizes) for members in pack(sizes)]


@given(oracles.tables())
@quick
def test_compiled_counts_give_the_same_entropies_bit_for_bit(table):
    groups = grouped([*table.codes.T, table.classes])
    stacked = StackedGroups(groups)
    for place, group in enumerate(groups):
        assert_array_equal(stacked.joint_entropies(place), group.joint_entropies(groups[place:]))


@pytest.mark.parametrize("records", [1, 2, 3, 899, 900])
def test_compiled_counts_of_columns_of_all_sizes(records):
    rng = np.random.default_rng(4)
    sizes = [size for size in (1, 2, 2, 3, 5, 10, 10, 11, 40, 64, 127, 128) if size <= records]
    groups = grouped([(rng.normal(size=records).argsort() % size).astype(np.int32) for size in sizes])
    stacked = StackedGroups(groups)
    for place, group in enumerate(groups):
        assert_array_equal(stacked.joint_entropies(place), group.joint_entropies(groups[place:]))


def test_columns_of_many_values_are_counted_beside_compiled_ones(monkeypatch):
    rng = np.random.default_rng(5)
    sizes = [2, 700, 3, 10, 128, 129, 10, 1, 300]
    columns = [(rng.normal(size=900).argsort() % size).astype(np.int32) for size in sizes]
    plain = mutual_information_matrix(columns)
    monkeypatch.setattr("tasks.mutual_information.WORTH_COMPILING", 0)
    assert_array_equal(mutual_information_matrix(columns), plain)


def test_what_cannot_be_kept_is_compiled_all_the_same(monkeypatch):
    import numba

    def no_place_for_a_cache(*, nogil, cache=False):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return numba.core.decorators.njit(nogil=nogil)

    monkeypatch.setattr("tasks.compiled.njit", no_place_for_a_cache)
    assert compiled(lambda x: x + 1)(2) == 3
