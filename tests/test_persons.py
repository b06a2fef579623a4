"""Several records of a person: whom classes count, and that joins are safe in persons, by definition."""

import numpy as np
import person_oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.config import Privacy
from tasks.domain import Domain
from tasks.errors import InfeasibleError
from tasks.partitions.regions import NumericRegions
from tasks.persons.change_classes import Records, change_classes, shown_as_they_are
from tasks.persons.coarsen_persons import coarsen_persons
from tasks.persons.credit import credit, lacks_persons
from tasks.persons.realise import realise
from tasks.persons.stored import numbered_by_content

quick = settings(deadline=None, max_examples=60)
strategies = pytest.mark.parametrize("strategy", ["naive", "dependency_graph", "min_distortion"])
guarantees = pytest.mark.parametrize("guarantee", ["join", "records"])


some = st.integers(1, 3)
several = st.integers(2, 3)


@st.composite
def tables(draw, fragments=some):
    """Return records of persons with up to four, in classes of k persons or more, and k."""
    k, values = draw(st.integers(2, 3)), draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(1, 4), min_size=2 * k, max_size=4 * k))
    persons = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    rows = len(persons)
    classes = draw(st.lists(st.integers(0, values - 1), min_size=rows, max_size=rows))
    members = []
    for _ in range(draw(fragments)):
        ecs = np.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
        members.append(_of_k(ecs, persons, k))
    return Records(members, persons, np.array(classes, dtype=np.int32), values), k


def _of_k(ecs, persons, k):
    """Unite the classes of fewer than k persons with others, until there are none."""
    while True:
        names, numbers = np.unique(ecs, return_inverse=True)
        short = [ec for ec in range(len(names)) if len(set(persons[numbers == ec].tolist())) < k]
        if not short:
            return numbers.astype(np.int32)
        ecs = np.where(numbers == short[0], (short[0] + 1) % len(names), numbers)


def credits_of(counted, ec):
    chosen = counted.ecs == ec
    return dict(zip(counted.persons[chosen].tolist(), counted.values[chosen].tolist(), strict=True))


def all_credits(records, shown):
    return [
        [credits_of(counted, ec) for ec in range(int(ecs.max()) + 1)]
        for ecs, (counted, _) in zip(records.members, shown, strict=True)
    ]


def check_counted(records, shown, *, covered):
    """Each person with records in a class counts once, under a value that one of these records shows."""
    for ecs, (counted, published) in zip(records.members, shown, strict=True):
        assert len(published) == len(records.classes)
        for ec in range(int(ecs.max()) + 1):
            rows = np.flatnonzero(ecs == ec)
            bearers = person_oracles.bearers(rows, records.persons, published)
            held = credits_of(counted, ec)
            assert len(held) == (counted.ecs == ec).sum()
            assert set(held) == set(records.persons[rows].tolist())
            assert all(person in bearers[value] for person, value in held.items())
            if covered:
                assert set(held.values()) == set(bearers)


@given(drawn=tables(st.just(1)))
@quick
def test_as_many_values_as_can_be_have_a_person_of_their_own(drawn):
    (members, persons, classes, values), _ = drawn
    counted = credit(members[0], persons, classes, values)
    check_counted(drawn[0], [(counted, classes)], covered=False)
    for ec in range(int(members[0].max()) + 1):
        bearers = person_oracles.bearers(np.flatnonzero(members[0] == ec), persons, classes)
        assert len(set(credits_of(counted, ec).values())) == person_oracles.most_covered(
            list(bearers.values())
        )
    lacking = lacks_persons(members[0], classes, counted.counts(int(members[0].max()) + 1, values))
    for ec, lacks in enumerate(lacking):
        shown = set(classes[members[0] == ec].tolist())
        assert lacks == (shown != set(credits_of(counted, ec).values()))


def test_a_person_who_is_not_needed_counts_under_the_most_frequent_value_the_lowest_of_several():
    persons = np.array([0, 0, 0, 1, 1, 2, 3, 4, 4, 5, 5])
    classes = np.array([1, 1, 0, 1, 0, 0, 1, 2, 1, 2, 2])
    counted = credit(np.zeros(11, int), persons, classes, 3)
    assert credits_of(counted, 0) == {0: 1, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2}


def test_the_only_person_with_a_value_counts_under_it():
    assert credits_of(credit(np.zeros(4, int), np.array([0, 0, 0, 1]), np.array([0, 0, 1, 0]), 2), 0)[0] == 1


@strategies
@guarantees
@given(drawn=tables())
@quick
def test_joins_rest_on_k_persons_whatever_the_strategy(drawn, strategy, guarantee):
    records, k = drawn
    shown = change_classes(records, Privacy(k=k, enforcement=strategy, guarantee=guarantee), 0)
    held = all_credits(records, shown)
    assert min(len(counted) for fragment in held for counted in fragment) >= k
    assert person_oracles.joins_are_safe(held, k, guarantee)
    check_counted(records, shown, covered=len(shown) > 1)


