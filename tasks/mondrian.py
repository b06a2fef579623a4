"""Mondrian: cut the rows at medians, feature by feature, as long as both sides satisfy a requirement.

LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity" (ICDE 2006). A tree of cuts is
grown from the whole table; its leaves are the equivalence classes (ECs). Nodes are cut level by level,
many at a time: a block holds some nodes, their rows one after the other.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain
from tasks.errors import InfeasibleError
from tasks.partition import Partition
from tasks.requirements import Requirement

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Narrow = npt.NDArray[Any]  # codes in the narrowest type that holds them
Flags = npt.NDArray[np.bool_]

BLOCK_CELLS = 1 << 19  # codes of a block that stays in a core's cache
FOLD = 16  # rows side by side in one step of a reduction


@dataclass(frozen=True, eq=False)
class _Table:
    positions: npt.NDArray[np.float64]  # of all features, one after the other
    offsets: Ints  # where a feature's positions start
    spans: npt.NDArray[np.float64]  # what a feature's widths are divided by
    mixable: Flags  # numeric features with missing values
    codes: int  # above every code
    class_values: int
    requirement: Requirement
    strict: bool


class _Nodes(NamedTuple):
    sizes: Ints  # rows of each node
    first: Ints  # rows of the table that lie left of each node in the tree
    counts: Ints  # (nodes, class values)
    lower: Codes  # (nodes, features)
    upper: Codes
    spent: Flags  # (nodes, features): no cut can be allowed here or further down


class _Block(NamedTuple):
    nodes: _Nodes
    rows: Codes  # row numbers, node after node, ascending within a node
    codes: Narrow  # (features, then the class; rows); a big block's rows are contiguous: they move fast


class _Sample(NamedTuple):
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


class _Cuts(NamedTuple):
    """One cut per node: left are the codes below `code` and the first `ties` rows that have it."""

    feature: Ints  # -1: no cut is allowed
    code: Ints
    ties: Ints
    beyond: Ints  # the right side's lower bound
    left: Ints  # (nodes, class values): class counts of the left side


def partition(
    codes: npt.NDArray[np.int32],
    domains: Sequence[Domain],
    classes: npt.NDArray[np.int32],
    requirement: Requirement,
    mode: Literal["strict", "relaxed"],
) -> Partition:
    """Divide the rows into equivalence classes (ECs) by Mondrian's median cuts.

    Parameters
    ----------
    codes : ndarray of shape (rows, features)
        Each value's rank in its feature's domain.
    domains
        The features' domains, in the order of the columns of `codes`.
    classes : ndarray of shape (rows,)
        Class codes from 0.
    requirement
        What every EC must satisfy.
    mode
        "strict": both sides of a cut are disjoint in the cut feature. "relaxed": rows that tie at the
        median may go to both sides, so boxes may touch or coincide.

    Returns
    -------
    Partition
        ECs are numbered in the tree's order, left before right; boxes are those left by the cuts.

    Raises
    ------
    InfeasibleError
        If the whole table does not satisfy the requirement.
    """
    counts = np.bincount(classes, minlength=1)[None, :]
    if len(classes) < requirement.minimum_size or not requirement.holds(counts)[0]:
        raise InfeasibleError(
            f"The table has {len(classes)} rows and cannot satisfy {requirement}, even as one group. "
            "Ask for less, or give more rows."
        )
    table = _table(domains, counts.shape[1], requirement, strict=mode == "strict")
    blocks = [_root(table, codes, domains, classes, counts)]
    first = np.zeros(len(classes), dtype=np.int32)
    leaves: list[_Nodes] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while blocks:
            grown = list(pool.map(partial(_grow, table, first), blocks))
            leaves.extend(leaf for done, _ in grown for leaf in done)
            blocks = [block for _, parts in grown for block in parts]
    return _numbered(first, leaves)


def _table(domains: Sequence[Domain], class_values: int, requirement: Requirement, *, strict: bool) -> _Table:
    sizes = np.array([domain.size for domain in domains], dtype=np.int64)
    positions = [domain.positions if domain.numeric else np.arange(domain.size) for domain in domains]
    return _Table(
        positions=np.concatenate(positions, dtype=np.float64),
        offsets=np.cumsum(sizes) - sizes,
        spans=np.array([1.0 if domain.numeric else max(domain.size - 1.0, 1.0) for domain in domains]),
        mixable=np.array([domain.numeric and domain.missing for domain in domains]),
        codes=int(sizes.max()),
        class_values=class_values,
        requirement=requirement,
        strict=strict,
    )


def _root(table: _Table, codes: Codes, domains: Sequence[Domain], classes: Codes, counts: Ints) -> _Block:
    rows, features = codes.shape
    narrow = np.empty((rows, features + 1), np.min_scalar_type(max(table.codes, table.class_values)))
    narrow[:, :-1], narrow[:, -1] = codes, classes
    upper = np.array([[domain.size - 1 for domain in domains]], dtype=np.int32)
    nodes = _Nodes(
        sizes=np.array([rows]),
        first=np.zeros(1, dtype=np.int64),
        counts=counts,
        lower=np.zeros_like(upper),
        upper=upper,
        spent=np.zeros(upper.shape, dtype=np.bool_),
    )
    return _Block(nodes, np.arange(rows, dtype=np.int32), narrow.T)


def _grow(table: _Table, first: Codes, block: _Block) -> tuple[list[_Nodes], list[_Block]]:
    """Cut a big block's node once, a small block's nodes until the end; return leaves and what remains.

    Writes to `first` where each row's leaf starts.
    """
    if _is_big(block):
        done, nodes, places = _cut_once(table, first, block)
        return [done], _parts(block, nodes, places)
    leaves = []
    block = block._replace(codes=np.ascontiguousarray(block.codes))
    while len(block.rows):
        done, nodes, places = _cut_once(table, first, block)
        leaves.append(done)
        block = _take(block, nodes, places)
    return leaves, []


def _is_big(block: _Block) -> bool:
    return block.codes.size > BLOCK_CELLS


def _parts(block: _Block, nodes: _Nodes, places: Ints) -> list[_Block]:
    """Make a block of each node of a big block."""
    parts = np.split(places, np.cumsum(nodes.sizes)[:-1]) if len(places) else []
    return [
        _Block(_select(nodes, slice(i, i + 1)), block.rows[part], block.codes.T.take(part, axis=0).T)
        for i, part in enumerate(parts)
    ]


def _take(block: _Block, nodes: _Nodes, places: Ints) -> _Block:
    return _Block(nodes, block.rows[places], block.codes.take(places, axis=1))


def _select(nodes: _Nodes, which: Flags | slice) -> _Nodes:
    sizes, first, counts, lower, upper, spent = nodes
    return _Nodes(sizes[which], first[which], counts[which], lower[which], upper[which], spent[which])


def _cut_once(table: _Table, first: Codes, block: _Block) -> tuple[_Nodes, _Nodes, Ints]:
    """Return the new leaves, the nodes that may be cut on, and where in the block their rows are."""
    cuts = _cuts(table, block)
    children = _children(block.nodes, cuts)
    side = _sides(table, block, cuts)
    places = np.argsort(side.astype(np.min_scalar_type(len(children.sizes))), kind="stable")
    done = (children.sizes < 2 * table.requirement.minimum_size) | np.repeat(cuts.feature < 0, 2)
    done_rows = np.repeat(done, children.sizes)
    first[block.rows[places[done_rows]]] = np.repeat(children.first[done], children.sizes[done])
    return _select(children, done & (children.sizes > 0)), _select(children, ~done), places[~done_rows]


def _children(nodes: _Nodes, cuts: _Cuts) -> _Nodes:
    """Return each node's left and right child in turn; an uncut node is its own left child."""
    cut = np.flatnonzero(cuts.feature >= 0)
    left = np.where(cuts.feature[:, None] >= 0, cuts.left, nodes.counts)
    counts = np.stack([left, nodes.counts - left], axis=1).reshape(-1, left.shape[1])
    sizes = counts.sum(axis=1)
    first = np.repeat(nodes.first, 2)
    first[1::2] += sizes[::2]
    lower, upper = nodes.lower.repeat(2, axis=0), nodes.upper.repeat(2, axis=0)
    upper[2 * cut, cuts.feature[cut]] = cuts.code[cut] - (cuts.ties[cut] == 0)
    lower[2 * cut + 1, cuts.feature[cut]] = cuts.beyond[cut]
    return _Nodes(sizes, first, counts, lower, upper, nodes.spent.repeat(2, axis=0))


