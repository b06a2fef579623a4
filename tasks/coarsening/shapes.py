"""What merged equivalence classes cover of their features, and the information that this loses."""

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
import numpy.typing as npt

from tasks.coarsening.group_shapes import GroupShapes
from tasks.joins.class_join import blocks_of
from tasks.partitions.regions import CategoricalRegions, NumericRegions, Regions
from tasks.partitions.trees import Trees

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

MISSING = -1.0  # at least one away from every number: who covers both has lost the whole range


class Shapes:
    """What the classes of one fragment cover, and how much they weigh; each can grow.

    Attributes
    ----------
    lower, upper : ndarray of shape (E, numeric features)
        Positions of the bounds, see `tasks.domain.Domain.positions`; missing lies at -1.
    sets : ndarray of shape (E, values of all categorical features without a hierarchy)
        1 for the values covered, else 0.
    groups
        What is covered of features with a hierarchy; None without such.
    records : ndarray of shape (E,)
        What a class weighs.
    """

    def __init__(self, regions: Sequence[Regions], records: Floats) -> None:
        numeric = [region for region in regions if isinstance(region, NumericRegions)]
        categories = [region for region in regions if isinstance(region, CategoricalRegions)]
        categorical = [region for region in categories if region.domain.tree is None]
        grown = [region for region in categories if region.domain.tree is not None]
        trees = Trees.of([region.domain for region in grown])
        self.groups = None if trees is None else GroupShapes(grown, trees)
        none = np.empty((len(records), 0))
        self.lower = np.column_stack([none, *(_lower(region) for region in numeric)])
        self.upper = np.column_stack([none, *(_upper(region) for region in numeric)])
        self.sets = np.column_stack([none, *(_covered(region) for region in categorical)])
        sizes = [region.domain.size for region in categorical]
        ends = np.cumsum([0, *sizes]).tolist()
        self._features = [
            (slice(start, end), max(size - 1, 1))
            for start, end, size in zip(ends[:-1], ends[1:], sizes, strict=True)
        ]
        self.records = np.array(records)

    def copy(self) -> Self:
        """Return a copy that can grow by itself."""
        other = copy(self)
        other.lower, other.upper = self.lower.copy(), self.upper.copy()
        other.sets, other.records = self.sets.copy(), self.records.copy()
        other.groups = self.groups and self.groups.take(np.arange(len(self.records)))
        return other

    def unite(self, classes: Indices, others: Indices) -> None:
        """Let each class cover another one's values too; the other one weighs nothing any more."""
        self.lower[classes] = np.minimum(self.lower[classes], self.lower[others])
        self.upper[classes] = np.maximum(self.upper[classes], self.upper[others])
        self.sets[classes] = np.maximum(self.sets[classes], self.sets[others])
        if self.groups is not None:
            self.groups.put(classes, self.groups.take(np.stack([classes, others])).united(axis=0))
        self.records[classes] += self.records[others]
        self.records[others] = 0

    def reset(self, classes: Indices, to: "Shapes") -> None:
        """Let classes cover and weigh what they do in other shapes."""
        self.lower[classes], self.upper[classes] = to.lower[classes], to.upper[classes]
        self.sets[classes], self.records[classes] = to.sets[classes], to.records[classes]
        if self.groups is not None and to.groups is not None:
            self.groups.put(classes, to.groups.take(classes))

    def cover(self, group: int, classes: Indices, of: "Shapes") -> None:
        """Let one class cover and weigh what some classes of other shapes do together; none: nothing."""
        if len(classes):
            self.lower[group], self.upper[group] = (
                of.lower[classes].min(axis=0),
                of.upper[classes].max(axis=0),
            )
            self.sets[group] = of.sets[classes].max(axis=0)
            if self.groups is not None and of.groups is not None:
                self.groups.put(group, of.groups.take(classes).united(axis=0))
        self.records[group] = of.records[classes].sum()

    def losses_without_each(self, classes: Indices) -> Floats:
        """Return the loss that some classes have together without each of them in turn."""
        if len(classes) == 1:
            return np.zeros(1)
        others = np.array([np.delete(classes, left) for left in range(len(classes))])
        rest = copy(self)
        rest.lower, rest.upper = self.lower[others].min(axis=1), self.upper[others].max(axis=1)
        rest.sets, rest.records = self.sets[others].max(axis=1), self.records[others].sum(axis=1)
        rest.groups = self.groups and self.groups.take(others).united(axis=1)
        return rest.losses()

    def losses(self) -> Floats:
        """Return each class's information loss, summed over features, times its weight."""
        spans: Floats = np.minimum(self.upper - self.lower, 1).sum(axis=1)
        for feature, others in self._features:
            spans += (self.sets[:, feature].sum(axis=1) - 1) / others
        if self.groups is not None:
            spans += self.groups.spans()
        return np.asarray(spans * self.records)

    def united_losses(self, classes: Indices, of: "Shapes") -> Floats:
        """Return the loss of some classes if each is united with every class of some shapes, (classes, E)."""
        spans = np.zeros((len(classes), len(of.records)))
        for block in blocks_of(len(classes), of.lower.size):
            upper = np.maximum(self.upper[classes[block], None], of.upper)
            lower = np.minimum(self.lower[classes[block], None], of.lower)
            spans[block] = np.minimum(upper - lower, 1).sum(axis=2)
        for feature, others in self._features:
            ours, theirs = self.sets[classes, feature], of.sets[:, feature]
            sizes = ours.sum(axis=1)[:, None] + theirs.sum(axis=1)
            spans += (sizes - ours @ theirs.T - 1) / others
        if self.groups is not None and of.groups is not None:
            spans += self.groups.take(classes).united_spans(of.groups)
        return np.asarray(spans * (self.records[classes, None] + of.records))


def _lower(region: NumericRegions) -> Floats:
    return np.where(region.missing, MISSING, region.domain.positions[region.lower])


def _upper(region: NumericRegions) -> Floats:
    return np.where(region.present, region.domain.positions[region.upper], MISSING)


def _covered(region: CategoricalRegions) -> Floats:
    covered = np.zeros((len(region.sets), region.domain.size))
    for number, codes in enumerate(region.sets):
        covered[number, list(codes)] = 1
    return covered[region.chosen]
