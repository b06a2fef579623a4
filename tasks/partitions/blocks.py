"""What Mondrian cuts: blocks of nodes of its tree, their rows one after the other, and the cuts of nodes."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.partitions.person_counts import Runs, runs_of
from tasks.partitions.requirements import Requirement
from tasks.partitions.trees import Trees

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Narrow = npt.NDArray[Any]  # codes in the narrowest type that holds them
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

BLOCK_CELLS = 1 << 19  # codes of a block that stays in a core's cache; a bigger one is one node


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
    persons: Narrow | None  # whom each row is of, where persons count
    trees: Trees | None  # of the features with a hierarchy


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
    runs: tuple[Runs, ...] = ()  # where persons count, one for each attribute


class Sample(NamedTuple):
    """The rows of some nodes of a block, node after node, seen through one feature per node."""

    sizes: Ints
    shifts: Ints  # from the places of a node's rows in the sample to those in the block
    values: Narrow


class Cuts(NamedTuple):
    """One cut per node: left are the codes below `code` and the first `ties` rows that have it."""

    feature: Ints  # -1: no cut is allowed
    code: Ints
    ties: Ints
    beyond: Ints  # the right side's lower bound
    left: Ints  # (nodes, class values): class counts of the left side


def no_cuts(nodes: int, class_values: int) -> Cuts:
    """Return nodes that are not cut."""
    feature, code, ties, beyond = np.full((4, nodes), [[-1], [0], [0], [0]])
    return Cuts(feature, code, ties, beyond, np.zeros((nodes, class_values), dtype=np.int64))


def with_runs(table: Table, block: Block) -> Block:
    """Return the block with its runs, where persons count."""
    if table.persons is None or block.runs:
        return block
    return block._replace(runs=runs_of(table.persons[block.rows], block.classes, block.nodes.sizes))


def is_big(table: Table, block: Block) -> bool:
    """Whether a block, or the counts of its nodes to come, are too big for a core's cache."""
    counts = table.class_values // table.requirement.minimum_size
    return len(block.rows) * max(len(block.codes), counts) > BLOCK_CELLS


def sample_of(block: Block, nodes: Ints, features: Ints) -> Sample:
    """Return the rows of some nodes, each node seen through its feature."""
    sizes = block.nodes.sizes[nodes]
    shifts = (np.cumsum(block.nodes.sizes) - block.nodes.sizes)[nodes] - np.cumsum(sizes) + sizes
    if len(block.nodes.sizes) == 1:
        return Sample(sizes, shifts, block.codes[features].ravel())
    cells = np.repeat(shifts + features * block.codes.shape[1], sizes)
    cells += np.arange(len(cells))
    return Sample(sizes, shifts, block.codes.ravel().take(cells))


def of_rows(sample: Sample, codes: Ints) -> Narrow:
    """Return for each row the code given for its node."""
    return np.repeat(codes.astype(sample.values.dtype), sample.sizes)


def is_left(table: Table, sample: Sample, code: Ints, ties: Ints) -> Flags:
    """Tell which rows lie left of their node's cut."""
    if table.strict:
        return np.asarray(sample.values < of_rows(sample, code + (ties > 0)))
    codes = of_rows(sample, code)
    tied = sample.values == codes
    seen = np.concatenate([[0], np.cumsum(tied)])
    quota = seen[np.cumsum(sample.sizes) - sample.sizes] + ties
    return np.asarray((sample.values < codes) | (tied & (seen[1:] <= np.repeat(quota, sample.sizes))))
