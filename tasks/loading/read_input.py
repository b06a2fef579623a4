"""Reading the input: the names of its columns as written, and its rows as the table `raw`."""

import codecs
import csv
import glob
import gzip
import io
import re
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, cast

import duckdb

from tasks.errors import InputError
from tasks.loading.kinds import DECIMAL_TYPES, NUMBER
from tasks.store import literal
from tasks.table_settings import Input

Encoding = Literal["utf-8", "latin-1", "utf-16"]

NAMED_ROWS = 5
RESERVED = "file_row_number"
CHUNK = 1 << 20
DELIMITERS = {"csv": ",", "tsv": "\t"}
NO_CELL = "no cell holds this text"


def column_names(table: Input) -> list[str]:
    """Return the names of the columns as the file has them.

    Raises
    ------
    InputError
        If the file is missing, cannot be read, or has names that are blank or too much alike.
    """
    with _readable(table):
        names = _parquet_names(table.path) if table.written_as == "parquet" else _header(table)
    _check_names(names)
    return names


def recognised_encoding(table: Input) -> Encoding:
    """Return the encoding of a CSV file: UTF-16 if it says so, UTF-8 if it can be, else Latin-1."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _readable(table), _opened(table.path) as file:
        chunk = file.read(CHUNK)
        if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        try:
            while chunk:
                decoder.decode(chunk)
                chunk = file.read(CHUNK)
        except UnicodeDecodeError:
            return "latin-1"
    return "utf-8"


@contextmanager
def _readable(table: Input) -> Iterator[None]:
    """Say what is wrong with a file that cannot be read."""
    name = table.path.name
    try:
        if not table.path.exists():
            raise InputError(f"input.path: there is no file {name}")
        if not table.path.is_file():
            raise InputError(f"input.path: {name} is not a file")
        yield
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "damaged"
        raise InputError(f"input.path: {name} cannot be read ({reason})") from None
    except csv.Error:
        raise InputError(f"input.path: {name} is not text in {table.encoding}") from None
    except duckdb.Error:
        raise InputError(f"input.path: {name} is not a Parquet file") from None


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def _header(table: Input) -> list[str]:
    encoding = "utf-8-sig" if table.encoding in {None, "utf-8"} else table.encoding
    with _opened(table.path) as file:
        text = io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="")
        header = next(csv.reader(text, delimiter=(table.delimiter or DELIMITERS[table.written_as])), [])
    numbers = [name for name in header if re.fullmatch(NUMBER, name.strip())]
    if any("." in name for name in numbers) or 2 * len(numbers) > len(header):
        raise InputError(
            f"input.path: {len(numbers)} of {len(header)} names in the first line are numbers: "
            "it must hold the columns' names, not a record"
        )
    if not header:
        raise InputError(
            f"input.path: {table.path.name} is empty: a header line with the columns' names is needed"
        )
    if any(sign in name for name in header for sign in "\0\ufffd"):
        raise InputError(f"input.path: {table.path.name} is not text in {table.encoding}")
    return header


def _parquet_names(path: Path) -> list[str]:
    rows = duckdb.execute(
        "SELECT name, num_children FROM parquet_schema(?) OFFSET 1", [glob.escape(str(path))]
    ).fetchall()
    for name, children in rows:
        if children:
            raise InputError(f"column {name!r}: holds nested values, which cannot be released: unpack it")
    return [name for name, _ in rows]


def _check_names(names: Sequence[str]) -> None:
    """Refuse names that are blank, or that other programs would take for one."""
    blank = [str(number) for number, name in enumerate(names, 1) if not name.strip()]
    if blank:
        raise InputError(f"the name of column number {', '.join(blank)} is blank: name every column")
    reserved = [name for name in names if name.casefold() == RESERVED]
    if reserved:
        raise InputError(
            f"the column name {reserved[0]!r} means something else to readers of Parquet: rename it"
        )
    alike = defaultdict(list)
    for name in names:
        alike[unicodedata.normalize("NFC", name).strip().casefold()].append(name)
    twins = [", ".join(map(repr, group)) for group in alike.values() if len(group) > 1]
    if twins:
        raise InputError(
            "column names must differ in more than case, surrounding blanks or the encoding of accents: "
            + "; ".join(twins)
        )


def read_rows(
    connection: duckdb.DuckDBPyConnection, table: Input, columns: int, wanted: Sequence[int]
) -> int:
    """Make the table `raw` with the wanted of the columns c0, c1, ...: texts from CSV, typed from Parquet.

    What stands for missing is NULL in it.

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
            _read_parquet(connection, table, wanted)
        else:
            _read_csv(connection, table, columns, wanted)
    except duckdb.Error:
        raise InputError(
            f"input.path: {table.path.name} cannot be read as {table.written_as}: "
            "check its encoding, delimiter, quotes and line ends"
        ) from None
    ((records,),) = connection.execute("SELECT count(*) FROM raw").fetchall()
    return int(records)


