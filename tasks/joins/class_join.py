"""Joining fragments on the class attribute: sizes of the joins, and the records they rest on.

A choice takes one equivalence class (EC) from each of two or more fragments. Its join holds
``sum_c prod_i f_i(c)`` rows, f_i being the class counts of its members.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tasks.errors import InfeasibleError

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]  # whole numbers below 2**53, for the speed of matrix products
Booleans = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

MAX_COMMON = 1_000_000
BLOCK = 2_000_000
EXACT = 2**53


class Distinct(NamedTuple):
    """The distinct class counts of one fragment.

    Attributes
    ----------
    vectors : int64 ndarray of shape (distinct class counts, class values)
    labels : ndarray of shape (ECs,)
        Which vector each EC has.
    """

    vectors: Counts
    labels: Indices

    @classmethod
    def of(cls, counts: Counts) -> Self:
        """Find the distinct rows of a fragment's class counts."""
        first, labels = distinct_rows(counts)
        return cls(counts[first], labels)


def distinct_rows(rows: npt.NDArray[np.bool_ | np.integer | np.floating]) -> tuple[Indices, Indices]:
    """Return where each distinct row of non-negative whole numbers first occurs, and each row's number.

    Parameters
    ----------
    rows : ndarray of shape (n, columns)

    Returns
    -------
    first : ndarray of shape (distinct rows,)
    labels : ndarray of shape (n,)
    """
    codes = np.zeros(len(rows), dtype=np.int64)
    span = 1
    for column in rows.T.astype(np.int64):
        width = int(column.max(initial=0)) + 1
        if span * width >= 2**62:
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
            span = len(rows)
        codes = codes * width + column
        span *= width
    _, first, labels = np.unique(codes, return_index=True, return_inverse=True)
    return first, labels


def join_sizes(f: Counts, g: Counts) -> Counts:
    """Return the rows in the class join of every pair of ECs of two fragments.

    Parameters
    ----------
    f : int64 ndarray of shape (E1, class values)
    g : int64 ndarray of shape (E2, class values)

    Returns
    -------
    int64 ndarray of shape (E1, E2), in rows
        ``sum_c f_c g_c`` (the sums of the paper's k-anonymity non-reconstructability condition).

    Examples
    --------
    >>> join_sizes(np.array([[1, 4]]), np.array([[5, 0], [0, 6]]))
    array([[ 5, 24]])
    """
    largest = int(f.sum(axis=1).max(initial=0)) * int(g.max(initial=0))
    if largest < EXACT:
        return (f.astype(np.float64) @ g.T.astype(np.float64)).astype(np.int64)
    return f @ g.T


def number_of_choices(counts: Sequence[Counts]) -> int:
    """Return how many choices there are: one EC from each of two or more fragments.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
    """
    sizes = [len(fragment) for fragment in counts]
    return prod(1 + size for size in sizes) - 1 - sum(sizes)


def smallest_records(counts: Sequence[Counts]) -> int | None:
    """Return the fewest records of one EC that any join rests on (the record condition).

    Over all choices with a common class value and every EC in them: how many of the EC's records
    have a class value that all members of the choice share. None if no two fragments join.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)

    Raises
    ------
    InfeasibleError
        If the class values occur in too many combinations.
    """
    vectors = [Distinct.of(fragment).vectors for fragment in counts]
    fewest = []
    for i, fragment in enumerate(vectors):
        others = [other > 0 for j, other in enumerate(vectors) if j != i]
        shared = intersections(others, fragment.shape[1])
        fewest.append(smallest_pair(fragment, shared.astype(np.int64)))
    return min((records for records in fewest if records is not None), default=None)


def intersections(supports: Sequence[Booleans], values: int) -> Booleans:
    """Return the sets of class values that choices from one or more fragments have in common.

    Sets that are unions of smaller ones are left out: a vector's smallest positive sum over
    all common sets is reached without them.

    Parameters
    ----------
    supports : sequence of boolean ndarrays of shape (E_i, class values)
    values
        The number of class values.

    Returns
    -------
    boolean ndarray of shape (sets, class values)

    Raises
    ------
    InfeasibleError
        If the class values occur in too many combinations.
    """
    common = np.empty((0, values), dtype=np.bool_)
    for fragment in supports:
        own = _without_unions(fragment)
        refuse_if_too_costly(len(common) * len(own), MAX_COMMON)
        both = (common[:, None, :] & own[None, :, :]).reshape(-1, own.shape[1])
        common = _without_unions(np.concatenate([common, own, both]))
    return common


def _without_unions(supports: Booleans) -> Booleans:
    """Return the distinct non-empty sets that are not unions of others among them."""
    distinct = supports[distinct_rows(supports)[0]]
    distinct = distinct[np.argsort(distinct.sum(axis=1), kind="stable")]
    kept = np.empty_like(distinct)
    number = 0
    for support in distinct:
        smaller = kept[:number][~kept[:number, ~support].any(axis=1)]
        if (smaller.any(axis=0) != support).any():
            kept[number] = support
            number += 1
    return kept[:number]


def smallest_pair(f: Counts, g: Counts) -> int | None:
    """Return the smallest non-zero join of two fragments."""
    smallest = []
    for block in blocks_of(len(f), len(g)):
        sizes = join_sizes(f[block], g)
        smallest.extend([int(sizes[sizes > 0].min())] if sizes.any() else [])
    return min(smallest, default=None)


def blocks_of(rows: int, width: int) -> Iterator[slice]:
    """Cut rows into blocks of a bounded number of cells."""
    step = max(BLOCK // max(width, 1), 1)
    return (slice(start, start + step) for start in range(0, rows, step))


def refuse_if_too_costly(work: int, limit: int) -> None:
    """Raise an InfeasibleError where the check takes more than can be handled."""
    if work > limit:
        raise InfeasibleError(
            f"The fragments have too many distinct joins to be checked: {work:,}, where at most {limit:,} "
            "can be handled. Ask for fewer fragments, or use a class attribute with fewer values."
        )
