"""The medians of nodes, each in one feature."""

from typing import NamedTuple

import numpy as np

from tasks.partitions.blocks import Block, Flags, Ints, Narrow, Sample, Table


class Medians(NamedTuple):
    """The median row of each node in the order of its feature's codes."""

    code: Ints
    below: Ints  # rows of the node with a lower code
    tied: Ints  # rows with this code
    following: Ints  # the code of the next row in the order of codes


def medians_of(table: Table, block: Block, sample: Sample) -> Medians:
    """Return the medians of the nodes of a sample."""
    if len(block.nodes.sizes) == 1:
        return _medians_of_one(table, sample)
    keys, base = sorted_keys(table, sample)
    starts = np.cumsum(sample.sizes) - sample.sizes
    last_left = starts + ((sample.sizes - 1) // 2 if table.strict else sample.sizes // 2 - 1)
    median = keys[last_left]
    below = np.searchsorted(keys, median)
    tied = np.searchsorted(keys, median, side="right") - below
    return Medians(median - base, below - starts, tied, keys[last_left + 1] - base)


def sorted_keys(table: Table, sample: Sample) -> tuple[Narrow, Ints]:
    """Return a number for each row, above those of the node before; and what a node's are above, by its code.

    The numbers are in ascending order.
    """
    base = np.arange(len(sample.sizes)) * table.codes
    narrow = np.uint32 if base[-1] + table.codes < 1 << 32 else np.int64
    keys = np.repeat(base.astype(narrow), sample.sizes)
    keys += sample.values
    keys.sort()
    return keys, base


def _medians_of_one(table: Table, sample: Sample) -> Medians:
    """Return the medians of one node in several features; this is faster than a sort."""
    values = sample.values.reshape(len(sample.sizes), -1)
    rows = values.shape[1]
    last_left = (rows - 1) // 2 if table.strict else rows // 2 - 1
    divided = np.partition(values, last_left, axis=1)
    median, following = divided[:, last_left], divided[:, last_left + 1 :].min(axis=1)
    below = np.array([np.count_nonzero(row) for row in values < median[:, None]])
    tied = np.array([np.count_nonzero(row) for row in values == median[:, None]])
    return Medians(median.astype(np.int64), below, tied, following.astype(np.int64))


def is_spent(table: Table, sample: Sample, medians: Medians) -> Flags:
    """Tell where too few rows lie on either side of the median's code.

    It is then so in every subset of the rows: a subset's median is this code, with no more rows on
    either side, or lies beyond it, among too few rows.
    """
    above = sample.sizes - medians.below - medians.tied
    return np.asarray(np.maximum(medians.below, above) < table.requirement.minimum_size)
