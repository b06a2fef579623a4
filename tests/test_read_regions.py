"""What the store holds of a fragment's classes is read back as it was written."""

import duckdb
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal

from tasks.partitions.mondrian import partition
from tasks.partitions.partition import Partition
from tasks.partitions.regions import regions
from tasks.partitions.requirements import KAnonymity
from tasks.released import write_regions
from tasks.tables import read_regions


def read_back(released):
    domains = [region.domain for region in released]
    with duckdb.connect() as connection:
        write_regions(connection, 3, released)
        return read_regions(connection, 3, domains)


def assert_same(found, released):
    for read, written in zip(found, released, strict=True):
        assert read.domain is written.domain
        assert read.texts() == written.texts()
        assert_array_equal(read.loss(), written.loss())
        if written.domain.numeric:
            for part in ("lower", "upper", "present", "missing"):
                assert_array_equal(getattr(read, part), getattr(written, part))
                assert getattr(read, part).dtype == getattr(written, part).dtype
        else:
            assert [read.sets[place] for place in read.chosen] == [
                written.sets[place] for place in written.chosen
            ]


@pytest.mark.parametrize("bounds", ["tight", "cuts"])
@given(table=oracles.tables())
@settings(deadline=None, max_examples=30)
def test_regions_are_read_back_as_they_were_written(table, bounds):
    requirement = KAnonymity(min(2, len(table.codes)))
    found = partition(table.codes, table.domains, table.classes, requirement, "strict")
    _, released = regions(table.codes, table.domains, found, bounds)
    assert_same(read_back(released), released)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("integer", [2**53, 2**53 + 1, -(2**62), 7]),
        ("integer", [None, None, 3, 4]),
        ("decimal", [0.1, 0.1 + 2**-56, -1e-300, 1e300]),
        ("decimal", [None, None, None, None]),
        ("decimal", [None, 1.5, None, 1.5]),
        ("categorical", ["b", "a", "é", "Z"]),
        ("categorical", [None, "", "None", "a"]),
        ("categorical", [None, None, "a", "b"]),
        ("categorical", [None, None, None, None]),
    ],
)
@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0]])
@pytest.mark.parametrize("bounds", ["tight", "cuts"])
def test_every_kind_of_cell_is_read_back(kind, values, labels, bounds):
    codes, domain = oracles.encode(values, kind)
    labels = np.array(labels, dtype=np.int32)
    lower = np.array([codes[labels == ec].min() for ec in range(labels.max() + 1)])
    upper = np.array([codes[labels == ec].max() for ec in range(labels.max() + 1)])
    whole = Partition(labels, lower[:, None].astype(np.int32), upper[:, None].astype(np.int32))
    _, released = regions(codes[:, None], [domain], whole, bounds)
    assert_same(read_back(released), released)
