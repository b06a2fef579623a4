"""Joins within segments: safe by the shared class values, or mended; joins across them are left alone."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.config import Privacy
from tasks.enforcement import within_segments
from tasks.enforcement.within_segments import Present, are_safe, enforce_within_segments, linked_ecs

K = 4
GRAPH = Privacy(k=K, enforcement="dependency_graph")
RECORDS = Privacy(k=K, enforcement="dependency_graph", guarantee="records")


def present(*segments_of_classes):
    """Tell, for the segments of each EC, which ECs have records where."""
    pairs = sorted((segment, ec) for ec, segments in enumerate(segments_of_classes) for segment in segments)
    segments, classes = zip(*pairs, strict=True)
    return Present(np.array(segments), np.array(classes))


def choices_within(counts, presence, segment):
    """Yield the class counts of the members of every choice of ECs that have records in a segment."""
    for size in range(2, len(counts) + 1):
        for fragments in itertools.combinations(range(len(counts)), size):
            for choice in itertools.product(*(presence[i].of(segment).tolist() for i in fragments)):
                yield np.array([counts[i][ec] for i, ec in zip(fragments, choice, strict=True)])


def joins_within(counts, presence):
    """Return, per segment, the rows of every join of ECs that have records in it."""
    return {
        segment: [int(members.prod(axis=0).sum()) for members in choices_within(counts, presence, segment)]
        for segment in presence[0].segments.tolist()
    }


def records_within(counts, presence):
    """Return, per segment, the records of every EC of a join that have a class common to all its ECs."""
    return {
        segment: [
            int(records)
            for members in choices_within(counts, presence, segment)
            for records in members[:, (members > 0).all(axis=0)].sum(axis=1)
        ]
        for segment in presence[0].segments.tolist()
    }


def smallest(sizes):
    return min((size for size in sizes if size), default=K)


@st.composite
def segmented(draw):
    fragments = draw(st.integers(2, 3))
    segments = draw(st.integers(1, 3))
    counts, presence = [], []
    for _ in range(fragments):
        classes = draw(st.integers(segments, segments + 2))
        held = draw(
            st.lists(
                st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(lambda row: sum(row) >= K),
                min_size=classes,
                max_size=classes,
            )
        )
        extra = [draw(st.sets(st.integers(0, segments - 1), max_size=2)) for _ in range(classes)]
        counts.append(np.array(held))
        presence.append(present(*({ec % segments} | more for ec, more in enumerate(extra))))
    return counts, presence


@given(segmented())
@settings(deadline=None, max_examples=150)
def test_every_join_within_a_segment_holds_k_rows_afterwards(family):
    counts, presence = family
    found = enforce_within_segments(GRAPH, counts, presence, seed=0)
    for rows in joins_within(found.counts, presence).values():
        assert smallest(rows) >= K
    for before, after, changed in zip(counts, found.counts, found.changed, strict=True):
        assert (before.sum(axis=1) == after.sum(axis=1)).all()
        assert changed == np.maximum(before - after, 0).sum()


@given(segmented())
@settings(deadline=None, max_examples=150)
def test_every_join_within_a_segment_rests_on_k_records_afterwards(family):
    counts, presence = family
    found = enforce_within_segments(RECORDS, counts, presence, seed=0)
    for records in records_within(found.counts, presence).values():
        assert smallest(records) >= K


def test_rows_can_be_enough_where_records_are_not():
    counts, together = [np.array([[1, 4]]), np.array([[5, 0]])], [present({0}), present({0})]
    assert joins_within(counts, together) == {0: [5]}
    assert records_within(counts, together) == {0: [1, 5]}
    assert enforce_within_segments(GRAPH, counts, together, seed=0).changed == (0, 0)
    assert enforce_within_segments(RECORDS, counts, together, seed=0).changed == (1, 0)


def two_segments(seed):
    """Draw fragments of which some ECs have records in both of two segments."""
    random = np.random.default_rng(seed)
    held = [random.multinomial(random.integers(K, 3 * K, size=6), [0.5, 0.3, 0.2]) for _ in range(2)]
    presence = [present({0}, {1}, {0, 1}, {0}, {1}, {0, 1})] * 2
    return held, presence


@pytest.mark.parametrize("guarantee", ["join", "records"])
def test_segments_that_go_on_changing_each_other_are_made_safe_together(guarantee, monkeypatch):
    monkeypatch.setattr(within_segments, "ROUNDS", 1)
    privacy = Privacy.model_construct(k=K, enforcement="min_distortion", guarantee=guarantee, delta=None)
    for seed in range(8):
        counts, presence = two_segments(seed)
        found = enforce_within_segments(privacy, counts, presence, seed=0)
        within = joins_within if guarantee == "join" else records_within
        for figures in within(found.counts, presence).values():
            assert smallest(figures) >= K


def test_only_segments_that_common_classes_link_are_made_safe_together():
    presence = [present({0}, {0, 1}, {1}, {2}, {3}), present({0}, {1}, {2}, {2, 3}, {4})]
    (linked,) = linked_ecs(presence, [1])
    assert [ecs.tolist() for ecs in linked] == [[0, 1, 2], [0, 1]]
    assert [[ecs.tolist() for ecs in both] for both in linked_ecs(presence, [3, 0, 2])] == [
        [[0, 1, 2], [0, 1]],
        [[3, 4], [2, 3]],
    ]
    assert not list(linked_ecs(presence, []))


@given(segmented())
@settings(deadline=None, max_examples=150)
def test_segments_called_safe_are_for_either_guarantee(family):
    counts, presence = family
    rows, records = joins_within(counts, presence), records_within(counts, presence)
    for segment, safe in enumerate(are_safe(counts, presence, K)):
        assert not safe or min(smallest(rows[segment]), smallest(records[segment])) >= K


def test_a_join_across_segments_is_left_alone():
    counts = [np.array([[4, 0, 0], [1, 3, 0]]), np.array([[4, 0, 0], [1, 0, 3]])]
    apart = [present({0}, {1}), present({0}, {2})]
    found = enforce_within_segments(GRAPH, counts, apart, seed=0)
    assert found.changed == (0, 0)
    together = [present({0}, {1}), present({0}, {1})]
    found = enforce_within_segments(GRAPH, counts, together, seed=0)
    assert sum(found.changed) > 0


@pytest.mark.parametrize(("records", "safe"), [(K - 1, False), (K, True)])
def test_shared_values_need_k_records_in_every_class(records, safe):
    counts = [np.array([[records, 0, 9]]), np.array([[1, K - 1, 0]])]
    (found,) = are_safe(counts, [present({0}), present({0})], K)
    assert not found
    counts[1] = np.array([[K, 1, 0]])
    assert are_safe(counts, [present({0}), present({0})], K).tolist() == [safe]


def test_none_and_a_single_fragment_change_nothing():
    counts = [np.array([[1, 3, 0]]), np.array([[1, 0, 3]])]
    both = [present({0}), present({0})]
    assert enforce_within_segments(Privacy(k=K, enforcement="none"), counts, both, seed=0).changed == (0, 0)
    assert enforce_within_segments(GRAPH, counts[:1], both[:1], seed=0).changed == (0,)
