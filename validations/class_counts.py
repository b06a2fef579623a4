"""Class counts: how often each class value occurs in each equivalence class (EC), as tables in DuckDB."""

from collections.abc import Sequence
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from validations.groups import Groups

LARGEST_WORK = 200_000_000_000
"""Most multiplications of class counts in one comparison of all pairs; about three minutes on two cores."""

LARGEST_SUPPORTS = 500_000_000
"""Most pairs of supports in one comparison."""

SMALL_NUMBERS = 2**31
"""What fits the SQL type INTEGER is below this."""


class TooCostlyError(Exception):
    """A check that would take longer than its bound allows; the message says which bound."""


class ClassCounts(NamedTuple):
    """Tables `counts_1`, `counts_2`, ... of distinct class counts: `id`, then v0, v1, ... per class value.

    The tables `class_counts_1`, ... say the same of every EC: `ec`, then v0, v1, ...

    Attributes
    ----------
    connection
        Where the tables are.
    fragments
        How many fragments there are.
    values
        How many class values there are.
    """

    connection: duckdb.DuckDBPyConnection
    fragments: int
    values: int

    def size(self, table: str) -> int:
        """Return a table's number of rows."""
        return int(self.connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])

    def smallest(self, query: str) -> int | None:
        """Return the single number that a query gives; None for NULL."""
        value = self.connection.execute(query).fetchall()[0][0]
        return None if value is None else int(value)

    def rows(self, table: str) -> npt.NDArray[np.int64]:
        """Return the class counts of a table, shape (rows, class values)."""
        columns = [f"v{value}" for value in range(self.values)]
        found = self.connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchnumpy()
        return np.column_stack([found[column] for column in columns]).astype(np.int64)

    @property
    def product(self) -> str:
        """The SQL text of the join size of one row of table `a` and one of table `b`."""
        return balanced_sum([f"a.v{value} * b.v{value}" for value in range(self.values)])


def support(counts: ClassCounts) -> str:
    """Return the SQL text of the support of a row of counts: a bit per class value."""
    return f"concat({', '.join(f'(v{value} > 0)::INTEGER' for value in range(counts.values))})::BIT"


def balanced_sum(terms: Sequence[str]) -> str:
    """Return the SQL sum of many terms, nested in halves: one long chain would be too deep for the parser."""
    if len(terms) < 3:  # noqa: PLR2004 (a sum of two needs no brackets)
        return " + ".join(terms)
    half = len(terms) // 2
    return f"({balanced_sum(terms[:half])}) + ({balanced_sum(terms[half:])})"


def count_classes(connection: duckdb.DuckDBPyConnection, csv: Sequence[Groups]) -> ClassCounts:
    """Write the class counts of every fragment's ECs, in records, identical ones once.

    Parameters
    ----------
    connection
        Gets the tables.
    csv
        The groups of each fragment's CSV file; each has a class column.
    """
    return count_values(
        connection, [f"SELECT ec, {groups.class_column} AS class, n FROM {groups.table}" for groups in csv]
    )


def count_values(connection: duckdb.DuckDBPyConnection, sources: Sequence[str]) -> ClassCounts:
    """Write the class counts of every fragment's ECs, identical ones once.

    Parameters
    ----------
    connection
        Gets the tables.
    sources
        Per fragment a query for `ec`, `class` and how often the class value occurs there, `n`; an empty text
        is no class value.
    """
    values = " UNION ALL ".join(f"SELECT class FROM ({source})" for source in sources)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE class_values AS
        SELECT class, row_number() OVER (ORDER BY class) - 1 AS code
        FROM (SELECT DISTINCT class FROM ({values}) WHERE class <> '')""")
    number = int(connection.execute("SELECT count(*) FROM class_values").fetchall()[0][0])
    whole = _whole_numbers(connection, sources)
    for fragment, source in enumerate(sources, 1):
        wide = ", ".join(
            f"coalesce(sum(n) FILTER (code = {code}), 0)::{whole} AS v{code}" for code in range(number)
        )
        connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE class_counts_{fragment} AS
            SELECT ec, {wide or "NULL AS none"}
            FROM ({source}) JOIN class_values USING (class)
            GROUP BY ec""")
        write_distinct(connection, fragment, f"class_counts_{fragment}")
    return ClassCounts(connection, len(sources), number)


def write_distinct(connection: duckdb.DuckDBPyConnection, fragment: int, ecs: str) -> None:
    """Write the table `counts_<fragment>`: the class counts of a table of ECs, identical ones once."""
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE counts_{fragment} AS
        SELECT row_number() OVER () AS id, * FROM (SELECT DISTINCT * EXCLUDE (ec) FROM {ecs})""")


def _whole_numbers(connection: duckdb.DuckDBPyConnection, sources: Sequence[str]) -> str:
    """Return the SQL type for class counts: the faster one if the product of two classes' records fits."""
    sizes = " UNION ALL ".join(f"SELECT sum(n) AS records FROM ({source}) GROUP BY ec" for source in sources)
    rows = connection.execute(f"SELECT coalesce(max(records), 0) FROM ({sizes})").fetchall()
    return "INTEGER" if rows[0][0] ** 2 < SMALL_NUMBERS else "BIGINT"
