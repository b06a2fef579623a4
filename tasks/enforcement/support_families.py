"""Families of supports, and the records that equivalence classes (ECs) change to take them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.joins.class_join import Booleans, Counts, Distinct, Floats, Indices, distinct_rows

ALL_SUBSETS = 10  # class values; with more, candidates come from the class counts
CANDIDATES = 1000
CANDIDATE_CELLS = 1_000_000
SAMPLE = 500  # distinct class counts of a fragment that the search for a family looks at

Cores = tuple[Booleans, ...]


class Weighted(NamedTuple):
    """Some distinct class counts of a fragment, and how many ECs each stands for.

    Attributes
    ----------
    vectors : int64 ndarray of shape (n, class values)
    weights : float64 ndarray of shape (n,)
    """

    vectors: Counts
    weights: Floats


class Family(NamedTuple):
    """Supports that the ECs of a fragment can take.

    Attributes
    ----------
    values : boolean ndarray of shape (supports, class values)
    cores : tuple of tuples of boolean ndarrays of shape (class values,)
        For each support, disjoint subsets of it in which an EC must keep k records.
    """

    values: Booleans
    cores: tuple[Cores, ...]


def support_costs(vectors: Counts, family: Family, k: int) -> Floats:
    """Return the fewest records of each EC to change until it has each support.

    Records outside the support must go; each value that the EC lacks, and each record that a core is
    short of k, takes one.

    Returns
    -------
    float64 ndarray of shape (ECs, supports)
        In records; infinity where an EC has too few.
    """
    sizes = vectors.sum(axis=1, dtype=np.float64)[:, None]
    sets = family.values.T.astype(np.float64)
    outside = sizes - vectors.astype(np.float64) @ sets
    lacking = sets.sum(axis=0) - (vectors > 0).astype(np.float64) @ sets
    least = sets.sum(axis=0)
    for number, cores in enumerate(family.cores):
        for core in cores:
            inside = vectors[:, core]
            lacking[:, number] += np.maximum(k - inside.sum(axis=1) - (inside == 0).sum(axis=1), 0)
            least[number] += max(k - int(core.sum()), 0)
    costs = np.maximum(outside, lacking)
    costs[sizes < least] = np.inf
    return np.asarray(costs)


def plain_family(values: Booleans) -> Family:
    """Return the supports without cores."""
    return Family(values, ((),) * len(values))


def sample(fragment: Distinct) -> Weighted:
    """Return distinct class counts of a fragment, evenly spaced if many, a smallest EC among them."""
    weights = np.bincount(fragment.labels).astype(np.float64)
    chosen = np.arange(0, len(weights), -(-len(weights) // SAMPLE))
    chosen = np.union1d(chosen, fragment.vectors.sum(axis=1).argmin())
    return Weighted(fragment.vectors[chosen], weights[chosen])


def majority_supports(vectors: Counts) -> Booleans:
    """Return the supports of ECs that hold nothing but their majority value."""
    return np.asarray(np.eye(vectors.shape[1], dtype=np.bool_)[np.unique(vectors.argmax(axis=1))])


def candidates(fragments: Sequence[Weighted], occurring: Indices) -> Booleans:
    """Return sets of two or more class values, all that occur first.

    With few class values all sets; else, of the 2, 3, ... most frequent values of each EC, up to its
    whole support, the sets that most ECs have in common.
    """
    vectors = np.concatenate([fragment.vectors for fragment in fragments])
    values = vectors.shape[1]
    if len(occurring) <= ALL_SUBSETS:
        numbers = np.arange(2 ** len(occurring) - 1, 0, -1)
        bits = (numbers[:, None] >> np.arange(len(occurring))) & 1 > 0
        sets = np.zeros((len(numbers), values), dtype=np.bool_)
        sets[:, occurring] = bits
        return np.asarray(sets[bits.sum(axis=1) > 1])
    everything = np.zeros((1, values), dtype=np.bool_)
    everything[0, occurring] = True
    weights = np.concatenate([fragment.weights for fragment in fragments])
    heads = _frequent_heads(vectors, weights, min(CANDIDATES, CANDIDATE_CELLS // values))
    return np.concatenate([everything, heads[heads.sum(axis=1) < len(occurring)]])


def _frequent_heads(vectors: Counts, weights: Floats, most: int) -> Booleans:
    """Return the sets of an EC's most frequent values that most ECs share."""
    order = np.argsort(-vectors, axis=1, kind="stable")
    longest = int((vectors > 0).sum(axis=1).max())
    sets = np.zeros(vectors.shape, dtype=np.bool_)
    ecs = np.arange(len(vectors))
    sets[ecs, order[:, 0]] = True
    heads, shares = [sets[:0]], [weights[:0]]
    for length in range(1, longest):
        sets = sets[(grows := vectors[ecs, order[ecs, length]] > 0)]
        ecs = ecs[grows]
        sets[np.arange(len(ecs)), order[ecs, length]] = True
        first, labels = distinct_rows(sets)
        share = np.bincount(labels, weights[ecs]).astype(np.float64)
        chosen = np.argsort(-share, kind="stable")[:most]
        heads.append(sets[first[chosen]])
        shares.append(share[chosen])
    chosen = np.argsort(-np.concatenate(shares), kind="stable")[:most]
    return np.concatenate(heads)[chosen]


def crossing(sets: Booleans, others: Booleans) -> Booleans:
    """Return which sets have common values with which others, but neither contains the other.

    Returns
    -------
    boolean ndarray of shape (sets, others)
    """
    common = sets.astype(np.float64) @ others.T.astype(np.float64)
    smaller = np.minimum(sets.sum(axis=1)[:, None], others.sum(axis=1))
    return np.asarray((common > 0) & (common < smaller))
