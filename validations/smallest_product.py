"""The smallest join of any pair of equivalence classes of two fragments, from their class counts.

Rows of counts are sorted so that alike ones lie together, and cut into blocks. If the smallest counts of two
blocks already multiply to what some join holds, no pair of their rows joins to less. Nor does one if nothing
is sure to be in common, and each class value that can be gives as much alone. The rest is multiplied out.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from validations.class_counts import ClassCounts, TooCostlyError

LARGEST_WORK = 1_000_000_000_000
"""Most multiplications of class counts of two fragments; about two minutes on two cores."""

BLOCK = 64
"""Rows of counts in a block."""

PLANES = 6
"""Leading bits of counts that rows are sorted by."""

TOGETHER = 250
"""Pairs of blocks that are multiplied out at once."""

BOUNDED = 1_000_000
"""Pairs of blocks that are bounded at once."""

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]
Places = npt.NDArray[np.intp]


class Blocks(NamedTuple):
    """Rows of counts in blocks; the last is filled up with rows of zeros, which join with nothing.

    Attributes
    ----------
    rows : array of shape (blocks, BLOCK, class values)
    least : array of shape (blocks, class values)
        The smallest count of each class value.
    positive : array of shape (blocks, class values)
        The smallest but zero; zero where all are.
    """

    rows: Numbers
    least: Numbers
    positive: Numbers


def smallest_between(counts: ClassCounts, first: str, second: str) -> int | None:
    """Return the smallest join with rows of a row of one table and one of another; None if there is none.

    Raises
    ------
    TooCostlyError
        If that takes more than `LARGEST_WORK` multiplications.
    """
    return smallest_product(counts.rows(first), counts.rows(second)) if counts.values else None


def smallest_product(first: Counts, second: Counts) -> int | None:
    """Return the smallest join with rows of a row of one table and one of another; None if none has any.

    Parameters
    ----------
    first, second : arrays of shape (rows, class values)
        Class counts, of fewer than 2**31 records a row.

    Raises
    ------
    TooCostlyError
        If that takes more than `LARGEST_WORK` multiplications.
    """
    smallest = _some_join(first, second)
    if smallest is None:
        return None
    first, second = np.minimum(first, smallest), np.minimum(second, smallest)
    kind = _exact_type(first, second)
    one, other = _blocks(first.astype(kind)), _blocks(second.astype(kind))
    left = LARGEST_WORK
    for rows in _slices(len(one.rows), max(1, BOUNDED // len(other.rows))):
        pairs, bounds = _open_pairs(one, other, rows, smallest)
        for some in _slices(len(pairs), TOGETHER):
            if bounds[some.start] >= smallest:
                break
            left -= len(pairs[some]) * one.rows[0].size * BLOCK
            if left < 0:
                raise TooCostlyError(
                    f"more than {LARGEST_WORK:.0e} multiplications of class counts are needed"
                )
            a, b = pairs[some].T
            sizes = one.rows[a] @ other.rows[b].transpose(0, 2, 1)
            sizes[sizes == 0] = smallest
            smallest = int(sizes.min(initial=smallest))
    return smallest


def _some_join(first: Counts, second: Counts) -> int | None:
    """Return the rows of the smallest among some joins: a few of them; None if no join has any."""
    joins = [
        int(first[_fewest(one)] @ second[_fewest(other)])
        for one, other in zip(first.T, second.T, strict=True)
        if one.any() and other.any()
    ]
    return min(joins, default=None)


def _fewest(counts: Counts) -> np.intp:
    return np.where(counts > 0, counts, counts.max() + 1).argmin()


def _exact_type(first: Counts, second: Counts) -> type[np.floating[Any] | np.integer[Any]]:
    """Return the fastest type in which every join is exact."""
    largest = int(first.sum(axis=1).max()) * int(second.sum(axis=1).max())
    if largest < 2**24:
        return np.float32
    return np.float64 if largest < 2**53 else np.int64


def _blocks(counts: Numbers) -> Blocks:
    blocks = -(-len(counts) // BLOCK)
    filled = np.zeros((blocks * BLOCK, counts.shape[1]), dtype=counts.dtype)
    filled[: len(counts)] = counts[_alike_together(counts.astype(np.int64))]
    rows = filled.reshape(blocks, BLOCK, counts.shape[1])
    least = rows.min(axis=1)
    least[-1] = rows[-1, : len(counts) - (blocks - 1) * BLOCK].min(axis=0)
    large = rows.max() + 1
    positive = np.where(rows > 0, rows, large).min(axis=1)
    positive[positive == large] = 0
    return Blocks(rows, least, positive)


def _alike_together(counts: Counts) -> Places:
    """Return an order of the rows by the leading bits of their counts: the first of all, then the next."""
    highest = int(counts.max()).bit_length()
    planes = [counts >> bit & 1 for bit in range(highest - 1, max(highest - 1 - PLANES, -1), -1)]
    keys = np.packbits(np.concatenate(planes, axis=1).astype(np.bool_), axis=1)
    return np.argsort(keys.view(f"S{keys.shape[1]}")[:, 0], kind="stable")


def _open_pairs(one: Blocks, other: Blocks, rows: slice, smallest: int) -> tuple[Places, Numbers]:
    """Return the pairs of blocks that can have a join of some rows but fewer than `smallest`.

    The bounds of what is sure to be in common come beside them, the lowest first: smallest joins are there.
    """
    sure = one.least[rows] @ other.least.T
    pairs = np.argwhere(sure < smallest)
    bounds = sure[pairs[:, 0], pairs[:, 1]]
    pairs[:, 0] += rows.start
    single = np.empty(len(pairs))
    for some in _slices(len(pairs), BOUNDED // one.least.shape[1] + 1):
        a, b = pairs[some].T
        alone = one.positive[a] * other.positive[b]
        single[some] = np.where(alone > 0, alone, smallest).min(axis=1)
    is_open = (bounds > 0) | (single < smallest)
    order = np.argsort(bounds[is_open], kind="stable")
    return pairs[is_open][order], bounds[is_open][order]


def _slices(size: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, size)) for start in range(0, size, step))
