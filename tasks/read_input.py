"""Reading the input: the names of its columns as written, and its rows as the table `raw`."""

import csv
import gzip
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import duckdb

from tasks.config import Input
from tasks.errors import InputError
from tasks.store import literal

NAMED_ROWS = 5


def column_names(table: Input) -> list[str]:
    """Return the names of the columns as the file has them.

    Raises
    ------
    InputError
        If the file is missing, cannot be read, or has names that are blank or too much alike.
    """
    if not table.path.exists():
        raise InputError(f"input.path: there is no file {table.path.name}")
    if not table.path.is_file():
        raise InputError(f"input.path: {table.path.name} is not a file")
    try:
        names = _parquet_names(table.path) if table.written_as == "parquet" else _header(table)
    except OSError as error:
        raise InputError(
            f"input.path: {table.path.name} cannot be read ({error.strerror or 'damaged'})"
        ) from None
    except (UnicodeError, EOFError, csv.Error):
        raise InputError(f"input.path: {table.path.name} is not text in {table.encoding}") from None
    except duckdb.Error:
        raise InputError(f"input.path: {table.path.name} is not a Parquet file") from None
    _check_names(names)
    return names


def _header(table: Input) -> list[str]:
    opener = gzip.open if table.path.suffix.lower() == ".gz" else open
    encoding = "utf-8-sig" if table.encoding == "utf-8" else table.encoding
    with opener(table.path, "rt", encoding=encoding, newline="") as file:
        header = next(csv.reader(file, delimiter=table.separator), [])
    if not header:
        raise InputError(
            f"input.path: {table.path.name} is empty: a header line with the columns' names is needed"
        )
    return header


def _parquet_names(path: Path) -> list[str]:
    rows = duckdb.execute("SELECT name, num_children FROM parquet_schema(?) OFFSET 1", [str(path)]).fetchall()
    for name, children in rows:
        if children:
            raise InputError(f"column {name!r}: holds nested values, which cannot be released: unpack it")
    return [name for name, _ in rows]


def _check_names(names: Sequence[str]) -> None:
    """Refuse names that are blank, or that other programs would take for one."""
    blank = [str(number) for number, name in enumerate(names, 1) if not name.strip()]
    if blank:
        raise InputError(f"the name of column number {', '.join(blank)} is blank: name every column")
    alike = defaultdict(list)
    for name in names:
        alike[unicodedata.normalize("NFC", name).strip().casefold()].append(name)
    twins = [", ".join(map(repr, group)) for group in alike.values() if len(group) > 1]
    if twins:
        raise InputError(
            "column names must differ in more than case, surrounding blanks or the encoding of accents: "
            + "; ".join(twins)
        )


def read_rows(connection: duckdb.DuckDBPyConnection, table: Input, columns: int) -> int:
    """Make the table `raw` with columns c0, c1, ...: texts from CSV, typed from Parquet.

    Returns
    -------
    int
        The number of records.

    Raises
    ------
    InputError
        If rows cannot be read; the message names their lines, never their content.
    """
    try:
        if table.written_as == "parquet":
            _read_parquet(connection, table.path, columns)
        else:
            _read_csv(connection, table, columns)
    except duckdb.Error:
        raise InputError(
            f"input.path: {table.path.name} cannot be read as {table.written_as}: "
            "check its encoding, delimiter and quotes"
        ) from None
    ((records,),) = connection.execute("SELECT count(*) FROM raw").fetchall()
    return int(records)


def _read_parquet(connection: duckdb.DuckDBPyConnection, path: Path, columns: int) -> None:
    aliases = ", ".join(f"c{number}" for number in range(columns))
    connection.execute(f"CREATE VIEW raw AS SELECT * FROM read_parquet({literal(str(path))}) AS t({aliases})")


def _read_csv(connection: duckdb.DuckDBPyConnection, table: Input, columns: int) -> None:
    types = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(columns))
    tokens = ", ".join(literal(token) for token in table.missing)
    connection.execute(f"""
        CREATE TABLE raw AS SELECT * FROM read_csv({literal(str(table.path))},
            auto_detect = false, header = true, columns = {{{types}}}, delim = {literal(table.separator)},
            quote = '"', escape = '"', nullstr = [{tokens}], encoding = {literal(table.encoding)},
            strict_mode = true, null_padding = false, store_rejects = true, max_line_size = 16777216)
    """)
    rejected = connection.execute("SELECT DISTINCT line FROM reject_errors ORDER BY line").fetchall()
    if rejected:
        raise InputError(
            f"input.path: {_rows('line', [line for (line,) in rejected])} of {table.path.name} "
            f"cannot be read as {columns} cells in {table.encoding}, as the header asks: mend or remove them"
        )


def _rows(word: str, numbers: Sequence[int]) -> str:
    """Return the first numbers of some rows in words."""
    shown = ", ".join(str(number) for number in numbers[:NAMED_ROWS])
    more = f" and {len(numbers) - NAMED_ROWS} more" if len(numbers) > NAMED_ROWS else ""
    return f"{word}{'s' if len(numbers) > 1 else ''} {shown}{more}"
