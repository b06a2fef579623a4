"""The choices of equivalence classes (ECs) whose join isolates too few rows, over every subset of fragments.

Pairs are multiplied out, as far as groups of them can violate; larger choices are searched by common support.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np

from tasks.joins.class_join import (
    Booleans,
    Counts,
    Distinct,
    Indices,
    blocks_of,
    distinct_rows,
    smallest_pair,
)
from tasks.joins.common_supports import larger_choices, smallest_larger
from tasks.joins.low_pairs import low_pairs

LISTED_CHOICES = 1000
FOR_EACH_FIRST = 4  # witnesses of more than two members


class Member(NamedTuple):
    """One EC of one fragment, both numbered from 0."""

    fragment: int
    ec: int


class Violations(NamedTuple):
    """Choices whose join holds some rows but fewer than k.

    Attributes
    ----------
    choices
        Each choice as its members in fragment order.
    more
        Whether there are further violating choices that are not listed.
    """

    choices: tuple[tuple[Member, ...], ...]
    more: bool


class Witness(NamedTuple):
    """A violating choice of distinct class counts.

    Attributes
    ----------
    fragments
        The fragments joined, ascending.
    vectors
        The number of the distinct class counts taken from each of them.
    size
        The rows in their join.
    """

    fragments: tuple[int, ...]
    vectors: tuple[int, ...]
    size: int


def violating_choices(counts: Sequence[Counts], k: int, limit: int = LISTED_CHOICES) -> Violations:
    """Return the choices whose join holds some rows but fewer than k, over every subset of fragments.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment.
    k
        The smallest join allowed, in rows.
    limit
        How many choices to list at most.

    Raises
    ------
    InfeasibleError
        If the fragments have too many distinct joins to be checked.
    """
    fragments = [Distinct.of(fragment) for fragment in counts]
    found: list[tuple[Member, ...]] = []
    for witness in _violations(fragments, k, each=None):
        joined = zip(witness.fragments, witness.vectors, strict=True)
        ecs = [np.flatnonzero(fragments[i].labels == vector).tolist() for i, vector in joined]
        members = (tuple(map(Member, witness.fragments, chosen)) for chosen in product(*ecs))
        found.extend(islice(members, limit + 1 - len(found)))
        if len(found) > limit:
            break
    return Violations(tuple(sorted(found[:limit])), len(found) > limit)


def witnesses(fragments: Sequence[Distinct], k: int) -> Iterator[Witness]:
    """Find violating choices of distinct class counts over every subset of fragments, pairs first.

    All pairs are found; of larger choices some for each common support and first member.

    Parameters
    ----------
    fragments
        The distinct class counts of each fragment.
    k
        The smallest join allowed, in rows.

    Raises
    ------
    InfeasibleError
        If there are too many distinct joins.
    """
    return _violations(fragments, k, FOR_EACH_FIRST)


def smallest_join(counts: Sequence[Counts]) -> int | None:
    """Return the smallest non-zero join over all choices, in rows; None if no two fragments join.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)

    Raises
    ------
    InfeasibleError
        If the fragments have too many distinct joins to be checked.
    """
    fragments = [Distinct.of(fragment).vectors for fragment in counts]
    pairs = [smallest_pair(f, g) for f, g in combinations(fragments, 2)]
    smallest = min((size for size in pairs if size is not None), default=None)
    return None if smallest is None else smallest_larger(fragments, smallest)


def _violations(fragments: Sequence[Distinct], k: int, each: int | None) -> Iterator[Witness]:
    for pair in combinations(range(len(fragments)), 2):
        yield from _violating_pairs(fragments, pair, k)
    for choice in larger_choices([fragment.vectors for fragment in fragments], k, each):
        yield Witness(*choice)


def _violating_pairs(fragments: Sequence[Distinct], pair: tuple[int, int], k: int) -> Iterator[Witness]:
    """Yield the violating choices of two fragments."""
    f, g = (fragments[i].vectors for i in pair)
    rows, columns = _suspects(f, g, k)
    for found in low_pairs(f[rows], g[columns], k):
        for row, column, size in zip(*(part.tolist() for part in found), strict=True):
            yield Witness(pair, (int(rows[row]), int(columns[column])), int(size))


def _suspects(f: Counts, g: Counts, k: int) -> tuple[Indices, Indices]:
    """Return the vectors of each that have fewer than k records in the support of such a one of the other."""
    rows, columns = np.arange(len(f)), np.arange(len(g))
    while True:
        suspects = len(rows) + len(columns)
        rows = rows[_falls_below(f[rows], g[columns], k)]
        columns = columns[_falls_below(g[columns], f[rows], k)]
        if len(rows) + len(columns) == suspects:
            return rows, columns


def _falls_below(vectors: Counts, others: Counts, k: int) -> Booleans:
    """Return which vectors have some records, but fewer than k, in the support of one of the others."""
    supports = others > 0
    sets = supports[distinct_rows(supports)[0]].T.astype(np.float64)
    falls = np.empty(len(vectors), dtype=np.bool_)
    for block in blocks_of(len(vectors), sets.shape[1]):
        sums = vectors[block] @ sets
        falls[block] = ((sums > 0) & (sums < k)).any(axis=1)
    return falls
