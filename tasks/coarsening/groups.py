"""Groups of equivalence classes (ECs) that can be merged further, or dissolved again."""

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from tasks.coarsening.shapes import Shapes
from tasks.joins.class_join import Booleans, Counts, Floats, Indices, blocks_of
from tasks.partitions.regions import Regions

FEW = 400  # ECs of a fragment whose every pair is looked at
NEAREST = 8  # in a larger fragment, the groups that an EC can be merged with


class Groups:
    """The groups of all fragments; a group is called by the number of one of its ECs, over all fragments.

    Attributes
    ----------
    fragments : ndarray of shape (ECs,)
        The fragment of each EC.
    labels : ndarray of shape (ECs,)
        The group of each EC.
    counts : float64 ndarray of shape (ECs + 1, class values)
        Class counts of each group, 0 in a row that calls none. The last row stands in choices for a
        fragment that has no part in them.
    ec_counts, ec_shapes
        The same of each EC by itself.
    shapes, losses, added
        For each fragment: what groups cover, the loss of each, and the loss that merging any two of them
        adds (None in a large fragment).
    """

    def __init__(self, counts: Sequence[Counts], regions: Sequence[Sequence[Regions]], absent: int) -> None:
        sizes = [len(fragment) for fragment in counts]
        self.fragments = np.repeat(np.arange(len(counts)), sizes)
        self.labels = np.arange(len(self.fragments))
        last = np.full((1, counts[0].shape[1]), absent)
        self.ec_counts = np.concatenate([*counts, last]).astype(np.float64)
        self.counts = self.ec_counts.copy()
        self._starts = np.cumsum([0, *sizes])
        cells = int(counts[0].sum()) * sum(len(features) for features in regions)
        self.ec_shapes = [
            Shapes(features, fragment.sum(axis=1) / cells)
            for features, fragment in zip(regions, counts, strict=True)
        ]
        self.shapes = [shapes.copy() for shapes in self.ec_shapes]
        self.losses = [shapes.losses() for shapes in self.shapes]
        self.added = [
            self._added_losses(fragment, np.arange(size)) if size <= FEW else None
            for fragment, size in enumerate(sizes)
        ]

    def copy(self) -> Self:
        """Return a copy that can be changed by itself."""
        other = copy(self)
        other.labels, other.counts = self.labels.copy(), self.counts.copy()
        other.shapes = [shapes.copy() for shapes in self.shapes]
        other.losses = list(self.losses)
        other.added = [None if added is None else added.copy() for added in self.added]
        return other

    @property
    def number(self) -> int:
        """The number of fragments."""
        return len(self.shapes)

    @property
    def large(self) -> bool:
        """Whether some fragment has too many ECs for all of its pairs to be looked at."""
        return any(added is None for added in self.added)

    def loss(self) -> float:
        """Return the information loss, the mean over records and features."""
        return float(sum(losses.sum() for losses in self.losses))

    def start(self, fragment: int) -> int:
        """Return the number of a fragment's first EC."""
        return int(self._starts[fragment])

    def ecs(self, fragment: int) -> Indices:
        """Return the numbers of a fragment's ECs."""
        return np.arange(self._starts[fragment], self._starts[fragment + 1])

    def of(self, fragment: int) -> Indices:
        """Return the groups of a fragment."""
        return np.flatnonzero(self._alive(fragment)) + self.start(fragment)

    def labels_of(self, fragment: int) -> Indices:
        """Return the group of each EC of a fragment, groups numbered from 0."""
        return np.unique(self.labels[self.ecs(fragment)], return_inverse=True)[1]

    def partners(self, fragment: int, groups: Indices) -> tuple[Indices, Floats]:
        """Return which groups some groups of a fragment can be merged with, and the loss that this adds.

        Returns
        -------
        partners : ndarray of shape (partners,), or (groups, partners) in a large fragment
        added : float64 ndarray of shape (groups, partners)
            Infinite where there is no such group.
        """
        places = groups - self.start(fragment)
        added = self.added[fragment]
        if added is not None:
            return self.ecs(fragment), added[places]
        nearest = np.empty((len(groups), NEAREST), dtype=np.intp)
        losses = np.empty(nearest.shape)
        for block in blocks_of(len(groups), len(self.ecs(fragment))):
            every = self._added_losses(fragment, places[block])
            nearest[block] = np.argpartition(every, NEAREST, axis=1)[:, :NEAREST]
            losses[block] = np.take_along_axis(every, nearest[block], axis=1)
        return nearest + self.start(fragment), losses

    def nearest(self, group: int, number: int) -> Indices:
        """Return the groups that a group is merged with for the least loss, at most so many."""
        groups, (added,) = self.partners(int(self.fragments[group]), np.array([group]))
        order = np.argsort(added, kind="stable")[:number]
        return np.asarray(groups[order[np.isfinite(added[order])]])

    def merge(self, groups: Indices, others: Indices) -> Indices:
        """Merge each group with another one of its fragment.

        Parameters
        ----------
        groups, others
            No group twice, in either of them.

        Returns
        -------
        ndarray of shape (ECs,)
            What the group of each name is called now.
        """
        self.counts[groups] += self.counts[others]
        self.counts[others] = 0
        called = np.arange(len(self.labels))
        called[others] = groups
        self.labels = called[self.labels]
        for fragment in np.unique(self.fragments[groups]).tolist():
            chosen = self.fragments[groups] == fragment
            places, gone = (names[chosen] - self.start(fragment) for names in (groups, others))
            self.shapes[fragment].unite(places, gone)
            self._measure(fragment, places, gone)
        return called

    def dissolve(self, groups: Indices) -> Indices:
        """Give each EC of some groups of one fragment its own group again; return these ECs."""
        ecs = np.flatnonzero(np.isin(self.labels, groups))
        fragment = int(self.fragments[ecs[0]])
        places = ecs - self.start(fragment)
        self.labels[ecs] = ecs
        self.counts[ecs] = self.ec_counts[ecs]
        self.shapes[fragment].reset(places, self.ec_shapes[fragment])
        self._measure(fragment, places, places[:0])
        return ecs

    def move(self, ec: int, group: int) -> Indices:
        """Move an EC into another group, or into its own (-1); return the groups concerned."""
        old, fragment = self.labels[ec], int(self.fragments[ec])
        left = np.setdiff1d(np.flatnonzero(self.labels == old), ec)
        self.labels[left] = left[:1]
        self.labels[ec] = ec if group < 0 else group
        concerned = np.unique([old, ec, self.labels[ec], *left[:1]])
        for name in concerned.tolist():
            members = np.flatnonzero(self.labels == name)
            self.counts[name] = self.ec_counts[members].sum(axis=0)
            places = members - self.start(fragment)
            self.shapes[fragment].cover(name - self.start(fragment), places, self.ec_shapes[fragment])
        alive = self.counts[concerned].any(axis=1)
        places = concerned - self.start(fragment)
        self._measure(fragment, places[alive], places[~alive])
        return concerned

    def _alive(self, fragment: int) -> Booleans:
        return np.asarray(self.counts[self._starts[fragment] : self._starts[fragment + 1]].any(axis=1))

    def _measure(self, fragment: int, changed: Indices, gone: Indices) -> None:
        self.losses[fragment] = self.shapes[fragment].losses()
        added = self.added[fragment]
        if added is not None:
            rows = self._added_losses(fragment, changed)
            added[changed], added[:, changed] = rows, rows.T
            added[gone], added[:, gone] = np.inf, np.inf

    def _added_losses(self, fragment: int, places: Indices) -> Floats:
        """Return the loss that merging some groups with every other one adds."""
        losses = self.losses[fragment]
        added = (
            self.shapes[fragment].united_losses(places, self.shapes[fragment]) - losses[places, None] - losses
        )
        added[:, ~self._alive(fragment)] = np.inf
        added[np.arange(len(places)), places] = np.inf
        return added
