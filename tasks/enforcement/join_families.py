"""The search for supports that are nested or disjoint between fragments (join condition).

Supports of the same fragment may cross: no choice has two of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.enforcement.support_families import Weighted, candidates, crossing, plain_family, support_costs
from tasks.joins.class_join import Booleans, Indices

Singles = npt.NDArray[np.float32]

TRIED = 32
FORCED = 32


class _Search(NamedTuple):
    """What the search knows of each fragment; supports are numbered candidates.

    Attributes
    ----------
    weights, majority
        For each fragment, shape (n,): how many ECs each row stands for, and the records it changes to
        take its majority value alone.
    costs
        For each fragment, shape (candidates, n): the records changed to take each support, in single
        precision: they guide the search alone.
    crossing : boolean ndarray of shape (candidates, candidates)
    """

    weights: list[Singles]
    majority: list[Singles]
    costs: list[Singles]
    crossing: Booleans

    def best(self, fragment: int, chosen: Booleans) -> Singles:
        """Return the records that each row changes to take the cheapest of the chosen supports."""
        cheapest: Singles = self.costs[fragment][chosen].min(axis=0, initial=np.inf)
        return np.minimum(cheapest, self.majority[fragment])

    def changed(self, fragment: int, chosen: Booleans) -> float:
        """Return the records changed in a fragment."""
        return float(self.best(fragment, chosen) @ self.weights[fragment])

    def total(self, chosen: Booleans) -> float:
        """Return the records changed in all fragments; chosen has shape (fragments, candidates)."""
        return sum(self.changed(i, of_fragment) for i, of_fragment in enumerate(chosen))

    def savings(self, chosen: Booleans) -> Singles:
        """Return what each further support saves: a row for each fragment, then one for all of them."""
        saved = [
            np.maximum(self.best(i, of_fragment) - self.costs[i], 0) @ self.weights[i]
            for i, of_fragment in enumerate(chosen)
        ]
        return np.array([*saved, np.sum(saved, axis=0)])

    def add(self, chosen: Booleans, row: int, support: int) -> Booleans:
        """Choose a support in one fragment or, with the last row, in all; drop what it crosses in others."""
        result = chosen.copy()
        taking = range(len(chosen)) if row == len(chosen) else [row]
        for fragment in range(len(chosen)):
            if set(taking) - {fragment}:
                result[fragment] &= ~self.crossing[support]
        result[taking, support] = True
        return result


def join_families(fragments: Sequence[Weighted], occurring: Indices) -> list[Booleans | None]:
    """Return supports of two or more values for each fragment, nested or disjoint between fragments.

    Parameters
    ----------
    fragments
        A sample of each fragment's class counts.
    occurring
        The class values that occur in any fragment.

    Returns
    -------
    list of boolean ndarrays of shape (supports, class values)
        None, for one fragment at most, says that its ECs can keep their own supports: the others' are
        all that occurs or nothing.
    """
    sets = candidates(fragments, occurring)
    search = _Search(
        [fragment.weights.astype(np.float32) for fragment in fragments],
        [(f.vectors.sum(axis=1) - f.vectors.max(axis=1)).astype(np.float32) for f in fragments],
        [support_costs(f.vectors, plain_family(sets), 0).T.astype(np.float32, order="C") for f in fragments],
        crossing(sets, sets),
    )
    everything = np.arange(len(sets)) < 1
    start = np.tile(everything, (len(fragments), 1))
    changed = [search.changed(i, everything) for i in range(len(fragments))]
    chosen = _swap(search, _climb(search, start))
    if sum(changed) - max(changed) > search.total(chosen):
        return [sets[of_fragment] for of_fragment in chosen]
    families: list[Booleans | None] = [sets[:1]] * len(fragments)
    families[int(np.argmax(changed))] = None
    return families


def _climb(search: _Search, chosen: Booleans) -> Booleans:
    """Choose further supports, the best of the most promising at each step, while records are saved."""
    total = search.total(chosen)
    while True:
        options = [search.add(chosen, *move) for move in _promising(search.savings(chosen), TRIED)]
        totals = [search.total(option) for option in options]
        if min(totals, default=total) >= total:
            return chosen
        chosen, total = options[int(np.argmin(totals))], min(totals)


def _swap(search: _Search, chosen: Booleans) -> Booleans:
    """Force the supports that save most by themselves into the families, and climb from there."""
    alone = search.savings(np.zeros_like(chosen))
    total = search.total(chosen)
    for row, support in _promising(alone, FORCED):
        if not chosen[row % len(chosen), support]:
            option = _climb(search, search.add(chosen, row, support))
            if search.total(option) < total:
                chosen, total = option, search.total(option)
    return chosen


def _promising(savings: Singles, number: int) -> list[tuple[int, int]]:
    """Return the fragment's row and the support of the largest savings; ties: the first."""
    flat = savings.ravel()
    order = np.argsort(-flat, kind="stable")[:number]
    return [divmod(int(i), savings.shape[1]) for i in order if flat[i] > 0]
