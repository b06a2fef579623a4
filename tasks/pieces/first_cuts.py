"""Mondrian's first cuts of a table that need not fit in memory, made by DuckDB.

They are those of `tasks.partitions.mondrian` for nodes of very many cells, where equally wide features are
not told apart. They leave pieces of the table; Mondrian makes the other cuts in each.
"""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import duckdb
import numpy as np

from tasks.domain import Domain
from tasks.partitions.blocks import Table
from tasks.partitions.mondrian import table_of
from tasks.partitions.requirements import KAnonymity
from tasks.partitions.widths import RANKED_CELLS, Spans, widths_of
from tasks.store import quoted


class Piece(NamedTuple):
    """A node of Mondrian's tree.

    Attributes
    ----------
    records
        How many it has.
    lower, upper
        Its box: the codes of each feature that the cuts left, both bounds inclusive.
    """

    records: int
    lower: tuple[int, ...]
    upper: tuple[int, ...]

    def condition(self, domains: Sequence[Domain]) -> str:
        """Return the SQL that holds for its rows: boxes of the tree's nodes are disjoint."""
        bounds = (
            f"{quoted(domain.name)} BETWEEN {lower} AND {upper}"
            for domain, lower, upper in zip(domains, self.lower, self.upper, strict=True)
            if lower > 0 or upper < domain.size - 1
        )
        return " AND ".join(bounds) or "true"


class _Tree(NamedTuple):
    """What all nodes have in common."""

    connection: duckdb.DuckDBPyConnection
    domains: Sequence[Domain]
    table: Table
    k: int
    cells: int


def cut_into_pieces(
    connection: duckdb.DuckDBPyConnection, domains: Sequence[Domain], k: int, cells: int
) -> list[Piece]:
    """Return the nodes of Mondrian's tree that are few enough cells, from left to right.

    Parameters
    ----------
    connection
        To the store; the table `codes` is cut.
    domains
        Of the features; none has a hierarchy.
    k
        The fewest records of an equivalence class.
    cells
        A node of more cells is cut, if it can be; not where `tasks.partitions.widths` would tell equally wide
        features apart.
    """
    ((records,),) = connection.execute("SELECT count(*) FROM codes").fetchall()
    upper = tuple(domain.size - 1 for domain in domains)
    table = table_of(domains, 1, KAnonymity(k), None, strict=True)
    tree = _Tree(connection, domains, table, k, max(cells, RANKED_CELLS))
    return _pieces(tree, Piece(records, (0,) * len(upper), upper))


def _pieces(tree: _Tree, node: Piece) -> list[Piece]:
    if node.records * len(tree.domains) <= tree.cells or node.records < 2 * tree.k:
        return [node]
    halves = _halves(tree, node)
    return list(chain.from_iterable(_pieces(tree, half) for half in halves)) or [node]


def _halves(tree: _Tree, node: Piece) -> list[Piece]:
    """Cut a node in its widest feature that can be cut; return nothing if none can."""
    condition = node.condition(tree.domains)
    for feature in _from_the_widest(tree, condition):
        code, below, tied = _median(tree, node, condition, feature)
        for last, left in ((code, below + tied), (code - 1, below)):
            if min(left, node.records - left) >= tree.k:
                return [
                    Piece(left, node.lower, _with(node.upper, feature, last)),
                    Piece(node.records - left, _with(node.lower, feature, last + 1), node.upper),
                ]
    return []


def _with(bounds: tuple[int, ...], feature: int, code: int) -> tuple[int, ...]:
    return (*bounds[:feature], code, *bounds[feature + 1 :])


def _from_the_widest(tree: _Tree, condition: str) -> list[int]:
    """Return the features in which a node has different values, the widest first."""
    names = [quoted(domain.name) for domain in tree.domains]
    selected = ", ".join(f"min({name}), max({name})" for name in names)
    (extremes,) = tree.connection.execute(f"SELECT {selected} FROM codes WHERE {condition}").fetchall()
    low, high = np.array(extremes).reshape(1, -1, 2).transpose(2, 0, 1)
    (widths,) = widths_of(tree.table, slice(None), Spans(low, low, high))
    order = np.argsort(-widths, kind="stable")
    return [int(feature) for feature in order if low[0, feature] < high[0, feature]]


def _median(tree: _Tree, node: Piece, condition: str, feature: int) -> tuple[int, int, int]:
    """Return the code of a node's median row, and how many rows have a lower one, and this one."""
    wanted = (node.records - 1) // 2
    ((code, below, tied),) = tree.connection.execute(f"""
        SELECT code, below, tied FROM (
            SELECT code, tied, CAST(sum(tied) OVER (ORDER BY code) AS BIGINT) - tied AS below FROM (
                SELECT {quoted(tree.domains[feature].name)} AS code, count(*) AS tied
                FROM codes WHERE {condition} GROUP BY code
            )
        ) WHERE {wanted} BETWEEN below AND below + tied - 1
    """).fetchall()
    return code, below, tied
