"""eta: the share of versions whose join keeps k rows, counted exactly (paper, Appendix C).

Of an equivalence class (EC) only its size and its support are published. A version is a vector of
positive counts of its class values that sum to its size.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.errors import InfeasibleError
from tasks.joins.class_join import EXACT, Counts, Floats, Indices, distinct_rows

MAX_TERMS = 20_000_000
BLOCK = 1_000_000


class _Below(NamedTuple):
    """How many tuples of common counts join to fewer than k rows, by the sum of the counts of each EC."""

    sums: Counts
    numbers: Sequence[int]
    rounded: Floats


def eta(sizes: Sequence[int], values: Sequence[int], common: int, k: int) -> Fraction:
    """Return the share of versions of two or more ECs whose join holds at least k rows.

    Parameters
    ----------
    sizes
        Records of each EC.
    values
        Class values of each EC.
    common
        Class values that all the ECs share, at least 1.
    k
        The smallest join wanted, in rows.

    Returns
    -------
    Fraction
        The paper's eta, counted exactly by dynamic programming over the common values.

    Raises
    ------
    InfeasibleError
        If k or the number of ECs is too large for it.

    Examples
    --------
    >>> eta([5, 5], [3, 3], 1, 5)
    Fraction(5, 36)
    """
    members = list(zip(sizes, values, strict=True))
    versions = prod(comb(n - 1, c - 1) for n, c in members)
    below = _below(len(members), common, k)
    ways = [[_ways(n, c, common, a) for a in range(max(k, 1))] for n, c in members]
    failing = sum(
        number * prod(way[a] for way, a in zip(ways, sums, strict=True))
        for sums, number in zip(below.sums.tolist(), below.numbers, strict=True)
    )
    return Fraction(versions - failing, versions)


@cache
def cached_eta(members: tuple[tuple[int, int], ...], common: int, k: int) -> Fraction:
    """Return the eta of ECs given as (size, number of class values), remembered for the next time."""
    sizes, values = zip(*members, strict=True)
    return eta(sizes, values, common, k)


@cache
def records_share(n: int, c: int, w: int, k: int) -> Fraction:
    """Return the share of an EC's versions in which at least k records have one of w of its class values.

    Parameters
    ----------
    n
        Records of the EC.
    c
        Its class values.
    w
        How many of them are common to all ECs of a choice, at least 1.
    k
        The fewest records wanted.

    Returns
    -------
    Fraction
        C(s-1, w-1) C(n-s-1, c-w-1) versions have s records in the common values (if w = c, all have n);
        of C(n-1, c-1). An extension of the paper's versions (Definition 4.3) to the record condition.

    Examples
    --------
    >>> records_share(5, 3, 1, 2)
    Fraction(1, 2)
    """
    versions = comb(n - 1, c - 1)
    failing = sum(comb(s - 1, w - 1) * _ways(n, c, w, s) for s in range(w, min(k, n + 1)))
    return Fraction(versions - failing, versions)


def failing_shares(members: Counts, common: int, k: int) -> Floats:
    """Return the share of versions that join to fewer than k rows.

    Parameters
    ----------
    members : int64 ndarray of shape (choices, fragments, 2)
        Size and class values of each EC.
    """
    below = _below(members.shape[1], common, k)
    tables, labels = zip(
        *(_sum_shares(members[:, i], common, k) for i in range(members.shape[1])), strict=True
    )
    failing = np.empty(len(members))
    step = max(BLOCK // max(len(below.rounded), 1), 1)
    for start in range(0, len(members), step):
        block = slice(start, start + step)
        terms = below.rounded
        for table, label, sums in zip(tables, labels, below.sums.T, strict=True):
            terms = terms * table[label[block]][:, sums]
        failing[block] = terms.sum(axis=1)
    return failing


def _sum_shares(members: Counts, common: int, k: int) -> tuple[Floats, Indices]:
    """Return, for each distinct size and number of values, the share of versions by their common sum.

    Returns
    -------
    table : float64 ndarray of shape (distinct members, k)
    labels : ndarray of shape (members,)
    """
    first, labels = distinct_rows(members)
    table = [_shares_of(n, c, common, k) for n, c in members[first].tolist()]
    return np.array(table).reshape(-1, k), labels


@cache
def _shares_of(size: int, values: int, common: int, k: int) -> Floats:
    versions = comb(size - 1, values - 1)
    return np.array([_ways(size, values, common, total) / versions for total in range(k)])


def _ways(size: int, values: int, common: int, total: int) -> int:
    """Return how many versions have given counts of the common values, of this total."""
    if values == common:
        return int(total == size)
    return comb(size - total - 1, values - common - 1) if total < size else 0


@cache
def _below(members: int, common: int, k: int) -> _Below:
    """Count the tuples of common counts whose join is below k, by the sums of each member's counts."""
    codes, numbers = _excesses(members, common, k)
    codes, numbers = _gather(codes % k**members, numbers)
    digits = [codes // k**i % k for i in range(members)]
    return _Below(np.column_stack(digits) + common, numbers.tolist(), numbers.astype(np.float64))


@cache
def _excesses(members: int, common: int, k: int) -> tuple[Counts, npt.NDArray[Any]]:
    """Count tuples of common counts by their excess over 1: each member's sum, and the join's rows.

    A value with counts a_1, ..., a_p adds a_i - 1 to member i and their product less 1 to the join,
    which in all must stay below k - common. No member's excess is larger than the join's.

    Returns
    -------
    codes : int64 ndarray of shape (states,)
        In base k, ascending: the join's excess first, then those of the members.
    numbers : int64 or object ndarray of shape (states,)
    """
    if common == 0:
        return np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    codes, numbers = _excesses(members, common - 1, k)
    steps = _steps(members, k, common)
    room = [k - common - step // k**members for step in steps]
    ends = np.searchsorted(codes // k**members, room)
    refuse_if_too_costly(int(ends.sum()), MAX_TERMS)
    if float(numbers.sum()) * len(steps) >= EXACT:
        numbers = numbers.astype(np.object_)
    grown = [codes[:end] + step for step, end in zip(steps, ends, strict=True)]
    repeated = [numbers[:end] for end in ends]
    return _gather(np.concatenate([codes[:0], *grown]), np.concatenate([numbers[:0], *repeated]))


def _steps(members: int, k: int, common: int) -> list[int]:
    """Code every way to choose the counts of one value when each other common value adds at least 1 row."""
    chosen = [(0, 1)]
    for i in range(members):
        chosen = [
            (code + (a - 1) * k**i, rows * a)
            for code, rows in chosen
            for a in range(1, (k - common) // rows + 1)
        ]
        refuse_if_too_costly(k ** (members + 1), 2**62)
    return [code + (rows - 1) * k**members for code, rows in chosen]


def _gather(codes: Counts, numbers: npt.NDArray[Any]) -> tuple[Counts, npt.NDArray[Any]]:
    """Add up the numbers of equal codes; codes ascending."""
    order = np.argsort(codes, kind="stable")
    codes, numbers = codes[order], numbers[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    return codes[starts], np.add.reduceat(numbers, starts) if len(starts) else numbers


def refuse_if_too_costly(work: int, limit: int) -> None:
    """Raise an InfeasibleError where there is more to count than can be handled."""
    if work > limit:
        raise InfeasibleError(
            f"delta-selectivity has too much to count: {work:,}, where at most {limit:,} can be handled. "
            "Ask for fewer fragments or a smaller k, or use a class attribute with fewer values."
        )
