"""Text files: the header, and every record as a row of texts."""

import csv
import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tasks.errors import InputError
from tasks.reading.column_headers import check_header
from tasks.reading.dialects import Dialect, found_dialect, survey
from tasks.reading.encodings import found_encoding
from tasks.reading.missing_cells import text_cell, write_raw
from tasks.reading.private_copies import private_folder
from tasks.reading.python_values import write_values
from tasks.reading.texts import LONGEST, lines, texts
from tasks.store import literal
from tasks.table_settings import Input

NAMED_ROWS = 5
NO_CELL = "no cell holds this text"
ONE_END: tuple[frozenset[str], ...] = (frozenset(), frozenset({"\n"}), frozenset({"\r\n"}))
PACKINGS = {".gz": "gzip", ".zst": "zstd"}


def recognised_text(table: Input) -> Input:
    """Return the input with what its file says: encoding, delimiter and quote, where they are not given."""
    encoding = table.encoding or found_encoding(table.path)
    delimiter = table.delimiter or ("\t" if table.written_as == "tsv" else None)
    dialect = found_dialect(table.path, encoding, delimiter, table.quote)
    return table.model_copy(
        update={"encoding": encoding, "delimiter": dialect.delimiter, "quote": dialect.quote}
    )


def text_names(table: Input) -> list[str]:
    """Return the cells of the first line of a recognised file."""
    first = next(lines(texts(table.path, _encoding(table))), "")
    names = next((record for _, record in _dialect(table).records(texts(table.path, _encoding(table)))), [])
    if not first.strip("\r\n") or not names:
        raise InputError(
            f"input.path: {table.path.name} is empty: a header line with the columns' names is needed"
        )
    check_header(names)
    return names


def read_texts(
    connection: duckdb.DuckDBPyConnection, table: Input, names: Sequence[str], wanted: Sequence[int]
) -> None:
    """Make the table `raw` of the wanted columns of a recognised file.

    DuckDB reads what is written as RFC 4180 says, with line ends that are all LF or all CRLF; of others
    it reads some cells as they are not written, so those go record by record.
    """
    dialect = _dialect(table)
    ends = survey(table.path, _encoding(table), table.delimiter).ends
    if dialect.escape is None and ends in ONE_END:
        _read_at_once(connection, table, names, wanted)
    else:
        _read_records(connection, table, dialect, names, wanted)


def _encoding(table: Input) -> str:
    return table.encoding or "utf-8"


def _dialect(table: Input) -> Dialect:
    return found_dialect(table.path, _encoding(table), table.delimiter, table.quote)


def _read_records(
    connection: duckdb.DuckDBPyConnection,
    table: Input,
    dialect: Dialect,
    names: Sequence[str],
    wanted: Sequence[int],
) -> None:
    raws = [f"c{number}" for number in wanted]
    records = _records(table, dialect, len(names))
    next(records, None)  # the header
    write_values(connection, "cells", raws, ([record[number] for number in wanted] for record in records))
    write_raw(connection, "cells", dict.fromkeys(raws, "VARCHAR"), table, names)
    connection.execute("DROP TABLE cells")


def _records(table: Input, dialect: Dialect, columns: int) -> Iterator[list[str]]:
    ragged = []
    try:
        for line, record in dialect.records(texts(table.path, _encoding(table))):
            if len(record) == columns:
                yield record
            else:
                ragged.append(line)
    except csv.Error:
        raise InputError(
            f"input.path: {table.path.name} cannot be read as cells: quotes do not end, or a cell is longer "
            "than 128 kB"
        ) from None
    if ragged:
        raise _ragged(table, columns, ragged)


def _read_at_once(
    connection: duckdb.DuckDBPyConnection, table: Input, names: Sequence[str], wanted: Sequence[int]
) -> None:
    with _in_utf8(connection, table) as path:
        _read_file(connection, path, table, names, wanted)
    rejected = connection.execute(
        "SELECT line, bool_or(error_type = 'LINE SIZE OVER MAXIMUM') FROM reject_errors "
        "GROUP BY line ORDER BY line"
    ).fetchall()
    long = [line for line, is_long in rejected if is_long]
    if long:
        raise InputError(
            f"input.path: {_rows('line', long)} of {table.path.name} exceeds 16 MB: is a quote missing?"
        )
    if rejected:
        raise _ragged(table, len(names), _ragged_lines(table, len(names)) or [line for line, _ in rejected])
    connection.execute("DELETE FROM raw WHERE rowid = 0")  # the header


def _ragged_lines(table: Input, columns: int) -> list[int]:
    """Return the lines with other cells, none if quotes do not end; DuckDB counts records, not lines."""
    records = _dialect(table).records(texts(table.path, _encoding(table)))
    try:
        return [line for line, record in records if len(record) != columns]
    except csv.Error:
        return []


@contextmanager
def _in_utf8(connection: duckdb.DuckDBPyConnection, table: Input) -> Iterator[Path]:
    """Give the file, or a private copy in UTF-8."""
    encoding = _encoding(table)
    if encoding == "utf-8":
        yield table.path
        return
    with private_folder(connection) as folder:
        copy = folder / "table.csv"
        copy.touch(mode=0o600)
        with copy.open("w", encoding="utf-8", newline="") as file:
            file.writelines(texts(table.path, encoding))
        yield copy


def _read_file(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    table: Input,
    names: Sequence[str],
    wanted: Sequence[int],
) -> None:
    """Read every line as a row, the header too."""
    types = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(len(names)))
    tokens = ", ".join(literal(token) for token in table.missing or [NO_CELL])
    cells = ", ".join(text_cell(f"c{number}", table, names[number]) for number in wanted)
    dialect = _dialect(table)
    quote = literal(dialect.quote)
    connection.execute(f"""
        CREATE TEMP TABLE raw AS SELECT {cells} FROM read_csv({literal(glob.escape(str(path)))},
            auto_detect = false, header = false, columns = {{{types}}},
            delim = {literal(dialect.delimiter)}, quote = {quote}, escape = {quote},
            nullstr = [{tokens}], encoding = 'utf-8',
            compression = '{PACKINGS.get(path.suffix.lower(), "none")}',
            strict_mode = true, null_padding = false, store_rejects = true, max_line_size = {LONGEST},
            hive_partitioning = false)
    """)


def _ragged(table: Input, columns: int, numbers: Sequence[int]) -> InputError:
    return InputError(
        f"input.path: {_rows('line', numbers)} of {table.path.name} cannot be read as {columns} cells "
        f"in {_encoding(table)}, as the header asks: mend or remove them"
    )


def _rows(word: str, numbers: Sequence[int]) -> str:
    """Return the first numbers of some rows in words."""
    shown = ", ".join(str(number) for number in numbers[:NAMED_ROWS])
    more = f" and {len(numbers) - NAMED_ROWS} more" if len(numbers) > NAMED_ROWS else ""
    return f"{word}{'s' if len(numbers) > 1 else ''} {shown}{more}"
