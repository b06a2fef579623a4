"""The cuts that tell the class best: of many nodes at once, each node's allowed cut of the highest gain.

LeFevre, DeWitt, Ramakrishnan, "Workload-aware anonymization" (KDD 2006).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from tasks.partitions.blocks import (
    Block,
    Cuts,
    Flags,
    Ints,
    Narrow,
    Sample,
    Table,
    no_cuts,
    sample_of,
    with_runs,
)
from tasks.partitions.cuts import median_cuts
from tasks.partitions.gain_places import Places, Scale, places_of
from tasks.partitions.gains import TRIED_CELLS, by_gain
from tasks.partitions.person_counts import extremes


class _Chosen(NamedTuple):
    """Some cuts, ascending by node."""

    nodes: Ints
    features: Ints
    codes: Ints


def gain_cuts(scale: Scale, table: Table, block: Block) -> Cuts:
    """Return each node's allowed cut of the highest gain, or of those without a gain the median's.

    Of equal gains the lowest feature's lowest cut is taken. Rows that tie stay together. A node too big
    for a core's cache is cut between bins, others after any code.
    """
    cuts = no_cuts(len(block.nodes.sizes), table.class_values)
    mixed = (block.nodes.counts[:, : scale.class_values] > 0).sum(axis=1) > 1
    _write(cuts, mixed, block, partial(_best_cuts, scale, table))
    _write(cuts, cuts.feature < 0, block, partial(median_cuts, table))
    return cuts


def _write(cuts: Cuts, chosen: Flags, block: Block, cuts_of: Callable[[Block], Cuts]) -> None:
    """Write the cuts of some of a block's nodes."""
    if not chosen.any():
        return
    part = block if chosen.all() else _some(block, chosen)
    for every, some in zip(cuts, cuts_of(part), strict=True):
        every[chosen] = some
    block.nodes.spent[chosen] = part.nodes.spent


def _some(block: Block, chosen: Flags) -> Block:
    """Return the block with some of its nodes."""
    places = np.flatnonzero(np.repeat(chosen, block.nodes.sizes))
    nodes = block.nodes.take(chosen)
    codes, classes = block.codes.take(places, axis=1), block.classes.take(places, axis=1)
    return Block(nodes, block.rows[places], codes, classes)


def _best_cuts(scale: Scale, table: Table, block: Block) -> Cuts:
    cuts = no_cuts(len(block.nodes.sizes), table.class_values)
    places = places_of(scale, table, block)
    block = with_runs(table, block)
    _try(table, block, cuts, _highest(scale, table, places))
    _try_others(scale, table, block, cuts, places)
    return cuts


def _highest(scale: Scale, table: Table, places: Places) -> _Chosen:
    """Return the cut of the highest gain of each node that has one."""
    starts = np.flatnonzero(np.diff(places.nodes, prepend=-1))
    best = np.maximum.reduceat(places.gains, starts, axis=1)
    enough = np.maximum(best.max(axis=0) - scale.least, scale.least)
    feature = (best >= enough).argmax(axis=0)
    at = feature[places.nodes]
    gains = places.gains[at, np.arange(len(at))]
    first = np.flatnonzero((gains > scale.least) & (gains >= enough[places.nodes]))
    first = first[np.diff(places.nodes[first], prepend=-1) > 0]
    return _chosen(table, places, at[first], first)


def _chosen(table: Table, places: Places, features: Ints, at: Ints) -> _Chosen:
    nodes = places.nodes[at]
    return _Chosen(nodes, features, places.keys[features, at].astype(np.int64) - nodes * table.codes)


def _try_others(scale: Scale, table: Table, block: Block, cuts: Cuts, places: Places) -> None:
    """Try the other cuts of the nodes without one, in growing batches in the order of their gain."""
    uncut = np.flatnonzero((cuts.feature < 0)[places.nodes])
    features, at = np.nonzero(places.gains[:, uncut] > scale.least)
    at = uncut[at]
    order = by_gain(places.nodes[at], places.gains[features, at], scale.least)
    left = _chosen(table, places, features[order], at[order])
    rank = np.arange(len(at)) - np.searchsorted(left.nodes, left.nodes)
    batch = 4
    while len(rank):
        _try(table, block, cuts, _take(left, rank < batch))
        going = (cuts.feature[left.nodes] < 0) & (rank >= batch)
        left, rank, batch = _take(left, going), rank[going] - batch, 4 * batch


