"""The evidence queries of joins: exact by the definition where they are few, of pairs where they are many."""

import itertools
from math import prod
from typing import NamedTuple

import duckdb
import numpy as np
import pytest
from published_folder import Table, write_parquet

from validations import join_queries
from validations.promises import FragmentPromise, Promises

OWN = 'it\'s "class"'
VALUES = "abc"


class Made(NamedTuple):
    promises: Promises
    counts: list[list[dict[str, int]]]

    @property
    def sizes(self):
        return [len(fragment) for fragment in self.counts]


def write(counts, folder, **more):
    """Write Parquet files of fragments, each a list of the class counts of its equivalence classes."""
    for number, fragment in enumerate(counts, 1):
        rows = [
            [{"lower": place, "upper": place, "missing": False}, value]
            for place, held in enumerate(fragment)
            for value, n in held.items()
            for _ in range(n)
        ]
        types = ["STRUCT(lower BIGINT, upper BIGINT, missing BOOLEAN)", "VARCHAR"]
        write_parquet(folder / f"fragment_{number}.parquet", Table(["value", OWN], types, [], rows))
    fragments = tuple(
        FragmentPromise(f"fragment_{number}.csv", f"fragment_{number}.parquet", ("value",))
        for number in range(1, len(counts) + 1)
    )
    promises = Promises(
        records=0,
        class_attribute=OWN,
        class_values="per_record",
        k=5,
        guarantee="records",
        delta=None,
        enforcement="none",
        features=(("value", "integer"),),
        fragments=fragments,
        **more,
    )
    return Made(promises, counts)


def drawn(fragments, classes, seed, largest=3):
    random = np.random.default_rng(seed)
    return [
        [
            {value: int(n) for value, n in zip(VALUES, each, strict=True) if n}
            for each in random.integers(0, largest + 1, (classes, len(VALUES)))
            if each.any()
        ]
        for _ in range(fragments)
    ]


def by_definition(counts):
    """Return the smallest join and the fewest records of every set of fragments that has a join with rows."""
    rows, records = {}, {}
    numbers = range(len(counts))
    for size in numbers[1:]:
        for chosen in itertools.combinations(numbers, size + 1):
            name = ", ".join(str(number + 1) for number in chosen)
            for ecs in itertools.product(*(counts[number] for number in chosen)):
                common = set.intersection(*map(set, ecs))
                if common:
                    joined = sum(prod(held[value] for held in ecs) for value in common)
                    fewest = min(sum(held[value] for value in common) for held in ecs)
                    rows[name] = min(rows.get(name, joined), joined)
                    records[name] = min(records.get(name, fewest), fewest)
    return rows, records


def shown(query):
    lines = duckdb.sql(query.text).fetchall()
    return {name: figure for name, figure in lines if figure is not None}


def pairs_of(figures):
    return {name: figure for name, figure in figures.items() if name.count(",") == 1}


@pytest.mark.parametrize("fragments, seed", [(2, 0), (3, 1), (3, 2), (4, 3), (5, 4)])
def test_every_set_of_fragments_is_shown_as_it_is_by_definition(fragments, seed, tmp_path, monkeypatch):
    made = write(drawn(fragments, 6, seed), tmp_path)
    rows, records = by_definition(made.counts)
    monkeypatch.chdir(tmp_path)
    queries = [join(made.promises, made.sizes) for join in (join_queries.joins, join_queries.join_records)]
    assert [shown(query) for query in queries] == [rows, records]
    assert {query.note for query in queries} == {None}
    monkeypatch.setattr(join_queries, "MOST_PRODUCTS", 1)
    queries = [join(made.promises, made.sizes) for join in (join_queries.joins, join_queries.join_records)]
    assert [shown(query) for query in queries] == [pairs_of(rows), pairs_of(records)]


def test_sets_whose_classes_never_meet_have_no_figure(tmp_path, monkeypatch):
    made = write([[{"a": 3}], [{"b": 3}], [{"a": 2, "c": 1}]], tmp_path)
    monkeypatch.chdir(tmp_path)
    assert shown(join_queries.joins(made.promises, made.sizes)) == {"1, 3": 6}
    assert shown(join_queries.join_records(made.promises, made.sizes)) == {"1, 3": 2}


def test_a_single_fragment_has_nothing_to_join(tmp_path):
    made = write([[{"a": 3}]], tmp_path)
    query = join_queries.joins(made.promises, [1])
    assert query == (None, "There is one fragment only, so there is nothing to join.")


def test_four_fragments_of_a_hundred_classes_are_shown_in_full(tmp_path, monkeypatch):
    counts = drawn(4, 100, 5, largest=2)
    made = write(counts, tmp_path)
    different = [[dict(each) for each in {tuple(held.items()) for held in fragment}] for fragment in counts]
    monkeypatch.chdir(tmp_path)
    rows, records = by_definition([fragment[:9] for fragment in different])
    found = shown(join_queries.joins(made.promises, [100] * 4))
    assert found.keys() == rows.keys()
    assert all(found[name] <= joined for name, joined in rows.items())
    fewest = shown(join_queries.join_records(made.promises, [100] * 4))
    assert all(fewest[name] <= figure for name, figure in records.items())


def test_of_twenty_fragments_pairs_are_shown_and_the_rest_is_named(tmp_path, monkeypatch):
    counts = drawn(20, 5, 6)
    made = write(counts, tmp_path)
    monkeypatch.chdir(tmp_path)
    for join, place in ((join_queries.joins, 0), (join_queries.join_records, 1)):
        query = join(made.promises, [100] * 20)
        assert query.text.count("\n") < 60
        assert query.text.endswith(";")
        assert "every two fragments. Sets of three or more are not in it" in query.note
        assert "unjoin audit checks them as well" in query.note
        expected = {}
        for one, other in itertools.combinations(range(20), 2):
            figures = by_definition([counts[one], counts[other]])[place]
            expected |= {f"{one + 1}, {other + 1}": figure for figure in figures.values()}
        assert shown(query) == expected


@pytest.mark.parametrize(
    "sizes, every",
    [
        ([100, 100, 100, 100], True),
        ([117, 117, 117, 117], True),  # 118^4 choices are fewer than 200,000,000
        ([119, 119, 119, 119], False),
        ([10**5, 1, 10**5], False),
        ([10**5, 1, 1], True),
        ([99, 1, 10**4], True),
    ],
)
def test_more_choices_than_a_query_goes_through_in_seconds_are_left_out(sizes, every, tmp_path):
    made = write([[{"a": 1}]] * len(sizes), tmp_path)
    query = join_queries.joins(made.promises, sizes)
    assert ("products AS" in query.text) == every
    assert (query.note is None) == every


def test_what_takes_long_and_what_is_not_known_is_told(tmp_path):
    made = write([[{"a": 1}]] * 2, tmp_path, join_scope="segments")
    note = join_queries.joins(made.promises, [10**5, 10**5]).note
    assert note.startswith("It compares 10,000,000,000 pairs of equivalence classes")
    assert note.endswith("Which of these joins are within a segment, the files do not say.")
    note = join_queries.joins(made.promises, [10, 10]).note
    assert note == "Which of these joins are within a segment, the files do not say."
