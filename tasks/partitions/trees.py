"""The hierarchies of a table's features, as cuts see them: a node is cut between children of its group.

A node's group in a feature is the smallest one that holds its values. Missing is in no group: it is a child
of its own, before the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain

Ints = npt.NDArray[np.int64]
Narrow = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trees:
    """The groups of the features that have a hierarchy, side by side.

    Attributes
    ----------
    offsets : ndarray of shape (features,)
        Where the codes of a feature start; -1 where it has no hierarchy.
    others : ndarray of shape (features,)
        How many codes a feature has beside one.
    missing : ndarray of shape (features,)
        1 where code 0 is missing, else 0.
    starts, stops : ndarray of shape (levels, codes)
        The first and the last code of the group that holds each code, from the code itself to the root.
        Missing is by itself at every level.
    """

    offsets: Ints
    others: Ints
    missing: Narrow
    starts: Ints
    stops: Ints

    @classmethod
    def of(cls, domains: Sequence[Domain]) -> Self | None:
        """Return those of a table's features; None where none has a hierarchy."""
        chosen = [place for place, domain in enumerate(domains) if domain.tree is not None]
        if not chosen:
            return None
        sizes = np.array([domain.size for domain in domains])
        offsets = np.full(len(domains), -1)
        offsets[chosen] = np.cumsum(sizes[chosen]) - sizes[chosen]
        levels = max(len(tree.starts) for domain in domains if (tree := domain.tree) is not None)
        starts, stops = (
            np.concatenate([_by_code(domains[place], bound, levels) for place in chosen], axis=1)
            for bound in ("starts", "stops")
        )
        missing = np.array([domain.missing for domain in domains], dtype=np.min_scalar_type(int(sizes.max())))
        return cls(offsets, np.maximum(sizes - 1, 1), missing, starts, stops)

    def lowest(self, low: Narrow, codes: Narrow, starts: Ints) -> Narrow:
        """Return the lowest code that is not missing's, 0 where there is none, in features with a hierarchy.

        Parameters
        ----------
        low : ndarray of shape (nodes, features)
            The lowest codes.
        codes : ndarray of shape (features, rows)
            Unsigned; node after node.
        starts : ndarray of shape (nodes,)
            Of the nodes.

        Returns
        -------
        ndarray of shape (nodes, features)
        """
        some = np.flatnonzero((self.offsets >= 0) & (self.missing > 0))
        if not len(some):
            return low
        lowest, one = low.copy(), codes.dtype.type(1)
        shifted = codes[some] - one  # missing becomes the highest number
        lowest[:, some] = np.minimum.reduceat(shifted, starts, axis=1).T + one
        return lowest

    def level(self, features: Ints, lowest: Narrow, high: Narrow) -> Ints:
        """Return the lowest level at which one group holds both codes; the last axis is that of features."""
        return np.asarray((self.stops[:, self.offsets[features] + lowest] < high).sum(axis=0))

    def widths(self, features: Ints, low: Narrow, lowest: Narrow, high: Narrow) -> Floats:
        """Return the loss of the smallest group that holds some codes, and missing where `low` is missing.

        Parameters
        ----------
        features : ndarray of shape (features,)
            With a hierarchy.
        low, lowest, high : ndarray of shape (..., features)
            The lowest code, the lowest one that is not missing's (0 if none is), the highest.
        """
        level, place = self.level(features, lowest, high), self.offsets[features] + lowest
        beyond = self.stops[level, place] - self.starts[level, place] + (low < lowest)
        return np.asarray(beyond / self.others[features])

    def child(self, features: Ints, level: Ints, codes: Narrow) -> tuple[Ints, Ints]:
        """Return the first and the last code of the child that holds a code, of groups at some level."""
        below, place = np.maximum(level - 1, 0), self.offsets[features] + codes
        return self.starts[below, place], self.stops[below, place]

    def by_children(self, features: Ints, sizes: Ints, codes: Narrow) -> tuple[Ints, Narrow]:
        """Return the level of each node's group, and the last code of each row's child.

        Parameters
        ----------
        features, sizes : ndarray of shape (nodes,)
            The feature that each node is seen through, and its rows.
        codes : ndarray of shape (rows,)
            Node after node, unsigned.
        """
        starts, missing = np.cumsum(sizes) - sizes, self.missing[features].astype(codes.dtype)
        lowest = np.minimum.reduceat(codes - np.repeat(missing, sizes), starts) + missing
        level = self.level(features, lowest, np.maximum.reduceat(codes, starts))
        shifts = np.maximum(level - 1, 0) * self.stops.shape[1] + self.offsets[features]
        last = self.stops.ravel().take(np.repeat(shifts, sizes) + codes)
        return level, last.astype(codes.dtype)


def _by_code(domain: Domain, bound: str, levels: int) -> Ints:
    """Return a bound of the groups that hold each code; a lower tree's root is that of all levels above."""
    leaves = getattr(domain.tree, bound)
    padded = np.concatenate([leaves, np.repeat(leaves[-1:], levels - len(leaves), axis=0)])
    return np.pad(padded + int(domain.missing), ((0, 0), (int(domain.missing), 0)))
