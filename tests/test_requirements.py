"""Requirements: the measures against their definitions, their boundaries, what is said of a failure."""

from fractions import Fraction
from itertools import chain

import diversity_oracles as definitions
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tasks.errors import InfeasibleError
from tasks.partitions.closeness import Hierarchy, t_distance
from tasks.partitions.diversity import distinct_level, entropy_level, recursive_level
from tasks.partitions.requirements import (
    All,
    AllValues,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    Of,
    RecursiveDiversity,
    TCloseness,
    refuse_unreachable,
)

quick = settings(deadline=None, max_examples=100)
VALUES = range(6)
values = st.lists(st.sampled_from(VALUES), max_size=12)
groups = st.lists(values, min_size=1, max_size=5)
constants = st.sampled_from(["0.5", "1", "1.1", "1.5", "3", "0.1"])
grounds = pytest.mark.parametrize("ground", ["equal", "ordered", "hierarchical"])


def counted(lists):
    return np.array([definitions.counts_of(one, VALUES) for one in lists], dtype=np.int64)


def with_rows(lists):
    """Let every group have a value, and every value that occurs be in the whole."""
    return [one or [0] for one in lists]


@given(groups)
@quick
def test_distinct_level_is_the_number_of_values(lists):
    assert distinct_level(counted(lists)).tolist() == [definitions.distinct_level(one) for one in lists]


@given(groups)
@quick
def test_entropy_level_is_the_exponential_of_the_entropy(lists):
    assert_allclose(
        entropy_level(counted(lists)), [definitions.entropy_level(one) for one in lists], rtol=1e-12
    )


@given(groups, constants)
@quick
def test_recursive_level_is_the_largest_l_that_holds(lists, c):
    expected = [definitions.recursive_level(one, Fraction(c)) for one in lists]
    assert recursive_level(counted(lists), float(c)).tolist() == expected


@given(st.data(), groups)
@quick
@grounds
def test_t_distance_is_the_least_cost_of_moving_one_distribution_to_the_other(ground, data, lists):
    lists = with_rows(lists)
    everyone = list(chain(*lists))
    measure, oracle = measures(ground, data)
    found = t_distance(counted(lists), counted([everyone])[0], measure)
    assert_allclose(found, [float(oracle(one, everyone)) for one in lists], rtol=1e-9, atol=1e-9)


def measures(ground, data):
    if ground == "equal":
        return ground, definitions.equal_distance
    if ground == "ordered":
        return ground, definitions.ordered_distance
    paths = data.draw(definitions.paths(VALUES))
    hierarchy = Hierarchy(definitions.ancestors(paths, VALUES))
    return hierarchy, lambda one, everyone: definitions.hierarchical_distance(one, everyone, paths)


def test_a_hierarchy_of_one_level_makes_all_values_equally_far():
    counts, overall = np.array([[3, 1, 0], [0, 2, 2]]), np.array([5, 4, 3])
    root = Hierarchy(np.zeros((3, 1), dtype=np.int64))
    assert_array_equal(t_distance(counts, overall, root), t_distance(counts, overall, "equal"))


def test_distances_worked_out_by_hand():
    everyone = np.ones(9, dtype=np.int64)  # the salaries 3k to 11k of the paper on t-closeness, section 4.1
    groups = np.array([[1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1]])
    assert_allclose(t_distance(groups, everyone, "ordered"), [0.375, 1 / 6])
    organs = Hierarchy(
        np.array([[0, 0], [0, 0], [1, 0]])
    )  # two of the lung, one of the stomach, then the root
    assert_allclose(t_distance(np.array([[1, 0, 0]]), np.array([1, 1, 1]), organs), [(1 / 2 + 1) / 3])


@grounds
def test_an_empty_group_reaches_nothing(ground):
    empty, overall = np.zeros((1, 3), dtype=np.int64), np.array([1, 2, 3])
    measure = Hierarchy(np.zeros((3, 1), dtype=np.int64)) if ground == "hierarchical" else ground
    assert t_distance(empty, overall, measure).tolist() == [np.inf]
    assert not TCloseness(1, overall, measure).holds(empty)[0]
    assert (distinct_level(empty), entropy_level(empty), recursive_level(empty, 3)) == (0, 0, 0)


