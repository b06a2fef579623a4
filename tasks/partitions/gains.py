"""The best cuts of many nodes at once, by information gain on the class.

A block holds some nodes of the tree, their rows one after the other. Gains are sums of whole numbers,
so they do not depend on the order of the sums: cuts that are alike have the same gain.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.partitions.requirements import All, Of, Requirement

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

SCALE = 1 << 24  # units per nat: sums over 10^7 records stay below 2^53
STEP_CELLS = 1 << 17  # of one step, which stay in the cache
TRIED_CELLS = 1 << 20  # of the cuts that are tried in one step
DENSE = 4  # cells per key up to which counting beats sorting
SLOTS = 256  # bins of a feature


class Sizes(NamedTuple):
    """When a segment is worth cutting.

    Attributes
    ----------
    minimum
        The fewest records of a segment.
    values
        How many class values a segment may well keep: to tell the most frequent ones apart, so many of
        them, is no gain once they hold half of the records. 1 makes the gain the usual one.
    """

    minimum: int
    values: int


@dataclass(frozen=True, eq=False)
class Table:
    """What the nodes of a tree have in common."""

    requirement: Requirement
    smallest: Sizes
    class_values: int
    x_log_x: Floats

    @property
    def tolerance(self) -> float:
        """How far rounding can at most move two equal gains apart, in units of a gain."""
        return rounding(self.class_values)


class Nodes(NamedTuple):
    """Some nodes of the tree."""

    sizes: Ints
    first: Ints  # rows of the table that lie left of each node in the tree
    counts: Ints  # (nodes, values of all attributes)


class Block(NamedTuple):
    """Some nodes and their rows."""

    nodes: Nodes
    rows: Codes  # row numbers, node after node
    bins: npt.NDArray[np.uint8]  # (features, rows)
    classes: Codes  # (attributes, rows)


class Cuts(NamedTuple):
    """One cut per node: the bins up to `bin` lie left."""

    feature: Ints  # -1: no cut is allowed
    bin: Ints
    left: Ints  # (nodes, values of all attributes): counts of the left side


def x_log_x(largest: int) -> Floats:
    """Return x log x for the whole numbers up to the largest, in units of a nat, rounded."""
    numbers = np.arange(largest + 1, dtype=np.float64)
    return np.rint(SCALE * numbers * np.log(np.maximum(numbers, 1)))


def rounding(class_values: int) -> float:
    """Return how far rounding can at most move two equal gains apart, in units of a gain."""
    return 2.0 * (class_values + 2)


def merged_values(table: Table, counts: Ints) -> tuple[Ints, Ints]:
    """Return as which value the gain of each node counts each class value, and how often they occur then.

    Both have shape (nodes, class values).
    """
    of_class = counts[:, : table.class_values]
    common = np.argsort(-of_class, axis=1, kind="stable")[:, : table.smallest.values]
    held = np.take_along_axis(of_class, common, axis=1).sum(axis=1)
    half = 2 * held >= of_class.sum(axis=1)
    merged = np.tile(np.arange(table.class_values), (len(counts), 1))
    np.put_along_axis(merged, common, np.where(half[:, None], common[:, :1], common), axis=1)
    places = np.arange(len(counts))[:, None] * table.class_values + merged
    together = np.bincount(places.ravel(), of_class.ravel(), minlength=of_class.size)
    return merged, together.astype(np.int64).reshape(of_class.shape)


def may_be_cut(table: Table, nodes: Nodes) -> Flags:
    """Tell which nodes are large enough for two segments, and can have a gain."""
    _, counts = merged_values(table, nodes.counts)
    return np.asarray(((counts > 0).sum(axis=1) > 1) & (nodes.sizes >= 2 * table.smallest.minimum))


def best_cuts(table: Table, block: Block) -> Cuts:
    """Return each node's allowed cut of the highest gain; of equal ones the lowest feature's lowest."""
    gains = _gains(table, block)
    highest = gains.max(axis=1)
    best = (gains >= highest[:, None] - table.tolerance).argmax(axis=1)
    nodes = np.flatnonzero(highest)
    none = np.full((2, len(best)), -1)
    cuts = Cuts(none[0], none[1], np.zeros_like(block.nodes.counts))
    _try(table, block, cuts, nodes, best[nodes])
    _try_others(table, block, cuts, gains)
    return cuts


class _Seen(NamedTuple):
    """Some nodes and their rows, as the gain sees them: common values may be merged."""

    sizes: Ints
    counts: Ints  # (nodes, class values)
    groups: Ints  # each row's node and value, as a place in `counts`


def _gains(table: Table, block: Block) -> Floats:
    """Return the gains of all cuts of large enough sides, shape (nodes, features x bins); 0 elsewhere."""
    nodes, features = len(block.nodes.sizes), len(block.bins)
    merged, counts = merged_values(table, block.nodes.counts)
    owner = np.repeat(np.arange(nodes), block.nodes.sizes)
    groups = owner * table.class_values + merged[owner, block.classes[0]]
    seen = _Seen(block.nodes.sizes, counts, groups)
    gains = np.empty((nodes, features, SLOTS))
    step = max(1, STEP_CELLS // (len(block.rows) + nodes * SLOTS))
    for start in range(0, features, step):
        some = _gains_of(table, seen, block.bins[start : start + step])
        gains[:, start : start + step] = some.transpose(1, 0, 2)
    return gains.reshape(nodes, -1)


def _gains_of(table: Table, seen: _Seen, bins: npt.NDArray[np.uint8]) -> Floats:
    """Return the gains of the cuts of some features, shape (features, nodes, bins).

    A cut moves the rows of a bin from the right to the left; each value's rows change both sides' sums.
    """
    shape = (len(bins), len(seen.sizes), SLOTS)
    keys = (np.arange(len(bins))[:, None] * seen.counts.size + seen.groups) * SLOTS + bins
    cells, held = _tally(keys.ravel(), len(bins) * seen.counts.size * SLOTS)
    group = cells // SLOTS
    of_group = np.tile(seen.counts.ravel(), len(bins))
    upto = np.cumsum(held) - (np.cumsum(of_group) - of_group)[group]
    beyond = of_group[group] - upto
    f = table.x_log_x
    change = f[upto] - f[upto - held] + f[beyond] - f[beyond + held]
    places = group // table.class_values * SLOTS + cells % SLOTS
    gains = np.bincount(places, change, minlength=math.prod(shape)).reshape(shape).cumsum(axis=2)
    at = np.bincount(places, held, minlength=math.prod(shape)).reshape(shape)
    left = at.cumsum(axis=2).astype(np.int64)
    right = seen.sizes[:, None] - left
    gains += f[seen.sizes][:, None] - f[left] - f[right]
    allowed = (at > 0) & (np.minimum(left, right) >= table.smallest.minimum) & (gains > table.tolerance)
    return np.where(allowed, gains, 0.0)


def _tally(keys: Ints, cells: int) -> tuple[Ints, Ints]:
    """Return the different keys in ascending order and how often each occurs."""
    if cells <= DENSE * len(keys):
        counts = np.bincount(keys, minlength=cells)
        held = np.flatnonzero(counts)
        return held, counts[held]
    keys.sort()
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[starts], np.diff(starts, append=len(keys))


def _try_others(table: Table, block: Block, cuts: Cuts, gains: Floats) -> None:
    """Try the other cuts of the nodes without one, in growing batches in the order of their gain."""
    unresolved = np.flatnonzero((cuts.feature < 0) & gains.any(axis=1))
    which, places = np.nonzero(gains[unresolved])
    places = places[by_gain(which, gains[unresolved[which], places], table.tolerance)]
    candidates = np.bincount(which, minlength=len(unresolved))
    start = np.cumsum(candidates) - candidates
    tried, batch = 0, 4
    while len(unresolved):
        tries = np.clip(candidates - tried, 0, batch)
        ranks = np.arange(tries.sum()) + np.repeat(start + tried + tries - np.cumsum(tries), tries)
        _try(table, block, cuts, np.repeat(unresolved, tries), places[ranks])
        tried, batch = tried + batch, 4 * batch
        going = (cuts.feature[unresolved] < 0) & (candidates > tried)
        unresolved, candidates, start = unresolved[going], candidates[going], start[going]


def by_gain(nodes: Ints, gains: Floats, tolerance: float) -> Ints:
    """Return the order of cuts by node, then by decreasing gain; equal gains stay in order."""
    order = np.lexsort((-gains, nodes))
    lower = np.diff(gains[order], prepend=np.inf) < -tolerance
    rank = np.empty(len(gains), dtype=np.int64)
    rank[order] = np.cumsum(lower | (np.diff(nodes[order], prepend=-1) > 0))
    return np.argsort(rank, kind="stable")


def _try(table: Table, block: Block, cuts: Cuts, nodes: Ints, places: Ints) -> None:
    """Write each node's first cut both of whose sides satisfy the requirement to `cuts`."""
    sound = _sound(table, block, nodes, places)
    found, position = np.unique(nodes[sound], return_index=True)
    chosen = places[sound[position]]
    cuts.feature[found], cuts.bin[found] = np.divmod(chosen, SLOTS)
    cuts.left[found] = _left_counts(block, found, chosen)