@guarantees
@given(drawn=tables(several))
@quick
def test_without_changes_persons_count_or_the_release_is_refused(drawn, guarantee):
    records, k = drawn
    privacy = Privacy(k=k, enforcement="none", guarantee=guarantee)
    if any(
        lacks_persons(ecs, records.classes, counted.counts(int(ecs.max()) + 1, records.values)).any()
        for ecs, (counted, _) in zip(records.members, shown_as_they_are(records), strict=True)
    ):
        with pytest.raises(InfeasibleError, match="min_distortion"):
            change_classes(records, privacy, 0)
        return
    shown = change_classes(records, privacy, 0)
    assert all((published == records.classes).all() for _, published in shown)
    check_counted(records, shown, covered=True)


@given(drawn=tables(st.just(1)))
@quick
def test_one_fragment_keeps_its_class_values(drawn):
    records, k = drawn
    ((counted, published),) = change_classes(records, Privacy(k=k, enforcement="naive"), 0)
    assert_array_equal(published, records.classes)
    assert len(counted.ecs) == sum(
        len(set(records.persons[records.members[0] == ec].tolist()))
        for ec in range(int(records.members[0].max()) + 1)
    )


@given(drawn=tables(st.just(2)))
@quick
def test_two_class_values_always_have_persons(drawn):
    records, k = drawn
    records = records._replace(classes=records.classes % 2)
    shown = change_classes(records, Privacy(k=k, enforcement="none"), 0)
    check_counted(records, shown, covered=True)
    assert person_oracles.joins_are_safe(all_credits(records, shown), k, "join")


def ranges(members, seen):
    """Return one numeric feature's tight bounds."""
    ecs = int(members.max()) + 1
    lower = np.array([seen[members == ec].min() for ec in range(ecs)], dtype=np.int32)
    upper = np.array([seen[members == ec].max() for ec in range(ecs)], dtype=np.int32)
    domain = Domain("x", "integer", np.arange(40), missing=False)
    return NumericRegions(domain, lower, upper, np.ones(ecs, dtype=bool), np.zeros(ecs, dtype=bool))


@guarantees
@given(drawn=tables(several), seed=st.integers(0, 3))
@settings(deadline=None, max_examples=25)
def test_coarsening_makes_joins_rest_on_k_persons(drawn, seed, guarantee):
    records, k = drawn
    values = np.random.default_rng(seed).integers(0, 40, len(records.persons))
    regions = [(ranges(ecs, values),) for ecs in records.members]
    try:
        labels = coarsen_persons(records, regions, k, guarantee, work=10_000)
    except InfeasibleError:
        bearers = person_oracles.bearers(range(len(records.persons)), records.persons, records.classes)
        assert person_oracles.most_covered(list(bearers.values())) < len(bearers)
        return
    merged = records._replace(
        members=[new[ecs].astype(np.int32) for new, ecs in zip(labels, records.members, strict=True)]
    )
    shown = shown_as_they_are(merged)
    check_counted(merged, shown, covered=True)
    assert person_oracles.joins_are_safe(all_credits(merged, shown), k, guarantee)


def test_a_person_in_two_merged_classes_counts_once():
    members = [np.array([0, 0, 1, 1], dtype=np.int32), np.zeros(4, dtype=np.int32)]
    records = Records(members, np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1]), 2)
    merged = records._replace(members=[np.zeros(4, dtype=np.int32)] * 2)
    assert [len(counted.ecs) for counted, _ in shown_as_they_are(merged)] == [2, 2]


def test_those_who_have_no_other_value_change_first_and_then_those_with_the_fewest_records():
    persons = np.array([0, 0, 0, 1, 1, 2, 3, 4])
    classes = np.array([0, 0, 1, 0, 0, 0, 1, 0], dtype=np.int32)
    counted = credit(np.zeros(8, dtype=np.int32), persons, classes, 2)
    assert credits_of(counted, 0) == {0: 0, 1: 0, 2: 0, 3: 1, 4: 0}
    for gone, changed in ((1, [5]), (2, [5, 7]), (3, [3, 4, 5, 7])):
        settled, published = realise(counted, classes, np.array([[4 - gone, 1 + gone]]))
        assert np.flatnonzero(published != classes).tolist() == changed
        assert settled.counts(1, 2).tolist() == [[4 - gone, 1 + gone]]


def test_a_value_that_nobody_counts_under_is_not_shown():
    persons = np.array([0, 0, 1, 2])
    classes = np.array([0, 1, 0, 0], dtype=np.int32)
    counted = credit(np.zeros(4, dtype=np.int32), persons, classes, 2)
    assert counted.counts(1, 2).tolist() == [[2, 1]]
    settled, published = realise(counted, classes, np.array([[3, 0]]))
    assert published.tolist() == [0, 0, 0, 0]
    assert settled.values.tolist() == [0, 0, 0]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=20),
    st.randoms(use_true_random=False),
)
@example([(0, 1), (1, 1), (0, 2)], np.random)
@quick
def test_numbers_of_persons_depend_on_what_they_hold_alone(rows, random):
    shuffled, names = list(rows), list(range(6))
    random.shuffle(shuffled)
    random.shuffle(names)

    def held_by_number(rows):
        persons, content = (np.array(column) for column in zip(*rows, strict=True))
        numbers = numbered_by_content(persons, content.astype(np.uint64))
        assert len(set(zip(persons, numbers, strict=True))) == len(set(persons)) == numbers.max() + 1
        return sorted(zip(numbers.tolist(), content.tolist(), strict=True))

    assert held_by_number(rows) == held_by_number([(names[person], held) for person, held in shuffled])
