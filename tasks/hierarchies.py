"""The store's table `hierarchies`: the ancestors of values, from the parent to the root, by code."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.store import write_table
from tasks.tree import Tree, tree_of

Levels = Sequence[Sequence[str]]


def write_hierarchies(
    connection: duckdb.DuckDBPyConnection, hierarchies: Mapping[str, tuple[Sequence[str], Levels]]
) -> None:
    """Store the hierarchies of columns.

    Parameters
    ----------
    connection
        To the store.
    hierarchies
        By column: its values in the order of codes, and per level, from the parent to the root, the ancestor
        of each.
    """
    connection.execute(
        'CREATE OR REPLACE TABLE hierarchies ("column" VARCHAR, value VARCHAR, ancestors VARCHAR[])'
    )
    for name, (values, levels) in hierarchies.items():
        places = range(1, len(levels) + 1)
        held = {f"a{place}": _texts(level) for place, level in zip(places, levels, strict=True)}
        write_table(connection, "paths", {"value": _texts(values), **held})
        connection.execute(
            f"INSERT INTO hierarchies SELECT ?, value, [{', '.join(held)}] FROM paths ORDER BY paths.rowid",
            [name],
        )
        connection.execute("DROP TABLE paths")


def read_ancestors(connection: duckdb.DuckDBPyConnection, name: str) -> list[list[str]]:
    """Return the ancestors of each value of a column, the values in the order of codes."""
    rows = connection.execute(
        'SELECT ancestors FROM hierarchies WHERE "column" = ? ORDER BY rowid', [name]
    ).fetchall()
    return [ancestors for (ancestors,) in rows]


def read_trees(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, Tree]:
    """Return the hierarchies of those of some features that have one."""
    levels = connection.execute("""
        SELECT "column", max(len(ancestors)) FROM hierarchies GROUP BY "column"
    """).fetchall()
    return {name: _read_tree(connection, name, number) for name, number in levels if name in names}


def _read_tree(connection: duckdb.DuckDBPyConnection, name: str, levels: int) -> Tree:
    above = "".join(f", ancestors[{level}] AS a{level}" for level in range(1, levels + 1))
    held = connection.execute(
        f'SELECT value{above} FROM hierarchies WHERE "column" = ? ORDER BY rowid', [name]
    ).fetchnumpy()
    values, *ancestors = (np.ma.getdata(column).tolist() for column in held.values())
    return tree_of(values, ancestors)


def _texts(values: Sequence[str]) -> npt.NDArray[Any]:
    return np.array(values, dtype=object)
