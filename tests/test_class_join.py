"""The class join: against fragments that are really joined, and what the lemma promises."""

from itertools import product

import numpy as np
import oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.errors import InfeasibleError
from tasks.joins.class_join import (
    Distinct,
    join_sizes,
    number_of_choices,
    smallest_records,
)
from tasks.joins.count_tree import CountTree
from tasks.joins.low_pairs import low_pairs
from tasks.joins.violating_joins import smallest_join, violating_choices, witnesses

quick = settings(deadline=None, max_examples=60)
SOUND_PAIRS = oracles.Family(
    [np.array([[1, 2, 2, 0]]), np.array([[1, 2, 0, 2]]), np.array([[1, 0, 2, 2]])], 5
)


def found_violations(counts, k, **limit):
    found = violating_choices(counts, k, **limit)
    return {tuple(tuple(member) for member in choice) for choice in found.choices}


@given(oracles.families(max_fragments=2))
@quick
def test_join_sizes_match_a_real_join(family):
    f, g = family.counts
    sizes = join_sizes(f, g)
    assert sizes.dtype == np.int64
    real = oracles.join_sizes(family.counts)
    for i, j in product(range(len(f)), range(len(g))):
        assert sizes[i, j] == real.get(((0, i), (1, j)), 0)


def test_join_sizes_are_exact_where_floating_point_is_not():
    f, g = np.array([[2**31 - 1, 1]]), np.array([[2**31, 2**30 + 1]])
    assert join_sizes(f, g).tolist() == [[(2**31 - 1) * 2**31 + 2**30 + 1]]


@given(oracles.families(max_records=14))
@example(SOUND_PAIRS)
@quick
def test_violating_choices_are_all_those_of_real_joins(family):
    found = violating_choices(family.counts, family.k)
    assert not found.more
    assert len(found.choices) == len(set(found.choices))
    assert found_violations(family.counts, family.k) == oracles.violating_choices(family.counts, family.k)


@given(oracles.families(max_records=14), st.integers(1, 30))
@quick
def test_violating_choices_do_not_need_classes_of_k(family, k):
    assert found_violations(family.counts, k) == oracles.violating_choices(family.counts, k)


@pytest.mark.parametrize("seed", range(8))
def test_violating_choices_of_five_fragments_are_all_those_of_real_joins(seed):
    counts, _ = oracles.random_family(seed, max_fragments=5, max_values=6, max_k=3, max_records=16)
    for k in (2, 7, 20):
        assert found_violations(counts, k, limit=10**6) == oracles.violating_choices(counts, k)


@given(oracles.families(max_records=14), st.integers(1, 30))
@example(SOUND_PAIRS, 5)
@quick
def test_witnesses_are_violating_and_missing_only_where_nothing_violates(family, k):
    fragments = [Distinct.of(counts) for counts in family.counts]
    found = list(witnesses(fragments, k))
    assert bool(found) == bool(violating_choices(family.counts, k).choices)
    for joined, numbers, size in found:
        members = [fragments[i].vectors[number] for i, number in zip(joined, numbers, strict=True)]
        assert 0 < np.prod(members, axis=0).sum() == size < k


@given(oracles.families(max_records=14), st.integers(1, 30))
@example(SOUND_PAIRS, 5)
@quick
def test_the_search_is_the_same_among_many_class_values(family, k):
    places = np.random.default_rng(k).permutation(150)[: family.counts[0].shape[1]]
    wide = [np.zeros((len(counts), 150), dtype=np.int64) for counts in family.counts]
    for counts, spread in zip(family.counts, wide, strict=True):
        spread[:, places] = counts
    assert violating_choices(wide, k) == violating_choices(family.counts, k)
    assert smallest_join(wide) == smallest_join(family.counts)


def test_thousands_of_class_values_that_meet_in_too_many_ways_are_refused():
    generator = np.random.default_rng(1)
    counts = [(generator.random((1000, 2000)) < 0.02).astype(np.int64) * 9 for _ in range(3)]
    with pytest.raises(InfeasibleError, match="too many distinct joins"):
        next(witnesses([Distinct.of(fragment) for fragment in counts], 9))


