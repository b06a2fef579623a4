"""The oracles against values worked out by hand or printed in the sources."""

from fractions import Fraction
from math import comb, log

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal

from tasks.domain import Domain

TRIPLE = [np.array([[1, 2, 2, 0]]), np.array([[1, 2, 0, 2]]), np.array([[1, 0, 2, 2]])]
ALL_CHOICES = {((0, 0), (1, 0)), ((0, 0), (2, 0)), ((1, 0), (2, 0)), ((0, 0), (1, 0), (2, 0))}


def at_least(k):
    return lambda rows: len(rows) >= k


def test_entropy_of_a_fair_coin_is_log_2():
    assert oracles.entropy([0, 1, 1, 0]) == pytest.approx(log(2))


def test_mutual_information_of_equal_columns_is_their_entropy():
    assert oracles.mutual_information([0, 1, 1, 0], [5, 3, 3, 5]) == pytest.approx(log(2))


def test_mutual_information_of_a_two_by_two_table():
    x, y = [0] * 4 + [1] * 4, [0, 0, 0, 1, 0, 1, 1, 1]
    by_hand = 2 * 3 / 8 * log(3 / 8 / (1 / 4)) + 2 * 1 / 8 * log(1 / 8 / (1 / 4))
    assert oracles.mutual_information(x, y) == pytest.approx(by_hand)


def test_fmrmr_counts_every_ordered_pair_and_the_feature_with_itself():
    matrix = [[4, 1, 2], [1, 6, 3], [2, 3, 9]]
    assert oracles.fmrmr(matrix, [[0, 1]]) == (2 + 3) / 2 - (4 + 1 + 1 + 6) / 4
    assert oracles.fmrmr(matrix, [[0], [1]]) == (2 - 4) + (3 - 6)


def test_split_puts_the_most_dependent_features_apart():
    matrix = [[9, 1, 8, 0], [1, 9, 2, 0], [8, 2, 9, 0], [0, 0, 0, 1]]
    assert oracles.split(matrix, [0, 1, 2]) == [[0, 1], [2]]


def test_split_of_equal_features_follows_the_lowest_index():
    assert oracles.split([[1] * 5] * 5, range(4)) == [[0, 2, 3], [1]]


def test_one_fragment_holds_all_features():
    assert oracles.greedy_fragmentation([[1] * 4] * 4, 1) == [[0, 1, 2]]


def test_the_first_of_the_largest_fragments_is_split_in_place():
    matrix = np.diag([1.0] * 5)
    matrix[0, 1] = matrix[1, 0] = 0.9
    matrix[2, 3] = matrix[3, 2] = 0.8
    two = oracles.greedy_fragmentation(matrix.tolist(), 2)
    three = oracles.greedy_fragmentation(matrix.tolist(), 3)
    assert two == [[0, 2], [1, 3]]
    assert three == [[0], [2], [1, 3]]


def test_a_triple_can_violate_where_every_pair_is_sound():
    sizes = oracles.join_sizes(TRIPLE)
    assert set(sizes) == ALL_CHOICES
    assert {size for choice, size in sizes.items() if len(choice) == 2} == {5}
    assert sizes[(0, 0), (1, 0), (2, 0)] == 1
    assert oracles.violating_choices(TRIPLE, 5) == {((0, 0), (1, 0), (2, 0))}
    assert oracles.smallest_join(TRIPLE) == 1


def test_join_rows_can_rest_on_one_record():
    counts = [np.array([[1, 4]]), np.array([[5, 0]])]
    assert oracles.smallest_join(counts) == 5
    assert oracles.smallest_records(counts) == 1
    assert not oracles.meets_record_condition(counts, 5)


def test_without_a_common_value_there_is_no_join():
    counts = [np.array([[5, 0]]), np.array([[0, 5]])]
    assert oracles.smallest_join(counts) is None
    assert oracles.smallest_records(counts) is None
    assert oracles.meets_record_condition(counts, 5)


