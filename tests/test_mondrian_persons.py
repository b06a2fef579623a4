"""Mondrian where persons count: against the recursive references, asked about persons by definition."""

import numpy as np
import oracles
import person_oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from test_infogain import infogain_mondrian, leaves_of
from test_mondrian import groups, modes, one_column, random_table

from tasks.config import Anonymization
from tasks.errors import InfeasibleError
from tasks.partitions.anonymize import divide
from tasks.partitions.mondrian import partition
from tasks.partitions.person_counts import person_counts
from tasks.partitions.person_requirements import AllBorne, BorneValues, KPersons, borne_level
from tasks.partitions.requirements import All, Of

quick = settings(deadline=None, max_examples=60)
splits = pytest.mark.parametrize("split", ["median", "infogain"])


def attributes_of(columns):
    """Return attributes with a value that everybody has, side by side, and the ranges of their codes."""
    ends = np.cumsum([max(column) + 1 for column in columns])
    places = [np.array(column) + end - (max(column) + 1) for column, end in zip(columns, ends, strict=True)]
    anyone = np.full(len(columns[0]), ends[-1])
    return np.column_stack([*places, anyone]).astype(np.int32), [0, *ends.tolist()]


@st.composite
def tables_of_persons(draw):
    """Return a table by person and class, attributes, persons, what is asked, and its definition."""
    table = draw(oracles.tables(max_rows=30))
    rows = len(table.codes)
    persons = np.array(draw(st.lists(st.integers(0, rows // 2), min_size=rows, max_size=rows)))
    order = np.lexsort((table.classes, persons))
    table, persons = table._replace(codes=table.codes[order], classes=table.classes[order]), persons[order]
    sensitive = st.lists(st.integers(0, 3), min_size=rows, max_size=rows)
    columns = [table.classes.tolist(), *draw(st.lists(sensitive, max_size=2))]
    codes, ends = attributes_of(columns)
    k, level = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    every = AllBorne(tuple(set(columns[0]))) if draw(st.booleans()) else BorneValues(level)
    asked = [KPersons(k), every, *(BorneValues(level) for _ in columns[1:])]
    starts, stops = [ends[-1], *ends[:-1]], [ends[-1] + 1, *ends[1:]]
    requirement = All(tuple(Of("x", *each) for each in zip(starts, stops, asked, strict=True)))
    least = [len(set(columns[0])) if isinstance(every, AllBorne) else level, *(level for _ in columns[1:])]

    def holds(rows):
        return len({int(persons[row]) for row in rows}) >= k and all(
            person_oracles.surely_covered(map(len, person_oracles.bearers(rows, persons, column).values()))
            >= wanted
            for column, wanted in zip(columns, least, strict=True)
        )

    return table, codes, persons, requirement, holds


@modes
@splits
@given(drawn=tables_of_persons())
@quick
def test_leaves_are_those_of_the_recursive_definition(drawn, mode, split):
    table, codes, persons, requirement, holds = drawn
    if not holds(range(len(codes))):
        with pytest.raises(InfeasibleError, match="asked"):
            partition(table.codes, table.domains, codes, requirement, mode, split, persons)
        return
    found = partition(table.codes, table.domains, codes, requirement, mode, split, persons)
    if split == "infogain":
        assert leaves_of(found) == infogain_mondrian(table, holds, mode)
        return
    reference = oracles.strict_mondrian if mode == "strict" else oracles.relaxed_mondrian
    assert leaves_of(found) == reference(table.codes, table.domains, holds)


@modes
@splits
@given(drawn=tables_of_persons(), random=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_classes_hold_whatever_the_order_of_rows(drawn, mode, split, random):
    table, codes, persons, requirement, holds = drawn
    if not holds(range(len(codes))):
        return
    order = list(range(len(codes)))
    random.shuffle(order)
    given = table.codes[order], table.domains, codes[order], requirement
    found = divide(*given, Anonymization(mode=mode, split=split), 0, persons[order])
    for group in groups(found):
        assert holds([order[row] for row in group])


@splits
@given(drawn=tables_of_persons(), random=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_strict_depends_neither_on_the_order_of_rows_nor_on_the_numbers_of_persons(drawn, split, random):
    table, codes, persons, requirement, holds = drawn
    if not holds(range(len(codes))):
        return
    order, names = list(range(len(codes))), list(range(len(codes)))
    random.shuffle(order)
    random.shuffle(names)
    renamed = np.array(names)[persons]
    found = partition(table.codes, table.domains, codes, requirement, "strict", split, persons)
    again = partition(
        table.codes[order], table.domains, codes[order], requirement, "strict", split, renamed[order]
    )
    assert_array_equal(again.labels, found.labels[order])
    assert_array_equal(again.lower, found.lower)


@modes
@splits
@pytest.mark.parametrize("rows, k", [(3000, 10), (60_000, 9000)])
def test_classes_of_larger_tables_hold_k_persons(rows, k, mode, split):
    table = random_table(7, rows, 9, 5)
    persons = np.random.default_rng(1).integers(0, rows // 2, rows).astype(np.int32)
    codes, ends = attributes_of([table.classes.tolist()])
    requirement = Of("x", ends[-1], ends[-1] + 1, KPersons(k))
    found = divide(
        table.codes, table.domains, codes, requirement, Anonymization(mode=mode, split=split), 0, persons
    )
    counted = [len(set(persons[found.labels == label].tolist())) for label in range(len(found.lower))]
    assert min(counted) >= k
    assert len(counted) > 1


@modes
@given(table=oracles.tables(max_rows=40), k=st.integers(1, 5))
@quick
def test_persons_with_one_record_each_are_records(table, k, mode):
    k = min(k, len(table.codes))
    codes, ends = attributes_of([table.classes.tolist()])
    requirement = Of("x", ends[-1], ends[-1] + 1, KPersons(k))
    persons = np.arange(len(codes))
    found = partition(table.codes, table.domains, codes, requirement, mode, "median", persons)
    of_records = partition(table.codes, table.domains, codes, requirement, mode)
    if mode == "strict":
        assert_array_equal(found.labels, of_records.labels)
    assert_array_equal(np.sort(np.bincount(found.labels)), np.sort(np.bincount(of_records.labels)))


def test_numbers_of_persons_do_not_tell_who_is_on_which_side_of_a_tie():
    values = [0] * 60 + [1] * 40
    table = one_column(values)
    codes, ends = attributes_of([[0] * 100])
    requirement = Of("x", ends[-1], ends[-1] + 1, KPersons(50))
    relaxed = Anonymization(mode="relaxed")
    found = divide(table.codes, table.domains, codes, requirement, relaxed, 0, np.arange(100))
    assert np.bincount(found.labels).tolist() == [50, 50]
    assert set(found.labels[:50].tolist()) == {0, 1}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20))
@quick
def test_persons_are_counted_once_with_each_value(rows):
    persons, first, second = (np.array(column) for column in zip(*sorted(rows), strict=True))
    found = person_counts(persons, np.stack([first, second + 4]), 7)
    expected = [len({p for p, one, other in rows if value in (one, other + 4)}) for value in range(7)]
    assert found.tolist() == expected


@given(st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=4))
@quick
def test_what_is_sure_to_be_borne_can_be(bearers):
    counts = [len(persons) for persons in bearers]
    level = borne_level(np.array([counts]))[0]
    assert level == person_oracles.surely_covered(counts)
    assert level <= person_oracles.most_covered(bearers)


@pytest.mark.parametrize("k, holds", [(1, [True, True]), (2, [False, True]), (3, [False, False])])
def test_k_persons_at_its_boundary(k, holds):
    assert KPersons(k).holds(np.array([[1], [2]])).tolist() == holds


def test_a_requirement_of_persons_says_what_can_be_reached():
    assert KPersons(5).shortfall(np.array([[3]])) == "k = 5 persons is asked, but the table has 3."
    assert "only l = 1 is sure" in BorneValues(2).shortfall(np.array([[1, 1]]))
    assert "suffice for 1 of them" in AllBorne((0, 2)).shortfall(np.array([[1, 0, 1]]))
