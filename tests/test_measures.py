"""Measures: information loss as the paper defines it, row by row and cell by cell."""

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.measures import discernibility, information_loss
from tasks.partitions.mondrian import partition
from tasks.partitions.partition import Partition
from tasks.partitions.regions import regions
from tasks.partitions.requirements import KAnonymity

quick = settings(deadline=None, max_examples=60)


def as_partition(codes, labels):
    groups = [codes[labels == label] for label in range(labels.max() + 1)]
    lower, upper = [group.min(axis=0) for group in groups], [group.max(axis=0) for group in groups]
    return Partition(labels, np.array(lower, dtype=np.int32), np.array(upper, dtype=np.int32))


def loss(codes, domains, found, bounds="tight"):
    labels, released = regions(codes, domains, found, bounds)
    return information_loss(released, np.bincount(labels))


def loss_of_column(values, kind, labels):
    codes, domain = oracles.encode(values, kind)
    found = as_partition(codes[:, None], np.array(labels, dtype=np.int32))
    return float(loss(codes[:, None], [domain], found)[0])


def regions_of_rows(table, found, bounds):
    for label in found.labels:
        if bounds == "tight":
            members = table.codes[found.labels == label].T
            yield list(map(oracles.tight_region, members, table.domains))
        else:
            box = zip(found.lower[label], found.upper[label], table.domains, strict=True)
            yield [oracles.cuts_region(lower, upper, domain) for lower, upper, domain in box]


@pytest.mark.parametrize("bounds", ["tight", "cuts"])
@given(table=oracles.tables(), k=st.integers(1, 6))
@quick
def test_information_loss_is_the_mean_over_rows_and_features(table, k, bounds):
    found = partition(
        table.codes, table.domains, table.classes, KAnonymity(min(k, len(table.codes))), "strict"
    )
    rows = list(regions_of_rows(table, found, bounds))
    per_feature = loss(table.codes, table.domains, found, bounds)
    assert per_feature.mean() == pytest.approx(oracles.information_loss(rows, table.domains))
    for feature, domain in enumerate(table.domains):
        alone = oracles.information_loss([[row[feature]] for row in rows], [domain])
        assert per_feature[feature] == pytest.approx(alone)


@given(oracles.tables())
@quick
def test_exact_values_lose_nothing(table):
    _, labels = np.unique(table.codes, axis=0, return_inverse=True)
    found = as_partition(table.codes, labels.ravel().astype(np.int32))
    assert loss(table.codes, table.domains, found).tolist() == [0] * len(table.domains)


@given(oracles.tables())
@quick
def test_one_class_loses_every_column_that_varies(table):
    found = as_partition(table.codes, np.zeros(len(table.codes), dtype=np.int32))
    expected = [float(domain.size > 1) for domain in table.domains]
    assert loss(table.codes, table.domains, found).tolist() == expected


@pytest.mark.parametrize(
    "values, kind, labels, expected",
    [
        ([0, 5, 10, 20], "integer", [0, 0, 1, 1], (5 / 20 + 10 / 20) / 2),
        ([0, 5, 10, 20], "decimal", [0, 0, 0, 1], (3 * 10 / 20 + 0) / 4),
        ([3, 3, 3], "integer", [0, 0, 1], 0),
        (["a", "b", "c", "d"], "categorical", [0, 0, 0, 1], (3 * 2 / 3 + 0) / 4),
        (["a", "a", "a"], "categorical", [0, 0, 0], 0),
        ([None, 0, 10, 20], "integer", [0, 0, 1, 1], (2 * 1 + 2 * 10 / 20) / 4),
        ([None, None, 10, 20], "integer", [0, 0, 1, 1], 1 / 2),
        ([None, "a", "b", "c"], "categorical", [0, 0, 1, 1], 1 / 3),
        ([None, None, "a", "a"], "categorical", [0, 0, 1, 1], 0),
    ],
)
def test_information_loss_by_hand(values, kind, labels, expected):
    assert loss_of_column(values, kind, labels) == pytest.approx(expected)


def test_neighbours_above_two_to_the_53_are_apart():
    low = 2**53
    assert loss_of_column([low, low + 1, low + 2, low + 2], "integer", [0, 0, 1, 1]) == pytest.approx(1 / 4)


def test_the_widest_range_of_integers_is_measured():
    values = [-(2**63), 0, 2**63 - 1, 2**63 - 1]
    assert loss_of_column(values, "integer", [0, 0, 1, 1]) == pytest.approx(1 / 4)


@pytest.mark.parametrize("sizes, expected", [([5], 25), ([2, 3], 13), ([3 * 10**9, 3 * 10**9], 18 * 10**18)])
def test_discernibility_sums_the_records_that_each_record_looks_like(sizes, expected):
    assert discernibility(np.array(sizes, dtype=np.int64)) == expected
