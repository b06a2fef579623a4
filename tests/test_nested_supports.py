"""Nested supports: safe by brute force, and as few changed records as the supports in use allow."""

from itertools import combinations, product

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.enforcement.nested_supports import nested_supports
from tasks.joins.class_join import smallest_records

quick = settings(deadline=None, max_examples=35)
GUARANTEES = ["join", "records"]


def supports_of(counts):
    return {frozenset(np.flatnonzero(row).tolist()) for row in counts}


def cross(one, other):
    return bool(one & other) and not (one <= other or other <= one)


def compositions(size, values):
    """Yield all vectors of counts over the values."""
    if values == 1:
        yield (size,)
        return
    for first in range(size + 1):
        yield from ((first, *rest) for rest in compositions(size - first, values - 1))


def fewest_changes(row, support, cores, k):
    """Return the cheapest change of one class to a support with k records in each core, by trying all."""
    vectors = np.array(list(compositions(int(row.sum()), len(row))))
    fits = [frozenset(np.flatnonzero(vector).tolist()) == support for vector in vectors]
    for core in cores:
        fits &= vectors[:, sorted(core)].sum(axis=1) >= k
    return min((oracles.changed_records(row, vector) for vector in vectors[fits]), default=np.inf)


@given(oracles.families(max_records=14))
@quick
def test_no_choice_violates_the_join_condition(family):
    assert not oracles.violating_choices(nested_supports(family.counts, family.k, "join"), family.k)


@given(oracles.families(max_records=14))
@quick
def test_every_choice_meets_the_record_condition(family):
    after = nested_supports(family.counts, family.k, "records")
    assert oracles.meets_record_condition(after, family.k)
    assert not oracles.violating_choices(after, family.k)


@given(oracles.families(max_values=9, max_records=40), st.sampled_from(GUARANTEES))
@quick
def test_classes_keep_their_records_and_the_input_is_left_alone(family, guarantee):
    before = [counts.copy() for counts in family.counts]
    after = nested_supports(family.counts, family.k, guarantee)
    for counts, copy, new in zip(family.counts, before, after, strict=True):
        assert_array_equal(counts, copy)
        assert new.dtype == np.int64
        assert new.min() >= 0
        assert_array_equal(new.sum(axis=1), counts.sum(axis=1))


@given(oracles.families(max_values=9, max_records=40), st.sampled_from(GUARANTEES))
@quick
def test_supports_of_different_fragments_are_nested_or_disjoint(family, guarantee):
    after = [supports_of(counts) for counts in nested_supports(family.counts, family.k, guarantee)]
    for one, other in combinations(after, 2):
        assert not any(cross(a, b) for a, b in product(one, other))


@given(oracles.families(max_fragments=3, max_values=4, max_records=12))
@quick
def test_no_class_would_change_less_for_another_support_in_use(family):
    for before, after in zip(family.counts, nested_supports(family.counts, family.k, "join"), strict=True):
        for row, new in zip(before, after, strict=True):
            fewest = min(fewest_changes(row, support, (), family.k) for support in supports_of(after))
            assert oracles.changed_records(row, new) == fewest


@given(oracles.families(max_fragments=3, max_values=4, max_records=12))
@quick
def test_each_support_is_taken_at_its_lowest_price_with_k_records_in_smaller_ones(family):
    fragments = nested_supports(family.counts, family.k, "records")
    in_use = set().union(*map(supports_of, fragments))
    for before, after in zip(family.counts, fragments, strict=True):
        for row, new in zip(before, after, strict=True):
            support = frozenset(np.flatnonzero(new).tolist())
            cores = [smaller for smaller in in_use if smaller < support]
            assert oracles.changed_records(row, new) == fewest_changes(row, support, cores, family.k)


def cheapest_families(counts, k):
    """Return the fewest changes over all families that are nested or disjoint between fragments."""
    values = range(counts[0].shape[1])
    sets = [frozenset(s) for size in range(2, len(values)) for s in combinations(values, size)]
    always = [*(frozenset({v}) for v in values), frozenset(values)]
    choices = [c for size in range(len(sets) + 1) for c in combinations(sets, size)]
    prices = [
        {s: np.array([fewest_changes(row, s, (), k) for row in fragment]) for s in [*sets, *always]}
        for fragment in counts
    ]
    totals = [
        {c: np.min([of_set[s] for s in [*always, *c]], axis=0).sum() for c in choices} for of_set in prices
    ]
    return min(
        sum(of_choice[c] for of_choice, c in zip(totals, families, strict=True))
        for families in product(choices, repeat=len(counts))
        if not any(cross(a, b) for one, other in combinations(families, 2) for a, b in product(one, other))
    )


