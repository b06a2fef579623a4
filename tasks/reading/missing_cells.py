"""What stands for a missing value: the texts that the configuration declares, of a table and of a column."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation

import duckdb

from tasks.store import literal
from tasks.table_settings import Input

FLOATS = ("FLOAT", "DOUBLE")


def tokens_of(table: Input, name: str) -> list[str]:
    """Return the texts that stand for missing in a column."""
    return list(dict.fromkeys((*table.missing, *table.missing_in.get(name, ()))))


def text_cell(raw: str, table: Input, name: str) -> str:
    """Return an SQL expression for a cell of text: NULL where a text of its own column stands for missing."""
    tokens = ", ".join(literal(token) for token in table.missing_in.get(name, ()))
    return f"CASE WHEN {raw} NOT IN ({tokens}) THEN {raw} END AS {raw}" if tokens else raw


def write_raw(
    connection: duckdb.DuckDBPyConnection,
    given: str,
    types: Mapping[str, str],
    table: Input,
    names: Sequence[str],
) -> None:
    """Make the table `raw` of columns c0, c1, ... of a table; what stands for missing is NULL."""
    cells = ", ".join(
        typed_cell(raw, sql_type, table, names[int(raw.removeprefix("c"))]) for raw, sql_type in types.items()
    )
    connection.execute(f"CREATE TEMP TABLE raw AS SELECT {cells} FROM {given}")


def cast_to(given: str, types: Mapping[str, str]) -> str:
    """Return an SQL expression for a table of columns that are cast to types."""
    casts = ", ".join(f"CAST({raw} AS {sql_type}) AS {raw}" for raw, sql_type in types.items())
    return f"(SELECT {casts} FROM {given})"


def typed_cell(raw: str, sql_type: str, table: Input, name: str) -> str:
    """Return an SQL expression for a cell of any type: NULL where it is no number, or stands for missing."""
    tokens = tokens_of(table, name)
    if sql_type in FLOATS:
        numbers = ["nan", *filter(None, map(_number, tokens))]
        standing = [f"{raw} = CAST({literal(number)} AS {sql_type})" for number in numbers]
    elif sql_type.startswith("DECIMAL"):
        numbers = list(filter(None, map(_exact, tokens)))
        standing = [f"{raw} = TRY_CAST({literal(number)} AS DECIMAL(38, 18))" for number in numbers]
    else:
        texts = [token for token in tokens if token or sql_type == "VARCHAR"]
        standing = [f"CAST({raw} AS VARCHAR) = {literal(text)}" for text in texts]
    return f"CASE WHEN {' OR '.join(standing)} THEN NULL ELSE {raw} END AS {raw}" if standing else raw


def _number(token: str) -> str:
    """Return a token that is a number as SQL reads it, else nothing."""
    try:
        number = float(token.strip())
    except ValueError:
        return ""
    return repr(number) if "_" not in token else ""


def _exact(token: str) -> str:
    try:
        number = Decimal(token.strip())
    except InvalidOperation:
        return ""
    return f"{number:f}" if number.is_finite() else ""
