"""Mondrian: against a recursive reference and against what makes a partition valid."""

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.errors import InfeasibleError
from tasks.mondrian import partition
from tasks.requirements import KAnonymity

quick = settings(deadline=None, max_examples=100)
small_k = st.integers(1, 6)
modes = pytest.mark.parametrize("mode", ["strict", "relaxed"])


@dataclass(frozen=True)
class ClassValues:
    """A requirement that is not a matter of size: so many different class values."""

    least: int
    minimum_size: int = 1

    def holds(self, counts):
        return (counts > 0).sum(axis=1) >= self.least


def one_column(values, kind="integer"):
    codes, domain = oracles.encode(values, kind)
    return oracles.Table(codes[:, None], [domain], np.zeros(len(values), dtype=np.int32))


def at_least(k):
    return lambda rows: len(rows) >= k


def run(table, k, mode="strict"):
    return partition(table.codes, table.domains, table.classes, KAnonymity(k), mode)


def groups(found):
    return [np.flatnonzero(found.labels == label).tolist() for label in range(len(found.lower))]


def boxes(found):
    return [
        tuple(zip(lower, upper, strict=True))
        for lower, upper in zip(found.lower.tolist(), found.upper.tolist(), strict=True)
    ]


def random_table(seed, rows, columns, values):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(rows, 1))
    raw = np.round(values * (latent + rng.normal(size=(rows, columns)))).astype(int)
    encoded = [oracles.encode(column, "integer") for column in raw.T.tolist()]
    classes = oracles.ranks((latent[:, 0] > rng.normal(size=rows)).tolist())
    return oracles.Table(np.column_stack([codes for codes, _ in encoded]), [d for _, d in encoded], classes)


@given(oracles.tables(), small_k)
@example(one_column([1, 1, 1, 1, 1, 2, 2, 3]), 2)
@quick
def test_strict_leaves_are_those_of_the_recursive_definition(table, k):
    found = run(table, min(k, len(table.codes)))
    expected = oracles.strict_mondrian(table.codes, table.domains, at_least(min(k, len(table.codes))))
    assert list(zip(groups(found), boxes(found), strict=True)) == expected


@given(oracles.tables(), small_k)
@quick
def test_relaxed_leaves_are_those_of_the_recursive_definition(table, k):
    found = run(table, min(k, len(table.codes)), "relaxed")
    expected = oracles.relaxed_mondrian(table.codes, table.domains, at_least(min(k, len(table.codes))))
    assert list(zip(groups(found), boxes(found), strict=True)) == expected


@given(oracles.tables(max_rows=50, max_columns=6), small_k)
@quick
def test_strict_classes_reach_k_are_separated_and_can_be_cut_no_further(table, k):
    k = min(k, len(table.codes))
    assert oracles.is_valid_partition(table.codes, run(table, k).labels, at_least(k))


@given(oracles.tables(), small_k)
@quick
def test_strict_boxes_cover_every_combination_of_codes_once(table, k):
    found = run(table, min(k, len(table.codes)))
    for one, other in combinations(range(len(found.lower)), 2):
        apart = (found.upper[one] < found.lower[other]) | (found.upper[other] < found.lower[one])
        assert apart.any()
    volumes = (found.upper - found.lower + 1).prod(axis=1)
    assert volumes.sum() == prod(domain.size for domain in table.domains)


@modes
@given(table=oracles.tables(max_rows=50), k=small_k)
@quick
def test_every_row_lies_in_its_box(table, k, mode):
    found = run(table, min(k, len(table.codes)), mode)
    assert (found.lower[found.labels] <= table.codes).all()
    assert (table.codes <= found.upper[found.labels]).all()


@given(oracles.tables(), small_k, st.randoms(use_true_random=False))
@quick
def test_strict_does_not_depend_on_the_order_of_rows(table, k, random):
    k, order = min(k, len(table.codes)), list(range(len(table.codes)))
    random.shuffle(order)
    shuffled = oracles.Table(table.codes[order], table.domains, table.classes[order])
    found, again = run(table, k), run(shuffled, k)
    assert_array_equal(again.labels, found.labels[order])
    assert_array_equal(again.lower, found.lower)
    assert_array_equal(again.upper, found.upper)


