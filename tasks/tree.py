"""The hierarchy of a categorical feature: groups of values within groups, up to the root that holds all."""

from dataclasses import dataclass

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
