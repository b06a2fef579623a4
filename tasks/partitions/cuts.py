"""The cuts that Mondrian may make: of many nodes at once, each node's widest feature that can be cut."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tasks.partitions.blocks import (
    Block,
    Cuts,
    Flags,
    Ints,
    Sample,
    Table,
    is_left,
    no_cuts,
    of_rows,
    sample_of,
    with_runs,
)
from tasks.partitions.medians import Medians, is_spent, medians_of
from tasks.partitions.node_counts import FEW_VALUES, class_counts, marks_of
from tasks.partitions.person_counts import side_counts
from tasks.partitions.requirements import Requirement
from tasks.partitions.trees import Trees
from tasks.partitions.widths import extremes, from_the_widest, is_evener, widths_of

BATCH_ROWS = 1 << 17  # rows that are looked at together, each through one feature
BATCH_COUNTS = 1 << 20  # class counts that are looked at together


class _Found(NamedTuple):
    """The allowed cuts that some attempts found."""

    at: Ints  # which attempts, ascending
    code: Ints
    ties: Ints
    beyond: Ints
    left: Ints


def median_cuts(table: Table, block: Block) -> Cuts:
    """Try each node's features from the widest on, in growing batches, until a cut is allowed."""
    block = with_runs(table, block)
    spans = extremes(table, block)
    widths = widths_of(table, slice(None), spans)
    widths[(spans.low == spans.high) | block.nodes.spent] = -1.0
    order = from_the_widest(table, block, widths, spans)
    candidates = (widths >= 0).sum(axis=1)
    cuts = no_cuts(len(widths), table.class_values)
    if len(widths) == 1 and table.class_values <= FEW_VALUES:
        block = block._replace(marks=marks_of(table, block))
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


def _attempt(table: Table, block: Block, cuts: Cuts, nodes: Ints, features: Ints) -> None:
    """Try to cut each of the nodes in the feature given for it; write each node's first cut to `cuts`.

    A node may stand there several times, one after the other.
    """
    find = _find if table.trees is None else partial(_find_in_both, table.trees)
    found = find(table, block, nodes, features)
    node = nodes[found.at]
    first = (cuts.feature[node] < 0) & (np.diff(node, prepend=-1) > 0)
    node, at, code, ties, beyond, left = node[first], *(field[first] for field in found)
    cuts.feature[node], cuts.code[node], cuts.ties[node] = features[at], code, ties
    cuts.beyond[node], cuts.left[node] = beyond, left


def _find(table: Table, block: Block, nodes: Ints, features: Ints) -> _Found:
    """Find allowed cuts of nodes in features without a hierarchy."""
    sample = sample_of(block, nodes, features)
    medians = medians_of(table, block, sample)
    if table.strict:
        block.nodes.spent[nodes, features] = is_spent(table, sample, medians)
    ties = _alternatives(table, sample, medians)
    allowed, left = _tried(table, block, nodes, sample, medians, ties)
    if block.runs:
        allowed = _allowed_of_persons(
            table, block, nodes, features, np.broadcast_to(medians.code, ties.shape), ties, allowed
        )
    at = np.flatnonzero(allowed.any(axis=0))
    how, code = allowed[:, at].argmax(axis=0), medians.code[at]
    beyond = code + (ties[how, at] > 0) if table.strict else medians.following[at]
    return _Found(at, code, ties[how, at], beyond, left[how, at])


def _find_in_both(trees: Trees, table: Table, block: Block, nodes: Ints, features: Ints) -> _Found:
    """Find allowed cuts of nodes in features with and without a hierarchy."""
    grown = trees.offsets[features] >= 0
    finders = ((_find, np.flatnonzero(~grown)), (partial(_find_in_trees, trees), np.flatnonzero(grown)))
    parts = []
    for find, chosen in finders:
        if len(chosen):
            found = find(table, block, nodes[chosen], features[chosen])
            parts.append(found._replace(at=chosen[found.at]))
    order = np.argsort(np.concatenate([part.at for part in parts]))
    return _Found(*(np.concatenate(field)[order] for field in zip(*parts, strict=True)))


