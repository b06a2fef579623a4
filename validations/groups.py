"""The groups of a file: rows that are alike in every cell, counted in SQL.

A group has its number of rows `n`, its `first_line` and `last_line` (from 0), and `ec`, the first line of its
equivalence class (EC): the rows that are alike in every cell but the class and the sensitive attributes.
What else they hold is told once for each EC.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from validations.published_files import positions

Format = Literal["csv", "parquet"]

VALUES = {"class", "sensitive"}
"""Kinds of columns that are published as they are; what the rows of an equivalence class need not share."""


@dataclass(frozen=True)
class Groups:
    """Two tables in DuckDB: of the groups, with their class and sensitive values, and of their ECs' cells.

    Attributes
    ----------
    connection
        Where the table is.
    table
        The name of the first, such as csv_1.
    format
        The kind of file that it was made from.
    names
        The name of every column.
    kinds
        The kind of every column's cells: see `validations.cell_grammar`.
    """

    connection: duckdb.DuckDBPyConnection
    table: str
    format: Format
    names: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def columns(self) -> str:
        """The SQL names of all columns."""
        return positions(len(self.kinds))

    @property
    def classes(self) -> str:
        """The name of the table that has `ec` and the cells of each equivalence class."""
        return f"{self.table}_classes"

    @property
    def rows(self) -> str:
        """What has all columns of each group, to select from."""
        return f"{self.table} JOIN {self.classes} USING (ec)"

    @property
    def cells(self) -> tuple[str, ...]:
        """The SQL names of what makes an equivalence class: all columns but the class and sensitive ones."""
        return tuple(f"c{place}" for place, kind in enumerate(self.kinds, 1) if kind not in VALUES)

    @property
    def values(self) -> tuple[int, ...]:
        """The places, from 0, of the class and of sensitive columns."""
        return tuple(place for place, kind in enumerate(self.kinds) if kind in VALUES)

    @property
    def class_column(self) -> str | None:
        """The SQL name of the class column; None if there is none or more than one."""
        return f"c{self.kinds.index('class') + 1}" if self.kinds.count("class") == 1 else None

    def value(self, name: str) -> str | None:
        """Return the SQL text of a class or sensitive value, NULL if it is missing.

        None if the column is not there exactly once.
        """
        if self.names.count(name) != 1:
            return None
        return f"nullif(c{self.names.index(name) + 1}::VARCHAR, '')"

    def row(self, query: str) -> tuple[Any, ...]:
        """Return the one row of an aggregate over the whole table."""
        rows: list[tuple[Any, ...]] = self.connection.execute(query).fetchall()
        return rows[0]


class ClassCells(NamedTuple):
    """What the class column of a file shows.

    Attributes
    ----------
    blank
        Records without a class value.
    bare
        ECs in which no record has one.
    repeated
        Class values that stand more than once in an EC, over all ECs.
    """

    blank: int
    bare: int
    repeated: int


def class_sizes(groups: Groups) -> npt.NDArray[np.int64]:
    """Return the number of records of every EC, shape (ECs,)."""
    query = f"SELECT sum(n)::BIGINT AS n FROM {groups.table} GROUP BY ec"
    return np.asarray(groups.connection.execute(query).fetchnumpy()["n"], dtype=np.int64)


def class_cells(groups: Groups) -> ClassCells | None:
    """Return what the class column shows; None if the file has not exactly one."""
    if groups.class_column is None:
        return None
    blank = f"{groups.class_column} = ''" if groups.format == "csv" else f"{groups.class_column} IS NULL"
    row = groups.row(f"""
        WITH classes AS (SELECT ec, {blank} AS blank, sum(n) AS n
                         FROM {groups.table} GROUP BY ec, {groups.class_column})
        SELECT coalesce(sum(n) FILTER (blank), 0),
               count(DISTINCT ec) - count(DISTINCT ec) FILTER (NOT blank),
               count(*) FILTER (NOT blank AND n > 1)
        FROM classes""")
    return ClassCells(*(int(value) for value in row))


def misplaced(groups: Groups) -> int:
    """Return how many groups of a CSV file do not stand where the order by their own cells puts them."""
    rows, order = _ordered(groups)
    row = groups.row(f"""
        SELECT count(*)
        FROM (SELECT n, first_line, last_line, coalesce(sum(n) OVER (
                  ORDER BY {order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS place
              FROM {rows})
        WHERE first_line <> place OR last_line <> place + n - 1""")
    return int(row[0])


def _ordered(groups: Groups) -> tuple[str, str]:
    """Return what to select groups from, and by what to order them: by ECs first where cells stand first."""
    values = [f"c{place + 1}" for place in groups.values]
    if not groups.cells or groups.columns != ", ".join([*groups.cells, *values]):
        return groups.rows, groups.columns
    ranks = f"SELECT ec, row_number() OVER (ORDER BY {', '.join(groups.cells)}) AS rank FROM {groups.classes}"
    return f"{groups.table} JOIN ({ranks}) USING (ec)", ", ".join(["rank", *values])
