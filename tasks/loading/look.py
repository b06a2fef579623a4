"""A first look at a table that has no configuration yet: counts of what its columns hold."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import duckdb

from tasks.domain import Kind
from tasks.errors import InputError
from tasks.loading.kinds import NUMBER, column_types, kind_of
from tasks.loading.read_input import column_names, read_rows, recognised_encoding
from tasks.store import STORE, literal, open_store
from tasks.table_settings import Input

TOKENS = ("?", "-", ".", "NA", "N/A", "NULL", "null", "None", "NaN", "nan")
OTHER_DELIMITERS = (";", "\t", "|")


class Look(NamedTuple):
    """What a column looks like, in counts of records.

    Attributes
    ----------
    kind
        None if no release can hold its values as they are; then `fault` says why.
    distinct
        The number of distinct values.
    numbers, infinite
        Records whose value is a number, and an infinite one.
    tokens
        Records that hold each of `TOKENS`.
    """

    name: str
    kind: Kind | None
    fault: str
    distinct: int
    missing: int
    numbers: int
    infinite: int
    tokens: tuple[int, ...]


class Sight(NamedTuple):
    """A table as it was looked at."""

    table: Input
    records: int
    looks: tuple[Look, ...]


def look_at(path: Path) -> Sight:
    """Count what the columns of a table hold."""
    table = _recognised(path)
    names = column_names(table)
    with TemporaryDirectory(prefix="unjoin-") as folder, open_store(Path(folder) / STORE) as connection:
        records = read_rows(connection, table, len(names), range(len(names)))
        if records == 0:
            raise InputError("input.path: the table has no records")
        types = column_types(connection)
        looks = tuple(
            _look(connection, name, raw, types[raw], records) for name, raw in zip(names, types, strict=True)
        )
    return Sight(table, records, looks)


def _recognised(path: Path) -> Input:
    """Return how a table is written: its encoding and delimiter, where it is a CSV file."""
    table = Input.model_validate({"path": path})
    if table.written_as == "parquet":
        return table
    table = table.model_copy(update={"encoding": recognised_encoding(table)})
    names = column_names(table)
    if len(names) == 1:
        for delimiter in OTHER_DELIMITERS:
            if delimiter in names[0]:
                return table.model_copy(update={"delimiter": delimiter})
    return table


def _look(connection: duckdb.DuckDBPyConnection, name: str, raw: str, sql_type: str, records: int) -> Look:
    kind, fault = _kind_or_fault(connection, name, raw, sql_type)
    tokens = ", ".join(f"coalesce(sum(n) FILTER (v = {literal(token)}), 0)::BIGINT" for token in TOKENS)
    ((distinct, present, numbers, infinite, *counts),) = connection.execute(f"""
        SELECT count(*), coalesce(sum(n), 0)::BIGINT,
            coalesce(sum(n) FILTER (regexp_full_match(v, '{NUMBER}')), 0)::BIGINT,
            coalesce(sum(n) FILTER (isinf(TRY_CAST(v AS DOUBLE))), 0)::BIGINT, {tokens}
        FROM (
            SELECT CAST({raw} AS VARCHAR) AS v, count(*) AS n FROM raw WHERE {raw} IS NOT NULL GROUP BY {raw}
        )
    """).fetchall()
    return Look(name, kind, fault, distinct, records - present, numbers, infinite, tuple(counts))


def _kind_or_fault(
    connection: duckdb.DuckDBPyConnection, name: str, raw: str, sql_type: str
) -> tuple[Kind | None, str]:
    try:
        return kind_of(connection, name, raw, sql_type, None), ""
    except InputError as error:
        return None, str(error).removeprefix(f"column {name!r}: ")
