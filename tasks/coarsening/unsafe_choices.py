"""The choices of groups whose join isolates too few rows or records; see `tasks.coarsening.held`."""

from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np

from tasks.coarsening.groups import Groups
from tasks.coarsening.held import Promise
from tasks.config import Guarantee
from tasks.joins.class_join import Distinct, Floats, Indices, blocks_of
from tasks.joins.record_witnesses import record_witnesses
from tasks.joins.violating_joins import witnesses

LISTED = 20_000  # choices that are mended together


def unsafe_pairs(groups: Groups, promise: Promise, among: Indices | None = None) -> Indices:
    """Return pairs that hold something, but fewer than k; of very many, a share of each two fragments.

    Parameters
    ----------
    among
        Groups of one fragment; only pairs with one of them are wanted.
    """
    chosen = None if among is None else int(groups.fragments[among[0]])
    found = [np.empty((0, groups.number), dtype=np.intp)]
    for i, j in combinations(range(groups.number), 2):
        if chosen is None or chosen in {i, j}:
            first, second = (groups.of(t) if among is None or t != chosen else among for t in (i, j))
            found.extend(_unsafe_between(groups, (i, first), (j, second), promise))
    return np.concatenate(found)


def _unsafe_between(
    groups: Groups, first: tuple[int, Indices], second: tuple[int, Indices], promise: Promise
) -> Iterator[Indices]:
    (i, ours), (j, theirs) = first, second
    blocks = list(blocks_of(len(ours), len(theirs)))
    for block in blocks:
        sizes = _pair_holds(groups.counts[ours[block]], groups.counts[theirs], promise.guarantee)
        rows, columns = np.nonzero((sizes > 0) & (sizes < promise.k))
        some = slice(None, None, len(rows) * len(blocks) // LISTED + 1)
        pairs = np.full((len(rows[some]), groups.number), -1)
        pairs[:, i], pairs[:, j] = ours[block][rows[some]], theirs[columns[some]]
        yield pairs


def _pair_holds(f: Floats, g: Floats, guarantee: Guarantee) -> Floats:
    if guarantee == "join":
        return np.asarray(f @ g.T)
    return np.minimum(f @ (g > 0).T.astype(np.float64), (f > 0).astype(np.float64) @ g.T)


def unsafe_choices(groups: Groups, promise: Promise) -> Indices:
    """Return choices over all subsets of fragments that are not safe; none only if all are.

    Raises
    ------
    InfeasibleError
        If there are too many joins to be checked.
    """
    pairs = unsafe_pairs(groups, promise)
    if len(pairs) or groups.number == 2:  # noqa: PLR2004 - two fragments have no larger choices
        return pairs
    names = [groups.of(fragment) for fragment in range(groups.number)]
    counts = [groups.counts[chosen].astype(np.int64) for chosen in names]
    found = np.full((LISTED, groups.number), -1)
    number = 0
    if promise.guarantee == "records":
        for number, members in enumerate(islice(record_witnesses(counts, promise.k), LISTED), 1):
            for fragment, ec in members:
                found[number - 1, fragment] = names[fragment][ec]
        return found[:number]
    fragments = [Distinct.of(fragment) for fragment in counts]
    first = [
        chosen[np.unique(f.labels, return_index=True)[1]] for f, chosen in zip(fragments, names, strict=True)
    ]
    for number, witness in enumerate(islice(witnesses(fragments, promise.k), LISTED), 1):
        for fragment, vector in zip(witness.fragments, witness.vectors, strict=True):
            found[number - 1, fragment] = first[fragment][vector]
    return found[:number]