def test_thousands_of_classes_with_nested_supports_are_proved_sound():
    generator = np.random.default_rng(2)
    chain = np.tril(np.ones((10, 10), dtype=np.int64))
    counts = [chain[generator.integers(10, size=2000)] * generator.integers(1, 9, (2000, 10)) for _ in "1234"]
    for fragment in counts:
        fragment[:, 0] += 10
    assert violating_choices(counts, 10).choices == ()
    counts[3][0] = [1, *[0] * 8, 30]
    assert violating_choices(counts, 10, limit=5).choices == ()
    counts[2][0] = [0, *[1] * 8, 30]
    assert violating_choices(counts, 31).choices


@given(oracles.families(max_records=14))
@example(SOUND_PAIRS)
@quick
def test_smallest_join_and_records_are_those_of_real_joins(family):
    assert smallest_join(family.counts) == oracles.smallest_join(family.counts)
    assert smallest_records(family.counts) == oracles.smallest_records(family.counts)


@given(oracles.families(max_fragments=4))
@quick
def test_choices_are_counted_without_listing_them(family):
    assert number_of_choices(family.counts) == len(list(oracles.choices(family.counts)))


def test_the_number_of_choices_may_exceed_machine_integers():
    assert number_of_choices([np.ones((10**5, 1), dtype=np.int64)] * 4) == (10**5 + 1) ** 4 - 1 - 4 * 10**5


def test_three_fragments_sound_in_pairs_violate_together():
    assert found_violations(*SOUND_PAIRS) == {((0, 0), (1, 0), (2, 0))}
    assert smallest_join(SOUND_PAIRS.counts) == 1


def test_four_fragments_can_violate_where_every_triple_is_sound():
    shared = [[1, 9, 9, 9, 0], [1, 9, 9, 0, 9], [1, 9, 0, 9, 9], [1, 0, 9, 9, 9]]
    counts = [np.array([row]) for row in shared]
    assert found_violations(counts, 40) == {((0, 0), (1, 0), (2, 0), (3, 0))}


@given(oracles.families(max_values=2))
@quick
def test_two_class_values_never_violate(family):
    assert violating_choices(family.counts, family.k).choices == ()
    smallest = smallest_join(family.counts)
    assert smallest is None or smallest >= family.k


@given(oracles.families())
@quick
def test_a_choice_that_shares_all_values_of_one_of_its_classes_never_violates(family):
    violating = found_violations(family.counts, family.k)
    for choice in oracles.choices(family.counts):
        common = oracles.common_values(family.counts, choice)
        if any(common == set(np.flatnonzero(family.counts[i][ec])) for i, ec in choice):
            assert choice not in violating


@pytest.mark.parametrize("size, violates", [(0, False), (1, True), (5, True), (6, False), (7, False)])
def test_a_join_violates_from_one_row_to_k_less_one(size, violates):
    counts = [np.array([[1, 9, 0]]), np.array([[size, 0, 9]])]
    assert bool(violating_choices(counts, 6).choices) == violates
    assert smallest_join(counts) == (size or None)


def test_join_rows_that_rest_on_one_record_are_seen():
    counts = [np.array([[1, 4]]), np.array([[5, 0]])]
    assert violating_choices(counts, 5).choices == ()
    assert smallest_join(counts) == 5
    assert smallest_records(counts) == 1


def test_records_of_a_triple_can_be_fewer_than_those_of_any_pair():
    counts = [np.array([[1, 3, 3, 0]]), np.array([[1, 3, 0, 3]]), np.array([[1, 0, 3, 3]])]
    assert smallest_records(counts[:2]) == 4
    assert smallest_records(counts) == 1


def test_one_fragment_has_no_joins():
    counts = [np.array([[3, 2], [0, 5]])]
    assert violating_choices(counts, 5).choices == ()
    assert (smallest_join(counts), smallest_records(counts), number_of_choices(counts)) == (None, None, 0)


def test_fragments_without_a_common_value_have_no_joins():
    counts = [np.array([[5, 0]]), np.array([[0, 5]])]
    assert violating_choices(counts, 5).choices == ()
    assert (smallest_join(counts), smallest_records(counts), number_of_choices(counts)) == (None, None, 1)


