"""Changes taken back where every choice stays safe, one fragment after the other.

No choice has two equivalence classes (ECs) of one fragment. While the other fragments stay, each EC
of a fragment is therefore free to take any class counts that are safe with what the others can join
to, whatever the ECs beside it take.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tasks.enforcement.moves import Moves
from tasks.joins.class_join import Counts, Distinct, Indices, blocks_of, distinct_rows

if TYPE_CHECKING:
    from tasks.enforcement.compiled_joins import JoinTree

Numbers = npt.NDArray[np.float32]

ROUNDS = 2
STEPS = 12
MOST_MOVES = 60_000_000  # looked at in a fragment
MOST_JOINS = 500_000  # that an EC is looked at with
MOST_CELLS = 600_000_000  # of joins multiplied with class counts
MOST_PRODUCTS = 2_000_000
FIRST = 48  # joins that rule out most
MANY = 3000  # joins; among fewer, none is sought that lower ones make needless
COMPARED = 64  # joins at once with all later ones
ALIKE = 2000  # of one support; among more, neither
LOOKED_AT = 200  # ECs that tell which these are
COMPILED_JOINS = 50_000_000  # fewer are looked at before the compiler is imported


def take_back(before: Sequence[Counts], after: Sequence[Counts], k: int) -> tuple[Counts, ...]:
    """Take back changes of class values, as long as every choice over every subset of fragments is safe.

    Parameters
    ----------
    before, after : sequences of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment, of fewer than 2**24 records an EC; those after are safe.
    k
        The smallest join, in rows.

    Returns
    -------
    tuple of int64 ndarrays of shape (E_i, class values)
        Class counts that are safe and change no more records.

    Examples
    --------
    >>> before = [np.array([[2, 3]]), np.array([[5, 0]])]
    >>> [now.tolist() for now in take_back(before, [np.array([[0, 5]]), before[1]], 5)]
    [[[2, 3]], [[5, 0]]]
    """
    now = list(after)
    for _ in range(ROUNDS):
        fewer = False
        for i, was in enumerate(before):
            joins = _joins([other for j, other in enumerate(now) if j != i], k)
            if joins is None:
                continue
            both = Distinct.of(np.concatenate([was, now[i]], axis=1))
            old, new = np.split(both.vectors.astype(np.float32), 2, axis=1)
            fragment = _Fragment(old, new, joins, k)
            fragment.take_back()
            better = fragment.now.astype(np.int64)[both.labels]
            fewer |= bool((better != now[i]).any())
            now[i] = better
        if not fewer:
            break
    return tuple(now)


def _joins(others: Sequence[Counts], k: int) -> Numbers | None:
    """Return what choices from the other fragments join to, as far as an EC can be unsafe with it.

    Rows are products of class counts up to k; None if there are too many.
    """
    found = np.empty((0, others[0].shape[1]), dtype=np.float32)
    for other in others:
        own = _binding(np.minimum(other, k).astype(np.float32), k)
        both = _products(found, own, k)
        if both is None:
            return None
        found = _binding(np.concatenate([found, own, both]), k)
        if len(found) > MOST_JOINS:
            return None
    return found


def _products(some: Numbers, others: Numbers, k: int) -> Numbers | None:
    """Multiply what has crossing supports and a product below k; the rest is no new bound."""
    if len(some) * others.size > MOST_CELLS:
        return None
    products = [some[:0]]
    number = 0
    sets, of_others = (some > 0).astype(np.float32), (others > 0).astype(np.float32).T
    sizes = of_others.sum(axis=0)
    for block in blocks_of(len(some), len(others)):
        common = sets[block] @ of_others
        suspect = (common > 0) & (common < np.minimum(sets[block].sum(axis=1)[:, None], sizes))
        low = np.zeros_like(suspect)
        for value in range(some.shape[1]):
            joined = some[block, value][:, None] * others[:, value]
            low |= (joined > 0) & (joined < k)
        rows, columns = np.nonzero(suspect & low)
        number += len(rows)
        if number > MOST_PRODUCTS:
            return None
        products.append(np.minimum(some[block][rows] * others[columns], k))
    return np.concatenate(products)


def _binding(vectors: Numbers, k: int) -> Numbers:
    """Leave out repeated class counts, those safe with everything, and those bounded by lower ones."""
    vectors = vectors[((vectors > 0) & (vectors < k)).any(axis=1)]
    vectors = vectors[distinct_rows(vectors)[0]]
    if len(vectors) < MANY:
        return vectors
    labels = distinct_rows(vectors > 0)[1]
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    kept = [_lowest(vectors[group]) for group in groups if len(group)]
    return np.concatenate([vectors[:0], *kept])


def _lowest(vectors: Numbers) -> Numbers:
    """Leave out vectors of one support that are nowhere below another."""
    if len(vectors) > ALIKE:
        return vectors
    vectors = vectors[np.argsort(vectors.sum(axis=1), kind="stable")]
    bounded = np.zeros(len(vectors), dtype=np.bool_)
    for start in range(0, len(vectors), COMPARED):
        block = slice(start, start + COMPARED)
        nowhere_above = np.ones((len(vectors[block]), len(vectors) - start), dtype=np.bool_)
        for counts in vectors.T[vectors[0] > 0]:
            nowhere_above &= counts[block, None] <= counts[start:]
        np.fill_diagonal(nowhere_above, val=False)
        bounded[start:] |= nowhere_above.any(axis=0)
    return vectors[~bounded]


class _Fragment:
    """The distinct class counts of one fragment before and now, and the joins to be safe with."""

    def __init__(self, before: Numbers, now: Numbers, joins: Numbers, k: int) -> None:
        self.before, self.now, self.k = before, now, k
        self.cost = np.maximum(before - now, 0).sum(axis=1)
        self.joins = joins
        self.moves = Moves(before.shape[1])

    def take_back(self) -> None:
        """Let each EC take the nearest class counts found that are safe with all joins."""
        ecs = np.flatnonzero(self.cost > 0)
        back = ecs[self._first_safe(np.arange(len(ecs)), self.before[ecs])]
        self.now[back], self.cost[back] = self.before[back], 0
        steps = min(STEPS, MOST_MOVES // max(len(ecs) * self.moves.number, 1))
        if steps:
            self._move(self.before, None)
        for _ in range(1, steps):
            if not self._move(self.now, self.before):
                break

    def _move(self, start: Numbers, towards: Numbers | None) -> bool:
        """Take the best safe move of each EC from a start, and return whether any changes fewer records."""
        found = False
        changed = np.flatnonzero(self.cost > 0)
        for block in blocks_of(len(changed), self.moves.number):
            ecs = changed[block]
            owners, after = self.moves.of_each(start[ecs], None if towards is None else towards[ecs])
            cost = np.maximum(self.before[ecs][owners] - after, 0).sum(axis=1)
            cheap = np.flatnonzero(cost < self.cost[ecs][owners])
            cheap = cheap[np.argsort(cost[cheap], kind="stable")]
            chosen = cheap[self._first_safe(owners[cheap], after[cheap])]
            taking = owners[chosen]
            self.now[ecs[taking]], self.cost[ecs[taking]] = after[chosen], cost[chosen]
            found |= len(taking) > 0
        return found

    def _first_safe(self, owners: Indices, vectors: Numbers) -> Indices:
        if len(vectors) * len(self.joins) <= COMPILED_JOINS:
            return first_safe(owners, vectors, self._hardest, self.k)
        return self._tree.first_safe(owners, vectors, self.k)

    @cached_property
    def _hardest(self) -> Numbers:
        """The joins, those first that rule out most of some ECs."""
        some = self.before[:: max(len(self.before) // LOOKED_AT, 1)]
        return self.joins[np.argsort(-_unsafe_with(some, self.joins, self.k), kind="stable")]

    @cached_property
    def _tree(self) -> "JoinTree":
        from tasks.enforcement.compiled_joins import JoinTree  # noqa: PLC0415 - imports the compiler

        return JoinTree.of(self.joins)


def _unsafe_with(vectors: Numbers, joins: Numbers, k: int) -> Indices:
    joined = vectors @ joins.T
    return np.asarray(((joined > 0) & (joined < k)).sum(axis=0))


def first_safe(owners: Indices, vectors: Numbers, joins: Numbers, k: int) -> Indices:
    """Return which vectors are the first of their owner that are safe with all joins, by owner.

    Parameters
    ----------
    owners : ndarray of shape (vectors,)
        Numbers from 0.
    vectors : float32 ndarray of shape (vectors, class values)
        Class counts.
    joins : float32 ndarray of shape (joins, class values)
        Those that rule out most come first.
    k
        The smallest join, in rows.
    """
    left = np.arange(len(vectors))
    start = 0
    size = FIRST
    while start < len(joins) and len(left):
        kept = [left[:0]]
        for block in blocks_of(len(left), size):
            joined = vectors[left[block]] @ joins[start : start + size].T
            kept.append(left[block][~((joined > 0) & (joined < k)).any(axis=1)])
        left = np.concatenate(kept)
        start, size = start + size, 4 * size
    safe = np.sort(left)
    return safe[np.unique(owners[safe], return_index=True)[1]]