def _sound(table: Table, block: Block, nodes: Ints, places: Ints) -> Ints:
    """Return which cuts leave two sides that satisfy the requirement.

    What is asked of the class comes first: only for cuts that keep it are all attributes counted.
    """
    requirement = table.requirement
    parts = requirement.requirements if isinstance(requirement, All) else (requirement,)
    of_class = [part for part in parts if isinstance(part, Of) and part.stop <= table.class_values]
    counts = block.nodes.counts[:, : table.class_values]
    narrow = block._replace(nodes=block.nodes._replace(counts=counts), classes=block.classes[:1])
    others = [part for part in parts if part not in of_class]
    sound = np.arange(len(nodes))
    for seen, asked in ((narrow, of_class), (block, others)):
        if asked:
            sound = sound[_hold(asked, seen, nodes[sound], places[sound])]
    return sound


def _hold(requirements: Sequence[Requirement], block: Block, nodes: Ints, places: Ints) -> Flags:
    """Tell which cuts leave two sides that satisfy some requirements; what fails one is not tried further."""
    order = np.lexsort((places, nodes))
    features = nodes[order] * len(block.bins) + places[order] // SLOTS
    rows = np.where(np.diff(features, prepend=-1) > 0, block.nodes.sizes[nodes[order]], 0)
    cost = np.cumsum(rows + block.nodes.counts.shape[1])
    holding = np.zeros(len(nodes), dtype=np.bool_)
    for some in np.split(order, np.flatnonzero(np.diff(cost // TRIED_CELLS)) + 1):
        left = _left_counts(block, nodes[some], places[some])
        right = block.nodes.counts[nodes[some]] - left
        kept = np.arange(len(some))
        for requirement in requirements:
            for side in (left, right):
                kept = kept[requirement.holds(side[kept])]
        holding[some[kept]] = True
    return holding


def _left_counts(block: Block, nodes: Ints, places: Ints) -> Ints:
    """Count all attributes' values left of some cuts, shape (cuts, values).

    The cuts of one node in one feature divide its rows into intervals, which are counted and summed up.
    """
    order = np.lexsort((places, nodes))
    feature, bin_ = np.divmod(places[order], SLOTS)
    new = np.diff(nodes[order] * len(block.bins) + feature, prepend=-1) != 0
    pair, cuts = np.cumsum(new) - 1, np.arange(len(places))
    node, feature, base = nodes[order][new], feature[new], (cuts + pair)[new]
    edges = np.zeros((len(node), SLOTS), dtype=np.int64)
    edges[pair, bin_] = 1
    interval = edges.cumsum(axis=1) - edges + base[:, None]
    owner, rows = _rows_of(block.nodes.sizes, node)
    part = interval[owner, block.bins[feature[owner], rows]]
    values = block.nodes.counts.shape[1]
    keys = (part * values + block.classes[:, rows]).ravel()
    counts = np.bincount(keys, minlength=(len(cuts) + len(node)) * values).reshape(-1, values)
    upto = np.vstack([np.zeros_like(counts[:1]), counts.cumsum(axis=0)])
    left = np.empty((len(cuts), values), dtype=np.int64)
    left[order] = upto[cuts + pair + 1] - upto[base][pair]
    return left


def _rows_of(sizes: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """Return the rows of some nodes one after the other: the position of each in `nodes`, and its place."""
    chosen = sizes[nodes]
    owner = np.repeat(np.arange(len(nodes)), chosen)
    shift = (np.cumsum(sizes) - sizes)[nodes] - (np.cumsum(chosen) - chosen)
    return owner, np.arange(len(owner)) + shift[owner]
