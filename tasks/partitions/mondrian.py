"""Mondrian: cut the rows in two, again and again, as long as both sides satisfy a requirement.

LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity" (ICDE 2006): at medians, feature by
feature; "Workload-aware anonymization" (KDD 2006): where the class is told best. A tree of cuts is grown
from the whole table; its leaves are the equivalence classes (ECs). Nodes are cut level by level, many at
a time: a block holds some nodes, their rows one after the other.
"""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain
from tasks.partitions.blocks import Block, Codes, Cuts, Ints, Nodes, Table, is_big, is_left, sample_of
from tasks.partitions.cuts import median_cuts
from tasks.partitions.diversity import group_sizes
from tasks.partitions.gain_cuts import gain_cuts
from tasks.partitions.gain_places import scale_of
from tasks.partitions.partition import Partition
from tasks.partitions.person_counts import person_counts
from tasks.partitions.requirements import Requirement, is_k_alone, refuse_unreachable
from tasks.partitions.trees import Trees
from tasks.worker_processes import available_cores

STRIP = 256  # rows that stay in a core's cache while they are turned into columns
WORTH_COMPILING = 2_000_000  # codes: plain cuts take half a second, as it takes to load compiled code
WORTH_CALLING = 100_000  # codes, where compiled code was loaded before

CutsOf = Callable[[Block], Cuts]


class _Leaves(NamedTuple):
    first: Ints  # rows of the table that lie left of each leaf in the tree
    lower: Codes
    upper: Codes


def partition(  # noqa: PLR0917 - what any algorithm is given, see `tasks.partitions.anonymize`
    codes: npt.NDArray[np.int32],
    domains: Sequence[Domain],
    classes: npt.NDArray[np.int32],
    requirement: Requirement,
    mode: Literal["strict", "relaxed"],
    split: Literal["median", "infogain"] = "median",
    persons: npt.NDArray[np.int32] | None = None,
) -> Partition:
    """Divide the rows into equivalence classes (ECs) by Mondrian's cuts.

    Parameters
    ----------
    codes : ndarray of shape (rows, features)
        Each value's rank in its feature's domain.
    domains
        The features' domains, in the order of the columns of `codes`.
    classes : ndarray of shape (rows,) or (rows, attributes)
        Class codes from 0. With several attributes, the class first, each one's codes follow those of
        the one before; some may not occur.
    requirement
        What every EC must satisfy; it is asked about the counts of all codes in `classes`, side by
        side, where a row counts once per attribute.
    mode
        "strict": both sides of a cut are disjoint in the cut feature. "relaxed": rows that tie at the
        median may go to both sides, so boxes may touch or coincide.
    split
        "median": at the median of the widest feature that can be cut there. "infogain": where the
        information gain on the class is highest, and at medians where no allowed cut has a gain; cuts by gain
        keep rows that tie together in either mode.
    persons : ndarray of shape (rows,), optional
        Whom each row is of, where persons count. The requirement is then asked about how many persons have
        each code on a side of a cut, who count once with each that they have; it must hold for higher counts
        where it holds for lower ones. Rows that tie are parted in the order of these numbers.

    Returns
    -------
    Partition
        ECs are numbered in the tree's order, left before right; boxes are those left by the cuts.

    Raises
    ------
    InfeasibleError
        If the whole table does not satisfy the requirement.
    """
    attributes = classes.reshape(len(classes), -1)
    if persons is not None:
        order = np.lexsort((attributes[:, 0], persons))
        codes, attributes, persons = codes[order], attributes[order], persons[order]
    counts = np.bincount(attributes.ravel(), minlength=1)[None, :]
    counted = counts[0] if persons is None else person_counts(persons, attributes.T, counts.shape[1])
    refuse_unreachable(requirement, counted)
    if len(classes) < 2 * requirement.minimum_size:
        return _uncut(len(classes), domains)
    table = table_of(domains, counts.shape[1], requirement, persons, strict=mode == "strict")
    cuts_of: CutsOf = partial(median_cuts, table)
    if split == "infogain":
        cuts_of = partial(gain_cuts, scale_of(codes, domains, attributes[:, 0]), table)
    elif _is_plain(table, attributes) and is_worth_compiling(codes):
        from tasks.partitions.compiled_mondrian import partition_compiled  # noqa: PLC0415 - see `compiled`

        return partition_compiled(table, codes, requirement.minimum_size)
    blocks = [_root(table, codes, domains, attributes, counts)]
    first = np.zeros(len(classes), dtype=np.int32)
    leaves: list[_Leaves] = []
    with ThreadPoolExecutor(available_cores()) as pool:
        while blocks:
            grown = list(pool.map(partial(_grow, table, cuts_of, first), blocks))
            leaves.extend(leaf for done, _ in grown for leaf in done)
            blocks = [block for _, parts in grown for block in parts]
    numbered = _numbered(first, leaves)
    return numbered if persons is None else numbered._replace(labels=numbered.labels[np.argsort(order)])


def _is_plain(table: Table, classes: Codes) -> bool:
    """Whether nothing is asked but strict cuts of flat features, and a number of records."""
    flat = table.trees is None and table.persons is None and classes.shape[1] == 1
    return table.strict and flat and is_k_alone(table.requirement)


