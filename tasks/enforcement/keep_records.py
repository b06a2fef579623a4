"""The record condition, kept by changing class values: joins rest on k records of every EC in them.

For every choice of equivalence classes (ECs) from two or more fragments, S being the class values that
all of them share: if S is not empty, every EC of the choice keeps at least k records with a class in S.
So an EC is sound or short of records by itself, given the sets of class values that the others share.

Either EC of an edge can be the short one, and the walk changes the unvisited one only, where that one is
short. What is short afterwards, over every subset of fragments, is changed until nothing is: always
possible, since an EC with a single class value is sound.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

import numpy as np

from tasks.enforcement.dependency_graph import Condition, Nodes, Numbers, walk
from tasks.enforcement.eta import records_share
from tasks.joins.class_join import Booleans, Counts, Indices, blocks_of, distinct_rows, intersections


class _Rule(NamedTuple):
    """When ECs are short of records, and what changes them.

    Attributes
    ----------
    steps
        How many steps at least every EC must still take, by its class counts, its size and the sets of
        class values that it must be sound for; 0 where it is.
    change
        Take so many steps with every EC's class counts.
    """

    steps: Callable[[Numbers, Counts, Booleans], Counts]
    change: Callable[[Numbers, Counts], Numbers]


def keep_records(nodes: Nodes, k: int, seed: int) -> None:
    """Change class values until every join rests on k records of each of its ECs, in place.

    After a walk over the edges (Algorithms 2 and 3), every subset of fragments is seen to. An EC changes
    as there: one record at a time of its least frequent class value takes the majority value.

    Parameters
    ----------
    nodes
        The ECs; each holds k records or more.
    k
        The fewest records.
    seed
        Chooses where the walk starts.

    Raises
    ------
    InfeasibleError
        If the class values occur in too many combinations.
    """

    def steps(counts: Numbers, _: Counts, common: Booleans) -> Counts:
        return _fewest_moves(counts, common, k)

    _keep(nodes, seed, _Rule(steps, _give_majority))


def keep_record_shares(nodes: Nodes, k: int, delta: float, seed: int) -> None:
    """Remove class values until joins rest on k records in a share delta of the versions, in place.

    For every choice with a common class value and every EC in it: of the EC's versions, a share of delta
    or more has k records or more in the common values. The join holds k rows in each of them, whatever
    the versions of the other ECs, so eta is at least delta too.

    Parameters
    ----------
    nodes
        The ECs with their original class counts, k records or more; a removed value's count becomes 0.
    k
        The fewest records.
    delta
        The smallest share allowed.
    seed
        Chooses where the walk (Algorithm 4) starts.

    Raises
    ------
    InfeasibleError
        If the class values occur in too many combinations.
    """
    least = Fraction(repr(delta))

    def steps(counts: Numbers, sizes: Counts, common: Booleans) -> Counts:
        supports = counts > 0
        kinds = np.column_stack([sizes, supports.sum(axis=1), _fewest_common(supports, common)])
        first, labels = distinct_rows(kinds)
        short = [w > 0 and records_share(n, c, w, k) < least for n, c, w in kinds[first].tolist()]
        return np.array(short, dtype=np.int64)[labels]

    _keep(nodes, seed, _Rule(steps, _remove_rarest))


def _keep(nodes: Nodes, seed: int, rule: _Rule) -> None:
    """Walk over the edges, then change what is short over any subset of fragments, until nothing is."""

    def to_mend(nodes: Nodes, node: int, others: Indices) -> Booleans:
        return rule.steps(nodes.counts[others], nodes.sizes[others], nodes.counts[[node]] > 0) > 0

    def mend(nodes: Nodes, node: int, others: Indices) -> None:
        one = [node]
        nodes.counts[one] = _sound(nodes.counts[one], nodes.sizes[one], nodes.counts[others] > 0, rule)

    def visible(nodes: Nodes, node: int) -> bytes:
        return bytes(nodes.counts[node] > 0)

    if _pairs_are_short(nodes, rule):
        walk(nodes, seed, Condition(to_mend, mend, visible))
    while sum(_mend_fragment(nodes, fragment, rule) for fragment in np.unique(nodes.fragments)):
        pass


def _pairs_are_short(nodes: Nodes, rule: _Rule) -> bool:
    """Return whether an EC is short of records in any single EC of another fragment."""
    ecs = [np.flatnonzero(nodes.fragments == i) for i in np.unique(nodes.fragments)]
    return any(
        rule.steps(nodes.counts[own], nodes.sizes[own], _common_sets(nodes, [other])).any()
        for own, other in permutations(ecs, 2)
    )


def _mend_fragment(nodes: Nodes, fragment: int, rule: _Rule) -> int:
    """Change the ECs of a fragment that are short in any choice with others; return how many were."""
    others = [np.flatnonzero(nodes.fragments == i) for i in np.unique(nodes.fragments) if i != fragment]
    common = _common_sets(nodes, others)
    ecs = np.flatnonzero(nodes.fragments == fragment)
    before = nodes.counts[ecs]
    nodes.counts[ecs] = _sound(before, nodes.sizes[ecs], common, rule)
    return int((nodes.counts[ecs] != before).any(axis=1).sum())


def _common_sets(nodes: Nodes, fragments: list[Indices]) -> Booleans:
    """Return the sets of class values that choices from one or more fragments share, without unions.

    Of an EC's non-empty parts in common sets the smallest is in one of these, so it decides for all.
    """
    return intersections([nodes.counts[ecs] > 0 for ecs in fragments], nodes.counts.shape[1])


def _sound(counts: Numbers, sizes: Counts, common: Booleans, rule: _Rule) -> Numbers:
    """Return the class counts of ECs changed until each is sound for all sets of common class values."""
    after = counts.copy()
    short = np.arange(len(after))
    while len(short):
        steps = rule.steps(after[short], sizes[short], common)
        short, steps = short[steps > 0], steps[steps > 0]
        after[short] = rule.change(after[short], steps)
    return after


def _fewest_moves(counts: Numbers, common: Booleans, k: int) -> Counts:
    """Return how many records of each EC at least must take the majority value before it is sound.

    A set with the majority value needs k records, and gains one at most with each; any other set must
    be left by all of its records, one at most with each.
    """
    moves = np.empty(len(counts), dtype=np.int64)
    sets = common.T.astype(np.float64)
    for block in blocks_of(len(counts), len(common)):
        records = counts[block].astype(np.float64) @ sets
        missing = np.where(common.T[counts[block].argmax(axis=1)], k - records, records)
        missing[(records == 0) | (records >= k)] = 0
        moves[block] = missing.max(axis=1, initial=0)
    return moves


def _give_majority(counts: Numbers, moves: Counts) -> Numbers:
    """Give so many records of each EC the majority value, those of its least frequent values first."""
    rows = np.arange(len(counts))
    majority = counts.argmax(axis=1)
    after = counts.copy()
    after[rows, majority] = 0
    order = after.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(after, order, axis=1)
    moved = np.clip(moves[:, None] - (ordered.cumsum(axis=1) - ordered), 0, ordered)
    np.put_along_axis(after, order, ordered - moved, axis=1)
    after[rows, majority] = counts[rows, majority] + moved.sum(axis=1)
    return after


def _fewest_common(supports: Booleans, common: Booleans) -> Counts:
    """Return the fewest class values, but at least 1, that each EC shares with one of the sets; else 0."""
    fewest = np.empty(len(supports), dtype=np.int64)
    sets = common.T.astype(np.float64)
    none = supports.shape[1] + 1
    for block in blocks_of(len(supports), len(common)):
        shared = supports[block].astype(np.float64) @ sets
        fewest[block] = np.where(shared > 0, shared, none).min(axis=1, initial=none)
    return np.where(fewest < none, fewest, 0)


def _remove_rarest(counts: Numbers, _: Counts) -> Numbers:
    """Remove the least frequent class value of each EC; ties: the lowest."""
    after = counts.copy()
    rarest = np.where(counts > 0, counts, np.inf).argmin(axis=1)
    after[np.arange(len(after)), rarest] = 0
    return after
