"""Class counts whose supports are nested or disjoint, so that every join is safe.

For every subset of fragments, the common support of any choice is then the support of one of its
equivalence classes (ECs), and the join holds at least that EC's records.
"""

from collections.abc import Sequence

import numpy as np

from tasks.config import Guarantee
from tasks.enforcement.join_families import join_families
from tasks.enforcement.record_families import record_family
from tasks.enforcement.support_families import (
    Cores,
    Family,
    majority_supports,
    plain_family,
    sample,
    support_costs,
)
from tasks.joins.class_join import Booleans, Counts, Distinct, blocks_of


def nested_supports(counts: Sequence[Counts], k: int, guarantee: Guarantee) -> tuple[Counts, ...]:
    """Change class values until every choice, over every subset of fragments, keeps the guarantee.

    Each EC takes the support that changes the fewest of its records, out of a family in which the
    supports of different fragments are nested or disjoint; for "records", a larger support keeps k
    records in every smaller one. The family is found by a bounded search for the fewest changed
    records in all; the work grows linearly with the ECs.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment; every EC holds at least k records.
    k
        The smallest join, or the fewest records of an EC that a join may rest on.
    guarantee
        "join" or "records".

    Returns
    -------
    tuple of int64 ndarrays of shape (E_i, class values)
        Class counts with the same records in each EC.

    Examples
    --------
    >>> first, second = nested_supports([np.array([[2, 3]]), np.array([[5, 0]])], 5, "records")
    >>> first.tolist(), second.tolist()
    ([[2, 3]], [[4, 1]])
    """
    if len(counts) == 1:
        return tuple(counts)
    fragments = [Distinct.of(fragment) for fragment in counts]
    families = _families(fragments, k, guarantee)
    return tuple(
        _take_supports(fragment.vectors, family, k)[fragment.labels]
        for fragment, family in zip(fragments, families, strict=True)
    )


def _families(fragments: Sequence[Distinct], k: int, guarantee: Guarantee) -> Sequence[Family | None]:
    """Return the supports for each fragment's ECs; None where they can keep their own."""
    sampled = [sample(fragment) for fragment in fragments]
    occurring = np.flatnonzero(np.any([fragment.vectors.any(axis=0) for fragment in fragments], axis=0))
    if guarantee == "records":
        return [record_family(sampled, occurring, k)] * len(fragments)
    larger = join_families(sampled, occurring)
    return [
        None if sets is None else plain_family(np.concatenate([majority_supports(f.vectors), sets]))
        for f, sets in zip(fragments, larger, strict=True)
    ]


def _take_supports(vectors: Counts, family: Family | None, k: int) -> Counts:
    """Give each EC its cheapest support of the family; without one, the ECs keep their own."""
    if family is None:
        return vectors
    result = np.empty_like(vectors)
    for block in blocks_of(len(vectors), max(family.values.shape)):
        cheapest = support_costs(vectors[block], family, k).argmin(axis=1)
        for number in np.unique(cheapest):
            taking = np.flatnonzero(cheapest == number) + block.start
            result[taking] = _fill(vectors[taking], family.values[number], family.cores[number], k)
    return result


def _fill(vectors: Counts, support: Booleans, cores: Cores, k: int) -> Counts:
    """Move records so that the ECs have just this support, and k records in each of its cores.

    Records from outside go to the values that an EC lacks, then to cores short of k, then to its most
    frequent value; where they are too few, the most frequent values give up one record at a time.
    """
    filled = np.where(support, np.maximum(vectors, 1), 0)
    ecs = np.arange(len(filled))
    for core in cores:
        most = np.where(core, filled, -1).argmax(axis=1)
        filled[ecs, most] += np.maximum(k - filled[:, core].sum(axis=1), 0)
    surplus = vectors.sum(axis=1) - filled.sum(axis=1)
    filled[ecs, filled.argmax(axis=1)] += np.maximum(surplus, 0)
    while (short := np.flatnonzero(surplus < 0)).size:
        spare = np.where(_can_spare(filled[short], cores, k), filled[short], 0)
        filled[short, spare.argmax(axis=1)] -= 1
        surplus[short] += 1
    return filled


def _can_spare(filled: Counts, cores: Cores, k: int) -> Booleans:
    """Return which values of each EC can lose a record."""
    spare = filled > 1
    for core in cores:
        spare[:, core] &= (filled[:, core].sum(axis=1) > k)[:, None]
    return spare
