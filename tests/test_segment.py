"""Segments: against the definition executed on small tables, and against what makes them final."""

from dataclasses import dataclass

import numpy as np
import oracles
import pytest
import segment_oracles
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks import segment
from tasks.domain import Domain
from tasks.errors import InfeasibleError
from tasks.mutual_information import discretise
from tasks.partitions import gains
from tasks.partitions.gains import Sizes
from tasks.partitions.requirements import All, DistinctDiversity, KAnonymity, Of, TCloseness

quick = settings(deadline=None, max_examples=150)
small_k = st.integers(1, 5)
few_values = st.integers(1, 3)


@dataclass(frozen=True)
class OddSizes:
    """A requirement that most cuts break: a group's size leaves some remainder."""

    modulus: int
    remainders: frozenset
    minimum_size: int = 1

    def holds(self, counts):
        return np.isin(counts.sum(axis=1) % self.modulus, list(self.remainders))


def run(table, requirement, minimum, values, classes=None):
    classes = table.classes if classes is None else classes
    return segment.segment(table.codes, table.domains, classes, requirement, Sizes(minimum, values))


def groups(labels):
    return [np.flatnonzero(labels == label).tolist() for label in range(max(labels) + 1)]


def asks(table, requirement, minimum, classes=None):
    classes = np.atleast_2d((table.classes if classes is None else classes).T)

    def allowed(rows):
        return (
            len(rows) >= minimum
            and requirement.holds(segment_oracles.values_of(classes, rows, classes.max() + 1)[None])[0]
        )

    return allowed


def reachable(table, k, l):  # noqa: E741
    return All((KAnonymity(min(k, len(table.codes))), DistinctDiversity(min(l, len(set(table.classes))))))


@given(oracles.tables(), small_k, few_values, few_values)
@example(segment_oracles.column([0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 2, 2, 2]), 1, 1, 1)
@quick
def test_segments_are_those_of_the_definition(table, k, l, values):  # noqa: E741
    required = reachable(table, k, l)
    found = run(table, required, 1, values)
    expected = segment_oracles.segments_of(
        table, list(range(len(table.codes))), asks(table, required, 1), values
    )
    assert groups(found) == expected


@given(oracles.tables(), st.integers(2, 4), st.sets(st.integers(0, 3)), few_values)
@quick
def test_other_cuts_are_tried_where_the_best_is_not_allowed(table, modulus, remainders, values):
    required = OddSizes(modulus, frozenset(remainders | {len(table.codes) % modulus}))
    found = run(table, required, 1, values)
    expected = segment_oracles.segments_of(
        table, list(range(len(table.codes))), asks(table, required, 1), values
    )
    assert groups(found) == expected


@given(oracles.tables(), st.data())
@quick
def test_requirements_on_another_attribute_are_kept(table, data):
    rows = len(table.codes)
    start = max(table.classes) + 1
    beside = np.array(data.draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows)), dtype=np.int32)
    classes = np.column_stack([table.classes, start + beside])
    least = len(set(beside.tolist()) - {0})
    required = All(
        (Of("class", 0, start, KAnonymity(1)), Of("beside", start + 1, start + 5, DistinctDiversity(least)))
    )
    found = run(table, required, 1, 1, classes)
    expected = segment_oracles.segments_of(table, list(range(rows)), asks(table, required, 1, classes), 1)
    assert groups(found) == expected


@given(oracles.tables(max_rows=60), st.integers(1, 9), few_values)
@quick
def test_segments_are_large_enough_and_cannot_be_cut_further(table, minimum, values):
    required = reachable(table, 2, 2)
    allowed = asks(table, required, min(minimum, len(table.codes)))
    found = groups(run(table, required, minimum, values))
    assert sorted(row for rows in found for row in rows) == list(range(len(table.codes)))
    assert all(allowed(rows) for rows in found)
    assert all(
        segment_oracles.best_cut(table, rows, asks(table, required, minimum), values) is None
        for rows in found
    )


@given(oracles.tables(max_rows=40), small_k, st.randoms(use_true_random=False))
@quick
def test_segments_do_not_depend_on_the_order_of_rows(table, k, random):
    order = list(range(len(table.codes)))
    random.shuffle(order)
    shuffled = oracles.Table(table.codes[order], table.domains, table.classes[order])
    required = reachable(table, k, 1)
    assert_array_equal(run(shuffled, required, 1, 1), run(table, required, 1, 1)[order])


@pytest.mark.parametrize("values", [1, 2, 3])
def test_work_in_small_blocks_makes_the_same_segments(values, monkeypatch):
    table = segment_oracles.random_table(3, 4000, 7, 3, 5)
    required = All((KAnonymity(6), DistinctDiversity(2)))
    whole = run(table, required, 6, values)
    monkeypatch.setattr(segment, "BLOCK_CELLS", 1)
    monkeypatch.setattr(gains, "STEP_CELLS", 50)
    monkeypatch.setattr(gains, "TRIED_CELLS", 50)
    assert_array_equal(run(table, required, 6, values), whole)
    assert whole.max() > 50


@pytest.mark.parametrize("dense", [0, 10**9])
def test_counting_and_sorting_find_the_same_gains(dense, monkeypatch):
    table = segment_oracles.random_table(4, 1500, 5, 2, 4)
    usual = run(table, KAnonymity(5), 5, 1)
    monkeypatch.setattr(gains, "DENSE", dense)
    assert_array_equal(run(table, KAnonymity(5), 5, 1), usual)


