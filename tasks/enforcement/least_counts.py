"""Class counts that keep every join safe by one shared class value alone.

Each fragment has a least count for each class value, and those of any two fragments multiply to k or
more: equivalence classes (ECs) that hold each of their values at least that often have safe joins over
every subset of fragments, whatever their supports.
"""

from collections.abc import Iterator, Sequence
from math import isqrt

import numpy as np

from tasks.enforcement.support_families import sample
from tasks.joins.class_join import Counts, Distinct, Indices

ROUNDS = 2
MOST_WORK = 50_000_000  # class counts ranked
FIRST = 2**62


def least_counts(counts: Sequence[Counts], k: int) -> tuple[Counts, ...]:
    """Change class values until every value of an EC occurs often enough for a safe join.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment; every EC holds at least k records.
    k
        The smallest join, in rows.

    Returns
    -------
    tuple of int64 ndarrays of shape (E_i, class values)
        Class counts with the same records in each EC.

    Examples
    --------
    >>> first, second = least_counts([np.array([[9, 1]]), np.array([[3, 6]])], 9)
    >>> first.tolist(), second.tolist()
    ([[10, 0]], [[3, 6]])
    """
    fragments = [Distinct.of(fragment) for fragment in counts]
    return tuple(
        _raised(fragment.vectors, least)[fragment.labels]
        for fragment, least in zip(fragments, _least(fragments, k), strict=True)
    )


def _least(fragments: Sequence[Distinct], k: int) -> Counts:
    """Return a least count for each fragment and value, shape (fragments, class values).

    For each value one fragment may take fewer, and the others the more. Values are settled one after
    the other, for the fewest changed records of a sample.
    """
    sampled = [sample(fragment) for fragment in fragments]

    def changed(fragment: int, least: Counts) -> float:
        vectors, weights = sampled[fragment]
        return float(_cheapest(vectors, least)[0] @ weights)

    alike = isqrt(k - 1) + 1
    values = fragments[0].vectors.shape[1]
    least = np.full((len(fragments), values), alike, dtype=np.int64)
    cost = np.array([changed(i, of_fragment) for i, of_fragment in enumerate(least)])
    work, cells = 0, np.array([part.vectors.size for part in sampled])
    for value in [*range(values)] * ROUNDS:
        if work > MOST_WORK:
            break
        for option in _options(least, value, k):
            again = (option != least).any(axis=1)
            costs = [changed(i, row) if again[i] else cost[i] for i, row in enumerate(option)]
            work += int(cells[again].sum())
            if sum(costs) < cost.sum():
                least, cost = option, np.array(costs)
    return least


def _options(least: Counts, value: int, k: int) -> Iterator[Counts]:
    """Yield other least counts for one value: few in one fragment, the more in others."""
    alike = isqrt(k - 1) + 1
    fewest = {max(alike, -(-k // few)): few for few in range(alike, 0, -1)}
    for more, few in fewest.items():
        for fragment in range(len(least) if few < more else 1):
            option = least.copy()
            option[:, value] = more
            option[fragment, value] = few
            yield option


def _cheapest(vectors: Counts, least: Counts) -> tuple[Counts, Counts, Indices]:
    """Return the fewest records that each EC changes, the order of its values, and the last that it keeps.

    First comes the most frequent value, which an EC can always keep; the others by how far they are
    from dear.
    """
    key = least - 2 * vectors
    key[np.arange(len(vectors)), vectors.argmax(axis=1)] = -FIRST
    order = np.argsort(key, axis=1, kind="stable")
    ranked, needed = np.take_along_axis(vectors, order, axis=1), least[order]
    sizes = vectors.sum(axis=1, keepdims=True)
    outside = sizes - ranked.cumsum(axis=1)
    lacking = np.maximum(needed - ranked, 0).cumsum(axis=1)
    costs = np.where(needed.cumsum(axis=1) <= sizes, np.maximum(outside, lacking), sizes + 1)
    return costs.min(axis=1), order, costs.argmin(axis=1)


def _raised(vectors: Counts, least: Counts) -> Counts:
    """Take the cheapest values to keep; records from others fill what is short, then join the majority."""
    _, order, last = _cheapest(vectors, least)
    kept = np.argsort(order, axis=1) <= last[:, None]
    raised = np.where(kept, np.maximum(vectors, least), 0)
    surplus = vectors.sum(axis=1) - raised.sum(axis=1)
    ecs = np.arange(len(vectors))
    raised[ecs, raised.argmax(axis=1)] += np.maximum(surplus, 0)
    spare = np.where(kept & (surplus < 0)[:, None], raised - least, 0)
    order = np.argsort(-spare, axis=1, kind="stable")
    sorted_spare = np.take_along_axis(spare, order, axis=1)
    before = sorted_spare.cumsum(axis=1) - sorted_spare
    taken = np.clip(-surplus[:, None] - before, 0, sorted_spare)
    np.put_along_axis(spare, order, taken, axis=1)
    return raised - spare
