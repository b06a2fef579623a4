"""The search for supports of which each keeps k records in every smaller one (record condition).

A support is a whole number here, with one bit for each class value.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tasks.enforcement.support_families import Family, Weighted, candidates, plain_family, support_costs
from tasks.joins.class_join import Booleans, Counts, Floats, Indices

TRIED = 100
DROPPED = 16
MAX_WORK = 400_000  # families looked at, times their supports

Supports = frozenset[int]
Rank = tuple[float, int]


class _State(NamedTuple):
    """A family, the cheapest support of each equivalence class (EC) in it, and what that changes.

    Attributes
    ----------
    supports : tuple of int
    costs : float64 ndarray of shape (supports, ECs)
    owners : ndarray of shape (ECs,)
        The number of the cheapest support.
    """

    supports: tuple[int, ...]
    costs: Floats
    owners: Indices

    def best(self) -> Floats:
        """Return the records that each EC changes."""
        return self.costs[self.owners, np.arange(len(self.owners))]


class _Search:
    """The records that a sample of ECs changes to take the supports of a family."""

    def __init__(self, vectors: Counts, weights: Floats, sets: Booleans, k: int) -> None:
        self.vectors, self.weights, self.k = vectors, weights, k
        self.sets = [_number(values) for values in sets]
        self.without_cores = np.ascontiguousarray(support_costs(vectors, plain_family(sets), k).T)

    def family(self, supports: Supports) -> Family:
        """Return the supports, and the smallest others within each as its cores."""
        ordered = sorted(supports)
        values = np.array([self._values(support) for support in ordered])
        cores = [tuple(map(self._values, _cores(support, supports))) for support in ordered]
        return Family(values, tuple(cores))

    def rank(self, supports: Supports) -> Rank:
        """Return what to minimise: the records changed, then the number of supports."""
        return float(self._state(supports).best() @ self.weights), len(supports)

    def descend(self, supports: Supports) -> Supports:
        """Change the family, each time by the best of the most promising steps, while it gets better."""
        rank, work = self.rank(supports), 0
        while work < MAX_WORK:
            state = self._state(supports)
            options = list(dict.fromkeys(self._neighbours(supports, state)))
            ranks = [self._rank_after(state, option) for option in options]
            if min(ranks, default=rank) >= rank:
                break
            supports, rank = options[ranks.index(min(ranks))], min(ranks)
            work += len(options) * (len(supports) + 1)
        return supports

    def _neighbours(self, supports: Supports, state: _State) -> Iterator[Supports]:
        """Leave out one of the supports that the fewest ECs take, or take in a promising one."""
        takers = np.bincount(state.owners, self.weights, len(supports))
        if len(supports) > 1:
            rare = np.argsort(takers, kind="stable")[:DROPPED]
            yield from (supports - {state.supports[number]} for number in rare)
        savings = np.maximum(state.best() - self.without_cores, 0) @ self.weights
        for number in np.argsort(-savings, kind="stable")[:TRIED]:
            yield from _with(supports, self.sets[number])

    def _state(self, supports: Supports) -> _State:
        ordered = tuple(sorted(supports))
        costs = np.array([self._costs(support, supports) for support in ordered])
        return _State(ordered, costs, costs.argmin(axis=0))

    def _rank_after(self, state: _State, supports: Supports) -> Rank:
        """Rank a family like a known one: only supports with other cores are looked at again."""
        changed = supports.symmetric_difference(state.supports)
        again = [s for s in supports if any(s & c == c for c in changed)]
        kept = np.array([s in supports and s not in again for s in state.supports])
        best = state.best()
        lost = np.flatnonzero(~kept[state.owners])
        best[lost] = state.costs[np.ix_(kept, lost)].min(axis=0, initial=np.inf)
        for support in again:
            np.minimum(best, self._costs(support, supports), out=best)
        return float(best @ self.weights), len(supports)

    def _costs(self, support: int, supports: Supports) -> Floats:
        cores = tuple(map(self._values, _cores(support, supports)))
        return support_costs(self.vectors, Family(self._values(support)[None], (cores,)), self.k)[:, 0]

    def _values(self, support: int) -> Booleans:
        return np.array([support >> i & 1 for i in range(self.vectors.shape[1])], dtype=np.bool_)


def record_family(fragments: Sequence[Weighted], occurring: Indices, k: int) -> Family:
    """Return nested or disjoint supports for the ECs of all fragments, with the cores that they must keep.

    Parameters
    ----------
    fragments
        A sample of each fragment's class counts, a smallest EC among them.
    occurring
        The class values that occur in any fragment.
    k
        The fewest records of an EC in each smaller support.
    """
    vectors = np.concatenate([fragment.vectors for fragment in fragments])
    weights = np.concatenate([fragment.weights for fragment in fragments])
    single = np.eye(vectors.shape[1], dtype=np.bool_)[occurring]
    sets = np.concatenate([candidates(fragments, occurring), single])
    search = _Search(vectors, weights, sets, k)
    found = [
        search.descend(frozenset(map(_number, start)))
        for start in (sets[:1], single)
        if vectors.sum(axis=1).min() >= start[0].sum()
    ]
    return search.family(min(found, key=search.rank))


def _number(values: Booleans) -> int:
    return sum(1 << int(value) for value in np.flatnonzero(values))


def _cores(support: int, supports: Supports) -> tuple[int, ...]:
    """Return the supports within another that have no smaller one within."""
    within = sorted((s for s in supports if s & support == s and s != support), key=int.bit_count)
    smallest: list[int] = []
    for one in within:
        if not any(other & one for other in smallest):
            smallest.append(one)
    return tuple(sorted(smallest))


def _with(supports: Supports, new: int) -> Iterator[Supports]:
    """Add a support, without those it crosses; without those inside or around it; and cut the one around."""
    beside = [s for s in supports if s & new in (0, s, new) and s != new]
    inside = {s for s in beside if s & new == s}
    around = {s for s in beside if s & new == new}
    for left_out in (set(), inside, around, inside | around):
        yield frozenset(beside) - left_out | {new}
    if around:
        smallest = min(around, key=int.bit_count)
        yield frozenset(beside) - {smallest} - inside | {new, smallest & ~new}
