"""Columns that are counted together, and the joint entropies of the columns of two such groups."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Bins = npt.NDArray[np.integer]
Matrix = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

CELLS_PER_GROUP = 128  # the joint values of two groups fit 16 bits, and their counts a core's cache
DENSE_CELLS = 2**22
SINGLE_PRECISION_ROWS = 2**24  # below, counts are exact in single precision


def pack(sizes: Sequence[int]) -> list[list[int]]:
    """Group columns while the group's joint values stay few: the largest, and the largest that fit beside."""
    left = sorted(range(len(sizes)), key=sizes.__getitem__)
    groups = []
    while left:
        group = [left.pop()]
        cells = sizes[group[0]]
        while fitting := bisect_right(left, CELLS_PER_GROUP // cells, key=sizes.__getitem__):
            group.append(left.pop(fitting - 1))
            cells *= sizes[group[-1]]
        groups.append(group)
    return groups


class Group:
    """Columns counted together: one number per row stands for the values of all of them.

    Parameters
    ----------
    members
        Places of its columns.
    columns : sequence of ndarray of shape (n,)
        All columns, as bin numbers from 0.
    sizes
        Of all columns, how many bins there are.
    """

    def __init__(self, members: list[int], columns: Sequence[Bins], sizes: Sequence[int]) -> None:
        self.members = members
        self.columns = [columns[member] for member in members]
        self.sizes = [sizes[member] for member in members]
        self.cells = int(np.prod(self.sizes))
        self.rows: npt.NDArray[Any] = np.zeros(
            len(columns[0]), dtype=np.int16 if self.cells <= CELLS_PER_GROUP else np.intp
        )
        for column, size in zip(self.columns, self.sizes, strict=True):
            self.rows *= size
            self.rows += column.astype(self.rows.dtype)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.indicator = self._indicator() if len(members) > 1 else None

    @property
    def values(self) -> list[npt.NDArray[np.intp]]:
        """For each column, which of its values every joint value holds, shape (cells,)."""
        return list(np.unravel_index(np.arange(self.cells), self.sizes))

    def _indicator(self) -> npt.NDArray[np.floating]:
        """Return which joint values (columns) hold which single values (rows)."""
        exact = np.float32 if len(self.rows) < SINGLE_PRECISION_ROWS else np.float64
        indicator = np.zeros((sum(self.sizes), self.cells), dtype=exact)
        for start, value in zip(self.starts, self.values, strict=True):
            indicator[start + value, np.arange(self.cells)] = 1.0
        return indicator

    def joint_entropies(self, others: "Sequence[Group]") -> Matrix:
        """Return H(x, y) for each x of this group and y of the others, one after the other, in nats."""
        return np.concatenate([self._joint_entropies(other) for other in others], axis=1)

    def _joint_entropies(self, other: "Group") -> Matrix:
        if self.cells * other.cells > max(DENSE_CELLS, len(self.rows)):
            return self._sparse_joint_entropies(other)
        both = np.multiply(self.rows, other.cells, dtype=np.result_type(self.rows, other.rows))
        both += other.rows
        table = np.bincount(both, minlength=self.cells * other.cells).reshape(self.cells, other.cells)
        pairs = _marginals(self.indicator, table, other.indicator)
        return entropies_of_counts(pairs, self.starts, other.starts, len(self.rows))

    def _sparse_joint_entropies(self, other: "Group") -> Matrix:
        """Return the same from the joint values that occur, for columns of very many categories."""
        entropies = np.empty((len(self.columns), len(other.columns)))
        for i, x in enumerate(self.columns):
            for j, (y, size) in enumerate(zip(other.columns, other.sizes, strict=True)):
                _, counts = np.unique(x.astype(np.int64) * size + y, return_counts=True)
                entropies[i, j] = np.log(len(x)) - float((counts * np.log(counts)).sum()) / len(x)
        return entropies


def entropies_of_counts(
    pairs: Matrix, first_starts: npt.NDArray[np.intp], other_starts: npt.NDArray[np.intp], rows: int
) -> Matrix:
    """Return the joint entropies of columns, in nats, from how often each two of their values meet.

    Parameters
    ----------
    pairs : ndarray of shape (values of the first columns, values of the others)
    first_starts, other_starts
        Where the values of each column start.
    rows
        The number of records.
    """
    terms = pairs * np.log(np.maximum(pairs, 1.0))
    sums = np.add.reduceat(np.add.reduceat(terms, first_starts, axis=0), other_starts, axis=1)
    return np.asarray(np.log(rows) - sums / rows)


def _marginals(
    rows: npt.NDArray[np.floating] | None,
    table: npt.NDArray[np.intp],
    columns: npt.NDArray[np.floating] | None,
) -> Matrix:
    """Return the table summed to each pair of single values."""
    if rows is None:
        left: npt.NDArray[np.floating] = table.astype(np.float64 if columns is None else columns.dtype)
    else:
        left = rows @ table.astype(rows.dtype)
    pairs = left if columns is None else left @ columns.T
    return pairs.astype(np.float64)
