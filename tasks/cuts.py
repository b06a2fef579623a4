"""The cuts that Mondrian may make: of many nodes at once, each node's widest feature that can be cut.

A block holds some nodes of the tree, their rows one after the other.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.requirements import Requirement

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Narrow = npt.NDArray[Any]  # codes in the narrowest type that holds them
Flags = npt.NDArray[np.bool_]

BLOCK_CELLS = 1 << 19  # codes of a block that stays in a core's cache
FOLD = 16  # rows side by side in one step of a reduction


@dataclass(frozen=True, eq=False)
class Table:
    """What the nodes of a tree have in common."""

    positions: npt.NDArray[np.float64]  # of all features, one after the other
    offsets: Ints  # where a feature's positions start
    spans: npt.NDArray[np.float64]  # what a feature's widths are divided by
    mixable: Flags  # numeric features with missing values
    codes: int  # above every code
    class_values: int
    requirement: Requirement
    strict: bool


class Nodes(NamedTuple):
    """Some nodes of the tree."""

    sizes: Ints  # rows of each node
    first: Ints  # rows of the table that lie left of each node in the tree
    counts: Ints  # (nodes, class values)
    lower: Codes  # (nodes, features)
    upper: Codes
    spent: Flags  # (nodes, features): no cut can be allowed here or further down


class Block(NamedTuple):
    """Some nodes and their rows."""

    nodes: Nodes
    rows: Codes  # row numbers, node after node, ascending within a node
    codes: Narrow  # (features, then the class; rows); a big block's rows are contiguous: they move fast


class Sample(NamedTuple):
    """The rows of some nodes of a block, seen through one feature per node."""

    sizes: Ints
    owner: Ints  # each row's node
    values: Narrow
    classes: Narrow


class _Medians(NamedTuple):
    code: Ints
    below: Ints  # rows of the node with a lower code
    tied: Ints  # rows with this code
    following: Ints  # the code of the next row in the order of codes


class Cuts(NamedTuple):
    """One cut per node: left are the codes below `code` and the first `ties` rows that have it."""

    feature: Ints  # -1: no cut is allowed
    code: Ints
    ties: Ints
    beyond: Ints  # the right side's lower bound
    left: Ints  # (nodes, class values): class counts of the left side


def allowed_cuts(table: Table, block: Block) -> Cuts:
    """Try each node's features from the widest on, in growing batches, until a cut is allowed."""
    widths = _widths(table, block)
    order = np.argsort(-widths, axis=1, kind="stable")
    candidates = (widths >= 0).sum(axis=1)
    cuts = _no_cuts(len(widths), table.class_values)
    unresolved, tried, batch = np.flatnonzero(candidates), 0, 1
    while len(unresolved):
        tries = np.minimum(candidates[unresolved] - tried, batch)
        nodes = np.repeat(unresolved, tries)
        ranks = np.arange(len(nodes)) + np.repeat(tried + tries - np.cumsum(tries), tries)
        found = _attempt(table, block, nodes, order[nodes, ranks])
        _keep_first(cuts, found, nodes)
        tried += batch
        unresolved = unresolved[(cuts.feature[unresolved] < 0) & (candidates[unresolved] > tried)]
        batch = max(1, min(2 * batch, BLOCK_CELLS // max(1, block.nodes.sizes[unresolved].sum())))
    return cuts


def _keep_first(cuts: Cuts, found: Cuts, nodes: Ints) -> None:
    """Write each node's first allowed cut among those found to `cuts`."""
    allowed = np.flatnonzero(found.feature >= 0)
    which, position = np.unique(nodes[allowed], return_index=True)
    for known, new in zip(cuts, found, strict=True):
        known[which] = new[allowed[position]]


def _no_cuts(nodes: int, class_values: int) -> Cuts:
    feature, code, ties, beyond = np.full((4, nodes), [[-1], [0], [0], [0]])
    return Cuts(feature, code, ties, beyond, np.zeros((nodes, class_values), dtype=np.int64))


def _widths(table: Table, block: Block) -> npt.NDArray[np.float64]:
    """Return each node's width in each feature, shape (nodes, features); -1 where no cut is possible."""
    low, high = _extremes(block)
    widths = (table.positions[table.offsets + high] - table.positions[table.offsets + low]) / table.spans
    widths[(low == 0) & table.mixable] = 1.0
    widths[(low == high) | block.nodes.spent] = -1.0
    return widths


def _extremes(block: Block) -> tuple[Narrow, Narrow]:
    """Return the lowest and the highest code of each node in each feature, shapes (nodes, features)."""
    if is_big(block):
        return _folded(np.minimum, block.codes.T)[:, :-1], _folded(np.maximum, block.codes.T)[:, :-1]
    starts = np.cumsum(block.nodes.sizes) - block.nodes.sizes
    low = np.minimum.reduceat(block.codes[:-1], starts, axis=1)
    high = np.maximum.reduceat(block.codes[:-1], starts, axis=1)
    return low.T, high.T


def is_big(block: Block) -> bool:
    """Whether a block is too big for a core's cache; such a block is one node."""
    return block.codes.size > BLOCK_CELLS


def _folded(extreme: np.ufunc, rows: Narrow) -> Narrow:
    """Reduce rows to one, shape (1, columns); several side by side, since short rows are slow one by one."""
    fold = min(FOLD, len(rows))
    whole = len(rows) // fold
    side: Narrow = extreme.reduce(rows[: whole * fold].reshape(whole, -1), axis=0).reshape(fold, -1)
    folded: Narrow = extreme.reduce(np.concatenate([side, rows[whole * fold :]]), axis=0, keepdims=True)
    return folded


def _attempt(table: Table, block: Block, nodes: Ints, features: Ints) -> Cuts:
    """Look for an allowed cut of each of the nodes in the feature given for it; nodes may repeat."""
    sample = sample_of(block, nodes, features)
    medians = _medians(table, sample)
    totals = block.nodes.counts[nodes]
    cuts = _no_cuts(len(nodes), table.class_values)
    for ties in _alternatives(table, sample, medians):
        sizes = medians.below + ties
        smaller = np.minimum(sizes, sample.sizes - sizes)
        fits = (cuts.feature < 0) & (smaller >= table.requirement.minimum_size)
        if fits.any():
            left = _class_counts(table, sample, fits, is_left(table, sample, medians.code, ties))
            allowed = fits.nonzero()[0]
            allowed = allowed[_both_hold(table.requirement, left[allowed], totals[allowed])]
            for known, new in zip(cuts, (features, medians.code, ties, medians.following, left), strict=True):
                known[allowed] = new[allowed]
    if table.strict:
        cuts.beyond[:] = cuts.code + (cuts.ties > 0)
        block.nodes.spent[nodes, features] = _spent(table, sample, medians)
    return cuts


def _both_hold(requirement: Requirement, left: Ints, totals: Ints) -> Flags:
    return requirement.holds(left) & requirement.holds(totals - left)


def sample_of(block: Block, nodes: Ints, features: Ints) -> Sample:
    """Return the rows of some nodes, each node seen through its feature."""
    sizes = block.nodes.sizes[nodes]
    owner = np.repeat(np.arange(len(nodes)), sizes)
    if len(nodes) == len(block.nodes.sizes) == 1:
        return Sample(sizes, owner, block.codes[features[0]], block.codes[-1])
    starts = (np.cumsum(block.nodes.sizes) - block.nodes.sizes)[nodes]
    places = np.arange(len(owner)) + (starts - np.cumsum(sizes) + sizes)[owner]
    return Sample(sizes, owner, block.codes[features[owner], places], block.codes[-1, places])


def _medians(table: Table, sample: Sample) -> _Medians:
    keys = np.sort(sample.owner * table.codes + sample.values)
    starts = np.cumsum(sample.sizes) - sample.sizes
    last_left = starts + ((sample.sizes - 1) // 2 if table.strict else sample.sizes // 2 - 1)
    median, base = keys[last_left], np.arange(len(starts)) * table.codes
    below = np.searchsorted(keys, median)
    tied = np.searchsorted(keys, median, side="right") - below
    return _Medians(median - base, below - starts, tied, keys[last_left + 1] - base)


def _alternatives(table: Table, sample: Sample, medians: _Medians) -> list[Ints]:
    """Return how many of the rows that tie at the median may go left, in the order to be tried."""
    if table.strict:
        return [medians.tied, np.zeros_like(medians.tied)]
    return [sample.sizes // 2 - medians.below]


def _spent(table: Table, sample: Sample, medians: _Medians) -> Flags:
    """Tell where too few rows lie on either side of the median's code.

    It is then so in every subset of the rows: a subset's median is this code, with no more rows on
    either side, or lies beyond it, among too few rows.
    """
    above = sample.sizes - medians.below - medians.tied
    return np.asarray(np.maximum(medians.below, above) < table.requirement.minimum_size)


def is_left(table: Table, sample: Sample, code: Ints, ties: Ints) -> Flags:
    """Tell which rows lie left of their node's cut."""
    if table.strict:
        return np.asarray(sample.values < (code + (ties > 0))[sample.owner])
    tied = sample.values == code[sample.owner]
    seen = np.concatenate([[0], np.cumsum(tied)])
    quota = seen[np.cumsum(sample.sizes) - sample.sizes] + ties
    return np.asarray((sample.values < code[sample.owner]) | (tied & (seen[1:] <= quota[sample.owner])))


def _class_counts(table: Table, sample: Sample, nodes: Flags, rows: Flags) -> Ints:
    """Count class values in the chosen rows of the chosen nodes, shape (nodes, class values)."""
    rows = rows & nodes[sample.owner]
    cells = sample.owner[rows] * table.class_values + sample.classes[rows]
    counts = np.bincount(cells, minlength=len(nodes) * table.class_values)
    return counts.reshape(len(nodes), table.class_values)
