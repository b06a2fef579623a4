"""Whom attacks aim at where several records can be of one person."""

from collections import Counter

import duckdb
import numpy as np
import pytest

from tasks.errors import InputError
from validations.attacks.targets import draw_targets, number_of_targets, require_fit
from validations.person_figures import PersonFigures
from validations.promises import FragmentPromise, Promises

PERSONS = [0, 0, 0, 0, 0, 0, 1, 1, 2, 3]


@pytest.fixture
def store():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE source AS SELECT range AS x, 'a' AS class FROM range(10)")
        connection.execute("""
            CREATE TABLE columns AS
            SELECT * FROM (VALUES (1, 'x', 'feature', 'integer', 0, NULL),
                                  (2, 'class', 'class', 'categorical', 0, NULL))
                     AS t(position, name, role, kind, scale, precision)""")
        connection.execute('CREATE TABLE hierarchies ("column" VARCHAR, value VARCHAR, ancestors VARCHAR[])')
        yield connection


@pytest.fixture
def of_persons(store):
    store.execute("CREATE TABLE persons (person INTEGER)")
    store.executemany("INSERT INTO persons VALUES (?)", [[person] for person in PERSONS])
    return store


def promised(persons):
    stated = None if persons is None else PersonFigures(persons)
    return Promises(
        records=10,
        class_attribute="class",
        class_values="per_record",
        k=2,
        guarantee="join",
        delta=None,
        enforcement="none",
        features=(("x", "integer"),),
        fragments=(FragmentPromise("fragment_1.csv", "fragment_1.parquet", ("x",)),),
        counts_persons=persons is not None,
        stated_persons=stated,
    )


def test_records_are_aimed_at_where_they_are_counted(store):
    assert number_of_targets(store) == 10
    assert draw_targets(store, 20, 0).values["x"].tolist() == list(range(10))


def test_of_each_person_one_record_is_aimed_at(of_persons):
    assert number_of_targets(of_persons) == 4
    drawn = Counter()
    for seed in range(60):
        targets = draw_targets(of_persons, 20, seed)
        rows = targets.values["x"].tolist()
        assert targets.number == 4
        assert sorted(PERSONS[row] for row in rows) == [0, 1, 2, 3]
        drawn.update(rows)
    assert set(drawn) == set(range(10))


def test_persons_are_drawn_alike_however_many_records_they_have(of_persons):
    hits = Counter(
        PERSONS[row] for seed in range(300) for row in draw_targets(of_persons, 1, seed).values["x"].tolist()
    )
    assert min(hits[person] for person in range(4)) > 40  # of 75 expected; by records two had 30
    assert np.sum(list(hits.values())) == 300


def test_a_table_of_other_persons_does_not_fit(of_persons):
    require_fit(of_persons, promised(4))
    for other in (3, 5, None):
        with pytest.raises(InputError, match="it is of 4 persons, the release of"):
            require_fit(of_persons, promised(other))


def test_a_table_without_persons_does_not_fit_a_release_that_counts_them(store):
    require_fit(store, promised(None))
    with pytest.raises(InputError, match="it is of records alone, the release of 4 persons"):
        require_fit(store, promised(4))
