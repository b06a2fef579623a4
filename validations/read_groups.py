"""Reads a fragment's file into tables of groups, in SQL: what is alike is counted, and no row is kept."""

from pathlib import Path

import duckdb
import numpy as np

from validations.groups import Format, Groups
from validations.line_runs import write_runs
from validations.promises import Promises
from validations.published_files import (
    Columns,
    UnreadableError,
    csv_columns,
    csv_rows,
    parquet_columns,
    parquet_rows,
)

SMALL = 1 << 22
"""Bytes of a file that is read at once, whatever it holds."""

FEW = 1000
"""Equivalence classes whose cells are compared as they are."""


def read_columns(connection: duckdb.DuckDBPyConnection, path: Path) -> Columns:
    """Return the columns of a CSV or Parquet file, or raise UnreadableError."""
    return csv_columns(path) if path.suffix == ".csv" else parquet_columns(connection, path)


def read_groups(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    columns: Columns,
    promises: Promises,
    number: int,
    *,
    scratch: Path,
) -> Groups:
    """Read all rows of a fragment's file into tables of groups.

    Parameters
    ----------
    connection
        Gets the tables.
    path
        The file.
    columns
        Its columns, see `read_columns`.
    promises
        Gives the columns' kinds.
    number
        The fragment's number, from 1.
    scratch
        A folder for what is written on the way: the lines of a large CSV file.

    Raises
    ------
    UnreadableError
        If a row does not fit the columns.
    """
    kinds = promises.kinds
    file_format: Format = "csv" if path.suffix == ".csv" else "parquet"
    groups = Groups(
        connection=connection,
        table=f"{file_format}_{number}",
        format=file_format,
        names=columns.names,
        kinds=tuple(kinds.get(name, "undeclared") for name in columns.names),
    )
    try:
        if file_format == "parquet":
            _write_groups(groups, parquet_rows(path, len(columns.names)))
        elif not _written_from_runs(groups, path, scratch / path.name):
            _write_groups(groups, csv_rows(path, len(columns.names)))
    except duckdb.OutOfMemoryException:
        raise  # this says nothing of the file
    except duckdb.Error:
        raise UnreadableError("its rows are not what its columns say") from None
    return groups


def _written_from_runs(groups: Groups, path: Path, short: Path) -> bool:
    """Write the tables from one line of each run of equal lines, unless the file has to be read whole.

    So has a small file, one of few equal lines, and one that DuckDB finds at fault: it is to judge the file
    itself.
    """
    if path.stat().st_size < SMALL:
        return False
    try:
        lengths = write_runs(path, short)
        if lengths is None:
            return False
        runs = {"line": np.arange(len(lengths)), "first": np.cumsum(lengths) - lengths, "length": lengths}
        groups.connection.register("runs", runs)
        _write_groups(groups, f"{csv_rows(short, len(groups.kinds))} LEFT JOIN runs USING (line)", runs=True)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        return False
    finally:
        short.unlink(missing_ok=True)
    groups.connection.unregister("runs")
    ((rows,),) = groups.connection.execute(f"SELECT coalesce(sum(n), 0) FROM {groups.table}").fetchall()
    return bool(rows == lengths.sum())


def _write_groups(groups: Groups, source: str, *, runs: bool = False) -> None:
    """Write both tables from the rows of a source, or from runs of them; a row that is in no run is one."""
    first, length = ("coalesce(first, line)", "coalesce(length, 1)") if runs else ("line", "1")
    cells = "".join(f"{cell}, " for cell in groups.cells)
    classes = groups.row(f"""
        CREATE OR REPLACE TABLE {groups.classes} AS
        SELECT {cells} min({first}) AS ec FROM {source} GROUP BY {cells or "true"}""")
    values = "".join(f"c{place + 1}, " for place in groups.values)
    alike = _told_by(groups, *classes)
    groups.connection.execute(f"""
        CREATE OR REPLACE TABLE {groups.table} AS
        SELECT * EXCLUDE (alike) FROM (
            SELECT {alike} AS alike, {values} sum({length})::BIGINT AS n, min({first}) AS first_line,
                   max({first} + {length} - 1) AS last_line
            FROM {source} GROUP BY {values} alike)
        JOIN (SELECT {alike} AS alike, ec FROM {groups.classes}) USING (alike)""")


def _told_by(groups: Groups, classes: int) -> str:
    """Return SQL that tells ECs apart: where there are many, a hash of their cells, unless two share one."""
    cells = ", ".join(groups.cells) or "true"
    unique = f"SELECT count(DISTINCT hash({cells})) FROM {groups.classes}"
    return f"hash({cells})" if classes > FEW and groups.row(unique) == (classes,) else f"row({cells})"