def _try(table: Table, block: Block, cuts: Cuts, tried: _Chosen) -> None:
    """Write each node's first cut both of whose sides satisfy the requirement to `cuts`."""
    if not len(tried.nodes):
        return
    sound = np.flatnonzero(_sound(table, block, tried))
    found = _take(tried, sound[np.diff(tried.nodes[sound], prepend=-1) > 0])
    cuts.feature[found.nodes] = found.features
    cuts.code[found.nodes] = cuts.beyond[found.nodes] = found.codes + 1
    cuts.left[found.nodes] = _left_counts(table, block, found)


def _take(chosen: _Chosen, which: Flags | Ints) -> _Chosen:
    return _Chosen(*(field[which] for field in chosen))


def _sound(table: Table, block: Block, tried: _Chosen) -> Flags:
    """Tell which cuts leave two sides that satisfy the requirement."""
    order = np.lexsort((tried.codes, tried.features, tried.nodes))
    nodes = tried.nodes[order]
    rows = np.where(_is_new(_take(tried, order)), block.nodes.sizes[nodes], 0)
    cost = np.cumsum(rows + table.class_values)
    sound = np.zeros(len(nodes), dtype=np.bool_)
    for some in np.split(order, np.flatnonzero(np.diff(cost // TRIED_CELLS)) + 1):
        left, right = _side_counts(table, block, _take(tried, some))
        holds = table.requirement.holds(np.concatenate([left, right]))
        sound[some] = holds.reshape(2, -1).all(axis=0)
    return sound


def _is_new(cuts: _Chosen) -> Flags:
    """Tell which cuts, by node and feature, are the first of their node and feature."""
    return np.asarray((np.diff(cuts.nodes, prepend=-1) > 0) | (np.diff(cuts.features, prepend=-1) != 0))


def _side_counts(table: Table, block: Block, cuts: _Chosen) -> tuple[Ints, Ints]:
    """Count what the requirement is asked about on both sides of some cuts, as `_left_counts` does."""
    if block.runs:
        return _person_counts(table, block, cuts)
    left = _left_counts(table, block, cuts)
    return left, block.nodes.counts[cuts.nodes] - left


def _person_counts(table: Table, block: Block, cuts: _Chosen) -> tuple[Ints, Ints]:
    """Count the persons with each value: on the left by their lowest code, on the right by their highest."""
    sample = _sample_of(block, cuts)
    nodes = cuts.nodes[_is_new(cuts)]
    left = np.zeros((len(cuts.nodes), table.class_values), dtype=np.int64)
    right = left.copy()
    for run in extremes(block.runs, nodes, sample.sizes, sample.shifts, sample.values):
        left += _upto(table, cuts, run.owner, run.lowest, run.values)
        held = np.bincount(
            run.owner * table.class_values + run.values, minlength=len(nodes) * table.class_values
        )
        right += held.reshape(len(nodes), -1)[np.cumsum(_is_new(cuts)) - 1]
        right -= _upto(table, cuts, run.owner, run.highest, run.values)
    return left, right


def _left_counts(table: Table, block: Block, cuts: _Chosen) -> Ints:
    """Count all attributes' values left of some cuts, by node, feature and code; shape (cuts, values)."""
    sample = _sample_of(block, cuts)
    owner = np.repeat(np.arange(len(sample.sizes)), sample.sizes)
    places = np.arange(len(owner)) + sample.shifts[owner]
    return _upto(table, cuts, owner, sample.values, block.classes[:, places])


def _sample_of(block: Block, cuts: _Chosen) -> Sample:
    """Return the rows of each node and feature that some cuts are of."""
    new = _is_new(cuts)
    return sample_of(block, cuts.nodes[new], cuts.features[new])


def _upto(table: Table, cuts: _Chosen, owner: Ints, codes: Narrow, values: Narrow) -> Ints:
    """Count values by whether their code is at most that of each cut, shape (cuts, values).

    The cuts of one node in one feature, which `owner` numbers, divide the codes into intervals, which are
    counted and summed up.
    """
    new = _is_new(cuts)
    pair = np.cumsum(new) - 1
    beyond = np.searchsorted(pair * table.codes + cuts.codes, owner * table.codes + codes)
    cells = (beyond + owner) * table.class_values + values
    intervals = len(pair) + int(new.sum())
    counts = np.bincount(cells.ravel(), minlength=intervals * table.class_values)
    counts = counts.reshape(intervals, table.class_values)
    upto = np.vstack([np.zeros_like(counts[:1]), counts.cumsum(axis=0)])
    first = np.flatnonzero(new)[pair] + pair
    return np.asarray(upto[np.arange(len(pair)) + pair + 1] - upto[first])
