"""Requirements: against their definitions, and at their boundaries."""

from fractions import Fraction
from itertools import combinations_with_replacement

import diversity_oracles
import numpy as np
import oracles
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tasks.errors import InfeasibleError
from tasks.mondrian import partition
from tasks.requirements import (
    All,
    AllValues,
    DistinctDiversity,
    EntropyDiversity,
    Hierarchy,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
    distinct_level,
    entropy_level,
    recursive_level,
    shortfall,
    t_distance,
)

quick = settings(deadline=None, max_examples=100)
levels = st.sampled_from([1, 1.5, 2, 2.5, 3, 4])
constants = st.sampled_from([0.1, 0.3, 0.5, 1, 1.5, 2, 3])
class_counts = st.integers(1, 6).flatmap(
    lambda size: st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
)


@st.composite
def groups_of_a_table(draw):
    """Draw groups of rows as class counts; together they are the table."""
    size = draw(st.integers(1, 6))
    group = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    return np.array(draw(st.lists(group, min_size=1, max_size=4)))


@st.composite
def hierarchies(draw, size):
    """Draw a tree over the class values, two or three levels high."""
    parents, nodes = [], size
    for _ in range(draw(st.integers(1, 2))):
        drawn = draw(st.lists(st.integers(0, nodes - 1), min_size=nodes, max_size=nodes))
        parents.append(oracles.ranks(drawn).astype(np.int64))
        nodes = int(parents[-1].max()) + 1
    return Hierarchy((*parents, np.zeros(nodes, dtype=np.int64)))


@st.composite
def requirements(draw, classes):
    """Draw a requirement that the whole table satisfies, with its definition on the rows of a group."""
    overall = np.bincount(classes)
    size = len(overall)
    level, c, t = draw(levels), draw(constants), draw(st.sampled_from([0.0, 0.1, 0.25, 0.5]))
    whole, exact_c = int(level), Fraction(str(c))
    requirement, definition = draw(
        st.sampled_from(
            [
                (
                    DistinctDiversity(whole),
                    lambda rows: diversity_oracles.is_distinct_diverse(rows, whole),
                ),
                (
                    EntropyDiversity(level),
                    lambda rows: diversity_oracles.is_entropy_diverse(rows, Fraction(level)),
                ),
                (
                    RecursiveDiversity(c, whole),
                    lambda rows: diversity_oracles.is_recursive_diverse(rows, exact_c, whole),
                ),
                (
                    TCloseness(t, overall, "equal"),
                    lambda rows: diversity_oracles.equal_distance(rows, classes, size) <= t + 1e-9,
                ),
                (
                    TCloseness(t, overall, "ordered"),
                    lambda rows: diversity_oracles.ordered_distance(rows, classes, size) <= t + 1e-9,
                ),
            ]
        )
    )
    assume(requirement.holds(overall[None])[0])
    return requirement, definition


def rows_of(counts):
    return np.repeat(np.arange(len(counts)), counts).tolist()


def holds(requirement, *counts):
    return bool(requirement.holds(np.array([counts]))[0])


@given(class_counts, st.integers(1, 5))
@quick
def test_distinct_diversity_is_its_definition(counts, least):
    expected = diversity_oracles.is_distinct_diverse(rows_of(counts), least)
    assert holds(DistinctDiversity(least), *counts) == expected
    assert (distinct_level(np.array([counts]))[0] >= least) == expected


@given(class_counts, levels)
@quick
def test_entropy_diversity_is_its_definition(counts, least):
    expected = diversity_oracles.is_entropy_diverse(rows_of(counts), Fraction(least))
    assert holds(EntropyDiversity(least), *counts) == expected


@given(class_counts, constants, st.integers(1, 6))
@quick
def test_recursive_diversity_is_its_definition(counts, c, least):
    expected = diversity_oracles.is_recursive_diverse(rows_of(counts), Fraction(str(c)), least)
    assert holds(RecursiveDiversity(c, least), *counts) == expected
    assert (recursive_level(np.array([counts]), c)[0] >= least) == expected


@given(groups_of_a_table())
@quick
def test_equal_and_ordered_distance_are_the_earth_mover_s(counts):
    table, size = rows_of(counts.sum(axis=0)), counts.shape[1]
    of_groups = [rows_of(group) for group in counts]
    expected = [diversity_oracles.equal_distance(group, table, size) for group in of_groups]
    assert_allclose(t_distance(counts, counts.sum(axis=0), "equal"), expected, atol=1e-9)
    expected = [diversity_oracles.ordered_distance(group, table, size) for group in of_groups]
    assert_allclose(t_distance(counts, counts.sum(axis=0), "ordered"), expected, atol=1e-9)


