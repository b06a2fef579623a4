"""Coarsening: what is left is checked by brute force over every subset of fragments."""

import itertools

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tasks.coarsening import coarsen as coarsening
from tasks.coarsening import groups as grouping
from tasks.coarsening.coarsen import coarsen, merged_counts, merged_regions, released_apart
from tasks.coarsening.coarsen_segments import coarsen_within_segments
from tasks.coarsening.groups import Groups
from tasks.coarsening.held import Promise, held, held_after
from tasks.coarsening.larger_unsafe import larger_unsafe
from tasks.coarsening.mend_groups import mend
from tasks.coarsening.move_ecs import move_ecs
from tasks.coarsening.unsafe_choices import unsafe_choices
from tasks.domain import Domain
from tasks.enforcement.within_segments import Present
from tasks.measures import information_loss
from tasks.partitions.regions import NumericRegions, categorical_regions

K = 4
WORK = 50_000
quick = settings(deadline=None, max_examples=25)
guarantees = pytest.mark.parametrize("guarantee", ["join", "records"])
families = oracles.families(max_fragments=3, max_values=4, max_k=4, max_records=30)
NUMBERS = Domain("x", "integer", np.arange(9), missing=True)
NAMES = Domain("y", "categorical", np.array(list("abcd"), dtype=object), missing=True)


def made_regions(counts, seed=0):
    """Draw what the ECs of each fragment release: ranges, missing or mixed, and sets."""
    rng = np.random.default_rng(seed)
    made = []
    for fragment in counts:
        bounds = np.sort(rng.integers(1, NUMBERS.size, (2, len(fragment))), axis=0).astype(np.int32)
        present, missing = rng.random(len(fragment)) < 0.8, rng.random(len(fragment)) < 0.2
        lower, upper = np.where(present, bounds, 0).astype(np.int32)
        sets = [tuple(np.flatnonzero(row | (row.sum() == 0))) for row in rng.random((len(fragment), 5)) < 0.3]
        sets = [tuple(int(code) for code in codes) for codes in sets]
        made.append(
            (
                NumericRegions(NUMBERS, lower, upper, present, missing | ~present),
                categorical_regions(NAMES, sets),
            )
        )
    return made


def loss(regions, counts):
    losses = [information_loss(r, c.sum(axis=1)) for r, c in zip(regions, counts, strict=True)]
    return float(np.concatenate(losses).mean())


def is_safe(counts, k, guarantee):
    if guarantee == "records":
        return oracles.meets_record_condition(counts, k)
    return not oracles.violating_choices(counts, k)


def groups_of(counts, k, guarantee, seed=0):
    return Groups(counts, made_regions(counts, seed), absent=k if guarantee == "records" else 1)


@guarantees
@given(family=families, seed=st.integers(0, 5))
@quick
def test_every_choice_is_safe_and_every_class_value_is_kept(family, seed, guarantee):
    regions = made_regions(family.counts, seed)
    labels = coarsen(family.counts, regions, family.k, guarantee, WORK)
    after = merged_counts(family.counts, labels)
    assert is_safe(after, family.k, guarantee)
    for before, merged, label in zip(family.counts, after, labels, strict=True):
        assert_array_equal(np.unique(label), np.arange(len(merged)))
        assert_array_equal(merged.sum(axis=0), before.sum(axis=0))
        for ec, group in enumerate(label):
            assert (merged[group] >= before[ec]).all()
    if is_safe(family.counts, family.k, guarantee):
        assert all(len(merged) == len(before) for merged, before in zip(after, family.counts, strict=True))


@guarantees
@given(family=families)
@quick
def test_fragments_too_large_for_every_pair_are_made_safe_too(family, guarantee):
    regions = made_regions(family.counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "FEW", 2)
        patch.setattr(grouping, "NEAREST", 1)
        labels = coarsen(family.counts, regions, family.k, guarantee, WORK)
    assert is_safe(merged_counts(family.counts, labels), family.k, guarantee)


