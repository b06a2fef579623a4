"""What versions tell together: the three conditions, against their definitions."""

import numpy as np
import pytest
import repeats_oracles as oracles
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tasks.repeats.conditions import Version, few_records, few_values, told_by_difference, values_left

PERSONS = 12


def numbered(version, values):
    """A version as the product has it."""
    ecs = [ec for fragment in version for ec in fragment]
    pairs = sorted((person, number) for number, (members, _) in enumerate(ecs) for person in members)
    cells = [
        (number, values.index(value), records)
        for number, (_, shown) in enumerate(ecs)
        for value, records in shown.items()
    ]
    row, column, data = zip(*cells, strict=True)
    return Version(
        np.array([person for person, _ in pairs]),
        np.array([number for _, number in pairs]),
        csr_array((np.array(data), (row, column)), shape=(len(ecs), len(values))),
    )


@st.composite
def versions(draw, values, persons=PERSONS):
    """A version: some of the persons, several fragments, any class counts; a person may have several ECs."""
    inside = draw(st.sets(st.integers(0, persons - 1), min_size=1))
    fragments = []
    for _ in range(draw(st.integers(1, 3))):
        records = [(person, draw(st.integers(0, 3))) for person in sorted(inside)]
        records += [
            (person, draw(st.integers(0, 3)))
            for person in draw(st.sets(st.sampled_from(sorted(inside)), max_size=2))
        ]
        members = {}
        for person, label in records:
            members.setdefault(label, set()).add(person)
        fragments.append(
            [
                (held, draw(st.dictionaries(st.sampled_from(values), st.integers(0, 5), min_size=1)))
                for held in members.values()
            ]
        )
    return fragments


def flagged(flags):
    return set(np.flatnonzero(flags).tolist())


def found(new, earlier, values, k, least):
    everyone = [numbered(each, values) for each in (new, *earlier)]
    several = np.zeros(PERSONS, dtype=bool)
    several[sorted(oracles.in_several(new, earlier))] = True
    chosen = [each.of(several) for each in everyone]
    left = values_left(chosen, PERSONS)
    return flagged(few_values(left, least) & several), flagged(few_records(chosen, left, k))


@pytest.mark.parametrize("number", [3, 70])
@given(data=st.data())
def test_conditions_of_persons_are_those_of_the_definition(number, data):
    values = [f"v{place}" for place in range(number)]
    new = data.draw(versions(values))
    earlier = data.draw(st.lists(versions(values), min_size=1, max_size=3))
    k, least = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 4))
    few, thin = found(new, earlier, values, k, least)
    assert few == oracles.few_values(new, earlier, least)
    assert thin == oracles.few_records(new, earlier, k)


@given(data=st.data())
def test_differences_are_those_of_the_definition(data):
    values = ["a", "b"]
    new, old = data.draw(versions(values)), data.draw(versions(values))
    k = data.draw(st.integers(1, 9))
    told = told_by_difference(numbered(new, values), numbered(old, values), PERSONS, k)
    assert flagged(told) == oracles.told_by_difference(new, old, k)


def grown(more):
    """A version of ten persons, and one with some more in the same equivalence class."""
    before = [[(set(range(10)), {"a": 6, "b": 4})]]
    return before, [[(set(range(10 + more)), {"a": 6 + more, "b": 4})]]


@pytest.mark.parametrize("k, more, told", [(3, 0, 0), (3, 1, 1), (3, 2, 2), (3, 3, 0), (2, 1, 1), (2, 2, 0)])
def test_a_rest_of_less_than_k_is_told_and_one_of_k_is_not(k, more, told):
    old, new = (numbered(each, ["a", "b"]) for each in grown(more))
    assert told_by_difference(new, old, 20, k).sum() == told
    assert told_by_difference(old, new, 20, k).sum() == told


def test_totals_tell_of_few_though_no_equivalence_class_is_part_of_another():
    old = [[({0, 1, 2, 3}, {"a": 4}), ({4, 5, 6, 7}, {"a": 4})]]
    new = [[({0, 1, 4, 5}, {"a": 4}), ({2, 3, 6, 7, 8}, {"a": 5})]]
    told = told_by_difference(numbered(new, ["a"]), numbered(old, ["a"]), PERSONS, 2)
    assert flagged(told) == {8}


@pytest.mark.parametrize("k, few", [(4, False), (5, True)])
def test_k_records_of_the_values_left_are_enough(k, few):
    new, old = [[({0, 1}, {"a": 4, "b": 9})]], [[({0, 2}, {"a": 7, "c": 1})]]
    _, thin = found(new, [old], ["a", "b", "c"], k, 1)
    assert thin == ({0} if few else set())


@pytest.mark.parametrize("least, few", [(1, False), (2, True)])
def test_as_many_values_as_asked_are_enough(least, few):
    new, old = [[({0}, {"a": 4, "b": 9})]], [[({0}, {"a": 7, "c": 1})]]
    assert found(new, [old], ["a", "b", "c"], 2, least)[0] == ({0} if few else set())


def test_who_is_new_is_not_held_against_earlier_versions():
    new, old = [[({0, 1}, {"a": 1})]], [[({1}, {"b": 1})]]
    assert found(new, [old], ["a", "b"], 2, 1) == ({1}, {1})


def test_nothing_is_left_where_two_versions_have_no_value_in_common():
    new, old = [[({0}, {"a": 50})]], [[({0}, {"b": 50})]]
    few, thin = found(new, [old], ["a", "b"], 2, 1)
    assert few == thin == {0}