@given(st.data(), groups)
@quick
@grounds
def test_values_that_no_group_has_may_be_left_out(ground, data, lists):
    lists = [[min(value, 2) for value in one] for one in with_rows(lists)]
    overall = counted([[*chain(*lists), 5, 5]])[0]
    measure, _ = measures(ground, data)
    whole, short = counted(lists), counted(lists)[:, :3]
    assert_array_equal(t_distance(short, overall, measure), t_distance(whole, overall, measure))
    for requirement in (TCloseness(0.3, overall, measure), AllValues((0, 2)), AllValues((1, 4))):
        assert_array_equal(requirement.holds(short), requirement.holds(whole))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(1, 5))
@quick
@grounds
def test_a_group_with_the_same_shares_is_at_no_distance_at_all(ground, everyone, times):
    counts = np.array([everyone]) * 7
    overall = np.array(everyone) * times * 1_000_003
    measure = Hierarchy(np.zeros((len(everyone), 1), dtype=np.int64)) if ground == "hierarchical" else ground
    assert TCloseness(0, overall, measure).holds(counts)[0] == (sum(everyone) > 0)


@given(values.filter(bool), constants)
@quick
def test_the_level_reached_holds_and_the_next_does_not(one, c):
    counts = counted([one])
    distinct, recursive = definitions.distinct_level(one), definitions.recursive_level(one, Fraction(c))
    assert DistinctDiversity(distinct).holds(counts)[0]
    assert not DistinctDiversity(distinct + 1).holds(counts)[0]
    assert recursive == 0 or RecursiveDiversity(float(c), recursive).holds(counts)[0]
    assert not RecursiveDiversity(float(c), recursive + 1).holds(counts)[0]


@given(st.integers(2, 60), st.integers(1, 10**6))
@quick
def test_equally_frequent_values_reach_their_number_by_entropy_and_no_fewer_records_do(number, records):
    counts = np.full((2, number), records)
    counts[1, 0] -= 1
    assert EntropyDiversity(number).holds(counts)[0]
    assert records > 10**4 or not EntropyDiversity(number).holds(counts)[1]
    assert EntropyDiversity(number).minimum_size == number


@given(values.filter(bool), values)
@quick
def test_exactly_t_is_close_enough_and_anything_more_is_not(one, others):
    everyone = one + others
    distance = float(definitions.equal_distance(one, everyone))
    counts, overall = counted([one]), counted([everyone])[0]
    assert TCloseness(distance, overall, "equal").holds(counts)[0]
    assert distance == 0 or not TCloseness(distance - 1e-9, overall, "equal").holds(counts)[0]


def test_exactly_t_is_close_enough_where_the_distance_is_rounded_up():
    counts = np.array([[30782942, 4097353, 7524015, 1652764]])
    overall = np.array([850624225, 636961687, 511136480, 269786714])
    exact = Fraction(0)
    for one, everyone in zip(counts[0].tolist(), overall.tolist(), strict=True):
        exact += abs(Fraction(one, int(counts.sum())) - Fraction(everyone, int(overall.sum()))) / 2
    assert t_distance(counts, overall, "equal")[0] > float(exact)
    assert TCloseness(float(exact), overall, "equal").holds(counts)[0]


@pytest.mark.parametrize("c, counts, level", [(1.1, [55, 50], 1), (3, [3, 1], 1), (0.1, [3, 30, 0], 0)])
def test_a_most_frequent_value_as_frequent_as_c_allows_is_too_frequent(c, counts, level):
    assert recursive_level(np.array([counts]), c)[0] == level
    assert recursive_level(np.array([[*counts, 1]]), c)[0] == level + (c > 1)


@given(groups, constants)
@quick
def test_no_group_below_the_minimum_size_holds(lists, c):
    counts, rows = counted(lists), np.array([len(one) for one in lists])
    for size in range(1, 7):
        asked = (KAnonymity(size), DistinctDiversity(size), EntropyDiversity(size - 0.5))
        for requirement in (*asked, RecursiveDiversity(float(c), size), AllValues(tuple(range(size)))):
            assert not (requirement.holds(counts) & (rows < requirement.minimum_size)).any()


