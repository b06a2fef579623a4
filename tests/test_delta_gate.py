"""The gate's eta and its join figures against the definitions, executed."""

import itertools
from fractions import Fraction
from math import prod

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from validations import class_joins, selectivity, support_joins
from validations.class_counts import ClassCounts, TooCostlyError
from validations.class_joins import smallest_join
from validations.record_counts import smallest_records
from validations.selectivity import PublishedClass, eta, smallest_eta
from validations.support_joins import smallest_by_support


def versions(records, values):
    cuts = itertools.combinations(range(1, records), values - 1)
    return [tuple(b - a for a, b in itertools.pairwise((0, *cut, records))) for cut in cuts]


def share_of_versions(classes, common, k):
    joins = [
        sum(prod(counts) for counts in zip(*(version[:common] for version in chosen), strict=True))
        for chosen in itertools.product(*(versions(each.records, each.values) for each in classes))
    ]
    return Fraction(sum(rows >= k for rows in joins), len(joins))


published = st.integers(1, 7).flatmap(
    lambda records: st.builds(PublishedClass, st.integers(1, min(records, 4)), st.just(records))
)


@st.composite
def chosen_classes(draw):
    classes = tuple(draw(st.lists(published, min_size=2, max_size=3)))
    return classes, draw(st.integers(1, min(values for values, _ in classes)))


@settings(max_examples=100, deadline=None)
@given(chosen_classes(), st.integers(1, 9))
def test_eta_is_the_share_of_versions_with_a_large_enough_join(choice, k):
    assert eta(*choice, k) == share_of_versions(*choice, k)


@pytest.mark.parametrize(
    ("first", "second", "common", "k", "expected"),
    [
        ((3, 6), (3, 6), 2, 5, Fraction(87, 100)),
        ((4, 6), (4, 6), 2, 5, Fraction(41, 100)),
        ((3, 5), (3, 5), 1, 5, Fraction(5, 36)),
        ((3, 8), (3, 9), 2, 8, Fraction(513, 588)),
    ],
)
def test_eta_of_worked_examples(first, second, common, k, expected):
    assert eta((PublishedClass(*first), PublishedClass(*second)), common, k) == expected


def test_eta_of_a_large_example():
    classes = (PublishedClass(10, 40),) * 2
    assert float(eta(classes, 1, 40)) == pytest.approx(0.0991448, abs=1e-6)


@pytest.mark.parametrize(("values", "other"), list(itertools.product([1, 2, 3, 4], repeat=2)))
@pytest.mark.parametrize("k", [3, 6, 10])
def test_eta_does_not_fall_when_a_class_grows(values, other, k):
    for common, records in itertools.product(range(1, min(values, other) + 1), range(values, 12)):
        smaller, larger = PublishedClass(values, records), PublishedClass(values, records + 1)
        beside = PublishedClass(other, 6)
        assert eta((smaller, beside), common, k) <= eta((larger, beside), common, k)


