"""The fewest class values that must change, found by trying all class counts in order of their cost."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import prod

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Vector = tuple[int, ...]
Taken = list[tuple[int, Vector]]


def fewest_changed(counts: Sequence[Counts], k: int, guarantee: str) -> int:
    """Return the fewest changed records after which every choice keeps the guarantee."""
    ecs = [(i, tuple(row)) for i, fragment in enumerate(counts) for row in fragment.tolist()]
    cost = 0
    while not _possible(ecs, [], cost, k, guarantee):
        cost += 1
    return cost


def keeps(vectors: Sequence[Vector], k: int, guarantee: str) -> bool:
    """Whether one choice keeps the join condition, or the record condition."""
    if guarantee == "join":
        size = sum(map(prod, zip(*vectors, strict=True)))
        return size == 0 or size >= k
    common = [c for c in range(len(vectors[0])) if all(vector[c] for vector in vectors)]
    return not common or all(sum(vector[c] for c in common) >= k for vector in vectors)


def is_valid(counts: Sequence[Counts], k: int, guarantee: str) -> bool:
    """Whether every choice of every subset of fragments keeps the guarantee."""
    ecs = [[tuple(row) for row in np.unique(fragment, axis=0).tolist()] for fragment in counts]
    return all(
        keeps(choice, k, guarantee)
        for size in range(2, len(ecs) + 1)
        for fragments in combinations(ecs, size)
        for choice in product(*fragments)
    )


def _possible(ecs: Sequence[tuple[int, Vector]], taken: Taken, cost: int, k: int, guarantee: str) -> bool:
    """Whether the remaining ECs can be made safe with so many changed records at most."""
    if len(taken) == len(ecs):
        return True
    fragment, before = ecs[len(taken)]
    for spent in range(cost + 1):
        for vector in _changes(before, spent):
            if all(keeps((vector, *others), k, guarantee) for others in _choices(taken, fragment)):
                now = [*taken, (fragment, vector)]
                if _possible(ecs, now, cost - spent, k, guarantee):
                    return True
    return False


def _choices(taken: Taken, fragment: int) -> Iterator[tuple[Vector, ...]]:
    """Yield every choice of ECs from one or more other fragments."""
    others = [[v for i, v in taken if i == other] for other in {i for i, _ in taken} - {fragment}]
    for size in range(1, len(others) + 1):
        for chosen in combinations(others, size):
            yield from product(*chosen)


def _changes(before: Vector, spent: int) -> Iterator[Vector]:
    """Yield the class counts of the same size that differ by so many changed records."""
    for lost in _parts(spent, before):
        for gained in _parts(spent, tuple(0 if loss else spent for loss in lost)):
            yield tuple(b - loss + gain for b, loss, gain in zip(before, lost, gained, strict=True))


def _parts(total: int, most: Vector) -> Iterator[Vector]:
    """Yield the ways to write a total as ordered parts, each with an upper bound."""
    if not most:
        if total == 0:
            yield ()
        return
    for first in range(min(total, most[0]) + 1):
        yield from ((first, *rest) for rest in _parts(total - first, most[1:]))
