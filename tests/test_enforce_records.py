"""The record condition after every strategy, executed by brute force over every subset of fragments."""

from fractions import Fraction
from functools import cache

import numpy as np
import oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.config import Privacy
from tasks.enforcement import strategies
from tasks.enforcement.dependency_graph import take_majority
from tasks.enforcement.eta import eta, records_share
from tasks.enforcement.strategies import enforce

quick = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 5)
deltas = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
few = oracles.families(max_fragments=4, max_values=4, max_k=4, max_records=10)
two_values = oracles.families(max_values=2, max_records=24)
values_are_changed = pytest.mark.parametrize("strategy", ["naive", "dependency_graph"])
changes_are_made = pytest.mark.parametrize("strategy", ["naive", "dependency_graph", "delta_selectivity"])

TWO_VALUES = oracles.Family([np.array([[1, 4]]), np.array([[5, 0]])], 5)
BOTH_ARE_SHORT = oracles.Family([np.array([[1, 9, 0]]), np.array([[2, 0, 9]])], 5)
TRIPLE = oracles.Family([np.array([[1, 4, 4, 0]]), np.array([[1, 4, 0, 4]]), np.array([[1, 0, 4, 4]])], 5)
HIDDEN = oracles.Family([np.array([[1, 1, 0]]), np.array([[2, 0, 2]])], 2)


def run(strategy, family, seed=0, delta=None, guarantee="records"):
    delta = 0.5 if strategy == "delta_selectivity" and delta is None else delta
    privacy = Privacy.model_construct(
        k=family.k, enforcement=strategy, delta=delta, guarantee=guarantee, l=None, t=None
    )
    return enforce(privacy, family.counts, seed)


def short_of_records(counts, k):
    """Return (choice, EC) where a choice has common class values, but fewer than k of an EC's records do."""
    found = set()
    for choice in oracles.choices(counts):
        common = sorted(oracles.common_values(counts, choice))
        if common:
            found |= {(choice, ec) for ec in choice if counts[ec[0]][ec[1]][common].sum() < k}
    return found


def joins_below(counts, k):
    """Return the choices that join to some rows, but fewer than k."""
    rows = {c: int(np.prod([counts[i][ec] for i, ec in c], axis=0).sum()) for c in oracles.choices(counts)}
    return {choice for choice, size in rows.items() if 0 < size < k}


@cache
def share_of_versions(n, c, w, k):
    """Return the share of the versions of an EC with k or more records in the first w class values."""
    kept = [sum(version[:w]) >= k for version in oracles.versions(n, c)]
    return Fraction(sum(kept), len(kept))


def shares(sizes, published, k):
    """Return every EC's share in every choice that has common class values."""
    return [
        share_of_versions(int(sizes[i][ec]), np.count_nonzero(published[i][ec]), common, k)
        for choice in oracles.choices(published)
        if (common := len(oracles.common_values(published, choice)))
        for i, ec in choice
    ]


@values_are_changed
@given(family=st.one_of(oracles.families(), two_values), seed=seeds)
@example(family=TWO_VALUES, seed=0)
@example(family=BOTH_ARE_SHORT, seed=0)
@example(family=TRIPLE, seed=0)
@quick
def test_every_join_rests_on_k_records_of_each_class_afterwards(family, seed, strategy):
    found = run(strategy, family, seed)
    assert short_of_records(found.counts, family.k) == set()
    assert joins_below(found.counts, family.k) == set()
    assert found.class_values == "per_record"


@given(oracles.families(max_values=8, max_k=10, max_records=60, max_fragments=3), seeds)
@settings(deadline=None, max_examples=40)
def test_every_join_of_larger_families_rests_on_k_records_afterwards(family, seed):
    assert short_of_records(run("dependency_graph", family, seed).counts, family.k) == set()


@pytest.mark.parametrize("family", [TWO_VALUES, BOTH_ARE_SHORT, TRIPLE])
def test_families_short_of_records_are_seen_to_be(family):
    assert short_of_records(family.counts, family.k)
    assert sum(run("dependency_graph", family).changed) > 0


def test_the_definition_is_that_of_the_joined_rows():
    for seed in range(20):
        counts, k = oracles.random_family(seed, max_fragments=3, max_values=4, max_k=4, max_records=12)
        assert bool(short_of_records(counts, k)) != oracles.meets_record_condition(counts, k)