@given(groups_of_a_table(), st.data())
@quick
def test_hierarchical_distance_is_the_earth_mover_s(counts, data):
    table, tree = rows_of(counts.sum(axis=0)), data.draw(hierarchies(counts.shape[1]))
    paths = diversity_oracles.paths_to_root(tree.parents)
    expected = [diversity_oracles.hierarchical_distance(rows_of(group), table, paths) for group in counts]
    assert_allclose(t_distance(counts, counts.sum(axis=0), tree), expected, atol=1e-9)


@given(groups_of_a_table())
@quick
def test_a_tree_without_inner_nodes_is_the_equal_distance(counts):
    flat = Hierarchy((np.zeros(counts.shape[1], dtype=np.int64),))
    overall = counts.sum(axis=0)
    assert_allclose(t_distance(counts, overall, flat), t_distance(counts, overall, "equal"), atol=1e-12)


@pytest.mark.parametrize("distance", ["equal", "ordered", Hierarchy((np.zeros(3, dtype=np.int64),))])
def test_the_last_class_values_may_be_left_out_of_the_counts(distance):
    overall = np.array([5, 3, 2])
    whole = t_distance(np.array([[4, 1, 0], [0, 2, 0]]), overall, distance)
    assert_array_equal(t_distance(np.array([[4, 1], [0, 2]]), overall, distance), whole)


def test_ordered_distances_of_the_salaries_in_the_paper_on_t_closeness():
    overall, classes = np.ones(9, dtype=int), np.zeros((2, 9), dtype=int)
    classes[0, [0, 1, 2]] = 1
    classes[1, [3, 5, 8]] = 1
    assert_allclose(t_distance(classes, overall, "ordered"), [0.375, 0.167], atol=5e-4)


@pytest.mark.parametrize("distance", ["equal", "ordered", Hierarchy((np.zeros(1, dtype=np.int64),))])
def test_one_class_value_is_at_distance_0(distance):
    counts = np.array([[3], [7]])
    assert_array_equal(t_distance(counts, np.array([10]), distance), [0, 0])
    assert TCloseness(0.0, np.array([10]), distance).holds(counts).all()


def test_k_is_reached_at_k():
    assert [holds(KAnonymity(5), n - 1, 1) for n in (1, 4, 5, 6)] == [False, False, True, True]


def test_distinct_l_is_reached_at_l():
    assert not holds(DistinctDiversity(3), 9, 9, 0, 0)
    assert holds(DistinctDiversity(3), 9, 0, 1, 1)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10, 49, 100, 1000])
@pytest.mark.parametrize("count", [1, 3, 7, 333_333])
def test_values_of_equal_frequency_have_exactly_the_entropy_of_their_number(size, count):
    counts = [count] * size
    assert holds(EntropyDiversity(size), *counts)
    assert not holds(EntropyDiversity(size * (1 + 1e-12)), *counts)
    assert entropy_level(np.array([counts]))[0] == pytest.approx(size, rel=1e-13)


@given(class_counts)
@quick
def test_a_group_satisfies_its_own_entropy_level(counts):
    own = EntropyDiversity(float(entropy_level(np.array([counts]))[0]))
    assert holds(own, *counts)
    assert own.minimum_size <= sum(counts)


@pytest.mark.parametrize(
    "c, counts, least, expected",
    [
        (1, (3, 3), 2, False),
        (1, (3, 2, 1), 2, False),
        (1, (3, 2, 2), 2, True),
        (0.1, (3, 15, 15), 2, False),  # 15 < 1.5 + 0.3
        (0.1, (3, *[3] * 10), 2, False),  # 3 < 0.1 * 30: equal
        (0.1, (3, *[3] * 11), 2, True),
        (0.07, (7, *[5] * 20), 2, False),  # 7 < 0.07 * 100: equal, though not as floats
        (0.7, (7, 7, 3), 2, False),  # 7 < 0.7 * 10: equal
        (0.7, (7, 7, 4), 2, True),
        (100, (3, 2), 3, False),  # fewer values than l
        (100, (3, 0, 2), 3, False),
        (0.5, (3,), 1, True),
    ],
)
def test_recursive_diversity_is_strict(c, counts, least, expected):
    assert holds(RecursiveDiversity(c, least), *counts) == expected


def test_t_is_reached_at_t():
    overall = np.array([3, 3, 3, 1])
    assert holds(TCloseness(0.7, overall, "equal"), 1, 0, 0, 0)
    assert not holds(TCloseness(0.7 - 1e-12, overall, "equal"), 1, 0, 0, 0)
    assert holds(TCloseness(0.0, overall, "ordered"), 9, 9, 9, 3)


