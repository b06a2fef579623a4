"""Step: how much every two columns tell of each other (paper, section 3.2).

Joint counts of many pairs come from few passes: columns are packed into groups whose joint
values still fit a small table, and one count over two groups holds the tables of all pairs
of columns between them.
"""

from bisect import bisect_right
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.steps import step
from tasks.store import open_store
from tasks.tables import read_domains, read_sensitive_domains, write_matrix

Bins = npt.NDArray[np.int32]
Matrix = npt.NDArray[np.float64]

CELLS_PER_GROUP = 128  # the joint values of two groups fit 16 bits, and their counts a core's cache
COUNTERS = 2  # threads; a count leaves the interpreter free
DENSE_CELLS = 2**22
SINGLE_PRECISION_ROWS = 2**24  # below, counts are exact in single precision


def discretise(codes: Bins, size: int, *, numeric: bool, missing: bool, bins: int) -> Bins:
    """Return each row's bin: equal-frequency bins of numbers, the categories themselves.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Ranks of the values; code 0 is missing where `missing` is set.
    size
        The number of codes.
    numeric
        Whether the column is numeric.
    missing
        Whether code 0 stands for missing, which is a bin of its own.
    bins
        The number of bins wanted; fewer come out where quantiles coincide.

    Returns
    -------
    ndarray of shape (n,)
        Bin numbers from 0 without gaps.
    """
    if not numeric:
        return codes.astype(np.int32)
    occurrences = np.bincount(codes, minlength=size)
    if missing:
        occurrences[0] = 0
    below = np.cumsum(occurrences) - occurrences
    bin_of_code = below * bins // max(int(occurrences.sum()), 1)
    if missing:
        bin_of_code[0] = -1
    _, bin_of_code = np.unique(bin_of_code, return_inverse=True)
    binned: Bins = bin_of_code.astype(np.int32)[codes]
    return binned


def mutual_information_matrix(columns: Sequence[Bins]) -> Matrix:
    """Return the mutual information of every two columns, in nats.

    The plug-in estimate over joint frequencies, I(x, y) = H(x) + H(y) - H(x, y); the diagonal
    holds the entropies (paper, section 4.1: the matrix MI).

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,)
        Bin numbers from 0.

    Returns
    -------
    ndarray of shape (columns, columns)
        Symmetric, not negative.
    """
    sizes = [int(column.max()) + 1 for column in columns]
    joint_entropy = np.zeros((len(columns), len(columns)))
    groups = [_Group(members, columns, sizes) for members in _pack(sizes)]
    others = [groups[place:] for place in range(len(groups))]
    with ThreadPoolExecutor(COUNTERS) as counters:
        counted = counters.map(_Group.joint_entropies, groups, others)
        for first, of_others, entropies in zip(groups, others, counted, strict=True):
            members = [member for second in of_others for member in second.members]
            joint_entropy[np.ix_(first.members, members)] = entropies
            joint_entropy[np.ix_(members, first.members)] = entropies.T
    joint_entropy = np.triu(joint_entropy) + np.triu(joint_entropy, 1).T
    entropy = joint_entropy.diagonal()
    information = entropy[:, None] + entropy[None, :] - joint_entropy
    return np.maximum(information, 0.0)


def _pack(sizes: Sequence[int]) -> list[list[int]]:
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


class _Group:
    """Columns counted together: one number per row stands for the values of all of them."""

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

    def _indicator(self) -> npt.NDArray[np.floating]:
        """Return which joint values (columns) hold which single values (rows)."""
        exact = np.float32 if len(self.rows) < SINGLE_PRECISION_ROWS else np.float64
        indicator = np.zeros((sum(self.sizes), self.cells), dtype=exact)
        cells = np.arange(self.cells)
        for start, value in zip(self.starts, np.unravel_index(cells, self.sizes), strict=True):
            indicator[start + value, cells] = 1.0
        return indicator

    def joint_entropies(self, others: "Sequence[_Group]") -> Matrix:
        """Return H(x, y) for each x of this group and y of the others, one after the other, in nats."""
        return np.concatenate([self._joint_entropies(other) for other in others], axis=1)

    def _joint_entropies(self, other: "_Group") -> Matrix:
        if self.cells * other.cells > max(DENSE_CELLS, len(self.rows)):
            return self._sparse_joint_entropies(other)
        both = np.multiply(self.rows, other.cells, dtype=np.result_type(self.rows, other.rows))
        both += other.rows
        table = np.bincount(both, minlength=self.cells * other.cells).reshape(self.cells, other.cells)
        pairs = _marginals(self.indicator, table, other.indicator)
        terms = pairs * np.log(np.maximum(pairs, 1.0))
        sums = np.add.reduceat(np.add.reduceat(terms, self.starts, axis=0), other.starts, axis=1)
        rows = len(self.rows)
        return np.asarray(np.log(rows) - sums / rows)

    def _sparse_joint_entropies(self, other: "_Group") -> Matrix:
        """Return the same from the joint values that occur, for columns of very many categories."""
        entropies = np.empty((len(self.columns), len(other.columns)))
        for i, x in enumerate(self.columns):
            for j, (y, size) in enumerate(zip(other.columns, other.sizes, strict=True)):
                _, counts = np.unique(x.astype(np.int64) * size + y, return_counts=True)
                entropies[i, j] = np.log(len(x)) - float((counts * np.log(counts)).sum()) / len(x)
        return entropies


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


@step("measure mutual information")
def measure_mutual_information(store: Path, config: Config) -> int:
    """Store the mutual information of every two columns; return how many pairs there are."""
    with open_store(store) as connection:
        features, class_domain = read_domains(connection)
        domains = [*features, *read_sensitive_domains(connection), class_domain]
        codes = connection.execute("SELECT * FROM codes").fetchnumpy()
        columns = [
            discretise(
                np.asarray(codes[domain.name]),
                domain.size,
                numeric=domain.numeric,
                missing=domain.missing,
                bins=config.fragmentation.bins,
            )
            for domain in domains
        ]
        matrix = mutual_information_matrix(columns)
        write_matrix(connection, [domain.name for domain in domains], matrix)
    return len(domains) * (len(domains) - 1) // 2
