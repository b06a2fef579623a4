"""Reading the input, whatever it is written as: the names of its columns, and its rows as the table `raw`."""

import csv
import errno
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from tasks.errors import ConfigurationError, InputError, StepError
from tasks.failures import system_reason
from tasks.reading.column_headers import check_names
from tasks.reading.databases import duckdb_names, read_duckdb, read_sqlite, sqlite_names
from tasks.reading.parquet_files import parquet_names, read_parquet
from tasks.reading.statistics_files import read_statistics, statistics_labels, statistics_names
from tasks.reading.text_files import read_texts, recognised_text, text_names
from tasks.reading.workbooks import read_workbook, workbook_names
from tasks.table_settings import PACKED, TEXTS, Input

NO_ROOM = [os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOMEM)]
NAMES = {
    "parquet": parquet_names,
    "excel": workbook_names,
    "spss": statistics_names,
    "stata": statistics_names,
    "duckdb": duckdb_names,
    "sqlite": sqlite_names,
    "csv": text_names,
    "tsv": text_names,
}
READERS = {
    "parquet": read_parquet,
    "excel": read_workbook,
    "spss": read_statistics,
    "stata": read_statistics,
    "duckdb": read_duckdb,
    "sqlite": read_sqlite,
    "csv": read_texts,
    "tsv": read_texts,
}


def recognised(table: Input) -> Input:
    """Return the input with what the file says of how it is written, where the configuration does not.

    Format, and of text files encoding, delimiter and quote.

    Raises
    ------
    InputError
        If the file is missing, cannot be read, or does not say it.
    """
    with _readable(table):
        found = table.model_copy(update={"format": table.written_as})
        return recognised_text(found) if found.format in TEXTS else found


def column_names(table: Input) -> list[str]:
    """Return the names of the columns as the table has them.

    Raises
    ------
    InputError
        If the file is missing, cannot be read, or has names that are blank or too much alike.
    ConfigurationError
        If a setting does not fit the file, or an extra is not installed.
    """
    table = recognised(table)
    with _readable(table):
        names = NAMES[table.written_as](table)
    check_names(names)
    return names


def column_labels(table: Input) -> dict[str, str]:
    """Return what the columns are called in words, where the file says it: those of SPSS and Stata do."""
    if table.written_as not in {"spss", "stata"}:
        return {}
    with _readable(table):
        return statistics_labels(table)


def read_rows(
    connection: duckdb.DuckDBPyConnection, table: Input, names: Sequence[str], wanted: Sequence[int]
) -> int:
    """Make the table `raw` with the wanted of the columns c0, c1, ...: texts from text files, else typed.

    What stands for missing is NULL in it.

    Parameters
    ----------
    connection
        To the store.
    table
        Where the table is.
    names
        Of all its columns, as `column_names` gives them.
    wanted
        The places of the columns to read, from 0.

    Returns
    -------
    int
        The number of records.

    Raises
    ------
    InputError
        If rows cannot be read; the message names their lines, never their content.
    """
    table = recognised(table)
    with _readable(table):
        READERS[table.written_as](connection, table, names, wanted)
    ((records,),) = connection.execute("SELECT count(*) FROM raw").fetchall()
    return int(records)


@contextmanager
def _readable(table: Input) -> Iterator[None]:
    """Say what is wrong with a file that cannot be read."""
    name = table.path.name
    try:
        _require_file(table)
        yield
    except (OSError, EOFError, zlib.error, duckdb.Error) as error:
        if reason := _no_room(error):
            raise StepError(f"reading the table: failed ({reason})") from None
        raise InputError(_unreadable(table, error)) from None
    except csv.Error:
        raise InputError(
            f"input.path: the first line of {name} cannot be read as cells: quotes do not end, "
            "or a name is longer than 128 kB"
        ) from None


def _require_file(table: Input) -> None:
    path = table.path
    if not path.exists():
        raise InputError(f"input.path: there is no file {path.name}")
    if not path.is_file():
        raise InputError(f"input.path: {path.name} is not a file")
    if not os.access(path, os.R_OK):
        raise InputError(f"input.path: {path.name} cannot be read ({os.strerror(errno.EACCES)})")
    if path.suffix.lower() in PACKED and table.written_as not in TEXTS:
        raise ConfigurationError(f"input.path: {path.name} is packed, as text files alone may be: unpack it")


def _no_room(error: Exception) -> str | None:
    """Return why what was read could not be kept, if that is what went wrong."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return os.strerror(errno.ENOMEM)
    reason = system_reason(error)
    return reason if reason in NO_ROOM else None


def _unreadable(table: Input, error: Exception) -> str:
    name = table.path.name
    if not isinstance(error, duckdb.Error):
        return f"input.path: {name} cannot be read ({getattr(error, 'strerror', None) or 'damaged'})"
    if table.written_as == "parquet":
        return f"input.path: {name} is not a Parquet file"
    return (
        f"input.path: {name} cannot be read as {table.written_as}: check its encoding, delimiter and quotes"
    )
