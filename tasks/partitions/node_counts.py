"""How often class values occur in rows of nodes: bit by bit, where there is one node and few values."""

import numpy as np

from tasks.partitions.blocks import Block, Flags, Ints, Sample, Table, Words

FEW_VALUES = 32  # class values that are counted faster bit by bit


def class_counts(table: Table, block: Block, sample: Sample, rows: Flags, chosen: Ints) -> Ints:
    """Count class values in the chosen rows, shape (nodes, class values); `chosen` are theirs per node."""
    if block.marks is not None:
        marked = _packed(rows.reshape(len(chosen), -1))[:, None] & block.marks
        return np.asarray(np.bitwise_count(marked).sum(axis=2, dtype=np.int64))
    base = np.arange(len(chosen)) * table.class_values
    places = np.flatnonzero(rows) + np.repeat(sample.shifts, chosen)
    cells = np.repeat(base, chosen) + block.classes.take(places, axis=1)
    counts = np.bincount(cells.ravel(), minlength=len(chosen) * table.class_values)
    return counts.reshape(len(chosen), table.class_values)


def marks_of(table: Table, block: Block) -> Words:
    """Return a bit for each row that has a class value, shape (class values, words)."""
    having = (np.logical_or.reduce(block.classes == value) for value in range(table.class_values))
    return np.concatenate([_packed(rows[None, :]) for rows in having])


def _packed(flags: Flags) -> Words:
    """Return each line's flags as bits, 64 in a word."""
    lines, places = flags.shape
    packed = np.zeros((lines, -(-places // 64) * 8), dtype=np.uint8)
    packed[:, : -(-places // 8)] = np.packbits(flags, axis=1)
    return packed.view(np.uint64)