@given(oracles.families(max_fragments=3, max_records=10))
@settings(deadline=None, max_examples=30)
def test_a_real_join_has_the_size_and_the_records_of_the_formula(family):
    sizes, counts = oracles.join_sizes(family.counts), family.counts
    fewest = []
    for choice in oracles.choices(counts):
        factors = np.array([counts[fragment][ec] for fragment, ec in choice])
        assert sizes.get(choice, 0) == factors.prod(axis=0).sum()
        common = factors.all(axis=0)
        fewest += factors[:, common].sum(axis=1).tolist() if common.any() else []
    assert oracles.smallest_records(counts) == min(fewest)


@given(oracles.families())
@settings(deadline=None, max_examples=50)
def test_families_hold_the_same_records_in_classes_of_k_or_more(family):
    totals = [counts.sum(axis=0) for counts in family.counts]
    for counts, total in zip(family.counts, totals, strict=True):
        assert counts.sum(axis=1).min() >= family.k
        assert_array_equal(total, totals[0])
    assert totals[0].min() > 0


def test_mending_one_edge_can_break_an_edge_mended_before():
    v, n, c = np.array([[2, 3, 0, 0]]), np.array([[1, 1, 3, 0]]), np.array([[3, 0, 0, 2]])
    mended = np.array([[0, 1, 4, 0]])
    assert oracles.join_sizes([v, n]) == {((0, 0), (1, 0)): 5}
    assert oracles.violating_choices([c, n], 5) == {((0, 0), (1, 0))}
    assert oracles.violating_choices([c, mended], 5) == set()
    assert oracles.join_sizes([v, mended]) == {((0, 0), (1, 0)): 3}


def test_majority_of_equals_is_the_first():
    before = np.array([[2, 2, 1], [0, 1, 4]])
    after = oracles.majority_only(before)
    assert_array_equal(after, [[5, 0, 0], [0, 0, 5]])
    assert oracles.changed_records(before, after) == 4


@pytest.mark.parametrize("size, values", [(1, 1), (5, 1), (5, 5), (8, 3)])
def test_versions_are_all_compositions(size, values):
    found = set(oracles.versions(size, values))
    assert len(found) == comb(size - 1, values - 1)
    assert all(len(version) == values and min(version) >= 1 and sum(version) == size for version in found)


@pytest.mark.parametrize(
    "sizes, values, common, k, expected",
    [
        ((6, 6), (3, 3), 2, 5, Fraction(87, 100)),
        ((6, 6), (4, 4), 2, 5, Fraction(41, 100)),
        ((5, 5), (3, 3), 1, 5, Fraction(5, 36)),
        ((8, 9), (3, 3), 2, 8, Fraction(513, 588)),
        ((6, 6), (2, 2), 2, 5, Fraction(1)),
    ],
)
def test_eta_of_two_classes(sizes, values, common, k, expected):
    assert oracles.eta(sizes, values, common, k) == expected


def test_eta_of_three_classes_with_one_value_in_common():
    assert oracles.eta((2, 2, 3), (2, 2, 2), 1, 2) == Fraction(1, 2)


def test_strict_mondrian_cuts_the_widest_feature_at_the_lower_median():
    codes = np.array([[0, 0], [1, 0], [2, 1], [3, 1]], dtype=np.int32)
    domains = [
        Domain("x", "integer", np.array([0, 1, 2, 3]), missing=False),
        Domain("y", "integer", np.array([0, 9, 18]), missing=False),
    ]
    assert oracles.strict_mondrian(codes, domains, at_least(2)) == [
        ([0, 1], ((0, 1), (0, 2))),
        ([2, 3], ((2, 3), (0, 2))),
    ]


def test_strict_mondrian_cuts_the_equally_wide_feature_that_narrows_most():
    codes = np.array([[0, 0], [1, 1], [2, 1], [3, 0]], dtype=np.int32)
    domains = [
        Domain("x", "integer", np.array([0, 1, 2, 3]), missing=False),
        Domain("y", "integer", np.array([0, 9]), missing=False),
    ]
    assert oracles.narrowing(codes[:, 0], domains[0]) == pytest.approx(2 / 3)
    assert oracles.narrowing(codes[:, 1], domains[1]) == 1.0
    assert oracles.narrowing(np.array([0, 1, 1, 1]), domains[1]) == 0.0
    assert [rows for rows, _ in oracles.strict_mondrian(codes, domains, at_least(2))] == [[0, 3], [1, 2]]


