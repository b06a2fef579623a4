"""What columns hold that the input itself gives a type, as Parquet files and databases do."""

from typing import Literal

import duckdb

from tasks.loading.held import Held

INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
WIDE_INTEGERS = {"HUGEINT", "UBIGINT", "UHUGEINT", "BIGNUM"}
DECIMAL_TYPES = {"FLOAT", "DOUBLE"}
CATEGORIES = {"VARCHAR", "BOOLEAN", "UUID", "ENUM", '"NULL"'}
MOMENTS = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMPTZ_NS"}
DATES = {"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", *MOMENTS}
TIMES = {"TIME", "TIME_NS", "TIME WITH TIME ZONE", "INTERVAL"}
RELEASABLE = {*INTEGERS, *WIDE_INTEGERS, *DECIMAL_TYPES, "DECIMAL", *CATEGORIES, *DATES, *TIMES}
FIXED_DIGITS = 18

Declared = Literal["numeric", "float", "categorical"] | None


def base_type(sql_type: str) -> str:
    """Return what a type is called, without what it is made of.

    Examples
    --------
    >>> base_type("DECIMAL(18,2)"), base_type("DECIMAL(18,2)[]")
    ('DECIMAL', 'LIST')
    """
    return "LIST" if sql_type.endswith("]") else sql_type.partition("(")[0]


def releasable(sql_type: str) -> bool:
    """Whether values of a type can be written into a release at all."""
    return base_type(sql_type) in RELEASABLE


def as_text(raw: str, sql_type: str) -> str:
    """Return SQL for the text of a value; moments are told in UTC."""
    return raw if sql_type == "VARCHAR" else f"CAST({in_utc(raw, sql_type)} AS VARCHAR)"


def as_double(raw: str) -> str:
    """Return SQL for the nearest double; there is one zero."""
    return f"CAST({raw} AS DOUBLE) + 0.0"


def in_utc(raw: str, sql_type: str) -> str:
    """Return SQL for a value, moments by the clock of UTC."""
    return f"({raw} AT TIME ZONE 'UTC')" if sql_type in MOMENTS else raw


def held_of_type(
    connection: duckdb.DuckDBPyConnection, raw: str, sql_type: str, declared: Declared
) -> Held | str:
    """Return what a typed column holds, dates apart, or why it cannot be released."""
    base = base_type(sql_type)
    if base in CATEGORIES and declared is None:
        return Held("categorical", as_text(raw, sql_type))
    if base in CATEGORIES | TIMES | DATES:
        return (
            f"holds values of type {base}, which cannot be released as numbers: "
            'drop it, or set columns.types to "categorical" for it'
        )
    if declared == "float" or base in DECIMAL_TYPES:
        return Held("decimal", as_double(raw))
    return _of_exact_numbers(connection, raw, sql_type)


def _of_exact_numbers(connection: duckdb.DuckDBPyConnection, raw: str, sql_type: str) -> Held | str:
    digits, scale = digits_of(sql_type)
    if scale == 0:
        wide = 0 if digits <= FIXED_DIGITS else _not_cast(connection, raw, "BIGINT")
        return too_wide(wide) if wide else Held("integer", f"CAST({raw} AS BIGINT)")
    held_as = f"DECIMAL({FIXED_DIGITS}, {scale})"
    if scale > FIXED_DIGITS or (digits > FIXED_DIGITS and _not_cast(connection, raw, held_as)):
        return too_long(_count(connection, raw))
    return Held("fixed", f"CAST({raw} AS {held_as})", scale)


def digits_of(sql_type: str) -> tuple[int, int]:
    """Return how many digits numbers of an exact type have at most, and how many after the point.

    Examples
    --------
    >>> digits_of("DECIMAL(18,2)"), digits_of("HUGEINT"), digits_of("BIGINT")
    ((18, 2), (39, 0), (18, 0))
    """
    if base_type(sql_type) == "DECIMAL":
        digits, scale = sql_type.removeprefix("DECIMAL(").removesuffix(")").split(",")
        return int(digits), int(scale)
    return (39 if sql_type in WIDE_INTEGERS else 18), 0


def too_wide(wide: int) -> str:
    """Return that whole numbers are too large."""
    return (
        f'{wide} whole numbers need more than 64 bits: set columns.types to "categorical" for it '
        '("float" rounds them), or drop it'
    )


def too_long(inexact: int) -> str:
    """Return that numbers have too many digits."""
    return (
        f"holds {inexact} numbers with more digits than can be told exactly: set columns.types for it to "
        '"float" to round them, or to "categorical", or drop it'
    )


def _not_cast(connection: duckdb.DuckDBPyConnection, raw: str, wanted: str) -> int:
    return _count(connection, raw) - _count(connection, f"TRY_CAST({raw} AS {wanted})")


def _count(connection: duckdb.DuckDBPyConnection, expression: str) -> int:
    ((values,),) = connection.execute(f"SELECT count({expression}) FROM raw").fetchall()
    return int(values)
