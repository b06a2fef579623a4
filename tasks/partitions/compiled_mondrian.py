"""Mondrian in compiled code, for what most tables ask: strict cuts at medians for k-anonymity alone.

It makes the cuts that `tasks.partitions.mondrian` makes, which is the definition. Rows are moved in place,
so that those of a node lie together, and most nodes are cut right after their parent, while a core has their
rows at hand.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.partitions.blocks import Table
from tasks.partitions.compiled_cuts import cut
from tasks.partitions.partition import Partition
from tasks.partitions.widths import RANKED_CELLS
from tasks.worker_processes import available_cores

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

NODES_OF_A_CORE = 4  # so many share the rows before each is cut to the end by one thread


class _Nodes(NamedTuple):
    starts: Ints
    stops: Ints
    boxes: Codes  # (nodes, 2, features): the lowest and the highest codes


class _Rows(NamedTuple):
    """The rows of a table, which move, and what measures their features."""

    codes: npt.NDArray[Any]
    rows: Codes
    table: Table
    k: int
    few: int  # rows of a node that one thread cuts to the end


def partition_compiled(table: Table, codes: Codes, k: int) -> Partition:
    """Divide rows into equivalence classes of k records or more.

    Parameters
    ----------
    table
        What nodes have in common; strict, without hierarchies and persons.
    codes : ndarray of shape (rows, features)
        At least 2 k rows.
    k
        The fewest records of an equivalence class.

    Returns
    -------
    Partition
        As `tasks.partitions.mondrian.partition` returns it.
    """
    narrow = np.uint16 if table.codes <= np.iinfo(np.uint16).max else np.uint32  # each type is compiled once
    moved, numbers = codes.astype(narrow, order="C"), np.arange(len(codes), dtype=np.int32)
    cores = available_cores()
    rows = _Rows(moved, numbers, table, k, len(codes) // (NODES_OF_A_CORE * cores))
    sizes = np.diff(table.offsets, append=len(table.positions))
    box = np.stack([np.zeros_like(sizes), sizes - 1]).astype(np.int32)
    nodes, leaves = [(0, len(codes), box)], []
    with ThreadPoolExecutor(cores) as pool:
        while nodes:
            grown = list(pool.map(partial(_grown, rows), nodes))
            leaves += [found for found, is_final in grown if is_final]
            nodes = [node for found, is_final in grown if not is_final for node in zip(*found, strict=True)]
    return _numbered(numbers, leaves)


def _grown(rows: _Rows, node: tuple[int, int, Codes]) -> tuple[_Nodes, bool]:
    """Cut a big node once, a small one to the end; return what it becomes, and whether these are leaves."""
    start, stop, box = node
    once = stop - start > max(rows.few, 2 * rows.k)
    most = 2 if once else max((stop - start) // rows.k, 1)
    features, table = rows.codes.shape[1], rows.table
    starts, stops = np.empty((2, most), dtype=np.int64)
    boxes = np.empty((most, 2, features), dtype=np.int32)
    measures = table.positions, table.offsets, table.spans, table.mixable
    limits = rows.k, RANKED_CELLS, start, stop
    found = cut(rows.codes, rows.rows, *measures, *limits, box, once, starts, stops, boxes)
    return _Nodes(starts[:found], stops[:found], boxes[:found]), not once or found == 1


def _numbered(rows: Codes, leaves: list[_Nodes]) -> Partition:
    """Give the leaves numbers from left to right."""
    starts = np.concatenate([leaf.starts for leaf in leaves])
    order = np.argsort(starts)
    boxes = np.concatenate([leaf.boxes for leaf in leaves])[order]
    labels = np.empty(len(rows), dtype=np.int32)
    sizes = np.diff(starts[order], append=len(rows))
    labels[rows] = np.repeat(np.arange(len(order), dtype=np.int32), sizes)
    return Partition(labels, np.ascontiguousarray(boxes[:, 0]), np.ascontiguousarray(boxes[:, 1]))