def _find_in_trees(trees: Trees, table: Table, block: Block, nodes: Ints, features: Ints) -> _Found:
    """Find allowed cuts of nodes in features with a hierarchy: after or before the child with the median.

    The more even one comes first. A child's rows stay together in either mode.
    """
    table, exact = replace(table, strict=True), sample_of(block, nodes, features)
    level, children = trees.by_children(features, exact.sizes, exact.values)
    sample = exact._replace(values=children)
    medians = medians_of(table, block, sample)
    stuck = np.flatnonzero(is_spent(table, sample, medians))
    if len(stuck):
        block.nodes.spent[nodes[stuck], features[stuck]] = _never(table, block, nodes[stuck], features[stuck])
    ties = _alternatives(table, sample, medians)
    allowed, left = _tried(table, block, nodes, sample, medians, ties)
    first, last = trees.child(features, level, medians.code)
    evener = is_evener(medians.below, medians.below + medians.tied, sample.sizes)
    order = np.stack([evener, ~evener]).astype(np.intp)
    code, allowed = (np.take_along_axis(each, order, 0) for each in (np.stack([last + 1, first]), allowed))
    if block.runs:
        untied = np.zeros_like(code)
        allowed = _allowed_of_persons(table, block, nodes, features, code, untied, allowed)
    at = np.flatnonzero(allowed.any(axis=0))
    how = allowed[:, at].argmax(axis=0)
    return _Found(at, code[how, at], np.zeros_like(at), code[how, at], left[order[how, at], at])


def _never(table: Table, block: Block, nodes: Ints, features: Ints) -> Flags:
    """Tell which nodes cannot be cut in a feature between any codes, here or further down."""
    sample = sample_of(block, nodes, features)
    return is_spent(table, sample, medians_of(table, block, sample))


def _tried(  # noqa: PLR0917 - nodes, seen through features, and where they may be cut
    table: Table, block: Block, nodes: Ints, sample: Sample, medians: Medians, ties: Ints
) -> tuple[Flags, Ints]:
    """Tell which alternatives their rows allow, and count class values left of them."""
    smaller = np.minimum(medians.below + ties, sample.sizes - medians.below - ties)
    fits = smaller >= table.requirement.minimum_size
    if not fits.any():
        return fits, np.zeros((*fits.shape, table.class_values), dtype=np.int64)
    left = _left_counts(table, block, sample, medians, fits.any(axis=0))
    return _allowed(table.requirement, left, block.nodes.counts[nodes], fits), left


def _alternatives(table: Table, sample: Sample, medians: Medians) -> Ints:
    """Return how many of the rows that tie at the median may go left, in the order to be tried.

    The shape is (alternatives, nodes).
    """
    if table.strict:
        return np.stack([medians.tied, np.zeros_like(medians.tied)])
    return (sample.sizes // 2 - medians.below)[None, :]


def _left_counts(table: Table, block: Block, sample: Sample, medians: Medians, wanted: Flags) -> Ints:
    """Count class values left of the wanted cuts, shape (alternatives, nodes, class values)."""
    if not table.strict:
        left = is_left(table, sample, medians.code, sample.sizes // 2 - medians.below)
        return class_counts(table, block, sample, left, sample.sizes // 2)[None, :, :]
    lower = sample.values < of_rows(sample, np.where(wanted, medians.code, 0))
    equal = sample.values == of_rows(sample, np.where(wanted, medians.code, table.codes))
    below = class_counts(table, block, sample, lower, np.where(wanted, medians.below, 0))
    tied = class_counts(table, block, sample, equal, np.where(wanted, medians.tied, 0))
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


def _allowed_of_persons(  # noqa: PLR0917 - cuts, and which of them rows allow
    table: Table, block: Block, nodes: Ints, features: Ints, code: Ints, ties: Ints, by_rows: Flags
) -> Flags:
    """Tell which cuts, of those that their rows allow, the persons on both sides allow; one for each node."""
    allowed = np.zeros_like(by_rows)
    for how, chosen in enumerate(by_rows):
        tried = np.flatnonzero(chosen & ~allowed.any(axis=0))
        if len(tried):
            sample = sample_of(block, nodes[tried], features[tried])
            left = is_left(table, sample, code[how, tried], ties[how, tried])
            where = nodes[tried], sample.sizes, sample.shifts
            sides = side_counts(block.runs, *where, left, table.class_values)
            allowed[how, tried] = table.requirement.holds(np.concatenate(sides)).reshape(2, -1).all(axis=0)
    return allowed
