"""Enforcement: what every strategy leaves is checked by brute force over every subset of fragments."""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.config import Privacy
from tasks.enforcement.strategies import enforce

quick = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 5)
deltas = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
few = oracles.families(max_fragments=3, max_values=4, max_k=4, max_records=10)
joins_are_mended = pytest.mark.parametrize("strategy", ["naive", "dependency_graph"])
changes_are_made = pytest.mark.parametrize("strategy", ["naive", "dependency_graph", "delta_selectivity"])

TRIPLE = oracles.Family([np.array([[1, 2, 2, 0]]), np.array([[1, 2, 0, 2]]), np.array([[1, 0, 2, 2]])], 5)
BREAKS_A_MENDED_EDGE = oracles.Family(
    [
        np.array([[2, 3, 0, 0], [3, 0, 0, 2], [0, 0, 5, 0]]),
        np.array([[1, 1, 3, 0], [4, 2, 2, 2]]),
    ],
    5,
)
ONE_SHARED_VALUE = oracles.Family([np.array([[1, 1, 0]]), np.array([[1, 0, 1]])], 2)


def run(strategy, family, seed=0, delta=None):
    delta = 0.5 if strategy == "delta_selectivity" and delta is None else delta
    privacy = Privacy.model_construct(
        k=family.k, enforcement=strategy, delta=delta, guarantee="join", l=None, t=None
    )
    return enforce(privacy, family.counts, seed)


def in_order_of_removal(before):
    """Return a class's values but its majority, the rarest first."""
    counts = before.tolist()
    majority = counts.index(max(counts))
    rest = [value for value, count in enumerate(counts) if count and value != majority]
    return sorted(rest, key=lambda value: (counts[value], value))


@joins_are_mended
@given(family=oracles.families(), seed=seeds)
@example(family=TRIPLE, seed=0)
@example(family=ONE_SHARED_VALUE, seed=0)
@quick
def test_no_choice_of_any_subset_of_fragments_violates_afterwards(family, seed, strategy):
    found = run(strategy, family, seed)
    assert oracles.violating_choices(found.counts, family.k) == set()
    assert found.class_values == "per_record"


@joins_are_mended
@given(family=oracles.families(max_values=8, max_k=10, max_records=40, max_fragments=3), seed=seeds)
@settings(deadline=None, max_examples=40)
def test_no_choice_of_larger_families_violates_afterwards(family, seed, strategy):
    found = run(strategy, family, seed)
    for choice in oracles.choices(found.counts):
        factors = np.array([found.counts[fragment][ec] for fragment, ec in choice])
        size = int(factors.prod(axis=0).sum())
        assert size == 0 or size >= family.k


@joins_are_mended
@given(family=oracles.families(), seed=seeds)
@quick
def test_every_class_keeps_its_size_and_every_change_is_reported(family, seed, strategy):
    found = run(strategy, family, seed)
    for before, after, sizes in zip(family.counts, found.counts, found.sizes, strict=True):
        assert after.min() >= 0
        assert_array_equal(after.sum(axis=1), before.sum(axis=1))
        assert_array_equal(sizes, before.sum(axis=1))
    changed = map(oracles.changed_records, family.counts, found.counts)
    assert found.changed == tuple(changed)


@changes_are_made
@given(family=few, seed=seeds)
@quick
def test_the_same_seed_gives_the_same_result(family, seed, strategy):
    found, again = run(strategy, family, seed), run(strategy, family, seed)
    assert found.changed == again.changed
    for one, other in zip(found.counts, again.counts, strict=True):
        assert_array_equal(one, other)


@changes_are_made
@given(family=few)
@quick
def test_inputs_are_left_as_they_were(family, strategy):
    before = [counts.copy() for counts in family.counts]
    run(strategy, family)
    for counts, copy in zip(family.counts, before, strict=True):
        assert_array_equal(counts, copy)


@given(oracles.families())
@quick
def test_naive_gives_every_class_its_majority(family):
    found = run("naive", family)
    for before, after in zip(family.counts, found.counts, strict=True):
        assert_array_equal(after, oracles.majority_only(before))


@given(oracles.families(), seeds)
@quick
def test_dependency_graph_leaves_sound_classes_untouched(family, seed):
    if not oracles.violating_choices(family.counts, family.k):
        found = run("dependency_graph", family, seed)
        assert found.changed == (0,) * len(family.counts)
        for before, after in zip(family.counts, found.counts, strict=True):
            assert_array_equal(after, before)


@given(oracles.families(max_values=2), seeds)
@quick
def test_dependency_graph_never_changes_one_of_two_class_values(family, seed):
    assert sum(run("dependency_graph", family, seed).changed) == 0


@given(oracles.families(), seeds)
@quick
def test_dependency_graph_moves_the_rarest_values_first_and_to_the_majority(family, seed):
    found = run("dependency_graph", family, seed)
    for of_fragment, after_fragment in zip(family.counts, found.counts, strict=True):
        for before, after in zip(of_fragment, after_fragment, strict=True):
            order = in_order_of_removal(before)
            lost = (before - after)[order].tolist()
            assert min(lost, default=0) >= 0
            intact = [value for value, gone in zip(order, lost, strict=True) if gone == 0]
            spent = [value for value in order if after[value] == 0]
            assert len(order) - len(intact) - len(spent) in (0, 1)
            assert order[: len(spent)] == spent
            assert order[len(order) - len(intact) :] == intact


@given(oracles.families(), seeds)
@quick
def test_dependency_graph_changes_no_more_than_naive(family, seed):
    naive, found = run("naive", family), run("dependency_graph", family, seed)
    assert all(few <= many for few, many in zip(found.changed, naive.changed, strict=True))