def test_requirements_of_several_attributes_look_at_their_own_columns():
    # the class in columns 0 and 1, an attribute in 2 (missing), 3 and 4
    counts = np.array([[2, 1, 0, 3, 0], [2, 2, 2, 1, 1], [4, 0, 3, 1, 0], [1, 1, 1, 1, 0]])
    k, l = Of("class", 0, 2, KAnonymity(3)), Of("illness", 3, 5, DistinctDiversity(2))  # noqa: E741
    assert k.holds(counts).tolist() == [True, True, True, False]
    assert l.holds(counts).tolist() == [False, True, False, False]
    assert All((k, l)).holds(counts).tolist() == [False, True, False, False]
    assert All((k, l)).minimum_size == 3


def test_an_attribute_whose_values_are_all_left_out_reaches_nothing():
    counts, overall = np.array([[2, 1]]), np.array([1, 1])
    for requirement in (
        DistinctDiversity(1),
        EntropyDiversity(1.1),
        RecursiveDiversity(9, 1),
        TCloseness(1, overall, "equal"),
        TCloseness(1, overall, "ordered"),
        AllValues((0,)),
    ):
        assert not Of("illness", 3, 5, requirement).holds(counts)[0]


FAILURES = [
    (KAnonymity(40), [20, 10], "k = 40 is asked, but the table has 30 records."),
    (KAnonymity(2), [1, 0], "k = 2 is asked, but the table has 1 record."),
    (
        DistinctDiversity(5),
        [3, 0, 2, 1],
        "l = 5 (distinct) is asked, but only l = 3 can be reached: it has 3 values.",
    ),
    (EntropyDiversity(2.5), [3, 1], "l = 2.5 (entropy) is asked, but at most l = 1.75 can be reached."),
    (EntropyDiversity(4), [1, 1, 1], "l = 4 (entropy) is asked, but at most l = 3 can be reached."),
    (
        RecursiveDiversity(2, 3),
        [4, 2, 1],
        "l = 3 (recursive, c = 2) is asked, but only l = 2 can be reached with this c.",
    ),
    (
        RecursiveDiversity(0.5, 2),
        [4, 1],
        "l = 2 (recursive, c = 0.5) is asked, but no l can be reached with this c.",
    ),
    (AllValues((0, 1, 3)), [4, 0, 1], "every one of 3 values is asked, but the table has 1 of them."),
    (
        TCloseness(0.2, np.array([5, 5]), "equal"),
        [3, 0],
        "t = 0.2 (equal) is asked, but these records together are at a distance of 0.5.",
    ),
    (
        TCloseness(0.2, np.array([5, 5, 5]), Hierarchy(np.zeros((3, 1), dtype=np.int64))),
        [3, 0, 0],
        "t = 0.2 (hierarchical) is asked, but these records together are at a distance of 0.67.",
    ),
    (
        TCloseness(0.2, np.array([5, 5]), "ordered"),
        [0, 0],
        "t = 0.2 (ordered) is asked, but no record has a value.",
    ),
]


@pytest.mark.parametrize("requirement, counts, told", FAILURES)
def test_a_shortfall_says_what_is_asked_and_what_can_be_reached(requirement, counts, told):
    assert not requirement.holds(np.array([counts]))[0]
    with pytest.raises(InfeasibleError) as refused:
        refuse_unreachable(requirement, np.array(counts))
    assert str(refused.value) == told
    assert str(requirement) == told.split(" is asked")[0]


def test_a_shortfall_names_the_columns_and_leaves_out_what_holds():
    k, low = Of("class", 0, 2, KAnonymity(9)), Of("illness", 2, 4, DistinctDiversity(3))
    fine = Of("class", 0, 2, DistinctDiversity(2))
    with pytest.raises(InfeasibleError) as refused:
        refuse_unreachable(All((k, fine, low)), np.array([4, 4, 7, 1]))
    assert str(refused.value) == (
        "k = 9 is asked, but the table has 8 records.\nColumn 'illness': l = 3 (distinct) is asked, "
        "but only l = 2 can be reached: it has 2 values."
    )
    assert str(All((k, low))) == "k = 9 of 'class', l = 3 (distinct) of 'illness'"


def test_requirements_are_told_apart():
    assert (
        len(
            {KAnonymity(2), KAnonymity(3), All((KAnonymity(2), DistinctDiversity(2))), *[AllValues((0,))] * 2}
        )
        == 4
    )