def test_a_short_list_says_that_there_are_more():
    counts = [np.array([[1, 9, 0]] * 3), np.array([[1, 0, 9]] * 3)]
    found = violating_choices(counts, 5, limit=4)
    assert len(found.choices) == 4
    assert found.more
    assert not violating_choices(counts, 5, limit=9).more
    assert found_violations(counts, 5, limit=4) < oracles.violating_choices(counts, 5)


@given(oracles.families())
@quick
def test_inputs_are_left_as_they_were(family):
    before = [counts.copy() for counts in family.counts]
    violating_choices(family.counts, family.k)
    smallest_join(family.counts)
    smallest_records(family.counts)
    for counts, copy in zip(family.counts, before, strict=True):
        assert_array_equal(counts, copy)


@pytest.fixture
def smallest_groups(monkeypatch):
    """Cut class counts into groups of one or two, and look at few of them at once."""
    monkeypatch.setattr("tasks.joins.count_tree.LEAF", 1)
    monkeypatch.setattr("tasks.joins.low_pairs.GROUPS", 3)
    monkeypatch.setattr("tasks.joins.low_pairs.JOINED", 2)


def some_counts(rng):
    """Return class counts of two fragments; few or many values, with and without zeros."""
    values, least = rng.integers(1, 6), rng.integers(0, 2)
    return [
        rng.integers(least, rng.integers(2, 9), size=(rng.integers(1, 70), values), dtype=np.int64)
        for _ in range(2)
    ]


@pytest.mark.usefixtures("smallest_groups")
@pytest.mark.parametrize("seed", range(60))
def test_low_pairs_are_all_those_that_multiply_to_few_rows(seed):
    rng = np.random.default_rng(seed)
    f, g = some_counts(rng)
    k = int(rng.integers(1, 40))
    sizes = f @ g.T
    found = [
        entry
        for part in low_pairs(f, g, k)
        for entry in zip(part.first.tolist(), part.second.tolist(), part.sizes.tolist(), strict=True)
    ]
    rows, columns = np.nonzero((sizes > 0) & (sizes < k))
    expected = zip(rows.tolist(), columns.tolist(), sizes[rows, columns].tolist(), strict=True)
    assert sorted(found) == sorted(expected)


def test_low_pairs_are_exact_beyond_single_precision():
    big = 2**13 + 1
    (found,) = low_pairs(np.array([[big, 1]]), np.array([[big, 1]]), big**2 + 2)
    assert found.sizes.tolist() == [big**2 + 1]


def test_nothing_joins_with_no_class_counts():
    nothing, some = np.empty((0, 2), dtype=np.int64), np.array([[1, 1]])
    assert list(low_pairs(nothing, some, 3)) == list(low_pairs(some, nothing, 3)) == []


@pytest.mark.usefixtures("smallest_groups")
def test_joins_that_no_bound_rules_out_are_refused_if_too_many(monkeypatch):
    rng = np.random.default_rng(0)
    f, g = rng.integers(0, 3, size=(2, 200, 4))
    monkeypatch.setattr("tasks.joins.low_pairs.MAX_JOINS", 300)
    with pytest.raises(InfeasibleError, match="too many distinct joins"):
        list(low_pairs(f, g, 4))
    assert list(low_pairs(f + 2, g + 2, 4)) == []


@pytest.mark.usefixtures("smallest_groups")
@pytest.mark.parametrize("seed", range(10))
def test_groups_of_class_counts_hold_each_once_within_their_bounds(seed):
    vectors = some_counts(np.random.default_rng(seed))[0].astype(np.float32)
    tree = CountTree.of(vectors)
    assert sorted(tree.order.tolist()) == list(range(len(vectors)))
    assert_array_equal(tree.vectors, vectors[tree.order])
    for level in tree.levels:
        for i, (start, stop) in enumerate(zip(level.starts[:-1], level.starts[1:], strict=True)):
            members = tree.vectors[start:stop]
            assert_array_equal(level.least[i], members.min(axis=0))
            assert_array_equal(level.most[i], members.max(axis=0))
            assert_array_equal(level.positive[i], np.where(members > 0, members, np.inf).min(axis=0))
    for above, below in zip(tree.levels, tree.levels[1:], strict=False):
        assert_array_equal(above.starts, below.starts[::2])
    assert np.diff(tree.levels[-1].starts).max() <= 2