@pytest.mark.parametrize("seed", range(25))
def test_three_class_values_get_the_cheapest_families(seed):
    counts, k = oracles.random_family(seed, max_fragments=3, max_values=3, max_k=6, max_records=16)
    after = nested_supports(counts, k, "join")
    changed = sum(map(oracles.changed_records, counts, after))
    assert changed == (cheapest_families(counts, k) if counts[0].shape[1] > 1 else 0)


def cheapest_record_family(counts, k):
    """Return the fewest changes over all families of supports that are nested or disjoint."""
    values = range(counts[0].shape[1])
    sets = [frozenset(s) for size in range(1, len(values) + 1) for s in combinations(values, size)]
    rows = np.concatenate(counts)
    best = np.inf
    for size in range(1, len(sets) + 1):
        for family in combinations(sets, size):
            if not any(cross(a, b) for a, b in combinations(family, 2)):
                prices = [
                    [fewest_changes(row, s, [c for c in family if c < s], k) for row in rows] for s in family
                ]
                best = min(best, np.min(prices, axis=0).sum())
    return best


@pytest.mark.parametrize("seed", range(12))
def test_three_class_values_get_the_cheapest_family_for_records(seed):
    counts, k = oracles.random_family(seed, max_fragments=3, max_values=3, max_k=6, max_records=14)
    changed = sum(map(oracles.changed_records, counts, nested_supports(counts, k, "records")))
    assert changed == cheapest_record_family(counts, k)


def test_pure_classes_get_one_record_of_the_other_of_two_values():
    counts = [np.array([[20, 1], [9, 12], [0, 30]]), np.array([[29, 0], [0, 43]])]
    after = nested_supports(counts, 20, "records")
    assert sum(map(oracles.changed_records, counts, after)) == 3
    assert after[0].tolist() == [[20, 1], [9, 12], [1, 29]]


def test_two_class_values_change_nothing_for_joins():
    counts = [np.array([[1, 4], [5, 0]]), np.array([[5, 0], [2, 3]])]
    for before, after in zip(counts, nested_supports(counts, 5, "join"), strict=True):
        assert_array_equal(before, after)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_one_fragment_is_left_as_it_is(guarantee):
    (after,) = nested_supports([np.array([[1, 4, 0], [2, 0, 3]])], 5, guarantee)
    assert after.tolist() == [[1, 4, 0], [2, 0, 3]]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_groups_of_class_values_that_never_meet_are_kept_apart(guarantee):
    counts = [np.array([[3, 3, 0, 0], [0, 0, 4, 2]]), np.array([[2, 4, 0, 0], [0, 0, 5, 1]])]
    for before, after in zip(counts, nested_supports(counts, 6, guarantee), strict=True):
        assert_array_equal(before, after)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_class_with_fewer_records_than_class_values_among_large_ones_is_handled(guarantee):
    generator = np.random.default_rng(3)
    large = [generator.integers(0, 9, size=(30, 6)) + 4 for _ in range(2)]
    counts = [np.vstack([fragment, [[2, 0, 1, 0, 0, 0]]]) for fragment in large]
    after = nested_supports(counts, 3, guarantee)
    assert not oracles.violating_choices(after, 3)
    if guarantee == "records":
        assert oracles.meets_record_condition(after, 3)


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("values", [14, 200])
def test_many_class_values_use_supports_that_occur(values, guarantee):
    generator = np.random.default_rng(values)
    shares = generator.dirichlet(np.full(values, 0.05), size=(3, 60))
    counts = list(generator.multinomial(12, shares))
    after = nested_supports(counts, 10, guarantee)
    for one, other in combinations(map(supports_of, after), 2):
        assert not any(cross(a, b) for a, b in product(one, other))
    if guarantee == "records":
        assert smallest_records(after) >= 10


def test_a_run_is_deterministic():
    family = oracles.random_family(11, max_fragments=4, max_values=8, max_k=6, max_records=60)
    for guarantee in GUARANTEES:
        first, second = (nested_supports(family.counts, family.k, guarantee) for _ in range(2))
        for one, other in zip(first, second, strict=True):
            assert_array_equal(one, other)
