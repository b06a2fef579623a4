"""The cuts that Mondrian may make: of many nodes at once, each node's widest feature that can be cut.

A block holds some nodes of the tree, their rows one after the other.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.partitions.requirements import Requirement

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Narrow = npt.NDArray[Any]  # codes in the narrowest type that holds them
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

BLOCK_CELLS = 1 << 19  # codes of a block that stays in a core's cache; a bigger one is one node
BATCH_ROWS = 1 << 17  # rows that are looked at together, each through one feature
FEW_VALUES = 32  # class values that are counted faster bit by bit
BATCH_COUNTS = 1 << 20  # class counts that are looked at together
RANKED_CELLS = 1 << 20  # codes of a node up to which equally wide features are told apart


@dataclass(frozen=True, eq=False)
class Table:
    """What the nodes of a tree have in common."""

    positions: npt.NDArray[np.float64]  # of all features, one after the other
    offsets: Ints  # where a feature's positions start
    spans: npt.NDArray[np.float64]  # what a feature's widths are divided by
    mixable: Flags  # numeric features with missing values
    codes: int  # above every code
    class_values: int  # of all attributes together
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

    def take(self, which: Flags | slice) -> "Nodes":
        """Return some of the nodes."""
        sizes, first, counts, lower, upper, spent = self
        return Nodes(sizes[which], first[which], counts[which], lower[which], upper[which], spent[which])


class Block(NamedTuple):
    """Some nodes and their rows."""

    nodes: Nodes
    rows: Codes  # row numbers, node after node, ascending within a node
    codes: Narrow  # (features, rows)
    classes: Narrow  # (attributes, rows)
    marks: Words | None = None  # (class values, words): a bit for each row that has the class value


class Sample(NamedTuple):
    """The rows of some nodes of a block, node after node, seen through one feature per node."""

    sizes: Ints
    shifts: Ints  # from the places of a node's rows in the sample to those in the block
    values: Narrow


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


def median_cuts(table: Table, block: Block) -> Cuts:
    """Try each node's features from the widest on, in growing batches, until a cut is allowed."""
    low, high = _extremes(block)
    widths = _widths(table, slice(None), low, high)
    widths[(low == high) | block.nodes.spent] = -1.0
    order = _from_the_widest(table, block, widths, low, high)
    candidates = (widths >= 0).sum(axis=1)
    cuts = no_cuts(len(widths), table.class_values)
    if len(widths) == 1 and table.class_values <= FEW_VALUES:
        block = block._replace(marks=_marks(table, block))
    unresolved, tried, batch = np.flatnonzero(candidates), 0, 1
    while len(unresolved):
        tries = np.minimum(candidates[unresolved] - tried, batch)
        nodes = np.repeat(unresolved, tries)
        ranks = np.arange(len(nodes)) + np.repeat(tried + tries - np.cumsum(tries), tries)
        features, step = order[nodes, ranks], max(1, BATCH_COUNTS // table.class_values)
        for start in range(0, len(nodes), step):
            _attempt(table, block, cuts, nodes[start : start + step], features[start : start + step])
        tried += batch
        unresolved = unresolved[(cuts.feature[unresolved] < 0) & (candidates[unresolved] > tried)]
        batch = max(1, min(2 * batch, BATCH_ROWS // max(1, block.nodes.sizes[unresolved].sum())))
    return cuts


def no_cuts(nodes: int, class_values: int) -> Cuts:
    """Return nodes that are not cut."""
    feature, code, ties, beyond = np.full((4, nodes), [[-1], [0], [0], [0]])
    return Cuts(feature, code, ties, beyond, np.zeros((nodes, class_values), dtype=np.int64))


def _widths(table: Table, features: Ints | slice, low: Narrow, high: Narrow) -> Floats:
    """Return how wide ranges of codes of some features are, as a share of the feature's."""
    positions, offsets = table.positions, table.offsets[features]
    widths = (positions[offsets + high] - positions[offsets + low]) / table.spans[features]
    widths[(low == 0) & (high > 0) & table.mixable[features]] = 1.0
    return np.asarray(widths)


def _from_the_widest(table: Table, block: Block, widths: Floats, low: Narrow, high: Narrow) -> Ints:
    """Return the features of each node, the widest first, shape (nodes, features).

    Of equally wide ones that comes first whose cut at the median narrows both sides most; in nodes of very
    many cells, and where that is the same too, the first.
    """
    order = np.argsort(-widths, axis=1, kind="stable")
    ranked = np.take_along_axis(widths, order, axis=1)
    equal = (ranked[:, 1:] == ranked[:, :-1]) & (ranked[:, 1:] > 0)
    equal &= (block.nodes.sizes * len(block.codes) <= RANKED_CELLS)[:, None]
    if not equal.any():
        return order
    nodes, places = np.nonzero(np.pad(equal, ((0, 0), (1, 0))) | np.pad(equal, ((0, 0), (0, 1))))
    features = order[nodes, places]
    narrowing = np.zeros_like(widths)
    narrowing[nodes, features] = _narrowing(
        table, block, nodes, features, (low[nodes, features], high[nodes, features])
    )
    return np.lexsort((-narrowing, -widths), axis=1)


def _narrowing(
    table: Table, block: Block, nodes: Ints, features: Ints, ends: tuple[Narrow, Narrow]
) -> Floats:
    """Return by how much the records of nodes are narrower, on average, after a cut at the median."""
    sample = sample_of(block, nodes, features)
    base = np.arange(len(nodes)) * table.codes
    keys = np.sort(np.repeat(base, sample.sizes) + sample.values)
    starts = np.cumsum(sample.sizes) - sample.sizes
    median = keys[starts + (sample.sizes - 1) // 2]
    left = np.searchsorted(keys, median, side="right") - starts
    right = sample.sizes - left
    following = keys[starts + np.minimum(left, sample.sizes - 1)]
    low, high = ends
    below = _widths(table, features, low, median - base)
    above = _widths(table, features, following - base, high)
    narrower = _widths(table, features, low, high) - (left * below + right * above) / sample.sizes
    return np.where(right > 0, narrower, 0.0)


def _extremes(block: Block) -> tuple[Narrow, Narrow]:
    """Return the lowest and the highest code of each node in each feature, shapes (nodes, features)."""
    starts = np.cumsum(block.nodes.sizes) - block.nodes.sizes
    low = np.minimum.reduceat(block.codes, starts, axis=1)
    high = np.maximum.reduceat(block.codes, starts, axis=1)
    return low.T, high.T


def is_big(table: Table, block: Block) -> bool:
    """Whether a block, or the counts of its nodes to come, are too big for a core's cache."""
    counts = table.class_values // table.requirement.minimum_size
    return len(block.rows) * max(len(block.codes), counts) > BLOCK_CELLS


def _attempt(table: Table, block: Block, cuts: Cuts, nodes: Ints, features: Ints) -> None:
    """Try to cut each of the nodes in the feature given for it; write each node's first cut to `cuts`.

    A node may stand there several times, one after the other.
    """
    sample = sample_of(block, nodes, features)
    medians = _medians(table, block, sample)
    if table.strict:
        block.nodes.spent[nodes, features] = _spent(table, sample, medians)
    ties = _alternatives(table, sample, medians)
    smaller = np.minimum(medians.below + ties, sample.sizes - medians.below - ties)
    fits = smaller >= table.requirement.minimum_size
    if not fits.any():
        return
    left = _left_counts(table, block, sample, medians, fits.any(axis=0))
    allowed = _allowed(table.requirement, left, block.nodes.counts[nodes], fits)
    found = np.flatnonzero(allowed.any(axis=0) & (cuts.feature[nodes] < 0))
    found = found[np.diff(nodes[found], prepend=-1) > 0]
    how, node = allowed[:, found].argmax(axis=0), nodes[found]
    cuts.feature[node], cuts.code[node] = features[found], medians.code[found]
    cuts.ties[node], cuts.left[node] = ties[how, found], left[how, found]
    cuts.beyond[node] = (
        medians.code[found] + (ties[how, found] > 0) if table.strict else medians.following[found]
    )


def _alternatives(table: Table, sample: Sample, medians: _Medians) -> Ints:
    """Return how many of the rows that tie at the median may go left, in the order to be tried.

    The shape is (alternatives, nodes).
    """
    if table.strict:
        return np.stack([medians.tied, np.zeros_like(medians.tied)])
    return (sample.sizes // 2 - medians.below)[None, :]


def _left_counts(table: Table, block: Block, sample: Sample, medians: _Medians, wanted: Flags) -> Ints:
    """Count class values left of the wanted cuts, shape (alternatives, nodes, class values)."""
    if not table.strict:
        left = is_left(table, sample, medians.code, sample.sizes // 2 - medians.below)
        return _class_counts(table, block, sample, left, sample.sizes // 2)[None, :, :]
    lower = sample.values < _of_rows(sample, np.where(wanted, medians.code, 0))
    equal = sample.values == _of_rows(sample, np.where(wanted, medians.code, table.codes))
    below = _class_counts(table, block, sample, lower, np.where(wanted, medians.below, 0))
    tied = _class_counts(table, block, sample, equal, np.where(wanted, medians.tied, 0))
    return np.stack([below + tied, below])


def _allowed(requirement: Requirement, left: Ints, totals: Ints, fits: Flags) -> Flags:
    """Tell which cuts, of those that fit, leave two sides that satisfy the requirement."""
    tried = np.flatnonzero(fits)
    left = left.reshape(fits.size, -1)[tried]
    right = totals[tried % len(totals)] - left
    holds = requirement.holds(np.concatenate([left, right])).reshape(2, -1)
    allowed = np.zeros(fits.size, dtype=np.bool_)
    allowed[tried] = holds[0] & holds[1]
    return allowed.reshape(fits.shape)


def sample_of(block: Block, nodes: Ints, features: Ints) -> Sample:
    """Return the rows of some nodes, each node seen through its feature."""
    sizes = block.nodes.sizes[nodes]
    shifts = (np.cumsum(block.nodes.sizes) - block.nodes.sizes)[nodes] - np.cumsum(sizes) + sizes
    if len(block.nodes.sizes) == 1:
        return Sample(sizes, shifts, block.codes[features].ravel())
    cells = np.repeat(shifts + features * block.codes.shape[1], sizes)
    cells += np.arange(len(cells))
    return Sample(sizes, shifts, block.codes.ravel().take(cells))


def _of_rows(sample: Sample, codes: Ints) -> Narrow:
    """Return for each row the code given for its node."""
    return np.repeat(codes.astype(sample.values.dtype), sample.sizes)


def _medians(table: Table, block: Block, sample: Sample) -> _Medians:
    if len(block.nodes.sizes) == 1:
        return _medians_of_one(table, sample)
    base = np.arange(len(sample.sizes)) * table.codes
    narrow = np.uint32 if base[-1] + table.codes < 1 << 32 else np.int64
    keys = np.repeat(base.astype(narrow), sample.sizes)
    keys += sample.values
    keys.sort()
    starts = np.cumsum(sample.sizes) - sample.sizes
    last_left = starts + ((sample.sizes - 1) // 2 if table.strict else sample.sizes // 2 - 1)
    median = keys[last_left]
    below = np.searchsorted(keys, median)
    tied = np.searchsorted(keys, median, side="right") - below
    return _Medians(median - base, below - starts, tied, keys[last_left + 1] - base)


def _medians_of_one(table: Table, sample: Sample) -> _Medians:
    """Return the medians of one node in several features; this is faster than a sort."""
    values = sample.values.reshape(len(sample.sizes), -1)
    rows = values.shape[1]
    last_left = (rows - 1) // 2 if table.strict else rows // 2 - 1
    divided = np.partition(values, last_left, axis=1)
    median, following = divided[:, last_left], divided[:, last_left + 1 :].min(axis=1)
    below = np.array([np.count_nonzero(row) for row in values < median[:, None]])
    tied = np.array([np.count_nonzero(row) for row in values == median[:, None]])
    return _Medians(median.astype(np.int64), below, tied, following.astype(np.int64))


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
        return np.asarray(sample.values < _of_rows(sample, code + (ties > 0)))
    codes = _of_rows(sample, code)
    tied = sample.values == codes
    seen = np.concatenate([[0], np.cumsum(tied)])
    quota = seen[np.cumsum(sample.sizes) - sample.sizes] + ties
    return np.asarray((sample.values < codes) | (tied & (seen[1:] <= np.repeat(quota, sample.sizes))))


def _class_counts(table: Table, block: Block, sample: Sample, rows: Flags, chosen: Ints) -> Ints:
    """Count class values in the chosen rows, shape (nodes, class values); `chosen` are theirs per node."""
    if block.marks is not None:
        marked = _packed(rows.reshape(len(chosen), -1))[:, None] & block.marks
        return np.asarray(np.bitwise_count(marked).sum(axis=2, dtype=np.int64))
    base = np.arange(len(chosen)) * table.class_values
    places = np.flatnonzero(rows) + np.repeat(sample.shifts, chosen)
    cells = np.repeat(base, chosen) + block.classes.take(places, axis=1)
    counts = np.bincount(cells.ravel(), minlength=len(chosen) * table.class_values)
    return counts.reshape(len(chosen), table.class_values)


def _marks(table: Table, block: Block) -> Words:
    having = (np.logical_or.reduce(block.classes == value) for value in range(table.class_values))
    return np.concatenate([_packed(rows[None, :]) for rows in having])


def _packed(flags: Flags) -> Words:
    """Return each line's flags as bits, 64 in a word."""
    lines, places = flags.shape
    packed = np.zeros((lines, -(-places // 64) * 8), dtype=np.uint8)
    packed[:, : -(-places // 8)] = np.packbits(flags, axis=1)
    return packed.view(np.uint64)