def test_strict_mondrian_cuts_below_the_median_when_the_median_takes_all():
    codes, domain = oracles.encode([1, 1, 2, 2, 2, 2, 2, 2], "integer")
    leaves = oracles.strict_mondrian(codes[:, None], [domain], at_least(2))
    assert [rows for rows, _ in leaves] == [[0, 1], [2, 3, 4, 5, 6, 7]]


def test_strict_mondrian_separates_missing_rows_first():
    codes, domain = oracles.encode([None, None, 1, 2], "integer")
    assert oracles.width(codes, domain) == 1
    assert [rows for rows, _ in oracles.strict_mondrian(codes[:, None], [domain], at_least(2))] == [
        [0, 1],
        [2, 3],
    ]


def test_relaxed_mondrian_parts_equal_values():
    codes, domain = oracles.encode([1, 1, 1, 1, 2], "integer")
    leaves = oracles.relaxed_mondrian(codes[:, None], [domain], at_least(2))
    assert leaves == [([0, 1], ((0, 0),)), ([2, 3, 4], ((0, 1),))]


@given(oracles.tables(max_rows=16))
@settings(deadline=None, max_examples=50)
def test_strict_mondrian_gives_a_valid_partition(table):
    labels = np.empty(len(table.codes), dtype=np.int32)
    for label, (rows, _) in enumerate(oracles.strict_mondrian(table.codes, table.domains, at_least(1))):
        labels[rows] = label
    assert oracles.is_valid_partition(table.codes, labels, at_least(1))


def test_a_partition_is_refused_for_each_of_its_faults():
    codes = np.array([[0], [0], [1], [1], [2], [2]], dtype=np.int32)
    assert oracles.is_valid_partition(codes, np.array([0, 0, 1, 1, 2, 2]), at_least(2))
    assert not oracles.is_valid_partition(codes, np.array([0, 0, 0, 0, 1, 1]), at_least(2))
    assert not oracles.is_valid_partition(codes, np.array([0, 1, 1, 1, 2, 2]), at_least(2))
    assert not oracles.is_valid_partition(codes, np.array([0, 2, 1, 1, 0, 2]), at_least(2))
    assert not oracles.is_valid_partition(codes, np.array([0, 0, 2, 2, 3, 3]), at_least(2))


def test_loss_of_a_range_is_its_share_of_the_column():
    _, domain = oracles.encode([0, 5, 8, 20], "integer")
    assert oracles.cell_loss(oracles.Region(frozenset({5, 8}), missing=False), domain) == Fraction(3, 20)
    assert oracles.cell_loss(oracles.Region(frozenset({5}), missing=False), domain) == 0


def test_loss_of_a_number_or_missing_is_total_and_of_missing_alone_is_none():
    _, domain = oracles.encode([None, 0, 20], "integer")
    assert oracles.cell_loss(oracles.Region(frozenset({0}), missing=True), domain) == 1
    assert oracles.cell_loss(oracles.Region(frozenset(), missing=True), domain) == 0


def test_loss_of_a_set_counts_missing_as_a_category():
    _, domain = oracles.encode([None, "a", "b", "c", "d"], "categorical")
    assert oracles.cell_loss(oracles.Region(frozenset("ab"), missing=True), domain) == Fraction(2, 4)
    assert oracles.cell_loss(oracles.Region(frozenset(), missing=True), domain) == 0


def test_a_column_with_one_value_loses_nothing():
    for values, kind in [([3, 3], "integer"), (["a", "a"], "categorical")]:
        codes, domain = oracles.encode(values, kind)
        assert oracles.information_loss([[oracles.tight_region(codes, domain)]] * 2, [domain]) == 0


def test_cuts_cover_more_than_members():
    codes, domain = oracles.encode([None, 1, 2, 5], "integer")
    assert oracles.tight_region(codes[1:3], domain) == ({1, 2}, False)
    assert oracles.cuts_region(0, 2, domain) == ({1, 2}, True)


def test_rows_with_the_same_feature_cells_are_one_published_class():
    text = 'age,"x,y",class\n"[1, 2]",,a\n"[1, 2]",,b\n"[1, 2]",,a\n5,q,\n'
    assert oracles.published_classes(text) == {("[1, 2]", ""): {"a": 2, "b": 1}, ("5", "q"): {"": 1}}
