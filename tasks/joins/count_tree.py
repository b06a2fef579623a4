"""Class counts in nested groups of alike ones, to bound what joins of whole groups can hold."""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tasks.joins.class_join import Indices

Numbers = npt.NDArray[np.floating[Any]]

LEAF = 32  # class counts in the smallest groups, up to twice as many


class Level(NamedTuple):
    """Groups that lie side by side.

    Attributes
    ----------
    starts : ndarray of shape (groups + 1,)
        Where each begins, and where the last ends.
    least, most : ndarrays of shape (groups, class values)
        The fewest and the most records of each class value.
    positive : ndarray of shape (groups, class values)
        The fewest but none; infinity where no member has the value.
    """

    starts: Indices
    least: Numbers
    most: Numbers
    positive: Numbers


class CountTree(NamedTuple):
    """Class counts in nested groups, each cut in the middle of the class value that differs most.

    Attributes
    ----------
    order : ndarray of shape (n,)
        The numbers of the class counts, as the groups have them.
    vectors : ndarray of shape (n, class values)
        The class counts in that order.
    levels
        From one group of all to the smallest groups; group i of a level holds 2 i and 2 i + 1 of the next.
    """

    order: Indices
    vectors: Numbers
    levels: tuple[Level, ...]

    @classmethod
    def of(cls, vectors: Numbers) -> Self:
        """Group class counts, at least one."""
        order = np.arange(len(vectors))
        starts = np.array([0, len(vectors)])
        bounds = [starts]
        while (starts[1:] - starts[:-1]).max() > 2 * LEAF:
            order = order[_by_spread(vectors[order], starts)]
            middles = (starts[:-1] + starts[1:]) // 2
            starts = np.append(np.column_stack([starts[:-1], middles]).ravel(), len(vectors))
            bounds.append(starts)
        ordered = vectors[order]
        return cls(order, ordered, tuple(_level(ordered, starts) for starts in bounds))


def _by_spread(vectors: Numbers, starts: Indices) -> Indices:
    """Return an order that sorts each group by the class value whose counts vary most in it."""
    sizes = np.diff(starts)
    means = np.add.reduceat(vectors, starts[:-1]) / sizes[:, None]
    squares = np.add.reduceat(vectors**2, starts[:-1]) / sizes[:, None]
    widest = (squares - means**2).argmax(axis=1)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return np.lexsort((vectors[np.arange(len(vectors)), widest[groups]], groups))


def _level(vectors: Numbers, starts: Indices) -> Level:
    present = np.where(vectors > 0, vectors, np.inf)
    return Level(
        starts,
        np.minimum.reduceat(vectors, starts[:-1]),
        np.maximum.reduceat(vectors, starts[:-1]),
        np.minimum.reduceat(present, starts[:-1]).astype(vectors.dtype),
    )
