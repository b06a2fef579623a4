"""Merging groups until given choices are safe, wherever that mends most for the information it loses."""

from typing import NamedTuple

import numpy as np

from tasks.coarsening.groups import Groups
from tasks.coarsening.held import Promise, held, held_after
from tasks.joins.class_join import Booleans, Floats, Indices, distinct_rows

EVEN = 1e-6  # what a merge that mends nothing counts, so that the cheapest is taken
FREE = 1e-12  # the least loss that a merge counts
NOISE = 0.3  # standard deviation of a score's logarithm


class Merges(NamedTuple):
    """Groups, a partner of each, and a score: what is mended for the loss added."""

    groups: Indices
    partners: Indices
    scores: Floats

    def take(self, chosen: Indices | Booleans) -> "Merges":
        """Return some of the merges."""
        return Merges(self.groups[chosen], self.partners[chosen], self.scores[chosen])


def mend(
    groups: Groups,
    choices: Indices,
    promise: Promise,
    *,
    together: float = 1.0,
    most: float = np.inf,
    noise: np.random.Generator | None = None,
) -> bool:
    """Merge groups, in place, until given choices are safe.

    Parameters
    ----------
    groups
    choices : ndarray of shape (choices, fragments)
        Unsafe ones.
    promise
        What they must hold.
    together
        Merges that score so much of the best one are made at once.
    most
        Where the information loss exceeds this, it is given up.
    noise
        Changes the scores at random.

    Returns
    -------
    bool
        Whether all choices are safe.
    """
    while len(choices):
        merges = best_merges(groups, choices, promise, noise)
        good = merges.scores >= together * merges.scores.max()
        called = groups.merge(*apart(merges.take(good)))
        if groups.loss() > most:
            return False
        choices = np.where(choices >= 0, called[choices], -1)
        choices = choices[distinct_rows(choices + 1)[0]]
        choices = choices[held(groups.counts, choices, promise.guarantee) < promise.k]
    return True


def best_merges(
    groups: Groups, choices: Indices, promise: Promise, noise: np.random.Generator | None = None
) -> Merges:
    """Return the best merge of each group in unsafe choices that can be merged at all."""
    missing = promise.k - held(groups.counts, choices, promise.guarantee)
    found = []
    for fragment in range(groups.number):
        concerned = choices[:, fragment] >= 0
        if concerned.any():
            found.append(
                _of_fragment(
                    groups,
                    choices[concerned],
                    fragment,
                    missing=missing[concerned],
                    promise=promise,
                    noise=noise,
                )
            )
    merges = Merges(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    return merges.take(merges.scores > 0)


def _of_fragment(
    groups: Groups,
    choices: Indices,
    fragment: int,
    *,
    missing: Floats,
    promise: Promise,
    noise: np.random.Generator | None,
) -> Merges:
    members, place = np.unique(choices[:, fragment], return_inverse=True)
    partners, added = groups.partners(fragment, members)
    shared = partners.ndim == 1
    after = held_after(
        groups.counts, choices, fragment, partners if shared else partners[place], promise.guarantee
    )
    left = np.maximum(promise.k - after, 0)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    mended = np.add.reduceat((missing[:, None] - left)[order], starts, axis=0)
    if shared:
        columns = members - groups.start(fragment)
        mended[:, columns] += mended[:, columns].T.copy()
    scores = (mended + EVEN) / np.maximum(added, FREE)
    if noise is not None:
        scores *= np.exp(NOISE * noise.standard_normal(scores.shape))
    best = scores.argmax(axis=1)
    rows = np.arange(len(members))
    return Merges(members, partners[best] if shared else partners[rows, best], scores[rows, best])


def apart(merges: Merges) -> tuple[Indices, Indices]:
    """Return the groups and partners of merges that score better than all others of the same groups."""
    order = np.argsort(-merges.scores, kind="stable")
    ends = np.column_stack([merges.groups[order], merges.partners[order]])
    names, first = np.unique(ends.ravel(), return_index=True)
    places = first[np.searchsorted(names, ends)] // 2
    chosen = (places == np.arange(len(order))[:, None]).all(axis=1)
    return ends[chosen, 0], ends[chosen, 1]