@pytest.mark.parametrize("seed", range(10))
def test_an_edge_broken_by_mending_another_is_mended_again(seed):
    assert oracles.violating_choices(*BREAKS_A_MENDED_EDGE) == {((0, 1), (1, 0))}
    found = run("dependency_graph", BREAKS_A_MENDED_EDGE, seed)
    assert oracles.violating_choices(found.counts, 5) == set()
    assert sum(found.changed) > 0


@joins_are_mended
def test_a_violating_triple_of_sound_pairs_is_mended(strategy):
    found = run(strategy, TRIPLE)
    assert oracles.violating_choices(found.counts, 5) == set()
    assert sum(found.changed) > 0


def test_a_part_of_the_graph_without_violations_is_untouched():
    one = np.array([[1, 9, 0, 0, 0], [0, 0, 0, 3, 4]])
    other = np.array([[1, 0, 9, 0, 0], [0, 0, 0, 3, 4]])
    found = run("dependency_graph", oracles.Family([one, other], 5))
    assert_array_equal(found.counts[0][1], one[1])
    assert_array_equal(found.counts[1][1], other[1])
    assert found.changed in ((1, 0), (0, 1))


@pytest.mark.parametrize("size, changes", [(0, False), (1, True), (5, True), (6, False)])
def test_joins_are_mended_from_one_row_to_k_less_one(size, changes):
    family = oracles.Family([np.array([[1, 9, 0]]), np.array([[size, 0, 9]])], 6)
    assert bool(sum(run("dependency_graph", family).changed)) == changes


def test_changed_values_of_a_small_family_are_counted():
    assert run("naive", ONE_SHARED_VALUE).changed == (1, 1)
    naive = run("naive", oracles.Family([np.array([[2, 3, 1], [0, 0, 6]]), np.array([[2, 3, 7]])], 5))
    assert naive.changed == (3, 5)


@given(oracles.families())
@quick
def test_none_changes_nothing(family):
    found = run("none", family)
    assert found.changed == (0,) * len(family.counts)
    assert found.class_values == "per_record"
    for before, after in zip(family.counts, found.counts, strict=True):
        assert_array_equal(after, before)


@changes_are_made
def test_one_fragment_is_left_as_it_is(strategy):
    found = run(strategy, oracles.Family([np.array([[1, 4], [5, 0]])], 5))
    assert found.changed == (0,)
    assert_array_equal(found.counts[0], [[1, 4], [5, 0]])


@given(few, deltas, seeds)
@example(ONE_SHARED_VALUE, 1.0, 0)
@quick
def test_every_choice_has_eta_of_delta_or_more_afterwards(family, delta, seed):
    found = run("delta_selectivity", family, seed, delta)
    etas = oracles.etas(found.sizes, found.counts, family.k)
    assert all(eta >= Fraction(delta) for eta in etas.values())
    assert found.class_values == "per_class"


@given(few, deltas, seeds)
@quick
def test_the_rarest_values_are_removed_and_never_the_last(family, delta, seed):
    found = run("delta_selectivity", family, seed, delta)
    for of_fragment, after_fragment, sizes in zip(family.counts, found.counts, found.sizes, strict=True):
        assert_array_equal(sizes, of_fragment.sum(axis=1))
        for before, after in zip(of_fragment, after_fragment, strict=True):
            gone = [value for value in np.flatnonzero(before) if not after[value]]
            assert sorted(gone) == sorted(rarest_first(before)[: len(gone)])
            assert after.any()
            assert_array_equal(after[after > 0], before[after > 0])


def rarest_first(before):
    return sorted(np.flatnonzero(before).tolist(), key=lambda value: (before[value], value))


@given(few, deltas)
@quick
def test_removed_values_are_counted_in_records(family, delta):
    found = run("delta_selectivity", family, 0, delta)
    lost = [int((before - after).sum()) for before, after in zip(family.counts, found.counts, strict=True)]
    assert found.changed == tuple(lost)


@given(few, deltas, seeds)
@quick
def test_delta_selectivity_leaves_sound_classes_untouched(family, delta, seed):
    sizes = [counts.sum(axis=1) for counts in family.counts]
    if all(eta >= Fraction(delta) for eta in oracles.etas(sizes, family.counts, family.k).values()):
        assert sum(run("delta_selectivity", family, seed, delta).changed) == 0


def test_delta_of_zero_removes_nothing():
    assert run("delta_selectivity", ONE_SHARED_VALUE, delta=0.0).changed == (0, 0)


@pytest.mark.parametrize("delta, changes", [(0.4, False), (0.41015625, True)])
def test_eta_of_exactly_delta_is_enough(delta, changes):
    family = oracles.Family([np.array([[1, 2, 1, 2, 0, 0]]), np.array([[1, 2, 0, 0, 1, 2]])], 5)
    assert bool(sum(run("delta_selectivity", family, delta=delta).changed)) == changes


def test_eta_of_one_half_meets_a_delta_of_one_half():
    family = oracles.Family([np.array([[1, 1, 0, 0]]), np.array([[2, 0, 1, 0]]), np.array([[1, 0, 0, 1]])], 2)
    assert oracles.eta((2, 3), (2, 2), 1, 2) == Fraction(1, 2)
    pair = oracles.Family(family.counts[:2], 2)
    assert run("delta_selectivity", pair, delta=0.5).changed == (0, 0)
    assert sum(run("delta_selectivity", pair, delta=0.5000001).changed) > 0
