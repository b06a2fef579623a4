"""Delta-selectivity: eta, the share of versions whose join is large enough, counted exactly.

A version of an equivalence class (EC) with n records and c published class values gives each value a positive
count, n in all. eta of a choice of ECs depends only on their n and c, on the number w of values that they
all share, and on k.
"""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from validations.class_counts import TooCostlyError

LARGEST_CHOICES = 20_000_000
"""Most choices of ECs that are told apart; about a minute."""

LARGEST_TABLE = 5_000_000_000
"""Most additions for the table of versions with a small join; about a minute."""

Counts = npt.NDArray[np.object_]  # whole numbers of any size


PAIR = 2


class PublishedClass(NamedTuple):
    """An EC whose class values are published per class.

    Attributes
    ----------
    values
        Its number of class values, c.
    records
        Its number of rows, n.
    """

    values: int
    records: int


Choice = tuple[tuple[PublishedClass, ...], int]
"""The ECs of a choice, in order, and the number of their common values."""

Frontier = dict[tuple[tuple[int, ...], int], set[tuple[PublishedClass, ...]]]
"""Choices by their ECs' numbers of values and by their common values; none undercuts another."""


@lru_cache(maxsize=100_000)
def eta(classes: tuple[PublishedClass, ...], common: int, k: int) -> Fraction:
    """Return the share of the versions of a choice of ECs whose join holds at least k rows.

    Versions with a smaller join are counted: the counts of the common values come from a table, the rest
    of an EC with A records in the common values is filled in C(n - A - 1, c - w - 1) ways.

    Parameters
    ----------
    classes
        Two or more ECs of different fragments.
    common
        Number of class values that all of them have, w; at least 1.
    k
        Rows that a join must hold.

    Raises
    ------
    TooCostlyError
        If the table of versions would take more than `LARGEST_TABLE` additions.
    """
    remaining: Counts = small_joins(len(classes), common, k)
    for published in classes:
        remaining = np.tensordot(_fillings(published, common, k), remaining, axes=(0, 0))
    versions = math.prod(math.comb(one.records - 1, one.values - 1) for one in classes)
    return 1 - Fraction(int(remaining), versions)


def _fillings(published: PublishedClass, common: int, k: int) -> Counts:
    records, others = published.records, published.values - common
    ways = [0] * k
    for used in range(common, min(k, records + 1)):
        if others == 0:
            ways[used] = int(used == records)
        elif used < records:
            ways[used] = math.comb(records - used - 1, others - 1)
    return np.array(ways, dtype=object)


@cache
def small_joins(fragments: int, common: int, k: int) -> Counts:
    """Return how many counts of the common values give a join of fewer than k rows.

    Parameters
    ----------
    fragments
        Number of ECs, p.
    common
        Number of common class values, w.
    k
        Rows that a join must hold.

    Returns
    -------
    object array of shape (k,) * p
        Entry [A_1, ..., A_p] counts the p-tuples of w positive counts with these sums.
    """
    table = _small_joins_by_rows(fragments, common, k).sum(axis=-1)
    return np.asarray(table.astype(object))


@cache
def _small_joins_by_rows(fragments: int, common: int, k: int) -> npt.NDArray[np.generic]:
    """Count likewise, with the rows of the join (0 to k - 1) as a last axis."""
    if common == 0:
        table = np.zeros((k,) * (fragments + 1), dtype=object)
        table[(0,) * (fragments + 1)] = 1
        return table
    additions = k ** (fragments + 1) * common
    if (k - 1) * additions > LARGEST_TABLE:
        raise TooCostlyError(f"eta of {fragments} fragments at k = {k} exceeds {LARGEST_TABLE:.0e} additions")
    moves = list(_small_products(fragments, k))
    if len(moves) * additions > LARGEST_TABLE:
        raise TooCostlyError(f"eta of {fragments} fragments at k = {k} exceeds {LARGEST_TABLE:.0e} additions")
    fits = math.comb(k - 1 + common * (fragments - 1), common * fragments) < np.iinfo(np.int64).max
    before = _small_joins_by_rows(fragments, common - 1, k).astype(np.int64 if fits else object)
    table = np.zeros_like(before)
    for move in moves:
        step = (*move, math.prod(move))
        target = tuple(slice(size, k) for size in step)
        source = tuple(slice(0, k - size) for size in step)
        table[target] += before[source]
    return table


def _small_products(fragments: int, k: int) -> Iterator[tuple[int, ...]]:
    """Yield every tuple of positive numbers whose product is below k."""
    if fragments == 0:
        yield ()
        return
    for first in range(1, k):
        for rest in _small_products(fragments - 1, -(-k // first)):
            yield (first, *rest)


def smallest_eta(published: list[dict[int, PublishedClass]], k: int) -> Fraction | None:
    """Return the smallest eta over every choice of ECs from every set of two or more fragments.

    eta does not fall when an EC grows (Efron 1965: the counts are log-concave), so of all ECs of a fragment
    with the same class values the smallest one decides.

    Parameters
    ----------
    published
        Per fragment: for every set of class values (as bits) the smallest EC that has it.
    k
        Rows that a join must hold.

    Returns
    -------
    Fraction or None
        None if no choice has a common class value.

    Raises
    ------
    TooCostlyError
        If there are too many different choices, or eta itself is too costly.
    """
    smallest: Fraction | None = None
    for classes, common in _hardest_choices(published):
        if smallest is None or _bound(classes, common, k) < smallest:
            found = eta(classes, common, k)
            smallest = found if smallest is None else min(smallest, found)
    return smallest


def _hardest_choices(published: list[dict[int, PublishedClass]]) -> list[Choice]:
    """Return the choices of two or more ECs that no other one undercuts, those of few ECs first."""
    partial: Frontier = {((), -1): {()}}
    steps = 0
    for fragment in published:
        before = [(support, classes) for (_, support), kept in partial.items() for classes in kept]
        steps += len(fragment) * len(before)
        if steps > LARGEST_CHOICES:
            raise TooCostlyError(f"{steps:.1e} choices of equivalence classes exceed {LARGEST_CHOICES:.0e}")
        for (support, classes), (other, chosen) in itertools.product(before, fragment.items()):
            if support & other:
                _add(partial, tuple(sorted((*classes, chosen))), support & other)
    return _by_number_of_common_values(partial)


def _by_number_of_common_values(partial: Frontier) -> list[Choice]:
    merged: Frontier = {}
    for (values, support), kept in partial.items():
        if len(values) > 1:
            for classes in kept:
                _add(merged, classes, support.bit_count())
    choices = [(classes, common) for (_, common), kept in merged.items() for classes in kept]
    return sorted(choices, key=lambda choice: (len(choice[0]), choice))


def _add(frontier: Frontier, classes: tuple[PublishedClass, ...], common: int) -> None:
    """Keep a choice unless one with the same numbers of values has no larger EC; drop those it undercuts."""
    kept = frontier.setdefault((tuple(one.values for one in classes), common), set())
    if any(_undercuts(other, classes) for other in kept):
        return
    kept -= {other for other in kept if _undercuts(classes, other)}
    kept.add(classes)


def _undercuts(first: tuple[PublishedClass, ...], second: tuple[PublishedClass, ...]) -> bool:
    return all(one.records <= other.records for one, other in zip(first, second, strict=True))


def _bound(classes: tuple[PublishedClass, ...], common: int, k: int) -> Fraction:
    """Return what eta is at least: a join is no smaller than the part of a pair's join on the same values."""
    if len(classes) == PAIR:
        return Fraction(0)
    return max(eta(pair, common, k) for pair in itertools.combinations(classes, PAIR))
