"""Disclosure risks where one person can have several records, held against what they are by definition."""

from collections import Counter
from fractions import Fraction
from functools import reduce

import numpy as np
import pandas as pd
import pytest
import risk_oracles as oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from test_risks_by_definition import PARTS, VALUES, spread_of, stored

from tasks.measure_risks import Persons, risks

some = settings(max_examples=40, deadline=None)


@st.composite
def tables_of_persons(draw):
    """Draw a tiny table, whom each record is of, and the class value that counts for whom in which EC."""
    records = draw(oracle.tables())
    owners = draw(st.lists(st.integers(0, 3), min_size=len(records), max_size=len(records)))
    persons = [sorted(set(owners)).index(owner) for owner in owners]
    credited = []
    for fragment in range(len(records[0].ecs)):
        own = {}
        for each, person in zip(records, persons, strict=True):
            own.setdefault((each.ecs[fragment], person), set()).add(each.published[fragment])
        credited.append({key: draw(st.sampled_from(sorted(values))) for key, values in own.items()})
    return records, persons, credited


def counts_of(credited):
    found = []
    for of_fragment in credited:
        counts = np.zeros((1 + max(ec for ec, _ in of_fragment), VALUES), np.int64)
        for (ec, _), value in of_fragment.items():
            counts[ec, value] += 1
        found.append(counts)
    return found


def candidates(records, credited, fragments):
    """Return for each record the combinations of persons that its ECs have in the join, none left out."""
    parts = [
        pd.DataFrame([(ec, value) for (ec, _), value in credited[i].items()], columns=[f"ec_{i}", "class"])
        for i in fragments
    ]
    joined = reduce(lambda left, right: left.merge(right, on="class"), parts)
    rows = Counter(joined[[f"ec_{i}" for i in fragments]].itertuples(index=False, name=None))
    return [rows[tuple(each.ecs[i] for i in fragments)] for each in records], len(joined)


def by_person(values, persons, worst):
    """Return the worst value of each person's records."""
    own = {}
    for value, person in zip(values, persons, strict=True):
        own.setdefault(person, []).append(value)
    return [worst(own[person]) for person in sorted(own)]


def measured(records, persons, credited, population=None):
    counts, members, classes = stored(records)
    of = Persons(np.array(persons, np.int32), counts_of(credited))
    return risks(counts, members, classes, population=population, persons=of)


@some
@given(tables_of_persons(), st.integers(0, 30))
def test_candidates_are_persons_and_each_person_counts_once(table, others):
    records, persons, credited = table
    people = len(set(persons))
    found = measured(*table, population=people + others).reidentification
    share = Fraction(people, people + others)
    for part, each in zip(PARTS[len(credited)], found, strict=True):
        held, _ = candidates(records, credited, part)
        chances = [Fraction(1, rows) if rows else Fraction(0) for rows in held]
        expected = [oracle.journalist(rows, share) if rows else 0 for rows in held]
        picked = by_person(chances, persons, max)
        assert each.prosecutor == spread_of(picked)
        assert each.journalist == spread_of(by_person(expected, persons, max))
        assert each.marketer == pytest.approx(float(sum(picked)) / people)
        assert each.unique == picked.count(1)
        sizes = [1 / chance if chance else 0 for chance in picked]
        bins = [(lower, upper, pytest.approx(float(part))) for lower, upper, part in oracle.bins(sizes)]
        assert [tuple(group) for group in each.candidates] == bins


@some
@given(tables_of_persons())
def test_candidates_of_one_fragment_are_the_persons_of_the_class(table):
    records, persons, credited = table
    for fragment in range(len(credited)):
        held, _ = candidates(records, credited, [fragment])
        for each, rows in zip(records, held, strict=True):
            alike = {
                person
                for other, person in zip(records, persons, strict=True)
                if other.ecs[fragment] == each.ecs[fragment]
            }
            assert rows == len(alike)


@some
@given(tables_of_persons())
def test_membership_is_of_combinations_of_persons(table):
    records, persons, credited = table
    found = measured(*table).membership
    if len(credited) == 1:
        assert found is None
        return
    held, whole = candidates(records, credited, range(len(credited)))
    likelihoods = [Fraction(rows, whole) if whole else Fraction(0) for rows in held]
    assert found.records == len(set(persons))
    assert found.likelihood == spread_of(by_person(likelihoods, persons, max))


@some
@given(tables_of_persons())
def test_the_class_of_a_person_is_that_of_the_record_that_tells_it_most_surely(table):
    records, persons, credited = table
    before = oracle.published_prior(records)
    *_, last = measured(*table).revealed
    whole = oracle.posteriors(records, range(len(credited)), None, before)
    told = [each or before for each in whole]
    sure = [max(each.values()) for each in told]
    right = [oracle.guess(each, before) == record.true for each, record in zip(told, records, strict=True)]
    surest = by_person(sure, persons, max)
    assert last.largest == spread_of(surest)
    shares = []
    for person, most in enumerate(surest):
        hits = [
            hit
            for hit, own, value in zip(right, persons, sure, strict=True)
            if own == person and value == most
        ]
        shares.append(Fraction(sum(hits), len(hits)))
    assert last.right == pytest.approx(float(sum(shares)) / len(shares))
    assert last.certain == pytest.approx(sum(value == 1 for value in surest) / len(surest))


@some
@given(oracle.tables())
def test_with_a_record_each_persons_are_records(records):
    counts, members, classes = stored(records)
    alone = Persons(np.arange(len(records), dtype=np.int32), counts)
    assert risks(counts, members, classes, persons=alone) == risks(counts, members, classes)
