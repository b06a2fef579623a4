"""Which class counts are the first that are safe with all joins, in compiled code: for very many of both."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tasks.compiled import compiled
from tasks.joins.class_join import Booleans, Indices
from tasks.worker_processes import available_cores

Numbers = npt.NDArray[np.float32]

TOGETHER = 64  # joins, whose sums are kept in the core; most vectors are unsafe with one of the first


def first_safe_compiled(owners: Indices, vectors: Numbers, joins: Numbers, k: int) -> Indices:
    """Return which vectors are the first of their owner that are safe with all joins, by owner.

    Parameters and results are those of `tasks.enforcement.take_back.first_safe`, which is the definition.
    """
    order = np.argsort(owners, kind="stable")
    starts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    bounds = np.append(starts, len(order))
    chosen = np.zeros(len(order), dtype=np.bool_)
    by_value = np.ascontiguousarray(joins.T)
    cores = available_cores()
    shares = np.linspace(0, len(starts), cores + 1, dtype=np.intp)
    with ThreadPoolExecutor(max_workers=cores) as threads:
        done = [
            threads.submit(_choose, vectors, order, bounds[first : last + 1], by_value, np.float32(k), chosen)
            for first, last in pairwise(shares.tolist())
        ]
    for each in done:
        each.result()
    return order[chosen]


@compiled
def _choose(  # noqa: PLR0917 - compiled code knows arguments by their places
    vectors: Numbers, order: Indices, bounds: Indices, joins: Numbers, k: np.float32, chosen: Booleans
) -> None:
    """Note the first place of each owner whose vector has no rows with any join, or k and more."""
    sums = np.empty(TOGETHER, dtype=np.float32)
    for owner in range(len(bounds) - 1):
        for place in range(bounds[owner], bounds[owner + 1]):
            if _is_safe(vectors[order[place]], joins, k, sums):
                chosen[place] = True
                break


@compiled
def _is_safe(vector: Numbers, joins: Numbers, k: np.float32, sums: Numbers) -> bool:
    values, number = joins.shape
    for start in range(0, number, TOGETHER):
        size = min(TOGETHER, number - start)
        sums[:] = 0
        for value in range(values):
            count = vector[value]
            if count > 0:
                for place in range(size):
                    sums[place] += count * joins[value, start + place]
        short = 0
        for place in range(size):
            short += (sums[place] > 0) & (sums[place] < k)
        if short:
            return False
    return True