@pytest.mark.parametrize(("rows", "merged"), [(0, False), (K - 1, True), (K, False)])
def test_a_join_is_mended_below_k_rows_alone(rows, merged):
    counts = [np.array([[rows, 0, 9], [0, 20, 0]]), np.array([[1, 9, 0], [0, 0, 20]])]
    labels = coarsen(counts, made_regions(counts), K, "join", WORK)
    assert (sum(len(np.unique(label)) for label in labels) < 4) == merged


@pytest.mark.parametrize(("records", "merged"), [(0, False), (K - 1, True), (K, False)])
def test_the_records_that_a_join_rests_on_are_mended_below_k_alone(records, merged):
    counts = [np.array([[records, 0, 9], [0, 20, 0]]), np.array([[K, 9, 0], [0, 0, 20]])]
    labels = coarsen(counts, made_regions(counts), K, "records", WORK)
    assert (sum(len(np.unique(label)) for label in labels) < 4) == merged


@guarantees
def test_a_triple_is_mended_though_all_its_pairs_are_safe(guarantee):
    common = [50, 50, 50, 50]
    triple = [[1, 4, 4, 0], [1, 4, 0, 4], [1, 0, 4, 4]]
    counts = [np.array([own, common]) for own in triple]
    pairs = [is_safe([counts[i], counts[j]], 5, guarantee) for i, j in itertools.combinations(range(3), 2)]
    assert all(pairs)
    assert not is_safe(counts, 5, guarantee)
    labels = coarsen(counts, made_regions(counts), 5, guarantee, WORK)
    assert is_safe(merged_counts(counts, labels), 5, guarantee)


def test_one_fragment_is_left_alone():
    counts = [np.array([[1, 3], [0, 4]])]
    assert_array_equal(coarsen(counts, made_regions(counts), K, "records")[0], [0, 1])


@guarantees
@given(family=families)
@settings(deadline=None, max_examples=10)
def test_trials_lose_no_more_than_the_first_solution_and_are_repeatable(family, guarantee):
    regions = made_regions(family.counts)
    lost = []
    for work in (0, WORK, WORK):
        labels = coarsen(family.counts, regions, family.k, guarantee, work)
        lost.append(loss(merged_regions(regions, labels), merged_counts(family.counts, labels)))
    assert lost[1] <= lost[0] + 1e-12
    assert lost[1] == lost[2]


@given(family=families, seed=st.integers(0, 5), drawn=st.randoms(use_true_random=False))
@quick
def test_groups_know_what_they_lose_and_what_merging_adds(family, seed, drawn):
    regions = made_regions(family.counts, seed)
    groups = Groups(family.counts, regions, absent=1)
    assert_allclose(groups.loss(), loss(regions, family.counts), atol=1e-12)
    fragment = drawn.randrange(groups.number)
    if len(groups.of(fragment)) > 1:
        group, other = drawn.sample(groups.of(fragment).tolist(), 2)
        _, (added,) = groups.partners(fragment, np.array([group]))
        expected = groups.loss() + added[other - groups.start(fragment)]
        groups.merge(np.array([group]), np.array([other]))
        labels = [groups.labels_of(t) for t in range(groups.number)]
        merged = merged_regions(regions, labels)
        assert_allclose(groups.loss(), expected, atol=1e-12)
        assert_allclose(groups.loss(), loss(merged, merged_counts(family.counts, labels)), atol=1e-12)
        groups.dissolve(np.array([group]))
        assert_allclose(groups.loss(), loss(regions, family.counts), atol=1e-12)
        before = Groups(family.counts, regions, absent=1)
        assert_allclose(groups.added[fragment], before.added[fragment], atol=1e-12)


def safe_groups(family, seed):
    groups, promise = groups_of(family.counts, family.k, "join", seed), Promise(family.k, "join")
    while len(choices := unsafe_choices(groups, promise)):
        mend(groups, choices, promise)
    return groups, promise


