"""What merged equivalence classes cover of features with a hierarchy: in each, the smallest group."""

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
import numpy.typing as npt

from tasks.partitions.regions import CategoricalRegions
from tasks.partitions.trees import Trees

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


class GroupShapes:
    """What the classes of one fragment cover of features with a hierarchy; each can grow.

    A group is known by one of its leaves and how many it has: groups with a common leaf are one in another.

    Attributes
    ----------
    places : ndarray of shape (E, features)
        A leaf of each group, as a place in `Trees.starts`; any where there is no group.
    leaves : ndarray of shape (E, features)
        How many leaves the group has; 0 where there is no group.
    missing : ndarray of shape (E, features)
        1 where missing is covered, else 0.
    """

    def __init__(self, regions: Sequence[CategoricalRegions], trees: Trees) -> None:
        self._starts, self._others = trees.starts, trees.others
        self._sizes = trees.stops - trees.starts + 1
        held = [_held(region) for region in regions]
        self.places = np.column_stack([last for last, _, _ in held]) + trees.offsets
        self.leaves = np.column_stack([leaves for _, leaves, _ in held])
        self.missing = np.column_stack([missing for _, _, missing in held])

    def take(self, classes: Indices) -> Self:
        """Return the shapes of some classes; `classes` may have any shape, features come last."""
        other = copy(self)
        other.places, other.leaves = self.places[classes], self.leaves[classes]
        other.missing = self.missing[classes]
        return other

    def put(self, classes: Indices | int, shapes: "GroupShapes") -> None:
        """Let classes cover what others do."""
        self.places[classes], self.leaves[classes] = shapes.places, shapes.leaves
        self.missing[classes] = shapes.missing

    def united(self, axis: int) -> Self:
        """Return what the classes along an axis cover together."""
        other, first = copy(self), np.expand_dims((self.leaves > 0).argmax(axis=axis), axis)
        place, leaves = (np.take_along_axis(held, first, axis) for held in (self.places, self.leaves))
        other.places = place.squeeze(axis)
        other.leaves = self._together(place, leaves, self.places, self.leaves).max(axis=axis)
        other.missing = self.missing.max(axis=axis)
        return other

    def spans(self) -> Floats:
        """Return the information loss of each class, summed over features."""
        return np.asarray(((self.leaves + self.missing - 1) / self._others).sum(axis=-1))

    def united_spans(self, of: "GroupShapes") -> Floats:
        """Return the summed loss of each class united with every one of some shapes, shape (classes, E)."""
        spans = np.zeros((len(self.places), len(of.places)))
        for feature, others in enumerate(self._others.tolist()):
            places, leaves, missing = (
                held[:, None, feature] for held in (self.places, self.leaves, self.missing)
            )
            together = self._together(places, leaves, of.places[:, feature], of.leaves[:, feature])
            spans += (together + np.maximum(missing, of.missing[:, feature]) - 1) / others
        return spans

    def _together(self, places: Indices, leaves: Indices, others: Indices, of_others: Indices) -> Indices:
        """Return how many leaves the smallest group has that holds two; shapes are broadcast."""
        smallest = np.zeros(np.broadcast_shapes(places.shape, others.shape), dtype=np.int64)
        for starts, sizes in zip(self._starts[::-1], self._sizes[::-1], strict=True):
            smallest = np.where(starts[places] == starts[others], sizes[places], smallest)
        both = (leaves > 0) & (of_others > 0)
        return np.asarray(np.maximum(np.where(both, smallest, 0), np.maximum(leaves, of_others)))


def _held(region: CategoricalRegions) -> tuple[Indices, Indices, Indices]:
    """Return the last code of each class, how many leaves it covers, and whether missing."""
    first = int(region.domain.missing)
    last = np.array([codes[-1] for codes in region.sets])
    missing = np.array([first > codes[0] for codes in region.sets], dtype=np.int64)
    leaves = np.array([len(codes) for codes in region.sets]) - missing
    return last[region.chosen], leaves[region.chosen], missing[region.chosen]