@values_are_changed
@given(family=oracles.families(), seed=seeds)
@quick
def test_every_class_keeps_its_size_and_every_change_is_reported(family, seed, strategy):
    found = run(strategy, family, seed)
    for before, after in zip(family.counts, found.counts, strict=True):
        assert after.min() >= 0
        assert_array_equal(after.sum(axis=1), before.sum(axis=1))
    assert found.changed == tuple(map(oracles.changed_records, family.counts, found.counts))


@changes_are_made
@given(family=few, seed=seeds)
@quick
def test_the_same_seed_gives_the_same_result_and_inputs_stay(family, seed, strategy):
    before = [counts.copy() for counts in family.counts]
    found, again = run(strategy, family, seed), run(strategy, family, seed)
    for one, other in zip(found.counts, again.counts, strict=True):
        assert_array_equal(one, other)
    for counts, copy in zip(family.counts, before, strict=True):
        assert_array_equal(counts, copy)


@given(st.one_of(oracles.families(), two_values), seeds)
@quick
def test_dependency_graph_leaves_sound_classes_untouched(family, seed):
    if not short_of_records(family.counts, family.k):
        assert sum(run("dependency_graph", family, seed).changed) == 0


@given(oracles.families(), seeds)
@quick
def test_dependency_graph_changes_no_more_than_naive(family, seed):
    naive, found = run("naive", family), run("dependency_graph", family, seed)
    assert all(few <= many for few, many in zip(found.changed, naive.changed, strict=True))


@st.composite
def beside_large_classes(draw):
    """Draw a class of 6 records or more, and others whose every class value has 6 or more."""
    counts = st.lists(st.integers(0, 7), min_size=5, max_size=5).filter(lambda row: sum(row) >= 6)
    support = st.lists(st.booleans(), min_size=5, max_size=5).filter(any)
    supports = draw(st.lists(support, min_size=1, max_size=5))
    return np.array([draw(counts)]), 6 * np.array(supports, dtype=np.int64)


@given(beside_large_classes(), seeds)
@quick
def test_dependency_graph_moves_one_record_at_a_time_until_the_class_is_sound(pair, seed):
    one, others = pair
    expected = one.copy()
    while short_of_records([expected, others], 6):
        take_majority(expected[0])
    found = run("dependency_graph", oracles.Family([one, others], 6), seed)
    assert_array_equal(found.counts[0], expected)
    assert_array_equal(found.counts[1], others)


@pytest.mark.parametrize("records, changed", [(0, 0), (1, 1), (5, 5), (6, 0)])
def test_common_values_keep_no_record_or_k(records, changed):
    family = oracles.Family([np.array([[records, 9]]), np.array([[6, 0]])], 6)
    assert run("dependency_graph", family).changed == (changed, 0)


@pytest.mark.parametrize("records, changed", [(5, 1), (6, 0)])
def test_a_majority_among_the_common_values_grows_to_k(records, changed):
    family = oracles.Family([np.array([[records, 2, 0, 3]]), np.array([[9, 0, 9, 0]])], 6)
    found = run("dependency_graph", family)
    assert found.changed == (changed, 0)
    assert_array_equal(found.counts[0], [[records + changed, 2 - changed, 0, 3]])


@pytest.mark.parametrize("seed", range(6))
def test_a_class_is_mended_whichever_end_of_the_edge_the_walk_starts_at(seed):
    for family in (TWO_VALUES, oracles.Family(TWO_VALUES.counts[::-1], 5)):
        found = run("dependency_graph", family, seed)
        assert sorted(found.changed) == [0, 1]
        assert short_of_records(found.counts, 5) == set()


@pytest.mark.parametrize("strategy", ["none", "coarsen"])
def test_strategies_that_change_no_class_value_leave_them(strategy):
    found = run(strategy, TWO_VALUES)
    assert found.changed == (0, 0)
    for before, after in zip(TWO_VALUES.counts, found.counts, strict=True):
        assert_array_equal(after, before)


@pytest.mark.parametrize("guarantee", ["join", "records"])
def test_min_distortion_is_asked_for_the_guarantee(monkeypatch, guarantee):
    asked = []

    def stand_in(counts, k, wanted):
        asked.append((k, wanted))
        return tuple(oracles.majority_only(fragment) for fragment in counts)

    monkeypatch.setattr(strategies, "min_distortion", stand_in)
    found = run("min_distortion", TWO_VALUES, guarantee=guarantee)
    assert asked == [(5, guarantee)]
    assert_array_equal(found.counts[0], [[0, 5]])
    assert (found.changed, found.class_values) == ((1, 0), "per_record")