@given(oracles.tables(max_rows=50), st.integers(1, 3))
@quick
def test_any_requirement_on_class_counts_is_kept(table, least):
    least = min(least, len(set(table.classes)))

    def holds(rows):
        return len(set(table.classes[rows])) >= least

    found = partition(table.codes, table.domains, table.classes, ClassValues(least), "strict")
    expected = oracles.strict_mondrian(table.codes, table.domains, holds)
    assert groups(found) == [rows for rows, _ in expected]


@given(oracles.tables(max_rows=50), small_k)
@quick
def test_relaxed_classes_of_a_table_of_different_rows_hold_fewer_than_two_k(table, k):
    k, rows = min(k, len(table.codes)), len(table.codes)
    numbered = one_column(list(range(rows)))
    both = oracles.Table(
        np.hstack([table.codes, numbered.codes]), [*table.domains, *numbered.domains], table.classes
    )
    sizes = np.bincount(run(both, k, "relaxed").labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


@pytest.mark.parametrize(
    "rows, columns, values, k", [(3000, 6, 1, 10), (2000, 12, 0.3, 5), (60_000, 9, 50, 9000)]
)
def test_strict_leaves_of_larger_tables(rows, columns, values, k):
    table = random_table(7, rows, columns, values)
    found = run(table, k)
    expected = oracles.strict_mondrian(table.codes, table.domains, at_least(k))
    assert list(zip(groups(found), boxes(found), strict=True)) == expected


@modes
@pytest.mark.parametrize("rows, classes", [(5, 1), (9, 1), (10, 2), (11, 2), (20, 4)])
def test_a_node_is_cut_from_twice_k_rows_on(rows, classes, mode):
    assert len(run(one_column(list(range(rows))), 5, mode).lower) == classes


@modes
@pytest.mark.parametrize("rows, k", [(1, 2), (4, 5), (39, 40)])
def test_fewer_rows_than_k_are_refused_with_both_named(rows, k, mode):
    with pytest.raises(InfeasibleError, match=rf"{rows} rows .*k = {k}"):
        run(one_column(list(range(rows))), k, mode)


def test_a_class_requirement_that_the_table_breaks_is_refused():
    table = one_column([1, 2, 3, 4])
    with pytest.raises(InfeasibleError):
        partition(table.codes, table.domains, table.classes, ClassValues(2), "strict")


@modes
def test_one_row_is_one_class(mode):
    found = run(one_column([3]), 1, mode)
    assert found.labels.tolist() == [0]
    assert boxes(found) == [((0, 0),)]


@modes
def test_a_table_of_equal_rows_is_one_class(mode):
    constant = one_column([3] * 12)
    table = oracles.Table(np.hstack([constant.codes] * 3), constant.domains * 3, constant.classes)
    assert run(table, 2, mode).labels.tolist() == [0] * 12


def test_ties_at_the_median_leave_no_side_below_k():
    found = run(one_column([1, 1, 1, 1, 1, 2, 2, 3]), 2)
    assert groups(found) == [[0, 1, 2, 3, 4], [5, 6, 7]]


def test_missing_is_cut_off_where_both_sides_reach_k():
    found = run(one_column([None, None, 30, 30, 40]), 2)
    assert groups(found) == [[0, 1], [2, 3, 4]]


def test_a_single_missing_value_is_covered_by_its_box():
    found = run(one_column([30, 30, 30, None]), 2)
    assert groups(found) == [[0, 1, 2, 3]]
    assert boxes(found) == [((0, 1),)]


def test_a_feature_that_mixes_missing_and_values_is_cut_first():
    narrow, _ = oracles.encode([None, None, 1, 1], "integer")
    wide, _ = oracles.encode([0, 9, 0, 9], "integer")
    domains = [oracles.encode([0, 9], "integer")[1], oracles.encode([None, 1], "integer")[1]]
    table = oracles.Table(np.column_stack([wide, narrow]), domains, np.zeros(4, dtype=np.int32))
    assert groups(run(table, 2)) == [[0, 2], [1, 3]]
    shorter = oracles.encode([0, 9, 20], "integer")[1]
    narrower = oracles.Table(table.codes, [shorter, domains[1]], table.classes)
    assert groups(run(narrower, 2)) == [[0, 1], [2, 3]]


@modes
def test_inputs_are_left_as_they_were(mode):
    table = random_table(8, 200, 3, 2)
    codes, classes = table.codes.copy(), table.classes.copy()
    run(table, 5, mode)
    assert_array_equal(table.codes, codes)
    assert_array_equal(table.classes, classes)
