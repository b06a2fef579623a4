"""Segments: against a recursive reference, and what Theorem 5.1 says of their chunks."""

import diversity_oracles
import numpy as np
import oracles
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks import segment as module
from tasks.errors import InfeasibleError
from tasks.mondrian import partition
from tasks.requirements import (
    All,
    AllValues,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from tasks.segment import information_gains, segment, segment_level

quick = settings(deadline=None, max_examples=100)


def k_and_l(k, least):
    return All((KAnonymity(k), DistinctDiversity(least)))


def run(table, requirement, minimum):
    return segment(table.codes, table.domains, table.classes, requirement, minimum)


def groups(segments):
    return [np.flatnonzero(segments == number).tolist() for number in range(max(segments) + 1)]


def one_column(values, classes):
    codes, domain = oracles.encode(values, "integer")
    return oracles.Table(codes[:, None], [domain], np.array(classes, dtype=np.int32))


def random_table(seed, rows, columns, values, class_values):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(rows, 1))
    raw = np.round(values * (latent + rng.normal(size=(rows, columns)))).astype(int)
    encoded = [oracles.encode(column, "integer") for column in raw.T.tolist()]
    noisy = latent[:, 0] + rng.normal(size=rows)
    classes = np.searchsorted(np.quantile(noisy, np.arange(1, class_values) / class_values), noisy)
    return oracles.Table(
        np.column_stack([codes for codes, _ in encoded]), [d for _, d in encoded], classes.astype(np.int32)
    )


@st.composite
def feasible(draw):
    """Draw a table with a k and an l that it satisfies."""
    table = draw(oracles.tables(max_rows=30))
    k = draw(st.integers(1, min(5, len(table.codes))))
    return table, k, draw(st.integers(1, len(set(table.classes.tolist()))))


@given(feasible(), st.integers(1, 8))
@quick
def test_segments_are_those_of_the_recursive_definition(drawn, minimum):
    table, k, least = drawn
    expected = diversity_oracles.segments(
        table.codes,
        table.classes,
        lambda rows: len(rows) >= k and diversity_oracles.is_distinct_diverse(rows, least),
        minimum,
    )
    assert groups(run(table, k_and_l(k, least), minimum)) == expected


@given(feasible(), st.integers(1, 8))
@quick
def test_segments_are_the_same_when_features_are_counted_one_by_one(drawn, minimum):
    table, k, least = drawn
    whole = run(table, k_and_l(k, least), minimum)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_CELLS", 1)
        assert_array_equal(run(table, k_and_l(k, least), minimum), whole)


@given(feasible(), st.integers(1, 8))
@quick
def test_every_segment_satisfies_the_requirement_and_the_minimum(drawn, minimum):
    table, k, least = drawn
    for rows in groups(run(table, k_and_l(k, least), minimum)):
        assert len(rows) >= min(max(k, minimum), len(table.codes))
        assert diversity_oracles.is_distinct_diverse(table.classes[rows].tolist(), least)


@given(feasible(), st.randoms(use_true_random=False))
@quick
def test_segments_do_not_depend_on_the_order_of_rows(drawn, random):
    table, k, least = drawn
    order = list(range(len(table.codes)))
    random.shuffle(order)
    shuffled = oracles.Table(table.codes[order], table.domains, table.classes[order])
    requirement = k_and_l(k, least)
    assert_array_equal(run(shuffled, requirement, k), run(table, requirement, k)[order])


