"""What the columns of the raw table hold: their types, and the kind their values look like."""

from typing import NamedTuple

import duckdb

from tasks.domain import Kind
from tasks.errors import InputError

INTEGER = "[+-]?[0-9]+"
NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
LEADING_ZERO = "[+-]?0[0-9].*"

INTEGER_TYPES = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
DECIMAL_TYPES = {"FLOAT", "DOUBLE"}
TEXT_TYPES = {"VARCHAR", "BOOLEAN", "UUID"}
EXACT_DIGITS = 15
IDENTIFYING = {"integer": 0.9, "categorical": 0.5}  # share of records with a value of their own


class _Texts(NamedTuple):
    """How many records of a text column look like what; missing ones are not counted."""

    values: int
    numbers: int
    integers: int
    wide_integers: int
    leading_zeros: int


def column_types(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the SQL type of each column of the raw table."""
    described = connection.execute("DESCRIBE raw").fetchall()
    return {raw: str(sql_type) for raw, sql_type, *_ in described}


def kind_of(
    connection: duckdb.DuckDBPyConnection, name: str, raw: str, sql_type: str, declared: str | None
) -> Kind:
    """Return what a column holds: as declared, else as its values look.

    Parameters
    ----------
    connection
        To the store that holds the raw table.
    name, raw, sql_type
        The column's name in the input, its name in the raw table, and its type there.
    declared
        "numeric", "categorical", or None where the values decide.

    Raises
    ------
    InputError
        If the values cannot be released as that kind.
    """
    if declared == "categorical":
        return "categorical"
    if sql_type == "VARCHAR":
        texts = _texts(connection, raw)
        if declared == "numeric":
            _require_numbers(connection, name, raw, texts)
        return _kind_of_texts(name, texts, declared)
    return _kind_of_type(name, sql_type, declared)


def like_identifier(kind: Kind, distinct: int, records: int) -> bool:
    """Whether text or whole numbers have so many values that they may tell who a record is about."""
    return kind != "decimal" and distinct > IDENTIFYING[kind] * records


def _kind_of_type(name: str, sql_type: str, declared: str | None) -> Kind:
    if sql_type in INTEGER_TYPES:
        return "integer"
    if sql_type in DECIMAL_TYPES or (sql_type.startswith("DECIMAL") and _digits(sql_type) <= EXACT_DIGITS):
        return "decimal"
    if sql_type in TEXT_TYPES and declared is None:
        return "categorical"
    found = sql_type.partition("(")[0]
    raise InputError(
        f"column {name!r}: holds values of type {found}, which cannot be released as numbers: "
        f'drop it, or set columns.types to "categorical" for it'
    )


def _digits(sql_type: str) -> int:
    return int(sql_type.removeprefix("DECIMAL(").partition(",")[0])


def _texts(connection: duckdb.DuckDBPyConnection, raw: str) -> _Texts:
    """Count on distinct texts, which are far fewer than records in most columns."""
    (counts,) = connection.execute(f"""
        SELECT coalesce(sum(n), 0)::BIGINT, coalesce(sum(n) FILTER (number), 0)::BIGINT,
            coalesce(sum(n) FILTER (whole), 0)::BIGINT,
            coalesce(sum(n) FILTER (whole AND TRY_CAST(v AS BIGINT) IS NULL), 0)::BIGINT,
            coalesce(sum(n) FILTER (regexp_full_match(v, '{LEADING_ZERO}')), 0)::BIGINT
        FROM (
            SELECT v, n, regexp_full_match(v, '{NUMBER}') AS number,
                regexp_full_match(v, '{INTEGER}') AS whole
            FROM (SELECT {raw} AS v, count(*) AS n FROM raw WHERE {raw} IS NOT NULL GROUP BY {raw})
        )
    """).fetchall()
    return _Texts(*counts)


def _kind_of_texts(name: str, texts: _Texts, declared: str | None) -> Kind:
    """Return what texts look like; codes such as 007 are no numbers."""
    if texts.numbers < texts.values or (texts.leading_zeros and declared is None) or not texts.values:
        return "categorical"
    if texts.integers < texts.values:
        return "decimal"
    if texts.wide_integers:
        raise InputError(
            f"column {name!r}: {texts.wide_integers} whole numbers need more than 64 bits: "
            f'set columns.types to "categorical" for it, or drop it'
        )
    return "integer"


def _require_numbers(connection: duckdb.DuckDBPyConnection, name: str, raw: str, texts: _Texts) -> None:
    others = texts.values - texts.numbers
    if others:
        ((first,),) = connection.execute(f"""
            SELECT count(*) FROM raw WHERE rowid <= (
                SELECT min(rowid) FROM raw WHERE NOT regexp_full_match({raw}, '{NUMBER}')
            )
        """).fetchall()
        raise InputError(
            f"column {name!r}: is declared numeric, but {others} values are not numbers "
            f"(the first in row {first}): mend them, or declare them under input.missing"
        )