def _read_parquet(connection: duckdb.DuckDBPyConnection, table: Input, wanted: Sequence[int]) -> None:
    source = f"read_parquet({literal(glob.escape(str(table.path)))}, hive_partitioning = false)"
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    types = [str(sql_type) for _, sql_type, *_ in described]
    cells = ", ".join(_parquet_cell(f"c{number}", types[number], table.missing) for number in wanted)
    aliases = ", ".join(f"c{number}" for number in range(len(types)))
    connection.execute(f"CREATE TEMP TABLE raw AS SELECT {cells} FROM {source} AS t({aliases})")


def _parquet_cell(raw: str, sql_type: str, tokens: Sequence[str]) -> str:
    """Return an SQL expression for a cell: NULL where it is no number, or stands for missing."""
    if sql_type in DECIMAL_TYPES:
        numbers = ["nan", *(token for token in tokens if re.fullmatch(NUMBER, token))]
        standing = [f"{raw} = CAST({literal(number)} AS {sql_type})" for number in numbers]
    else:
        texts = [token for token in tokens if token or sql_type == "VARCHAR"]
        standing = [f"CAST({raw} AS VARCHAR) = {literal(text)}" for text in texts]
    return f"CASE WHEN {' OR '.join(standing)} THEN NULL ELSE {raw} END AS {raw}" if standing else raw


def _read_csv(
    connection: duckdb.DuckDBPyConnection, table: Input, columns: int, wanted: Sequence[int]
) -> None:
    """Read every line as a row, the header too, then forget the header."""
    delimiter = table.delimiter or DELIMITERS[table.written_as]
    types = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(columns))
    tokens = ", ".join(literal(token) for token in table.missing or [NO_CELL])
    kept = ", ".join(f"c{number}" for number in wanted)
    connection.execute(f"""
        CREATE TEMP TABLE raw AS SELECT {kept} FROM read_csv({literal(glob.escape(str(table.path)))},
            auto_detect = false, header = false, columns = {{{types}}}, delim = {literal(delimiter)},
            quote = '"', escape = '"', nullstr = [{tokens}], encoding = {literal(table.encoding or "utf-8")},
            strict_mode = true, null_padding = false, store_rejects = true, max_line_size = 16777216,
            hive_partitioning = false)
    """)
    rejected = connection.execute("SELECT DISTINCT line FROM reject_errors ORDER BY line").fetchall()
    if rejected:
        raise InputError(
            f"input.path: {_rows('line', [line for (line,) in rejected])} of {table.path.name} "
            f"cannot be read as {columns} cells in {table.encoding}, as the header asks: mend or remove them"
        )
    connection.execute("DELETE FROM raw WHERE rowid = 0")


def _rows(word: str, numbers: Sequence[int]) -> str:
    """Return the first numbers of some rows in words."""
    shown = ", ".join(str(number) for number in numbers[:NAMED_ROWS])
    more = f" and {len(numbers) - NAMED_ROWS} more" if len(numbers) > NAMED_ROWS else ""
    return f"{word}{'s' if len(numbers) > 1 else ''} {shown}{more}"
