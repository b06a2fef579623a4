"""How wide nodes are in their features, and in which order these are tried: the widest first."""

from typing import NamedTuple

import numpy as np

from tasks.partitions.blocks import Block, Flags, Floats, Ints, Narrow, Sample, Table, sample_of
from tasks.partitions.medians import sorted_keys
from tasks.partitions.trees import Trees

RANKED_CELLS = 1 << 20  # codes of a node up to which equally wide features are told apart


class Spans(NamedTuple):
    """What nodes hold of features."""

    low: Narrow
    lowest: Narrow  # that is not missing's, see `Trees.lowest`; it is only of use with a hierarchy
    high: Narrow


class _Halves(NamedTuple):
    """What a cut at the median makes of nodes, each in one feature."""

    left: Ints  # rows on the left
    end: Narrow  # the highest code there
    following: Narrow  # the lowest on the right; `end` if there is none


def extremes(table: Table, block: Block) -> Spans:
    """Return what each node holds of each feature, shapes (nodes, features)."""
    starts = np.cumsum(block.nodes.sizes) - block.nodes.sizes
    low = np.minimum.reduceat(block.codes, starts, axis=1).T
    high = np.maximum.reduceat(block.codes, starts, axis=1).T
    lowest = low if table.trees is None else table.trees.lowest(low, block.codes, starts)
    return Spans(low, lowest, high)


def widths_of(table: Table, features: Ints | slice, spans: Spans) -> Floats:
    """Return how wide ranges of codes of some features are, as a share of the feature's."""
    positions, offsets, (low, lowest, high) = table.positions, table.offsets[features], spans
    widths = (positions[offsets + high] - positions[offsets + low]) / table.spans[features]
    widths[(low == 0) & (high > 0) & table.mixable[features]] = 1.0
    if table.trees is not None:
        every = np.arange(len(table.offsets))[features]
        grown = table.trees.offsets[every] >= 0
        bounds = low[..., grown], lowest[..., grown], high[..., grown]
        widths[..., grown] = table.trees.widths(every[grown], *bounds)
    return np.asarray(widths)


def from_the_widest(table: Table, block: Block, widths: Floats, spans: Spans) -> Ints:
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
    is_tied = np.zeros(widths.shape, dtype=np.bool_)
    is_tied[:, 1:] = equal
    is_tied[:, :-1] |= equal
    nodes, places = np.nonzero(is_tied)
    features = order[nodes, places]
    narrowing = np.zeros_like(widths)
    tied = Spans(*(bound[nodes, features] for bound in spans))
    narrowing[nodes, features] = _narrowing(table, block, nodes, features, tied)
    return np.lexsort((-narrowing, -widths), axis=1)


def _narrowing(table: Table, block: Block, nodes: Ints, features: Ints, spans: Spans) -> Floats:
    """Return by how much the records of nodes are narrower, on average, after a cut at the median."""
    sample = sample_of(block, nodes, features)
    one = table.trees is None and len(block.nodes.sizes) == 1
    halves = _halves_of_one(table, sample) if one else _halves(table, sample, features, spans)
    low, lowest, high = spans
    below = widths_of(table, features, Spans(low, np.where(lowest <= halves.end, lowest, 0), halves.end))
    above = widths_of(table, features, Spans(halves.following, halves.following, high))
    right = sample.sizes - halves.left
    narrower = widths_of(table, features, spans) - (halves.left * below + right * above) / sample.sizes
    return np.where(right > 0, narrower, 0.0)


def _halves_of_one(table: Table, sample: Sample) -> _Halves:
    """Return the halves of one node in several features; this is faster than a sort."""
    values = sample.values.reshape(len(sample.sizes), -1)
    last = (values.shape[1] - 1) // 2
    divided = np.partition(values, last, axis=1)
    end, upper = divided[:, last], divided[:, last + 1 :]
    is_right = upper > end[:, None]
    right = np.count_nonzero(is_right, axis=1)
    following = upper.min(axis=1, where=is_right, initial=table.codes)
    return _Halves(sample.sizes - right, end, np.where(right > 0, following, end))


def _halves(table: Table, sample: Sample, features: Ints, spans: Spans) -> _Halves:
    keys, base = sorted_keys(table, sample)
    starts = np.cumsum(sample.sizes) - sample.sizes
    cut = keys[starts + (sample.sizes - 1) // 2]
    if table.trees is not None:
        cut = _after_children(table.trees, features, spans, (keys, base, starts, sample.sizes))
    left = np.searchsorted(keys, cut, side="right") - starts
    places = left - 1, np.minimum(left, sample.sizes - 1)
    return _Halves(left, *(keys[starts + place] - base for place in places))


def _after_children(
    trees: Trees, features: Ints, spans: Spans, sorted_rows: tuple[Ints, Ints, Ints, Ints]
) -> Ints:
    """Return the medians of nodes; in features with a hierarchy, after which code the more even cut is.

    Rows are given by their keys, the base and the start of each node's keys, and its size.
    """
    keys, base, starts, sizes = sorted_rows
    cut = keys[starts + (sizes - 1) // 2]
    grown = np.flatnonzero(trees.offsets[features] >= 0)
    base, starts, sizes = base[grown], starts[grown], sizes[grown]
    level = trees.level(features[grown], spans.lowest[grown], spans.high[grown])
    first, last = trees.child(features[grown], level, cut[grown] - base)
    before = np.searchsorted(keys, base + first) - starts
    upto = np.searchsorted(keys, base + last, side="right") - starts
    cut[grown] = base + np.where(is_evener(before, upto, sizes), first - 1, last)
    return np.asarray(cut)


def is_evener(before: Ints, upto: Ints, sizes: Ints) -> Flags:
    """Tell where a cut that leaves `before` rows on the left is more even than one that leaves `upto`."""
    return np.asarray(np.minimum(before, sizes - before) > np.minimum(upto, sizes - upto))
