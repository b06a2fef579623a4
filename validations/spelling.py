"""Whether a file is written in the one way a release writes it: the same cells, always the same bytes."""

import hashlib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import duckdb

from validations.groups import Groups
from validations.published_files import Columns, file_literal

SIGNS_TO_QUOTE = ',"\r\n#'
"""A field that holds one of these stands in quotes; so DuckDB writes CSV."""

BATCH = 10_000  # lines
PIECE = 1 << 20  # bytes that are hashed at once


def is_written_plainly(groups: Groups, path: Path, columns: Columns, sha256: str | None) -> bool:
    """Return whether a CSV file is, byte for byte, its rows written out in order.

    Parameters
    ----------
    groups
        Of the file; every group's rows stand together.
    path
        The file.
    columns
        Its columns.
    sha256
        Its digest.
    """
    header = ",".join(_field(name) for name in columns.names) + "\n"
    written, size = hashlib.sha256(header.encode()), len(header.encode())
    found = groups.connection.execute(_lines(groups))
    for piece in _pieces(found):
        size += len(piece)
        written.update(piece)
    return size == path.stat().st_size and written.hexdigest() == sha256


def _pieces(found: duckdb.DuckDBPyConnection) -> Iterator[bytearray]:
    """Yield what lines are as they stand in the file, each with its number of rows; many at once."""
    piece = bytearray()
    while lines := found.fetchmany(BATCH):
        for line, rows in lines:
            text = f"{line}\n".encode()
            for first in range(0, rows, BATCH):
                piece += text * min(rows - first, BATCH)
                if len(piece) > PIECE:
                    yield piece
                    piece = bytearray()
    yield piece


def _lines(groups: Groups) -> str:
    """Return SQL for the line of each group and its number of rows, in order.

    Neighbouring cells are put together once for each EC, before the lines are made.
    """
    parts: list[str] = []
    texts: list[str] = []
    for are_cells, columns in groupby(groups.columns.split(", "), key=groups.cells.__contains__):
        text = f"concat_ws(',', {', '.join(map(_quoted, columns))})"
        parts.append(f"t{len(texts)}" if are_cells else text)
        if are_cells:
            texts.append(f"{text} AS t{len(texts)}")
    return f"""
        WITH texts AS MATERIALIZED (SELECT {", ".join(["ec", *texts])} FROM {groups.classes})
        SELECT concat_ws(',', {", ".join(parts)}), n FROM {groups.table} JOIN texts USING (ec)
        ORDER BY first_line"""


def _field(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(sign in name for sign in SIGNS_TO_QUOTE) else name


def _quoted(column: str) -> str:
    doubled = f"""'"' || replace({column}, '"', '""') || '"'"""
    signs = " OR ".join(f"contains({column}, chr({ord(sign)}))" for sign in SIGNS_TO_QUOTE)
    return f"CASE WHEN {signs} THEN {doubled} ELSE {column} END"


def has_no_metadata(connection: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """Return whether a Parquet file carries no metadata but its schema."""
    count = f"SELECT count(*) FROM parquet_kv_metadata({file_literal(path)})"
    return connection.execute(count).fetchall() == [(0,)]