@given(family=families, seed=st.integers(0, 5), drawn=st.randoms(use_true_random=False))
@quick
def test_a_moved_ec_leaves_its_group_and_joins_another(family, seed, drawn):
    regions = made_regions(family.counts, seed)
    groups = Groups(family.counts, regions, absent=1)
    for _ in range(6):
        ec = drawn.randrange(len(groups.labels))
        fragment = int(groups.fragments[ec])
        targets = [-1, *(name for name in groups.of(fragment).tolist() if name != groups.labels[ec])]
        target = drawn.choice(targets)
        others = np.delete(groups.labels, ec) == groups.labels[ec]
        concerned = groups.move(ec, target)
        assert groups.labels[ec] == (ec if target < 0 else target)
        assert len(np.unique(np.delete(groups.labels, ec)[others])) <= 1
        assert np.isin(groups.labels[np.delete(np.arange(len(groups.labels)), ec)[others]], concerned).all()
        assert_array_equal(groups.labels[groups.labels], groups.labels)
        labels = [groups.labels_of(t) for t in range(groups.number)]
        counts, merged = merged_counts(family.counts, labels), merged_regions(regions, labels)
        assert_allclose(groups.loss(), loss(merged, counts), atol=1e-12)
        fresh = Groups(counts, merged, absent=1)
        for t in range(groups.number):
            names = groups.labels[groups.ecs(t)][np.unique(labels[t], return_index=True)[1]]
            assert_array_equal(groups.counts[names], counts[t])
            places = names - groups.start(t)
            assert_allclose(groups.added[t][np.ix_(places, places)], fresh.added[t], atol=1e-12)


@given(family=families, seed=st.integers(0, 5))
@quick
def test_what_a_group_loses_without_each_of_its_ecs_is_known(family, seed):
    ecs = groups_of(family.counts, family.k, "join", seed).ec_shapes[0]
    members = np.arange(min(4, len(ecs.records)))
    for left, lost in zip(members.tolist(), ecs.losses_without_each(members).tolist(), strict=True):
        rest, united = np.delete(members, left), ecs.copy()
        for other in rest[1:]:
            united.unite(rest[:1], np.array([other]))
        assert_allclose(lost, united.losses()[rest].sum(), atol=1e-12)


@given(family=families, seed=st.integers(0, 5))
@quick
def test_moves_keep_joins_safe_and_lose_no_more(family, seed):
    groups, promise = safe_groups(family, seed)
    before = groups.labels.copy()
    moved, again = (move_ecs(groups, promise, 100, np.random.default_rng(0)) for _ in range(2))
    assert_array_equal(groups.labels, before)
    assert_array_equal(moved.labels, again.labels)
    assert moved.loss() <= groups.loss() + 1e-12
    labels = [moved.labels_of(t) for t in range(moved.number)]
    assert is_safe(merged_counts(family.counts, labels), family.k, "join")


def test_an_ec_moves_to_where_it_loses_less():
    counts = [np.array([[4, 0], [4, 0], [4, 0], [4, 0]]), np.array([[8, 8]])]
    bounds = np.array([1, 1, 8, 8], dtype=np.int32)
    near = NumericRegions(NUMBERS, bounds, bounds, np.ones(4, dtype=bool), np.zeros(4, dtype=bool))
    groups = Groups(counts, [[near], [near.take(np.array([0]))]], absent=1)
    groups.merge(np.array([0, 1]), np.array([2, 3]))
    assert groups.loss() > 0
    assert move_ecs(groups, Promise(K, "join"), 20, np.random.default_rng(0)).loss() == 0


@guarantees
@given(family=families, drawn=st.randoms(use_true_random=False))
@quick
def test_what_choices_hold_once_members_are_merged_is_foreseen(family, drawn, guarantee):
    groups = groups_of(family.counts, family.k, guarantee)
    choice = [drawn.choice([-1, *groups.of(t).tolist()]) for t in range(groups.number)]
    fragment = drawn.randrange(groups.number)
    choice[fragment] = drawn.choice(groups.of(fragment).tolist())
    choices = np.array([choice])
    partners = np.setdiff1d(groups.of(fragment), choices)
    foreseen = held_after(groups.counts, choices, fragment, partners, guarantee)
    each = held_after(groups.counts, choices, fragment, partners[None, :], guarantee)
    assert_array_equal(foreseen, each)
    for partner, expected in zip(partners.tolist(), foreseen[0], strict=True):
        merged = groups.copy()
        merged.merge(choices[0, [fragment]], np.array([partner]))
        assert held(merged.counts, choices, guarantee)[0] == expected


