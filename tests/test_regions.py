"""What classes release: every row's cell covers exactly what the definition says."""

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.partitions.cells import parse_cell
from tasks.partitions.mondrian import partition
from tasks.partitions.partition import Partition
from tasks.partitions.regions import regions
from tasks.partitions.requirements import KAnonymity

quick = settings(deadline=None, max_examples=60)
modes = pytest.mark.parametrize("mode", ["strict", "relaxed"])
small_k = st.integers(1, 6)


def partitioned(table, k, mode):
    k = min(k, len(table.codes))
    return partition(table.codes, table.domains, table.classes, KAnonymity(k), mode)


def cell_of(region, domain):
    if not domain.numeric:
        return tuple(sorted(region.covered)), region.missing
    covered = region.covered or [None]
    return min(covered), max(covered), region.missing


def read_cells(released, domain):
    return [parse_cell(text, domain.kind) for text in released.texts()]


@modes
@given(table=oracles.tables(), k=small_k)
@quick
def test_tight_cells_cover_the_members_of_their_class_and_nothing_else(table, k, mode):
    labels, released = regions(table.codes, table.domains, partitioned(table, k, mode), "tight")
    for column, domain, region in zip(table.codes.T, table.domains, released, strict=True):
        for label, cell in enumerate(read_cells(region, domain)):
            assert cell == cell_of(oracles.tight_region(column[labels == label], domain), domain)


@given(oracles.tables(), small_k)
@quick
def test_cuts_cells_cover_the_box_that_the_cuts_left(table, k):
    found = partitioned(table, k, "strict")
    labels, released = regions(table.codes, table.domains, found, "cuts")
    for number, (domain, region) in enumerate(zip(table.domains, released, strict=True)):
        cells = read_cells(region, domain)
        for row, label in enumerate(labels):
            lower, upper = found.lower[found.labels[row], number], found.upper[found.labels[row], number]
            assert cells[label] == cell_of(oracles.cuts_region(lower, upper, domain), domain)


@modes
@pytest.mark.parametrize("bounds", ["tight", "cuts"])
@given(table=oracles.tables(), k=small_k)
@quick
def test_rows_are_of_one_class_where_and_only_where_all_their_cells_are_the_same(table, k, mode, bounds):
    found = partitioned(table, k, mode)
    labels, released = regions(table.codes, table.domains, found, bounds)
    cells = list(zip(*(region.texts() for region in released), strict=True))
    assert len(set(cells)) == len(cells) == labels.max() + 1
    assert_array_equal(np.unique(labels), np.arange(len(cells)))
    together = found.labels[:, None] == found.labels
    assert (labels[:, None] == labels)[together].all()


@modes
@pytest.mark.parametrize("bounds", ["tight", "cuts"])
@given(table=oracles.tables(), k=small_k)
@quick
def test_released_classes_still_hold_k_rows(table, k, mode, bounds):
    labels, _ = regions(table.codes, table.domains, partitioned(table, k, mode), bounds)
    assert np.bincount(labels).min() >= min(k, len(table.codes))


@pytest.mark.parametrize(
    "values, kind, expected",
    [
        ([1, 5], "integer", "[1, 5]"),
        ([-5.0, 1e-05], "decimal", "[-5.0, 1e-05]"),
        ([2**53, 2**53 + 1], "integer", "[9007199254740992, 9007199254740993]"),
        ([3, 3], "integer", "3"),
        ([None, 3], "integer", "3 or missing"),
        ([None, 3, 4], "integer", "[3, 4] or missing"),
        ([None, None], "decimal", ""),
        (["b", "a"], "categorical", '{"a", "b"}'),
        (["a", "a"], "categorical", "a"),
        ([None, "a"], "categorical", "a or missing"),
        ([None, "b", "a"], "categorical", '{"a", "b"} or missing'),
        ([None, None], "categorical", ""),
    ],
)
@pytest.mark.parametrize("bounds", ["tight", "cuts"])
def test_the_cell_of_a_whole_column(values, kind, expected, bounds):
    codes, domain = oracles.encode(values, kind)
    whole = Partition(
        np.zeros(len(values), dtype=np.int32),
        np.zeros((1, 1), dtype=np.int32),
        np.full((1, 1), domain.size - 1, dtype=np.int32),
    )
    _, [region] = regions(codes[:, None], [domain], whole, bounds)
    assert region.texts() == [expected]