def _sides(table: _Table, block: _Block, cuts: _Cuts) -> Ints:
    """Return for each row the number of its node's child that it goes to."""
    nodes = np.arange(len(cuts.feature))
    sample = _sample(block, nodes, np.maximum(cuts.feature, 0))
    right = ~_left(table, sample, cuts.code, cuts.ties) & (cuts.feature >= 0)[sample.owner]
    return 2 * sample.owner + right


def _cuts(table: _Table, block: _Block) -> _Cuts:
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


def _keep_first(cuts: _Cuts, found: _Cuts, nodes: Ints) -> None:
    """Write each node's first allowed cut among those found to `cuts`."""
    allowed = np.flatnonzero(found.feature >= 0)
    which, position = np.unique(nodes[allowed], return_index=True)
    for known, new in zip(cuts, found, strict=True):
        known[which] = new[allowed[position]]


def _no_cuts(nodes: int, class_values: int) -> _Cuts:
    feature, code, ties, beyond = np.full((4, nodes), [[-1], [0], [0], [0]])
    return _Cuts(feature, code, ties, beyond, np.zeros((nodes, class_values), dtype=np.int64))


def _widths(table: _Table, block: _Block) -> npt.NDArray[np.float64]:
    """Return each node's width in each feature, shape (nodes, features); -1 where no cut is possible."""
    low, high = _extremes(block)
    widths = (table.positions[table.offsets + high] - table.positions[table.offsets + low]) / table.spans
    widths[(low == 0) & table.mixable] = 1.0
    widths[(low == high) | block.nodes.spent] = -1.0
    return widths