@changes_are_made
@pytest.mark.parametrize("guarantee", ["join", "records"])
def test_one_fragment_is_left_as_it_is(strategy, guarantee):
    found = run(strategy, oracles.Family([np.array([[1, 4], [5, 0]])], 5), guarantee=guarantee)
    assert found.changed == (0,)


@pytest.mark.parametrize("strategy", ["dependency_graph", "delta_selectivity"])
def test_the_weaker_guarantee_still_changes_no_more_than_it_needs(strategy):
    sound = oracles.Family([np.array([[1, 9]]), np.array([[5, 0]])], 5)
    assert sum(run(strategy, sound, delta=None, guarantee="join").changed) == 0


@given(few, deltas, seeds)
@example(HIDDEN, 1.0, 0)
@example(TRIPLE, 0.5, 0)
@quick
def test_every_class_keeps_k_records_in_a_share_delta_of_versions_afterwards(family, delta, seed):
    found = run("delta_selectivity", family, seed, delta)
    assert min(shares(found.sizes, found.counts, family.k), default=1) >= Fraction(delta)
    assert found.class_values == "per_class"


@given(oracles.families(max_fragments=3, max_values=4, max_k=4, max_records=10), deltas, seeds)
@quick
def test_every_choice_has_eta_of_delta_too(family, delta, seed):
    found = run("delta_selectivity", family, seed, delta)
    etas = oracles.etas(found.sizes, found.counts, family.k)
    assert all(eta >= Fraction(delta) for eta in etas.values())


@given(oracles.families(max_values=7, max_k=5, max_records=18, max_fragments=3), deltas, seeds)
@quick
def test_shares_of_larger_families_are_kept_by_removing_the_rarest_values(family, delta, seed):
    found = run("delta_selectivity", family, seed, delta)
    assert min(shares(found.sizes, found.counts, family.k), default=1) >= Fraction(delta)
    for of_fragment, after_fragment in zip(family.counts, found.counts, strict=True):
        for before, after in zip(of_fragment, after_fragment, strict=True):
            gone = np.flatnonzero((before > 0) & (after == 0)).tolist()
            by_count = sorted(np.flatnonzero(before).tolist(), key=lambda value: (before[value], value))
            assert sorted(gone) == sorted(by_count[: len(gone)])
            assert after.any()
            assert_array_equal(after[after > 0], before[after > 0])


@given(few, deltas, seeds)
@quick
def test_delta_selectivity_leaves_sound_classes_untouched(family, delta, seed):
    sizes = [counts.sum(axis=1) for counts in family.counts]
    if min(shares(sizes, family.counts, family.k), default=1) >= Fraction(delta):
        assert sum(run("delta_selectivity", family, seed, delta).changed) == 0


@pytest.mark.parametrize("delta, changes", [(0.5, False), (0.5000001, True)])
def test_a_share_of_exactly_delta_is_enough(delta, changes):
    """Three records of two values are (1, 2) or (2, 1): two records of the common value in one of two."""
    family = oracles.Family([np.array([[2, 1]]), np.array([[2, 0]])], 2)
    assert share_of_versions(3, 2, 1, 2) == Fraction(1, 2)
    assert bool(sum(run("delta_selectivity", family, delta=delta).changed)) == changes


kinds = st.integers(1, 9).flatmap(
    lambda n: st.integers(1, n).flatmap(
        lambda c: st.tuples(st.just(n), st.just(c), st.integers(1, c), st.integers(1, 12))
    )
)


@given(kinds)
@quick
def test_the_share_of_records_is_counted_over_all_versions(kind):
    assert records_share(*kind) == share_of_versions(*kind)


@pytest.mark.parametrize("k, expected", [(1, 1), (2, Fraction(1, 2)), (3, Fraction(1, 6)), (4, 0)])
def test_the_share_of_records_from_one_to_more_than_fit(k, expected):
    assert records_share(5, 3, 1, k) == expected


@pytest.mark.parametrize("k, expected", [(5, 1), (6, 0)])
def test_records_whose_values_are_all_common_are_all_kept(k, expected):
    assert records_share(5, 3, 3, k) == expected


@given(kinds, kinds)
@quick
def test_eta_is_no_smaller_than_the_share_of_either_class(one, other):
    (n1, c1, w, k), (n2, c2, _, _) = one, other
    common = min(w, c2)
    both = records_share(n1, c1, common, k), records_share(n2, c2, common, k)
    assert eta([n1, n2], [c1, c2], common, k) >= max(both)


@given(kinds)
@quick
def test_the_share_of_records_grows_with_the_common_values(kind):
    n, c, w, k = kind
    if w < c:
        assert records_share(n, c, w, k) <= records_share(n, c, w + 1, k)