@given(family=families, drawn=st.randoms(use_true_random=False))
@quick
def test_joins_with_some_groups_are_all_found(family, drawn):
    groups = groups_of(family.counts, family.k, "join")
    fragment = drawn.randrange(groups.number)
    among = np.array(drawn.sample(groups.of(fragment).tolist(), drawn.randint(1, len(groups.of(fragment)))))
    found = {tuple(choice) for choice in larger_unsafe(groups, Promise(family.k, "join"), among).tolist()}
    expected = set()
    for choice in oracles.violating_choices(family.counts, family.k):
        row = [-1] * groups.number
        for t, ec in choice:
            row[t] = groups.start(t) + ec
        if row[fragment] in among:
            expected.add(tuple(row))
    assert found == expected


@guarantees
@given(family=families)
@quick
def test_unsafe_choices_are_found_if_there_are_any_and_are_unsafe(family, guarantee):
    groups = groups_of(family.counts, family.k, guarantee)
    promise = Promise(family.k, guarantee)
    safe = is_safe(family.counts, family.k, guarantee)
    everything = [larger_unsafe(groups, promise, groups.of(t)) for t in range(groups.number)]
    for choices in (unsafe_choices(groups, promise), np.concatenate(everything)):
        assert (len(choices) == 0) == safe
        holds = held(groups.counts, choices, guarantee)
        assert ((holds > 0) & (holds < family.k)).all()


def test_merged_classes_that_release_the_same_are_one():
    domain = Domain("x", "integer", np.arange(4), missing=False)
    bounds = np.array([0, 1, 0], dtype=np.int32), np.array([3, 2, 3], dtype=np.int32)
    region = NumericRegions(domain, *bounds, np.ones(3, dtype=bool), np.zeros(3, dtype=bool))
    (labels,) = released_apart([[region]], [np.array([0, 1, 2, 1])])
    assert_array_equal(labels, [0, 1, 0, 1])


@st.composite
def segmented(draw):
    """Draw records in segments of K or more; a few ECs of each fragment have records in several segments."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    segments = np.repeat(np.arange(3), rng.integers(K, 5 * K, size=3))
    classes = rng.integers(4, size=len(segments))
    counts, present = [], []
    for _ in range(rng.integers(2, 4)):
        called = np.unique(rng.permutation(9) // rng.choice([1, 1, 2]), return_inverse=True)[1]
        ecs = np.unique(called[3 * segments + rng.integers(3, size=len(segments))], return_inverse=True)[1]
        counts.append(np.zeros((ecs.max() + 1, 4), dtype=np.int64))
        np.add.at(counts[-1], (ecs, classes), 1)
        present.append(Present(*np.unique(np.column_stack([segments, ecs]), axis=0).T))
    return counts, present


@guarantees
@given(family=segmented(), seed=st.integers(0, 5))
@settings(deadline=None, max_examples=15)
def test_every_join_within_a_segment_is_safe(family, seed, guarantee):
    counts, present = family
    regions = made_regions(counts, seed)
    labels = coarsen_within_segments(counts, regions, present, K, guarantee)
    after = merged_counts(counts, labels)
    for segment in np.unique(present[0].segments):
        within = [
            merged[np.unique(label[p.of(segment)])]
            for merged, label, p in zip(after, labels, present, strict=True)
        ]
        assert is_safe(within, K, guarantee)
    for features in merged_regions(regions, labels):
        cells = list(zip(*(region.texts() for region in features), strict=True))
        assert len(set(cells)) == len(cells)


def test_joins_across_segments_are_left_alone():
    counts = [np.array([[4, 0, 0], [1, 3, 0]]), np.array([[4, 0, 0], [1, 0, 3]])]
    regions = made_regions(counts, 3)
    apart = [Present(np.array([0, 1]), np.array([0, 1])), Present(np.array([0, 2]), np.array([0, 1]))]
    labels = coarsen_within_segments(counts, regions, apart, K, "join")
    assert [label.tolist() for label in labels] == [[0, 1], [0, 1]]


@pytest.fixture(autouse=True)
def few_trials(monkeypatch):
    monkeypatch.setattr(coarsening, "TRIALS", {"join": 160, "records": 80})
    monkeypatch.setattr(coarsening, "MOVES", 60)