def is_worth_compiling(codes: Codes) -> bool:
    """Whether compiled code cuts a table sooner, which first has to be loaded."""
    loaded = "tasks.partitions.compiled_mondrian" in sys.modules
    return codes.size >= (WORTH_CALLING if loaded else WORTH_COMPILING)


def _uncut(rows: int, domains: Sequence[Domain]) -> Partition:
    upper = np.array([[domain.size - 1 for domain in domains]], dtype=np.int32)
    return Partition(np.zeros(rows, dtype=np.int32), np.zeros_like(upper), upper)


def table_of(
    domains: Sequence[Domain],
    class_values: int,
    requirement: Requirement,
    persons: Codes | None,
    *,
    strict: bool,
) -> Table:
    """Return what the nodes of the tree have in common."""
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
        persons=persons,
        trees=Trees.of(domains),
    )


def _root(table: Table, codes: Codes, domains: Sequence[Domain], classes: Codes, counts: Ints) -> Block:
    rows = len(codes)
    narrow = np.empty(codes.T.shape, np.min_scalar_type(table.codes))
    for start in range(0, rows, STRIP):
        narrow[:, start : start + STRIP] = codes[start : start + STRIP].T
    narrow_classes = np.ascontiguousarray(classes.T, dtype=np.min_scalar_type(table.class_values))
    upper = np.array([[domain.size - 1 for domain in domains]], dtype=np.int32)
    nodes = Nodes(
        sizes=np.array([rows]),
        first=np.zeros(1, dtype=np.int64),
        counts=counts,
        lower=np.zeros_like(upper),
        upper=upper,
        spent=np.zeros(upper.shape, dtype=np.bool_),
    )
    return Block(nodes, np.arange(rows, dtype=np.int32), narrow, narrow_classes)


def _grow(table: Table, cuts_of: CutsOf, first: Codes, block: Block) -> tuple[list[_Leaves], list[Block]]:
    """Cut a big block's node once, a small block's nodes until the end; return leaves and what remains.

    Writes to `first` where each row's leaf starts.
    """
    if is_big(table, block):
        done, nodes, places = _cut_once(table, cuts_of(block), first, block)
        return [done], _parts(block, nodes, places)
    leaves = []
    while len(block.rows):
        done, nodes, places = _cut_once(table, cuts_of(block), first, block)
        leaves.append(done)
        block = _take(block, nodes, places)
    return leaves, []


def _parts(block: Block, nodes: Nodes, places: Ints) -> list[Block]:
    """Make a block of each node of a big block."""
    parts = np.split(places, np.cumsum(nodes.sizes)[:-1]) if len(places) else []
    return [_take(block, nodes.take(slice(i, i + 1)), part) for i, part in enumerate(parts)]


def _take(block: Block, nodes: Nodes, places: Ints) -> Block:
    codes, classes = block.codes.take(places, axis=1), block.classes.take(places, axis=1)
    return Block(nodes, block.rows[places], codes, classes)


def _cut_once(table: Table, cuts: Cuts, first: Codes, block: Block) -> tuple[_Leaves, Nodes, Ints]:
    """Return the new leaves, the nodes that may be cut on, and where in the block their rows are."""
    children = _children(block, cuts)
    side = _sides(table, block, cuts)
    places = np.argsort(side.astype(np.min_scalar_type(len(children.sizes))), kind="stable")
    done = (children.sizes < 2 * table.requirement.minimum_size) | np.repeat(cuts.feature < 0, 2)
    done_rows = np.repeat(done, children.sizes)
    first[block.rows[places[done_rows]]] = np.repeat(children.first[done], children.sizes[done])
    leaf = done & (children.sizes > 0)
    leaves = _Leaves(children.first[leaf], children.lower[leaf], children.upper[leaf])
    return leaves, children.take(~done), places[~done_rows]


def _children(block: Block, cuts: Cuts) -> Nodes:
    """Return each node's left and right child in turn; an uncut node is its own left child."""
    nodes = block.nodes
    cut = np.flatnonzero(cuts.feature >= 0)
    left = np.where(cuts.feature[:, None] >= 0, cuts.left, nodes.counts)
    counts = np.stack([left, nodes.counts - left], axis=1).reshape(-1, left.shape[1])
    sizes = group_sizes(counts) // len(block.classes)
    first = np.repeat(nodes.first, 2)
    first[1::2] += sizes[::2]
    lower, upper = nodes.lower.repeat(2, axis=0), nodes.upper.repeat(2, axis=0)
    upper[2 * cut, cuts.feature[cut]] = cuts.code[cut] - (cuts.ties[cut] == 0)
    lower[2 * cut + 1, cuts.feature[cut]] = cuts.beyond[cut]
    return Nodes(sizes, first, counts, lower, upper, nodes.spent.repeat(2, axis=0))


def _sides(table: Table, block: Block, cuts: Cuts) -> Ints:
    """Return for each row the number of its node's child that it goes to."""
    nodes = np.arange(len(cuts.feature))
    code = np.where(cuts.feature < 0, table.codes, cuts.code)
    sample = sample_of(block, nodes, np.maximum(cuts.feature, 0))
    return np.repeat(2 * nodes, sample.sizes) + ~is_left(table, sample, code, cuts.ties)


def _numbered(first: Codes, leaves: list[_Leaves]) -> Partition:
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
