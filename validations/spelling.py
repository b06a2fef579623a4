"""Whether a file is written in the one way a release writes it: the same cells, always the same bytes."""

import hashlib
import json
from pathlib import Path

import duckdb

from validations.cell_grammar import CATEGORIES
from validations.groups import Groups
from validations.published_files import Columns, file_literal

SIGNS_TO_QUOTE = ',"\r\n#'
"""A field that holds one of these stands in quotes; so DuckDB writes CSV."""

BATCH = 10_000


def misspelt(groups: Groups) -> int:
    """Return how many distinct, well formed cells of a CSV file are not in the one spelling of their value.

    Parameters
    ----------
    groups
        Of a CSV file. Decimal numbers are spelled as Python's `repr`, categories of a set as
        `json.dumps`; of the other kinds no two well formed cells have the same value.
    """
    return sum(
        not _is_spelled(kind, text)
        for kind in ("decimal", *CATEGORIES)
        for text in _doubtful_cells(groups, kind)
    )


def _doubtful_cells(groups: Groups, kind: str) -> list[str]:
    """Return the cells whose form leaves a choice of spelling: decimal numbers, and sets with escapes."""
    columns = [f"c{place}" for place, held in enumerate(groups.kinds, 1) if held == kind]
    if not columns:
        return []
    doubtful = "t <> ''" if kind == "decimal" else r"starts_with(t, '{') AND contains(t, '\')"
    groups.connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE doubtful AS SELECT DISTINCT t
        FROM (SELECT unnest([{", ".join(columns)}]) AS t FROM {groups.table} WHERE first_line = ec)
        WHERE {doubtful}""")
    sound = f"SELECT t FROM doubtful WHERE {kind}_sound(t, {kind}_cell(t))"
    return [text for (text,) in groups.connection.execute(sound).fetchall()]


def _is_spelled(kind: str, text: str) -> bool:
    body = text.removesuffix(" or missing")
    if kind == "decimal":
        return all(repr(float(number)) == number for number in body.strip("[]").split(", "))
    values = json.loads(f"[{body[1:-1]}]")
    return body == "{" + ", ".join(json.dumps(value, ensure_ascii=False) for value in values) + "}"


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