def test_all_values_asks_for_every_one_of_them():
    assert holds(AllValues((1, 3)), 0, 1, 0, 2)
    assert not holds(AllValues((1, 3)), 5, 1, 5, 0)


@pytest.mark.parametrize(
    "requirement",
    [
        *(DistinctDiversity(least) for least in (1, 2, 4)),
        *(EntropyDiversity(least) for least in (1, 1.5, 2, 2.5, 3, 4)),
        *(RecursiveDiversity(c, least) for c in (0.3, 0.5, 1, 1.5, 3) for least in (1, 2, 3)),
        AllValues((0, 1, 2)),
        TCloseness(0.4, np.array([1, 2, 3]), "ordered"),
        All((KAnonymity(3), DistinctDiversity(2))),
        All((KAnonymity(2), DistinctDiversity(4))),
    ],
    ids=str,
)
def test_the_minimum_size_is_the_fewest_rows_of_any_group_that_holds(requirement):
    def any_holds(rows):
        groups = combinations_with_replacement(range(7), rows)
        return requirement.holds(np.array([np.bincount(group, minlength=7) for group in groups])).any()

    if not isinstance(requirement, TCloseness):
        assert any_holds(requirement.minimum_size)
    assert not any(any_holds(rows) for rows in range(1, requirement.minimum_size))


@given(groups_of_a_table(), st.integers(1, 6), st.integers(1, 4), constants)
@quick
def test_all_holds_where_each_of_them_holds(counts, k, least, c):
    parts = (KAnonymity(k), DistinctDiversity(least), RecursiveDiversity(c, least))
    expected = np.logical_and.reduce([part.holds(counts) for part in parts])
    assert_array_equal(All(parts).holds(counts), expected)


@given(st.data())
@quick
def test_mondrian_s_classes_satisfy_the_requirement(data):
    table = data.draw(oracles.tables(max_rows=40))
    requirement, definition = data.draw(requirements(table.classes))
    k = data.draw(st.integers(1, min(4, len(table.codes))))
    both = All((KAnonymity(k), requirement))
    assume(len(table.codes) >= both.minimum_size)
    labels = partition(table.codes, table.domains, table.classes, both, "strict").labels
    for label in range(labels.max() + 1):
        rows = table.classes[labels == label].tolist()
        assert len(rows) >= k
        assert definition(rows)


@given(st.data())
@quick
def test_mondrian_cuts_wherever_the_definition_allows(data):
    table = data.draw(oracles.tables(max_rows=40))
    least = data.draw(levels)
    requirement = EntropyDiversity(least)
    assume(requirement.holds(np.bincount(table.classes)[None])[0])
    labels = partition(table.codes, table.domains, table.classes, requirement, "strict").labels

    def definition(rows):
        values = table.classes[rows].tolist()
        return bool(values) and diversity_oracles.is_entropy_diverse(values, Fraction(least))

    assert oracles.is_valid_partition(table.codes, labels, definition)


@pytest.mark.parametrize(
    "requirement, counts, message",
    [
        (KAnonymity(10), [5, 4], "k = 10 is asked, but the table has 9 rows"),
        (DistinctDiversity(3), [5, 4], "distinct l = 3 is asked, but the class has 2 values"),
        (DistinctDiversity(2), [9], "distinct l = 2 is asked, but the class has 1 value"),
        (EntropyDiversity(2), [5, 4], "entropy l = 2 is asked, but the class reaches 1.987"),
        (
            RecursiveDiversity(1.5, 3),
            [5, 4, 3],
            "recursive l = 3 with c = 1.5 is asked, but the class reaches 2",
        ),
        (
            All((KAnonymity(10), DistinctDiversity(2), EntropyDiversity(2))),
            [5, 4],
            "k = 10 is asked, but the table has 9 rows; entropy l = 2 is asked, but the class reaches 1.987",
        ),
        (All((KAnonymity(9), DistinctDiversity(2))), [5, 4], ""),
        (TCloseness(0.0, np.array([5, 4]), "equal"), [5, 4], ""),
    ],
)
def test_a_shortfall_says_what_is_asked_and_what_there_is(requirement, counts, message):
    assert shortfall(requirement, np.array(counts)) == message


def test_mondrian_refuses_what_the_table_cannot_satisfy_and_names_it():
    codes, domain = oracles.encode([1, 2, 3, 4], "integer")
    both = All((KAnonymity(2), DistinctDiversity(2)))
    with pytest.raises(InfeasibleError, match="k = 2 and distinct l = 2"):
        partition(codes[:, None], [domain], np.zeros(4, dtype=np.int32), both, "strict")