def test_a_feature_of_many_values_is_cut_between_equally_frequent_bins():
    table = segment_oracles.random_table(5, 3000, 3, 400, 3)
    assert min(domain.size for domain in table.domains) > segment.BINS
    binned = [
        discretise(codes, domain.size, numeric=True, missing=False, bins=segment.BINS)
        for codes, domain in zip(table.codes.T, table.domains, strict=True)
    ]
    domains = [Domain("x", "integer", np.arange(max(codes) + 1), missing=False) for codes in binned]
    coarse = oracles.Table(np.column_stack(binned), domains, table.classes)
    assert max(domain.size for domain in domains) <= segment.BINS
    assert_array_equal(run(table, KAnonymity(20), 20, 1), run(coarse, KAnonymity(20), 20, 1))


def test_missing_is_cut_off_from_the_values():
    table = segment_oracles.column([None, None, 1, 2, 3, 4], [1, 1, 0, 0, 0, 0])
    assert groups(run(table, KAnonymity(2), 2, 1)) == [[0, 1], [2, 3, 4, 5]]


@pytest.mark.parametrize("rows, segments", [(5, 1), (9, 1), (10, 2), (11, 2), (15, 3)])
def test_a_segment_is_cut_from_twice_the_smallest_size_on(rows, segments):
    alternating = [(row // 5) % 2 for row in range(rows)]
    table = segment_oracles.column(list(range(rows)), alternating)
    assert run(table, KAnonymity(1), 5, 1).max() + 1 == segments


def test_a_table_of_one_class_value_is_one_segment():
    assert run(segment_oracles.column(list(range(20)), [0] * 20), KAnonymity(2), 2, 1).tolist() == [0] * 20


def test_a_table_of_equal_records_is_one_segment():
    table = segment_oracles.column([7] * 12, [0, 1, 2] * 4)
    assert run(table, KAnonymity(2), 2, 1).tolist() == [0] * 12


def test_a_cut_that_tells_nothing_of_the_class_is_not_made():
    table = segment_oracles.column([0, 0, 0, 0, 1, 1, 1, 1], [0, 1] * 4)
    assert run(table, KAnonymity(2), 2, 1).tolist() == [0] * 8


def test_values_that_may_stay_together_are_not_told_apart():
    table = segment_oracles.column(list(range(20)), [0] * 10 + [1] * 10)
    assert run(table, KAnonymity(2), 2, 2).tolist() == [0] * 20
    assert run(table, KAnonymity(2), 2, 1).max() == 1


@pytest.mark.parametrize("rarer, merged", [(3, True), (4, False)])
def test_values_are_merged_from_half_of_the_records_on(rarer, merged):
    classes = np.repeat([0, 1, 2, 3, 4], [4, 4, 4, rarer, 1]).astype(np.int32)
    apart, domain = oracles.encode(np.isin(classes, [1, 3, 4]).astype(int).tolist(), "integer")
    together, _ = oracles.encode((classes > 1).astype(int).tolist(), "integer")
    table = oracles.Table(np.column_stack([apart, together]), [domain, domain], classes)
    first = groups(run(table, KAnonymity(4), 7, 2))[0]
    assert first == np.flatnonzero((together if merged else apart) == 0).tolist()


def test_of_equally_good_cuts_the_first_of_the_first_feature_is_made():
    codes, domain = oracles.encode([0, 0, 1, 1, 2, 2], "integer")
    mirrored = oracles.Table(
        np.column_stack([codes, 2 - codes]), [domain, domain], np.array([0, 0, 1, 1, 0, 0], dtype=np.int32)
    )
    assert groups(run(mirrored, KAnonymity(2), 3, 1)) == [[0, 1, 2, 3, 4, 5]]
    assert groups(run(mirrored, KAnonymity(2), 2, 1)) == [[0, 1], [2, 3], [4, 5]]


def test_a_table_that_breaks_the_requirement_is_refused_with_what_can_be_reached():
    table = segment_oracles.column(list(range(10)), [0, 1] * 5)
    with pytest.raises(InfeasibleError, match=r"l = 3 .* 2"):
        run(table, All((KAnonymity(2), DistinctDiversity(3))), 2, 1)


def test_a_smallest_size_above_the_table_leaves_one_segment():
    assert (
        run(segment_oracles.column(list(range(10)), [0, 1] * 5), KAnonymity(2), 100, 1).tolist() == [0] * 10
    )


def test_closeness_is_kept_in_every_segment():
    table = segment_oracles.random_table(6, 800, 4, 3, 4)
    required = All((KAnonymity(10), TCloseness(0.4, np.bincount(table.classes), "equal")))
    found = run(table, required, 10, 1)
    assert found.max() > 0
    counts = np.array([np.bincount(table.classes[rows], minlength=4) for rows in groups(found)])
    assert required.holds(counts).all()


def test_inputs_are_left_as_they_were():
    table = segment_oracles.random_table(7, 300, 3, 2, 3)
    codes, classes = table.codes.copy(), table.classes.copy()
    run(table, KAnonymity(5), 5, 1)
    assert_array_equal(table.codes, codes)
    assert_array_equal(table.classes, classes)


@pytest.mark.parametrize(
    "l, model, values",
    [
        (2.0, "distinct", 2),
        (3.0, "recursive", 3),
        (2.0, "entropy", 3),
        (2.5, "entropy", 3),
        (None, "distinct", 2),
    ],
)
def test_default_sizes_follow_k_and_the_class_values_that_l_needs(l, model, values):  # noqa: E741
    assert segment.default_sizes(40, l, model) == Sizes(40, values)
