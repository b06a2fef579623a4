"""Whether a file is written in the one way a release writes it: the same cells, always the same bytes."""

import hashlib
from pathlib import Path

import duckdb

from validations.groups import Groups
from validations.published_files import Columns, file_literal

SIGNS_TO_QUOTE = ',"\r\n#'
"""A field that holds one of these stands in quotes; so DuckDB writes CSV."""

BATCH = 10_000


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
    cells = [_quoted(column) for column in groups.columns.split(", ")]
    found = groups.connection.execute(
        f"SELECT concat_ws(',', {', '.join(cells)}), n FROM {groups.table} ORDER BY first_line"
    )
    while lines := found.fetchmany(BATCH):
        for line, rows in lines:
            text = f"{line}\n".encode() * rows
            size += len(text)
            written.update(text)
    return size == path.stat().st_size and written.hexdigest() == sha256


def _field(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(sign in name for sign in SIGNS_TO_QUOTE) else name


def _quoted(column: str) -> str:
    doubled = f"""'"' || replace({column}, '"', '""') || '"'"""
    return f"""CASE WHEN regexp_matches({column}, '[,"\\r\\n#]') THEN {doubled} ELSE {column} END"""


def has_no_metadata(connection: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """Return whether a Parquet file carries no metadata but its schema."""
    count = f"SELECT count(*) FROM parquet_kv_metadata({file_literal(path)})"
    return connection.execute(count).fetchall() == [(0,)]