@pytest.mark.parametrize("rows, values, class_values", [(300, 1, 2), (300, 50, 3), (1000, 0.5, 5)])
def test_every_split_has_the_highest_gain_of_all(rows, values, class_values):
    table = random_table(3, rows, 4, values, class_values)
    found = groups(run(table, k_and_l(rows // 4, 2), rows // 4))
    expected = diversity_oracles.segments(
        table.codes, table.classes, lambda values: len(set(values)) >= 2, rows // 4
    )
    assert len(found) > 1
    assert found == expected


def test_segments_of_a_larger_table_satisfy_an_entropy_and_a_closeness():
    table = random_table(5, 5000, 6, 100, 4)
    overall = np.bincount(table.classes)
    requirement = All((KAnonymity(50), EntropyDiversity(2.5), TCloseness(0.4, overall, "ordered")))
    found = groups(run(table, requirement, 50))
    assert len(found) > 4
    for rows in found:
        assert len(rows) >= 50
        assert oracles.entropy(table.classes[rows].tolist()) >= np.log(2.5)
        distance = diversity_oracles.ordered_distance(table.classes[rows], table.classes, len(overall))
        assert distance <= 0.4 + 1e-9


@st.composite
def splits(draw):
    size = draw(st.integers(1, 5))
    sides = draw(
        st.tuples(*(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any) for _ in "lr"))
    )
    return [np.array(side) for side in sides]


@given(splits())
@quick
def test_the_gain_is_the_mutual_information_of_side_and_class(sides):
    left, right = sides
    side = np.repeat([0, 1], [left.sum(), right.sum()])
    value = np.concatenate([np.repeat(np.arange(len(counts)), counts) for counts in sides])
    expected = oracles.mutual_information(side.tolist(), value.tolist())
    assert information_gains(left[None], left + right)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("class_values", [2, 3, 5])
@pytest.mark.parametrize("block_cells", [1, 1 << 20])
def test_of_equal_gains_the_lowest_feature_s_wins_in_spite_of_rounding(
    class_values, block_cells, monkeypatch
):
    monkeypatch.setattr(module, "BLOCK_CELLS", block_cells)
    table = random_table(4, 300, 1, 50, class_values)
    mirrored = oracles.Table(
        np.hstack([table.codes, table.codes.max() - table.codes]), table.domains * 2, table.classes
    )
    assert_array_equal(run(mirrored, KAnonymity(5), 5), run(table, KAnonymity(5), 5))


def test_segments_are_numbered_from_left_to_right():
    table = one_column([1, 1, 2, 2, 3, 3, 4, 4], [0, 0, 1, 1, 0, 0, 1, 1])
    assert run(table, KAnonymity(2), 2).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_missing_is_the_lowest_value():
    table = one_column([None, None, None, 5, 5, 7], [1, 1, 0, 0, 0, 0])
    assert run(table, KAnonymity(3), 3).tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("rows, expected", [(9, 1), (10, 2)])
def test_a_segment_is_split_from_twice_the_minimum_on(rows, expected):
    table = one_column(list(range(rows)), [int(row >= 5) for row in range(rows)])
    assert len(groups(run(table, KAnonymity(2), 5))) == expected


def test_a_split_without_gain_is_not_made():
    table = one_column([1, 1, 2, 2], [0, 1, 0, 1])
    assert run(table, KAnonymity(2), 2).tolist() == [0, 0, 0, 0]


def test_a_class_with_one_value_leaves_one_segment():
    assert run(one_column([1, 2, 3, 4], [0, 0, 0, 0]), KAnonymity(1), 1).tolist() == [0, 0, 0, 0]


def test_constant_features_leave_one_segment():
    assert run(one_column([3, 3, 3, 3], [0, 1, 0, 1]), KAnonymity(1), 1).tolist() == [0, 0, 0, 0]


def test_a_table_smaller_than_the_minimum_is_one_segment():
    assert run(one_column([1, 2, 3], [0, 1, 1]), KAnonymity(2), 100).tolist() == [0, 0, 0]


def test_what_the_table_cannot_satisfy_is_refused_and_named():
    with pytest.raises(InfeasibleError, match="distinct l = 2 is asked, but the class has 1 value"):
        run(one_column([1, 2, 3], [0, 0, 0]), k_and_l(2, 2), 2)


def test_inputs_are_left_as_they_were():
    table = random_table(8, 500, 3, 200, 3)
    codes, classes = table.codes.copy(), table.classes.copy()
    run(table, KAnonymity(5), 5)
    assert_array_equal(table.codes, codes)
    assert_array_equal(table.classes, classes)


@given(feasible(), st.integers(1, 8), st.data())
@quick
def test_joins_within_a_segment_keep_k_and_all_its_values(drawn, minimum, data):
    """Theorem 5.1 for distinct l."""
    table, k, least = drawn
    features = list(range(table.codes.shape[1]))
    fragments = [features[: len(features) // 2] or [0], features[len(features) // 2 :]]
    wanted = k_and_l(k, least)
    level = data.draw(st.sampled_from(["exact", "floor"]))
    for rows in groups(run(table, wanted, minimum)):
        classes = table.classes[rows]
        requirement = segment_level(np.bincount(classes), wanted, level)
        counts = [class_counts(table, rows, fragment, requirement) for fragment in fragments]
        joins = list(oracles.grouped_joins(counts))
        assert len(joins) == len(counts[0]) * len(counts[1])
        for _, joined in joins:
            assert len(joined) >= k
            assert set(joined["class"]) == set(classes.tolist())
        assert len(set(classes.tolist())) >= least


def class_counts(table, rows, features, requirement):
    domains = [table.domains[feature] for feature in features]
    codes, classes = table.codes[np.ix_(rows, features)], table.classes[rows]
    labels = partition(codes, domains, classes, requirement, "strict").labels
    counts = np.zeros((labels.max() + 1, table.classes.max() + 1), dtype=np.int64)
    np.add.at(counts, (labels, classes), 1)
    return counts


@pytest.mark.parametrize(
    "wanted, level, expected",
    [
        (DistinctDiversity(2), "exact", AllValues((0, 2, 3))),
        (DistinctDiversity(2), "floor", AllValues((0, 2, 3))),
        (EntropyDiversity(1.5), "floor", EntropyDiversity(2)),
        (EntropyDiversity(2.5), "floor", EntropyDiversity(2.5)),
        (RecursiveDiversity(1.5, 2), "exact", RecursiveDiversity(1.5, 2)),
        (RecursiveDiversity(3, 2), "floor", RecursiveDiversity(3, 3)),
        (KAnonymity(4), "exact", KAnonymity(4)),
        (
            All((KAnonymity(4), DistinctDiversity(2))),
            "exact",
            All((KAnonymity(4), AllValues((0, 2, 3)))),
        ),
    ],
)
def test_the_level_of_a_segment(wanted, level, expected):
    assert segment_level(np.array([5, 0, 4, 2]), wanted, level) == expected


def test_a_segment_of_equal_frequencies_reaches_their_number_as_a_whole_level():
    for size in range(1, 40):
        counts = np.full(size, 7)
        assert segment_level(counts, EntropyDiversity(1), "floor") == EntropyDiversity(size)


def test_the_closeness_of_a_segment_stays_as_it_is():
    wanted = TCloseness(0.2, np.array([5, 5]), "equal")
    assert segment_level(np.array([3, 2]), wanted, "exact") is wanted


asked = st.sampled_from(
    [DistinctDiversity(2), EntropyDiversity(1.5), *(RecursiveDiversity(c, 2) for c in (0.5, 1, 3))]
)


@pytest.mark.parametrize("level", ["exact", "floor"])
@given(counts=st.lists(st.integers(0, 30), min_size=2, max_size=6).map(np.array), wanted=asked)
@quick
def test_a_segment_reaches_its_own_level_and_that_implies_what_is_wanted(level, counts, wanted):
    assume(counts.any() and wanted.holds(counts[None])[0])
    own = segment_level(counts, wanted, level)
    assert own.holds(counts[None])[0]
    groups = np.indices([3] * len(counts)).reshape(len(counts), -1).T[1:]
    assert wanted.holds(groups[own.holds(groups)]).all()
