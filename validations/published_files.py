"""How the gate reads a fragment's files: SQL sources with every option spelled out, columns by position.

A file's columns are called c1, c2, ... in SQL, so that no name from the file is ever part of a statement.
"""

import csv
from pathlib import Path
from typing import NamedTuple

import duckdb

ONE_FILE = "hive_partitioning = false, union_by_name = false, filename = false"
"""A file's columns are those inside it; none comes from the names of the folders above it."""


class UnreadableError(Exception):
    """A file that is not what a fragment's file must be; the message holds nothing from inside it."""


class Columns(NamedTuple):
    """A file's columns in order: their names, and their DuckDB types (VARCHAR throughout in a CSV)."""

    names: tuple[str, ...]
    types: tuple[str, ...]


def csv_columns(path: Path) -> Columns:
    """Return the columns that a CSV file's header line names.

    Raises
    ------
    UnreadableError
        If there is no such file or it has no header line.
    """
    if not path.is_file():
        raise UnreadableError("the file is missing")
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as lines:
            header = next(csv.reader(lines, strict=True), None)
        "".join(header or ()).encode()
    except (OSError, ValueError, csv.Error):
        raise UnreadableError("its header line cannot be read") from None
    if not header:
        raise UnreadableError("it has no header line")
    return Columns(tuple(header), ("VARCHAR",) * len(header))


def parquet_columns(connection: duckdb.DuckDBPyConnection, path: Path) -> Columns:
    """Return the top-level columns of a Parquet file; DuckDB alone would rename twins such as `a` and `A`.

    Raises
    ------
    UnreadableError
        If there is no such file or it is not Parquet.
    """
    if not path.is_file():
        raise UnreadableError("the file is missing")
    file = file_literal(path)
    try:
        schema = connection.execute(f"SELECT name, num_children FROM parquet_schema({file})").fetchall()
        types = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({file}, {ONE_FILE})").fetchall()
    except duckdb.Error:
        raise UnreadableError("it is not a readable Parquet file") from None
    names = _top_level(schema)
    if len(names) != len(types):
        raise UnreadableError("its columns are not those of its schema")
    return Columns(tuple(names), tuple(kind for _, kind, *_ in types))


def _top_level(schema: list[tuple[str, int | None]]) -> list[str]:
    names, position = [], 1
    while position < len(schema):
        names.append(schema[position][0])
        position = _after(schema, position)
    return names


def _after(schema: list[tuple[str, int | None]], position: int) -> int:
    pending = 1
    while pending:
        pending += (schema[position][1] or 0) - 1
        position += 1
    return position


def file_literal(path: Path) -> str:
    """Return a file's path as an SQL literal that matches no other file: DuckDB reads paths as patterns."""
    pattern = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path))
    return "'" + pattern.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def positions(width: int) -> str:
    """Return the SQL names of a file's columns: c1, c2, ..."""
    return ", ".join(f"c{number}" for number in range(1, width + 1))


def csv_rows(path: Path, width: int) -> str:
    """Return the SQL source of a CSV file's rows, every cell as text, with their `line` number from 0."""
    names = [f"'c{number}'" for number in range(1, width + 1)]
    types = ", ".join(f"{name}: 'VARCHAR'" for name in names)
    options = (
        "auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', new_line = '\\n', "
        "strict_mode = true, ignore_errors = false, null_padding = false, max_line_size = 16777216, "
        "buffer_size = 33554432, "  # the default is 16 lines of the largest size, for each reader
        f"{ONE_FILE}, columns = {{{types}}}, force_not_null = [{', '.join(names)}]"
    )
    source = f"read_csv({file_literal(path)}, {options})"
    return f"(SELECT *, row_number() OVER () - 1 AS line FROM {source}) AS csv_rows"


def parquet_rows(path: Path, width: int) -> str:
    """Return the SQL source of a Parquet file's rows, with their line number from 0 as `line`."""
    source = f"read_parquet({file_literal(path)}, {ONE_FILE}, file_row_number = true)"
    return f"{source} AS parquet_rows({positions(width)}, line)"
