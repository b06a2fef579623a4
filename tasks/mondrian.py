"""Mondrian: cut the rows at medians, feature by feature, as long as both sides satisfy a requirement.

LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity" (ICDE 2006). A tree of cuts is
grown from the whole table; its leaves are the equivalence classes (ECs). Nodes are cut level by level,
many at a time: a block holds some nodes, their rows one after the other.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from tasks.cuts import Block, Codes, Cuts, Flags, Ints, Nodes, Table, allowed_cuts, is_big, is_left, sample_of
from tasks.domain import Domain
from tasks.errors import InfeasibleError
from tasks.partition import Partition
from tasks.requirements import Requirement


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
    leaves: list[Nodes] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while blocks:
            grown = list(pool.map(partial(_grow, table, first), blocks))
            leaves.extend(leaf for done, _ in grown for leaf in done)
            blocks = [block for _, parts in grown for block in parts]
    return _numbered(first, leaves)


def _table(domains: Sequence[Domain], class_values: int, requirement: Requirement, *, strict: bool) -> Table:
    sizes = np.array([domain.size for domain in domains], dtype=np.int64)
    positions = [domain.positions if domain.numeric else np.arange(domain.size) for domain in domains]
    return Table(
        positions=np.concatenate(positions, dtype=np.float64),
        offsets=np.cumsum(sizes) - sizes,
        spans=np.array([1.0 if domain.numeric else max(domain.size - 1.0, 1.0) for domain in domains]),
        mixable=np.array([domain.numeric and domain.missing for domain in domains]),
        codes=int(sizes.max()),
        class_values=class_values,
        requirement=requirement,
        strict=strict,
    )


def _root(table: Table, codes: Codes, domains: Sequence[Domain], classes: Codes, counts: Ints) -> Block:
    rows, features = codes.shape
    narrow = np.empty((rows, features + 1), np.min_scalar_type(max(table.codes, table.class_values)))
    narrow[:, :-1], narrow[:, -1] = codes, classes
    upper = np.array([[domain.size - 1 for domain in domains]], dtype=np.int32)
    nodes = Nodes(
        sizes=np.array([rows]),
        first=np.zeros(1, dtype=np.int64),
        counts=counts,
        lower=np.zeros_like(upper),
        upper=upper,
        spent=np.zeros(upper.shape, dtype=np.bool_),
    )
    return Block(nodes, np.arange(rows, dtype=np.int32), narrow.T)


def _grow(table: Table, first: Codes, block: Block) -> tuple[list[Nodes], list[Block]]:
    """Cut a big block's node once, a small block's nodes until the end; return leaves and what remains.

    Writes to `first` where each row's leaf starts.
    """
    if is_big(block):
        done, nodes, places = _cut_once(table, first, block)
        return [done], _parts(block, nodes, places)
    leaves = []
    block = block._replace(codes=np.ascontiguousarray(block.codes))
    while len(block.rows):
        done, nodes, places = _cut_once(table, first, block)
        leaves.append(done)
        block = _take(block, nodes, places)
    return leaves, []


def _parts(block: Block, nodes: Nodes, places: Ints) -> list[Block]:
    """Make a block of each node of a big block."""
    parts = np.split(places, np.cumsum(nodes.sizes)[:-1]) if len(places) else []
    return [
        Block(_select(nodes, slice(i, i + 1)), block.rows[part], block.codes.T.take(part, axis=0).T)
        for i, part in enumerate(parts)
    ]


def _take(block: Block, nodes: Nodes, places: Ints) -> Block:
    return Block(nodes, block.rows[places], block.codes.take(places, axis=1))


def _select(nodes: Nodes, which: Flags | slice) -> Nodes:
    sizes, first, counts, lower, upper, spent = nodes
    return Nodes(sizes[which], first[which], counts[which], lower[which], upper[which], spent[which])


def _cut_once(table: Table, first: Codes, block: Block) -> tuple[Nodes, Nodes, Ints]:
    """Return the new leaves, the nodes that may be cut on, and where in the block their rows are."""
    cuts = allowed_cuts(table, block)
    children = _children(block.nodes, cuts)
    side = _sides(table, block, cuts)
    places = np.argsort(side.astype(np.min_scalar_type(len(children.sizes))), kind="stable")
    done = (children.sizes < 2 * table.requirement.minimum_size) | np.repeat(cuts.feature < 0, 2)
    done_rows = np.repeat(done, children.sizes)
    first[block.rows[places[done_rows]]] = np.repeat(children.first[done], children.sizes[done])
    return _select(children, done & (children.sizes > 0)), _select(children, ~done), places[~done_rows]


def _children(nodes: Nodes, cuts: Cuts) -> Nodes:
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
    return Nodes(sizes, first, counts, lower, upper, nodes.spent.repeat(2, axis=0))


def _sides(table: Table, block: Block, cuts: Cuts) -> Ints:
    """Return for each row the number of its node's child that it goes to."""
    nodes = np.arange(len(cuts.feature))
    sample = sample_of(block, nodes, np.maximum(cuts.feature, 0))
    right = ~is_left(table, sample, cuts.code, cuts.ties) & (cuts.feature >= 0)[sample.owner]
    return 2 * sample.owner + right


def _numbered(first: Codes, leaves: list[Nodes]) -> Partition:
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
