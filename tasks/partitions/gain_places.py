"""What cuts tell of the class: of many nodes at once, the information gain of every cut.

Gains are sums of whole numbers, so cuts that are alike have the same gain, whatever the order of rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain
from tasks.mutual_information import discretise
from tasks.partitions.blocks import Block, Ints, Narrow, Table, is_big
from tasks.partitions.gains import rounding, x_log_x

Floats = npt.NDArray[np.float64]

BINS = 255
SLOTS = BINS + 1  # with missing
IMPOSSIBLE = -1e300


class Scale(NamedTuple):
    """What gains are computed with."""

    class_values: int  # of the class, which comes before the other attributes
    x_log_x: Floats
    bins: Sequence[Narrow]  # of each feature, each code's bin; neighbouring codes share one
    last: Sequence[Ints]  # of each feature, each bin's last code

    @property
    def least(self) -> float:
        """What a gain exceeds; two that differ by no more are equal."""
        return rounding(self.class_values)


class Places(NamedTuple):
    """Where some nodes may be cut, by any feature: after a place."""

    nodes: Ints  # each place's node, ascending
    gains: Floats  # (features, places); far below 0 where no cut is possible
    keys: Narrow  # (features, places): the last code to the left, plus the node times the number of codes


def scale_of(
    codes: npt.NDArray[np.int32], domains: Sequence[Domain], classes: npt.NDArray[np.int32]
) -> Scale:
    """Return what gains are computed with, for codes of shape (rows, features), classes of shape (rows,)."""
    bins = [_bins(column, domain) for column, domain in zip(codes.T, domains, strict=True)]
    last = [np.flatnonzero(np.diff(one, append=SLOTS)) for one in bins]
    return Scale(int(classes.max()) + 1, x_log_x(len(codes)), bins, last)


def _bins(column: npt.NDArray[np.int32], domain: Domain) -> Ints:
    """Return each code's bin: its own, or an equal-frequency one where there are more values than bins."""
    if len(domain.values) <= BINS:
        return np.arange(domain.size)
    bins = np.zeros(domain.size, dtype=np.int64)
    bins[column] = discretise(column, domain.size, numeric=True, missing=domain.missing, bins=BINS)
    return np.maximum.accumulate(bins)


def places_of(scale: Scale, table: Table, block: Block) -> Places:
    """Return where some nodes may be cut, and the gain there.

    A node too big for a core's cache is cut between bins, others after any code.
    """
    return _binned(scale, table, block) if is_big(table, block) else _exact(scale, table, block)


def _binned(scale: Scale, table: Table, block: Block) -> Places:
    """Return the places of one node, the bins."""
    f, totals = scale.x_log_x, block.nodes.counts[0, : scale.class_values]
    gains = np.full((len(block.codes), SLOTS), IMPOSSIBLE)
    keys = np.zeros(gains.shape, dtype=np.int64)
    base = block.classes[0].astype(np.int64) * SLOTS
    for feature in range(len(block.codes)):
        codes, bins, last = _bins_of(scale, table, block, feature)
        held = np.bincount(base + bins[codes], minlength=len(totals) * SLOTS)
        held = held.reshape(-1, SLOTS)
        places = np.flatnonzero(held.any(axis=0))
        upto = held[:, places].cumsum(axis=1)
        of_sides = _size_terms(f, table, upto.sum(axis=0), block.nodes.sizes)
        gains[feature, places] = (
            (f[upto] + f[totals[:, None] - upto]).sum(axis=0) - f[totals].sum() + of_sides
        )
        keys[feature, bins[last]] = last
    return Places(np.zeros(SLOTS, dtype=np.int64), gains, keys)


def _exact(scale: Scale, table: Table, block: Block) -> Places:
    """Return the places of many nodes: by each feature, their rows in the order of codes."""
    f, sizes, rows = scale.x_log_x, block.nodes.sizes, len(block.rows)
    nodes = np.repeat(np.arange(len(sizes)), sizes)
    left = np.arange(1, rows + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    of_sides = _size_terms(f, table, left, sizes[nodes])
    changes = _changes(f, block.nodes.counts[:, : scale.class_values].ravel())
    largest = len(sizes) * max(table.codes, scale.class_values) << rows.bit_length()
    narrow = np.uint32 if largest < 1 << 32 else np.int64
    at, base = np.arange(rows, dtype=narrow), (nodes * table.codes).astype(narrow)
    groups = (nodes * scale.class_values + block.classes[0]).astype(narrow)
    gains, keys = np.empty(block.codes.shape), np.empty(block.codes.shape, narrow)
    for feature in range(len(block.codes)):
        keys[feature], order = _sorted(base + _cut_after(table, block, feature), at)
        _, by_group = _sorted(groups[order], at)
        moved = np.empty(rows)
        moved[by_group] = changes
        gains[feature] = moved.cumsum() + of_sides
        gains[feature, :-1][keys[feature, 1:] == keys[feature, :-1]] = IMPOSSIBLE
    return Places(nodes, gains, keys)


def _bins_of(scale: Scale, table: Table, block: Block, feature: int) -> tuple[Narrow, Ints, Ints]:
    """Return rows as codes, each code's bin and each bin's last code; children are bins in a hierarchy."""
    if not _has_tree(table, feature):
        return block.codes[feature], scale.bins[feature], scale.last[feature]
    codes = _cut_after(table, block, feature)
    held = np.bincount(codes) > 0
    last = np.flatnonzero(held)
    bins = (np.cumsum(held) - 1) * SLOTS // max(len(last), SLOTS)
    return codes, bins, last[np.diff(bins[last], append=SLOTS) > 0]


def _cut_after(table: Table, block: Block, feature: int) -> Narrow:
    """Return the code after which each row may be cut from others: its own, or the last of its child."""
    if table.trees is None or not _has_tree(table, feature):
        return np.asarray(block.codes[feature])
    features = np.full(len(block.nodes.sizes), feature)
    return table.trees.by_children(features, block.nodes.sizes, block.codes[feature])[1]


def _has_tree(table: Table, feature: int) -> bool:
    return table.trees is not None and bool(table.trees.offsets[feature] >= 0)


def _size_terms(f: Floats, table: Table, left: Ints, sizes: Ints) -> Floats:
    """Return what the sizes of both sides add to a gain; where one is too small the cut is impossible."""
    possible = np.minimum(left, sizes - left) >= table.requirement.minimum_size
    return np.where(possible, f[sizes] - f[left] - f[sizes - left], IMPOSSIBLE)


def _changes(f: Floats, totals: Ints) -> Floats:
    """Return by how much each row moved to the left changes a cut's gain, for rows group by group.

    A group is a node's rows of one class value. What they change does not depend on the feature.
    """
    moved = np.arange(totals.sum()) - np.repeat(np.cumsum(totals) - totals, totals)
    staying = np.repeat(totals, totals) - moved
    return np.asarray(f[moved + 1] - f[moved] + f[staying - 1] - f[staying])


def _sorted(keys: Narrow, at: Narrow) -> tuple[Narrow, Narrow]:
    """Return keys in ascending order, and where they were; equal keys stay in order."""
    bits = len(at).bit_length()
    packed = keys << bits
    packed |= at
    packed.sort()
    return packed >> bits, packed & ((1 << bits) - 1)
