"""Which class counts are the first that are safe with all joins, in compiled code: for very many of both.

Joins lie in a tree of alike ones. Most groups are told to be safe, or not to be, by what they all hold.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tasks.compiled import compiled
from tasks.joins.class_join import Booleans, Indices
from tasks.joins.count_tree import CountTree
from tasks.worker_processes import available_cores

Numbers = npt.NDArray[np.float32]

DEEPEST = 64  # more levels than any tree has


class JoinTree(NamedTuple):
    """Joins in groups; those that group i holds are 2 i + 1 and 2 i + 2, and the smallest come last.

    Attributes
    ----------
    joins : float32 ndarray of shape (class values, joins)
    starts : ndarray of shape (smallest groups + 1,)
        Where the joins of each of the smallest groups are.
    least, most, positive : float32 ndarrays of shape (groups, class values)
        See `tasks.joins.count_tree.Level`.
    """

    joins: Numbers
    starts: Indices
    least: Numbers
    most: Numbers
    positive: Numbers

    @classmethod
    def of(cls, joins: Numbers) -> Self:
        """Group joins, at least one."""
        tree = CountTree.of(joins)
        bounds: list[npt.NDArray[Any]] = [
            np.concatenate(parts).astype(np.float32)
            for parts in zip(
                *((level.least, level.most, level.positive) for level in tree.levels), strict=True
            )
        ]
        return cls(np.ascontiguousarray(tree.vectors.T), tree.levels[-1].starts, *bounds)

    def first_safe(self, owners: Indices, vectors: Numbers, k: int) -> Indices:
        """Return which vectors are the first of their owner that are safe with all joins, by owner.

        Parameters and results are those of `tasks.enforcement.take_back.first_safe`, which is the definition.
        """
        order = np.argsort(owners, kind="stable")
        starts = np.flatnonzero(np.diff(owners[order], prepend=-1))
        bounds = np.append(starts, len(order))
        chosen = np.zeros(len(order), dtype=np.bool_)
        cores = available_cores()
        shares = np.linspace(0, len(starts), cores + 1, dtype=np.intp)
        with ThreadPoolExecutor(max_workers=cores) as threads:
            done = [
                threads.submit(
                    _choose, vectors, order, bounds[first : last + 1], *self, np.float32(k), chosen
                )
                for first, last in pairwise(shares.tolist())
            ]
        for each in done:
            each.result()
        return order[chosen]


@compiled
def _choose(  # noqa: PLR0917 - compiled code knows arguments by their places
    vectors: Numbers,
    order: Indices,
    bounds: Indices,
    joins: Numbers,
    starts: Indices,
    least: Numbers,
    most: Numbers,
    positive: Numbers,
    k: np.float32,
    chosen: Booleans,
) -> None:
    """Note the first place of each owner whose vector has no rows with any join, or k and more."""
    deepest = len(least) - len(starts) + 1
    waiting = np.empty(DEEPEST, dtype=np.int64)
    sums = np.empty(joins.shape[1], dtype=np.float32)
    last = deepest
    for owner in range(len(bounds) - 1):
        for place in range(bounds[owner], bounds[owner + 1]):
            vector = vectors[order[place]]
            if _is_unsafe(vector, joins, starts[last - deepest], starts[last - deepest + 1], k, sums):
                continue
            found = _unsafe_group(vector, joins, starts, least, most, positive, k, waiting, sums)
            if found < 0:
                chosen[place] = True
                break
            last = found


@compiled
def _unsafe_group(  # noqa: PLR0917 - compiled code knows arguments by their places
    vector: Numbers,
    joins: Numbers,
    starts: Indices,
    least: Numbers,
    most: Numbers,
    positive: Numbers,
    k: np.float32,
    waiting: Indices,
    sums: Numbers,
) -> int:
    """Return one of the smallest groups with a join that is unsafe with a vector, -1 if there is none."""
    deepest = len(least) - len(starts) + 1
    waiting[0] = 0
    number = 1
    while number:
        number -= 1
        group = waiting[number]
        if _is_safe_with_all(vector, least[group], most[group], positive[group], k):
            continue
        if group < deepest:
            waiting[number] = 2 * group + 1
            waiting[number + 1] = 2 * group + 2
            number += 2
        elif _is_unsafe(vector, joins, starts[group - deepest], starts[group - deepest + 1], k, sums):
            return int(group)
    return -1


@compiled
def _is_safe_with_all(
    vector: Numbers, least: Numbers, most: Numbers, positive: Numbers, k: np.float32
) -> bool:
    """Tell whether no member of a group can have some rows with a vector, but fewer than k."""
    surely = np.float32(0)
    smallest = np.float32(np.inf)
    for value in range(len(vector)):
        if vector[value] > 0 and most[value] > 0:
            surely += vector[value] * least[value]
            smallest = min(smallest, vector[value] * positive[value])
    return bool(surely >= k or smallest == np.inf or (surely == 0 and smallest >= k))


@compiled
def _is_unsafe(  # noqa: PLR0917 - compiled code knows arguments by their places
    vector: Numbers, joins: Numbers, start: int, stop: int, k: np.float32, sums: Numbers
) -> bool:
    """Tell whether a vector has some rows with one of the joins, but fewer than k."""
    size = stop - start
    sums[:size] = 0
    for value in range(len(vector)):
        count = vector[value]
        if count > 0:
            for place in range(size):
                sums[place] += count * joins[value, start + place]
    short = 0
    for place in range(size):
        short += (sums[place] > 0) & (sums[place] < k)
    return short > 0
