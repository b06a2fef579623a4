"""What merged classes release covers what each of them did, and nothing that their members did not have."""

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.partitions.cells import parse_cell
from tasks.partitions.mondrian import partition
from tasks.partitions.regions import regions
from tasks.partitions.requirements import KAnonymity


def cell_of(region, domain):
    if not domain.numeric:
        return tuple(sorted(region.covered)), region.missing
    covered = region.covered or [None]
    return min(covered), max(covered), region.missing


@given(table=oracles.tables(), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_merged_tight_cells_are_those_of_all_members_together(table, seed):
    found = partition(table.codes, table.domains, table.classes, KAnonymity(1), "strict")
    labels, released = regions(table.codes, table.domains, found, "tight")
    drawn = np.random.default_rng(seed).integers(3, size=labels.max() + 1)
    merged = np.unique(drawn, return_inverse=True)[1]
    rows = merged[labels]
    for column, domain, region in zip(table.codes.T, table.domains, released, strict=True):
        for group, text in enumerate(region.merged(merged).texts()):
            expected = oracles.tight_region(column[rows == group], domain)
            assert parse_cell(text, domain.kind) == cell_of(expected, domain)


@pytest.mark.parametrize("bounds", ["tight", "cuts"])
@given(table=oracles.tables())
@settings(deadline=None, max_examples=30)
def test_merging_nothing_changes_nothing_and_merging_loses(table, bounds):
    found = partition(table.codes, table.domains, table.classes, KAnonymity(1), "strict")
    labels, released = regions(table.codes, table.domains, found, bounds)
    apart, together = np.arange(labels.max() + 1), np.zeros(labels.max() + 1, dtype=np.intp)
    for region in released:
        assert region.merged(apart).texts() == region.texts()
        assert (region.merged(together).loss()[together] >= region.loss() - 1e-12).all()
