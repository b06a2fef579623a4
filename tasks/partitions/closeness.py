"""How far the values of groups of records are from those of all records.

Li, Li, Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity" (ICDE 2007).
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tasks.partitions.diversity import Counts, group_sizes

Distances = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The ancestors of values, level by level.

    Attributes
    ----------
    ancestors : ndarray of shape (values, H)
        The code of each value's ancestor at level 1 to H; values with the same ancestor share its
        code. The last level is the root, common to all.
    """

    ancestors: npt.NDArray[np.integer]


Ground: TypeAlias = Literal["equal", "ordered"] | Hierarchy


def t_distance(counts: Counts, overall: Counts, ground: Ground) -> Distances:
    """Return the earth mover's distance of each group's values to those of all records.

    Parameters
    ----------
    counts : ndarray of shape (groups, values)
        How often each value occurs in each group. The last values may be left out if no group has them.
    overall : ndarray of shape (values,)
        How often each occurs in all records; at least once if a group has it.
    ground
        The distance of two values. "equal": 1. "ordered": the steps between them, over as many as
        there can be, among the values that occur in `overall`, whose order is that of the columns.
        A hierarchy: the lowest level of a common ancestor, over H.

    Returns
    -------
    ndarray of shape (groups,)
        From 0 to 1; infinite for an empty group.

    Examples
    --------
    >>> t_distance(np.array([[2, 0, 0], [0, 1, 0], [0, 0, 0]]), np.array([1, 1, 2]), "ordered")
    array([0.625, 0.375,   inf])
    """
    sizes = group_sizes(counts)
    excess = _excess(counts, sizes, overall)
    if ground == "equal":
        moved, unit = _absolute_sums(excess), 2
    elif ground == "ordered":
        excess = excess[overall > 0]
        moved, unit = _absolute_sums(np.cumsum(excess, axis=0)), max(len(excess) - 1, 1)
    else:
        moved, unit = _moved_between_nodes(excess, ground), 2 * ground.ancestors.shape[1]
    scale = sizes * float(overall.sum() * unit)
    return np.asarray(np.divide(moved, scale, out=np.full(len(sizes), np.inf), where=sizes > 0))


def _excess(counts: Counts, sizes: Counts, overall: Counts) -> Distances:
    """Return a group's share of each value less the overall share, times both numbers of records.

    These are whole numbers, exact up to 2 ** 53: a distance is rounded once, in the end. The shape is
    (values, groups), which is much faster where values are few.
    """
    excess = np.multiply.outer(-overall.astype(np.float64), sizes.astype(np.float64))
    excess[: counts.shape[1]] += counts.T * float(overall.sum())
    return np.asarray(excess)


def _absolute_sums(excess: Distances) -> Distances:
    return np.asarray(np.abs(excess).sum(axis=0))


def _moved_between_nodes(excess: Distances, hierarchy: Hierarchy) -> Distances:
    moved = _absolute_sums(excess)
    for level in hierarchy.ancestors.T[:-1]:
        order = np.argsort(level, kind="stable")
        starts = np.flatnonzero(np.diff(level[order], prepend=level[order[0]] - 1))
        moved += _absolute_sums(np.add.reduceat(excess[order], starts, axis=0))
    return moved