def _extremes(block: _Block) -> tuple[Narrow, Narrow]:
    """Return the lowest and the highest code of each node in each feature, shapes (nodes, features)."""
    if _is_big(block):
        return _folded(np.minimum, block.codes.T)[:, :-1], _folded(np.maximum, block.codes.T)[:, :-1]
    starts = np.cumsum(block.nodes.sizes) - block.nodes.sizes
    low = np.minimum.reduceat(block.codes[:-1], starts, axis=1)
    high = np.maximum.reduceat(block.codes[:-1], starts, axis=1)
    return low.T, high.T


def _folded(extreme: np.ufunc, rows: Narrow) -> Narrow:
    """Reduce rows to one, shape (1, columns); several side by side, since short rows are slow one by one."""
    fold = min(FOLD, len(rows))
    whole = len(rows) // fold
    side: Narrow = extreme.reduce(rows[: whole * fold].reshape(whole, -1), axis=0).reshape(fold, -1)
    folded: Narrow = extreme.reduce(np.concatenate([side, rows[whole * fold :]]), axis=0, keepdims=True)
    return folded


def _attempt(table: _Table, block: _Block, nodes: Ints, features: Ints) -> _Cuts:
    """Look for an allowed cut of each of the nodes in the feature given for it; nodes may repeat."""
    sample = _sample(block, nodes, features)
    medians = _medians(table, sample)
    totals = block.nodes.counts[nodes]
    cuts = _no_cuts(len(nodes), table.class_values)
    for ties in _alternatives(table, sample, medians):
        sizes = medians.below + ties
        smaller = np.minimum(sizes, sample.sizes - sizes)
        fits = (cuts.feature < 0) & (smaller >= table.requirement.minimum_size)
        if fits.any():
            left = _class_counts(table, sample, fits, _left(table, sample, medians.code, ties))
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