supports = st.dictionaries(st.integers(1, 7), st.integers(4, 6), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(st.lists(supports, min_size=2, max_size=3), st.integers(2, 7))
def test_the_smallest_eta_is_that_of_the_worst_choice(fragments, k):
    listed = [
        {support: PublishedClass(support.bit_count(), records) for support, records in fragment.items()}
        for fragment in fragments
    ]
    found = []
    for size in range(2, len(listed) + 1):
        for subset in itertools.combinations(listed, size):
            for chosen in itertools.product(*subset):
                common = bits_in_common(chosen)
                if common:
                    classes = [fragment[support] for fragment, support in zip(subset, chosen, strict=True)]
                    found.append(share_of_versions(classes, common, k))
    assert smallest_eta(listed, k) == min(found, default=None)


def bits_in_common(chosen):
    common = -1
    for support in chosen:
        common &= support
    return common.bit_count()


def test_an_eta_that_is_too_costly_is_refused(monkeypatch):
    monkeypatch.setattr(selectivity, "LARGEST_TABLE", 10)
    with pytest.raises(TooCostlyError):
        eta((PublishedClass(3, 17), PublishedClass(3, 18)), 2, 17)
    monkeypatch.setattr(selectivity, "LARGEST_CHOICES", 1)
    with pytest.raises(TooCostlyError):
        smallest_eta([{1: PublishedClass(1, 5)}, {1: PublishedClass(1, 5)}], 5)


def test_a_huge_k_is_refused_before_anything_is_listed():
    with pytest.raises(TooCostlyError):
        eta((PublishedClass(3, 17), PublishedClass(3, 18)), 2, 2**31 - 1)


@st.composite
def families(draw):
    values = draw(st.integers(1, 5))
    counts = st.lists(st.sampled_from([0, 0, 1, 2, 3, 6]), min_size=values, max_size=values).filter(any)
    return draw(st.lists(st.lists(counts, min_size=1, max_size=5), min_size=2, max_size=4))


def tables_of(connection, family):
    for number, counts in enumerate(family, 1):
        frame = pd.DataFrame(counts, columns=[f"v{value}" for value in range(len(counts[0]))])
        frame.insert(0, "id", range(len(frame)))
        connection.register("frame", frame)
        connection.execute(f"CREATE TEMP TABLE counts_{number} AS SELECT * FROM frame")
        connection.unregister("frame")
    return ClassCounts(connection, len(family), len(family[0][0]))


def joins_and_records(family):
    joins, records = [], []
    for size in range(2, len(family) + 1):
        for subset in itertools.combinations(family, size):
            for chosen in itertools.product(*subset):
                rows = [prod(counts) for counts in zip(*chosen, strict=True)]
                if any(rows):
                    joins.append(sum(rows))
                    records += [sum(n for n, row in zip(each, rows, strict=True) if row) for each in chosen]
    return min(joins, default=None), min(records, default=None)


@settings(max_examples=60, deadline=None)
@given(families(), st.integers(1, 12))
def test_the_smallest_join_and_its_records_are_those_of_every_set_of_fragments(family, k):
    with duckdb.connect() as connection:
        counts = tables_of(connection, family)
        found = smallest_join(counts, k)
        assert found.exact
        assert (found.rows, smallest_records(counts)) == joins_and_records(family)


CROSSING = [[[1, 2, 2, 0]], [[1, 2, 0, 2]], [[1, 0, 2, 2]]]


def test_joins_that_are_too_costly_are_refused(monkeypatch):
    with duckdb.connect() as connection:
        counts = tables_of(connection, CROSSING)
        monkeypatch.setattr(class_joins, "LARGEST_PRODUCTS", 0)
        assert smallest_join(counts, 5) == (1, True, 1)
        monkeypatch.setattr(support_joins, "LARGEST_COMPARISONS", 0)
        with pytest.raises(TooCostlyError):
            smallest_join(counts, 5)


def test_larger_joins_than_k_need_not_be_exact(monkeypatch):
    with duckdb.connect() as connection:
        counts = tables_of(connection, CROSSING)
        monkeypatch.setattr(class_joins, "LARGEST_PRODUCTS", 0)
        monkeypatch.setattr(support_joins, "LARGEST_COMPARISONS", 0)
        found = smallest_join(counts, 1)
    assert found == (5, False, 1)


@settings(max_examples=200, deadline=None)
@given(families(), st.integers(1, 12))
def test_the_smallest_join_by_supports_is_that_of_every_set_of_fragments(family, cap):
    rows, _ = joins_and_records(family)
    found = smallest_by_support([np.array(counts) for counts in family], cap)
    assert found == (cap if rows is None else min(rows, cap))


@pytest.mark.parametrize("step", [1, 3])
def test_parts_are_compared_in_blocks(step, monkeypatch):
    monkeypatch.setattr(support_joins, "STEP", step)
    monkeypatch.setattr(support_joins, "BLOCK", step)
    random = np.random.default_rng(0)
    for _ in range(20):
        family = [random.choice([0, 1, 2, 6], size=(8, 5)) for _ in range(3)]
        family = [counts[counts.any(axis=1)] for counts in family]
        rows, _ = joins_and_records([counts.tolist() for counts in family])
        assert smallest_by_support(family, rows + 1) == rows
        assert smallest_by_support(family, rows) == rows


def test_class_values_or_rows_without_end_are_refused():
    counts = np.ones((1, 64), dtype=np.int64)
    with pytest.raises(TooCostlyError):
        smallest_by_support([counts, counts], 5)
    with pytest.raises(TooCostlyError):
        smallest_by_support([counts[:, :3]] * 2, 2**31)
    assert smallest_by_support([counts[:, :63]] * 2, 65) == 63


def test_sets_in_common_without_end_are_refused(monkeypatch):
    counts = np.ones((6, 6), dtype=np.int64) - np.eye(6, dtype=np.int64)
    monkeypatch.setattr(support_joins, "MOST_SETS", 21)
    assert smallest_by_support([counts] * 2, 5) == 4
    monkeypatch.setattr(support_joins, "MOST_SETS", 20)
    with pytest.raises(TooCostlyError, match="more than 20 sets"):
        smallest_by_support([counts] * 2, 5)


def nested_family(records, random):
    """Return class counts whose supports are all nested or disjoint, three records or more in each value."""
    supports = [range(10), range(6), range(3), range(3, 6), range(6, 10), range(8, 10)]
    counts = np.zeros((records, 10), dtype=np.int64)
    for row in counts:
        support = supports[random.integers(len(supports))]
        row[support] = random.integers(1, 9, len(support))
        row[support[0]] += 10
    return np.unique(counts, axis=0)


def test_many_classes_of_many_fragments_are_checked(monkeypatch):
    monkeypatch.setattr(class_joins, "LARGEST_PRODUCTS", 0)  # products alone would not do
    random = np.random.default_rng(5)
    family = [nested_family(600, random) for _ in range(4)]
    with duckdb.connect() as connection:
        found = smallest_join(tables_of(connection, family), 10)
    assert found.exact
    assert found.rows >= 10
    for fragment, values in enumerate([(0, 1, 2), (0, 1, 3), (0, 2, 3)]):
        crossing = np.zeros((1, 10), dtype=np.int64)
        crossing[0, values] = 2, 3, 3  # two of them join to thirteen rows, all three to eight
        family[fragment] = np.vstack([family[fragment], crossing])
    with duckdb.connect() as connection:
        assert smallest_join(tables_of(connection, family), 10) == (8, True, 8)
