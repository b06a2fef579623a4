"""The unsafe choices of any number of groups that some groups have a part in; see `tasks.coarsening.held`."""

from collections.abc import Iterator, Sequence

import numpy as np

from tasks.coarsening.groups import Groups
from tasks.coarsening.held import Promise
from tasks.joins.class_join import Booleans, Indices, distinct_rows

LISTED = 20_000  # choices that are mended together
CELLS = 10_000_000  # of partial joins that are joined further
SHARED = 2000  # sets of class values that are intersected further


def larger_unsafe(groups: Groups, promise: Promise, among: Indices) -> Indices:
    """Return unsafe choices with one of some groups of a fragment.

    It may miss some where very many joins would have to be looked at.
    """
    start = np.full((len(among), groups.number), -1)
    fragment = int(groups.fragments[among[0]])
    start[:, fragment] = among
    others = [other for other in range(groups.number) if other != fragment]
    found = _unsafe_joins if promise.guarantee == "join" else _unsafe_records
    return np.concatenate([start[:0], *found(groups, promise.k, start, others)])[:LISTED]


def _unsafe_joins(groups: Groups, k: int, choices: Indices, others: Sequence[int]) -> Iterator[Indices]:
    products = np.minimum(groups.counts[choices].prod(axis=1), k)
    for fragment in others:
        names = groups.of(fragment)
        sizes = products @ groups.counts[names].T
        rows, columns = np.nonzero((sizes > 0) & (sizes < k))
        yield _with(choices[rows[:LISTED]], fragment, names[columns[:LISTED]])
        if fragment != others[-1]:
            some = products[: CELLS // (len(names) * products.shape[1]) + 1]
            grown = np.minimum(some[:, None] * groups.counts[names], k).reshape(-1, products.shape[1])
            reducible = np.flatnonzero(((grown > 0) & (grown < k)).any(axis=1))
            rows, columns = np.divmod(reducible, len(names))
            products = np.concatenate([products, grown[reducible]])
            choices = np.concatenate([choices, _with(choices[rows], fragment, names[columns])])


def _unsafe_records(groups: Groups, k: int, choices: Indices, others: Sequence[int]) -> Iterator[Indices]:
    """Look at each fragment's records in what the others share, with and without the given groups."""
    fragment = int(np.flatnonzero(choices[0] >= 0)[0])
    nothing = np.full((1, groups.number), -1)
    every = np.ones((1, groups.counts.shape[1]), dtype=np.bool_)
    shared, origins = _shared(groups, every, nothing, others)
    yield _few_records(groups, k, fragment, choices[:, fragment], (shared[1:], origins[1:]))
    for own in others:
        rest = [other for other in others if other != own]
        supports = groups.counts[choices[:, fragment]] > 0
        yield _few_records(groups, k, own, groups.of(own), _shared(groups, supports, choices, rest))


def _shared(
    groups: Groups, supports: Booleans, origins: Indices, others: Sequence[int]
) -> tuple[Booleans, Indices]:
    """Return the distinct sets of class values that choices share, and a choice for each."""
    for fragment in others:
        names = groups.of(fragment)
        both = (supports[:, None] & (groups.counts[names] > 0)).reshape(-1, supports.shape[1])
        rows, columns = np.divmod(np.arange(len(both)), len(names))
        supports = np.concatenate([supports, both])
        origins = np.concatenate([origins, _with(origins[rows], fragment, names[columns])])
        first = np.sort(distinct_rows(supports)[0])[:SHARED]
        supports, origins = supports[first], origins[first]
    return supports, origins


def _few_records(
    groups: Groups, k: int, fragment: int, names: Indices, shared: tuple[Booleans, Indices]
) -> Indices:
    supports, origins = shared
    records = groups.counts[names] @ supports.T.astype(np.float64)
    rows, columns = np.nonzero((records > 0) & (records < k))
    return _with(origins[columns[:LISTED]], fragment, names[rows[:LISTED]])


def _with(choices: Indices, fragment: int, names: Indices) -> Indices:
    """Return choices with a member of one more fragment."""
    extended = choices.copy()
    extended[:, fragment] = names
    return extended