def _sample(block: _Block, nodes: Ints, features: Ints) -> _Sample:
    sizes = block.nodes.sizes[nodes]
    owner = np.repeat(np.arange(len(nodes)), sizes)
    if len(nodes) == len(block.nodes.sizes) == 1:
        return _Sample(sizes, owner, block.codes[features[0]], block.codes[-1])
    starts = (np.cumsum(block.nodes.sizes) - block.nodes.sizes)[nodes]
    places = np.arange(len(owner)) + (starts - np.cumsum(sizes) + sizes)[owner]
    return _Sample(sizes, owner, block.codes[features[owner], places], block.codes[-1, places])


def _medians(table: _Table, sample: _Sample) -> _Medians:
    keys = np.sort(sample.owner * table.codes + sample.values)
    starts = np.cumsum(sample.sizes) - sample.sizes
    last_left = starts + ((sample.sizes - 1) // 2 if table.strict else sample.sizes // 2 - 1)
    median, base = keys[last_left], np.arange(len(starts)) * table.codes
    below = np.searchsorted(keys, median)
    tied = np.searchsorted(keys, median, side="right") - below
    return _Medians(median - base, below - starts, tied, keys[last_left + 1] - base)


def _alternatives(table: _Table, sample: _Sample, medians: _Medians) -> list[Ints]:
    """Return how many of the rows that tie at the median may go left, in the order to be tried."""
    if table.strict:
        return [medians.tied, np.zeros_like(medians.tied)]
    return [sample.sizes // 2 - medians.below]


def _spent(table: _Table, sample: _Sample, medians: _Medians) -> Flags:
    """Tell where too few rows lie on either side of the median's code.

    It is then so in every subset of the rows: a subset's median is this code, with no more rows on
    either side, or lies beyond it, among too few rows.
    """
    above = sample.sizes - medians.below - medians.tied
    return np.asarray(np.maximum(medians.below, above) < table.requirement.minimum_size)


def _left(table: _Table, sample: _Sample, code: Ints, ties: Ints) -> Flags:
    """Tell which rows lie left of their node's cut."""
    if table.strict:
        return np.asarray(sample.values < (code + (ties > 0))[sample.owner])
    tied = sample.values == code[sample.owner]
    seen = np.concatenate([[0], np.cumsum(tied)])
    quota = seen[np.cumsum(sample.sizes) - sample.sizes] + ties
    return np.asarray((sample.values < code[sample.owner]) | (tied & (seen[1:] <= quota[sample.owner])))


def _class_counts(table: _Table, sample: _Sample, nodes: Flags, rows: Flags) -> Ints:
    """Count class values in the chosen rows of the chosen nodes, shape (nodes, class values)."""
    rows = rows & nodes[sample.owner]
    cells = sample.owner[rows] * table.class_values + sample.classes[rows]
    counts = np.bincount(cells, minlength=len(nodes) * table.class_values)
    return counts.reshape(len(nodes), table.class_values)


def _numbered(first: Codes, leaves: list[_Nodes]) -> Partition:
    """Give the leaves numbers from left to right; `first` holds for each row where its leaf starts."""
    starts = np.concatenate([leaf.first for leaf in leaves])
    order = np.argsort(starts)
    number = np.empty(len(first), dtype=np.int32)
    number[starts[order]] = np.arange(len(order))
    return Partition(
        number[first],
        np.concatenate([leaf.lower for leaf in leaves])[order],
        np.concatenate([leaf.upper for leaf in leaves])[order],
    )
