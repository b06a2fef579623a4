"""Reads a fragment's file into tables of groups, in SQL: what is alike is counted, and no row is kept."""

from pathlib import Path

import duckdb
import numpy as np

from validations.cell_grammar import parquet_type
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

RANGE = ("lower", "upper", "missing")
"""The parts of a range in a Parquet file."""


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
            _write_groups(groups, columns.types, parquet_rows(path, len(columns.names)))
        elif not _written_from_runs(groups, columns.types, path, scratch / path.name):
            _write_groups(groups, columns.types, csv_rows(path, len(columns.names)))
    except duckdb.OutOfMemoryException:
        raise  # this says nothing of the file
    except duckdb.Error:
        raise UnreadableError("its rows are not what its columns say") from None
    return groups


def _written_from_runs(groups: Groups, types: tuple[str, ...], path: Path, short: Path) -> bool:
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
        source = f"{csv_rows(short, len(types))} LEFT JOIN runs USING (line)"
        _write_groups(groups, types, source, runs=True)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        return False
    finally:
        short.unlink(missing_ok=True)
    groups.connection.unregister("runs")
    ((rows,),) = groups.connection.execute(f"SELECT coalesce(sum(n), 0) FROM {groups.table}").fetchall()
    return bool(rows == lengths.sum())


def _write_groups(groups: Groups, types: tuple[str, ...], source: str, *, runs: bool = False) -> None:
    """Write both tables from the rows of a source, or from runs of them; a row that is in no run is one.

    In a file that is in order no line of another EC stands between those of one: a row is of the EC that
    began last. Then nothing but values is read again.
    """
    first, length = ("coalesce(first, line)", "coalesce(length, 1)") if runs else ("line", "1")
    last = f"{first} + {length} - 1"
    lines = f"sum({length})::BIGINT AS n, min({first}) AS first_line, max({last}) AS last_line"
    classes, are_intervals = _write_classes(groups, types, source, lines)
    values = "".join(f"c{place + 1}, " for place in groups.values)
    if are_intervals:
        query = f"""
            SELECT {values} {lines}, ec FROM {source} ASOF JOIN {groups.classes} ON {first} >= ec
            GROUP BY {values} ec"""
    else:
        alike = _told_by(groups, classes)
        query = f"""
            SELECT * EXCLUDE (alike)
            FROM (SELECT {alike} AS alike, {values} {lines} FROM {source} GROUP BY {values} alike)
            JOIN (SELECT {alike} AS alike, ec FROM {groups.classes}) USING (alike)"""
    groups.connection.execute(f"CREATE OR REPLACE TABLE {groups.table} AS {query}")


def _write_classes(groups: Groups, types: tuple[str, ...], source: str, lines: str) -> tuple[int, bool]:
    """Write the table of ECs; return how many there are, and whether each has all lines between its own."""
    parts, cells = _parts(groups, types)
    named = "".join(f"{part} AS {name}, " for name, part in parts.items())
    groups.connection.execute(f"""
        CREATE OR REPLACE TABLE {groups.classes} AS
        SELECT {cells} first_line AS ec, last_line - first_line + 1 = n AS is_interval
        FROM (SELECT {named} {lines} FROM {source} GROUP BY {", ".join(parts) or "true"})""")
    classes, are_intervals = groups.row(
        f"SELECT count(*), coalesce(bool_and(is_interval), true) FROM {groups.classes}"
    )
    groups.connection.execute(f"ALTER TABLE {groups.classes} DROP is_interval")
    return int(classes), bool(are_intervals)


def _parts(groups: Groups, types: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """Return by what to group cells, as SQL by name, and SQL that makes the cells of these names again.

    Ranges are grouped by their parts, which takes DuckDB less than ranges do. It tells a NULL no longer from
    a range of three NULLs, but neither is well formed.
    """
    ranges = {
        f"c{place}"
        for place, (kind, held) in enumerate(zip(groups.kinds, types, strict=True), 1)
        if held.startswith("STRUCT") and held == parquet_type(kind)
    }
    parts: dict[str, str] = {}
    cells = ""
    for cell in groups.cells:
        if cell in ranges:
            parts |= {f"{cell}_{part}": f"{cell}.{part}" for part in RANGE}
            made = ", ".join(f"'{part}': {cell}_{part}" for part in RANGE)
            cells += f"{{{made}}} AS {cell}, "
        else:
            parts[cell] = cell
            cells += f"{cell}, "
    return parts, cells


def _told_by(groups: Groups, classes: int) -> str:
    """Return SQL that tells ECs apart: where there are many, a hash of their cells, unless two share one."""
    cells = ", ".join(groups.cells) or "true"
    unique = f"SELECT count(DISTINCT hash({cells})) FROM {groups.classes}"
    return f"hash({cells})" if classes > FEW and groups.row(unique) == (classes,) else f"row({cells})"
