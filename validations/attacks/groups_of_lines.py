"""Lines, or pairs of lines, by the equivalence class (EC) that they belong to."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]


class Grouped(NamedTuple):
    """Members of ECs: those of EC e are `order[starts[e]:starts[e + 1]]`."""

    order: Places
    starts: Places

    @property
    def sizes(self) -> Places:
        """How many members each EC has."""
        return np.diff(self.starts)


def grouped(ecs: npt.NDArray[np.integer], count: int) -> Grouped:
    """Group places by their EC, in order within each.

    Parameters
    ----------
    ecs : ndarray of shape (members,)
        The EC of each.
    count
        Of ECs.
    """
    order = np.argsort(ecs, kind="stable")
    return Grouped(order, np.concatenate([[0], np.cumsum(np.bincount(ecs, minlength=count))]))


def members(groups: Grouped, ecs: npt.NDArray[np.integer], numbers: Places) -> Places:
    """Return members of several ECs by their numbers, counted from 0 through all these ECs.

    Examples
    --------
    >>> members(grouped(np.array([1, 0, 1, 2]), 3), np.array([1, 2]), np.array([0, 1, 2]))
    array([0, 2, 3])
    """
    ends = np.cumsum(groups.sizes[ecs])
    which = np.searchsorted(ends, numbers, side="right")
    within = numbers - (ends[which] - groups.sizes[ecs][which])
    return np.asarray(groups.order[groups.starts[ecs[which]] + within])
