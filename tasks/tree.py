"""The hierarchy of a categorical feature: groups of values within groups, up to the root that holds all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Leaves = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tree:
    """A hierarchy whose leaves are numbered so that every group is an interval of them.

    Attributes
    ----------
    starts, stops : ndarray of shape (levels, leaves)
        The first and the last leaf of the group that holds each leaf, from level 0, where it is the leaf
        itself, to the last, where it is the root.
    labels
        Per level, what the group that holds each leaf is called.
    """

    starts: Leaves
    stops: Leaves
    labels: tuple[tuple[str, ...], ...]

    def level(self, lower: Leaves, upper: Leaves) -> npt.NDArray[np.intp]:
        """Return the lowest level at which one group holds both leaves; shapes are broadcast."""
        holds = self.stops[:, lower] >= upper
        return np.asarray(holds.argmax(axis=0))

    def group(self, lower: Leaves, upper: Leaves) -> tuple[Leaves, Leaves]:
        """Return the first and the last leaf of the smallest group that holds two leaves, lower <= upper."""
        level = self.level(lower, upper)
        return self.starts[level, lower], self.stops[level, lower]

    def label(self, lower: int, upper: int) -> str:
        """Return what the smallest group that holds two leaves is called."""
        (level,) = self.level(np.array([lower]), np.array([upper])).tolist()
        return str(self.labels[level][lower])

    def named(self) -> dict[str, tuple[int, int]]:
        """Return the first and the last leaf of what each name stands for, leaves and groups."""
        names = (name for level in self.labels for name in level)
        leaves = zip(self.starts.ravel().tolist(), self.stops.ravel().tolist(), strict=True)
        return dict(zip(names, leaves, strict=True))

    def take(self, kept: npt.NDArray[np.bool_]) -> "Tree":
        """Return the tree of some of the leaves, shape (leaves,), in their order."""
        before = np.concatenate([[0], np.cumsum(kept)])
        return Tree(
            before[self.starts[:, kept]],
            before[self.stops[:, kept] + 1] - 1,
            tuple(tuple(np.array(level, dtype=object)[kept]) for level in self.labels),
        )


def tree_of(values: Sequence[str], ancestors: Sequence[Sequence[str]]) -> Tree:
    """Return the tree of some values.

    Parameters
    ----------
    values
        The leaves, at least one; those of a group are adjacent.
    ancestors
        Per level from the parent to the root, what the group that holds each value is called.

    Examples
    --------
    >>> tree = tree_of(["250.0", "250.1", "401"], [["250*", "250*", "401*"], ["*", "*", "*"]])
    >>> [tree.label(0, upper) for upper in range(3)]
    ['250.0', '250*', '*']
    """
    starts, stops = [], []
    for level in (values, *ancestors):
        first = np.flatnonzero(_changes(np.array(level, dtype=object)))
        held = np.diff(first, append=len(values))
        starts.append(np.repeat(first, held))
        stops.append(np.repeat(first + held - 1, held))
    return Tree(np.array(starts), np.array(stops), tuple(map(tuple, (values, *ancestors))))


def _changes(names: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Tell which names differ from the one before."""
    return np.append(True, names[1:] != names[:-1])
