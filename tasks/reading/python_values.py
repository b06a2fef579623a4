"""Values of Python, of any types, as columns of the database: all of one type, else as text."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from numbers import Integral, Real
from typing import Any, Literal

import duckdb

Holds = Literal[
    "true or false",
    "integer",
    "wide",
    "decimal",
    "text",
    "bytes",
    "time",
    "span",
    "date",
    "moment",
    "moment of a zone",
    "exact",
]

ROWS = 20_000
EXACT_IN_FLOATS = 2**53
BOUNDS = (-(2**63), 2**63)


def cells_of(values: Sequence[Any]) -> tuple[list[str | None], set[Holds]]:
    """Return values as texts, None where they are missing, and what they are.

    Raises
    ------
    TypeError
        If one is nothing that a table can hold; the message names its type.
    """
    converters = {kind: _converter(kind) for kind in set(map(type, values))}
    if len(converters) == 1 and str in converters:
        return list(values), {"text"}
    cells = [converters[type(value)](value) for value in values]
    return [text for text, _ in cells], {holds for _, holds in cells if holds is not None}


def sql_type_of(holds: set[Holds]) -> str:
    """Return the type of a column of such values; text where they are of several."""
    if "bytes" in holds:
        return "BLOB"
    for types, sql_type in (
        ({"true or false"}, "BOOLEAN"),
        ({"integer", "wide"}, "BIGINT"),
        ({"integer", "decimal"}, "DOUBLE"),
        ({"date"}, "DATE"),
        ({"date", "moment"}, "TIMESTAMP"),
        ({"moment of a zone"}, "TIMESTAMP"),
        ({"time"}, "TIME"),
        ({"span"}, "INTERVAL"),
    ):
        if holds and holds <= types:
            return sql_type
    return "VARCHAR"


def write_values(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> dict[str, str]:
    """Make a temporary table of texts, and return the type that each of its columns is of.

    Raises
    ------
    TypeError
        As in `cells_of`.
    """
    import pandas as pd  # noqa: PLC0415 - costs a third of a second, which --help must not pay

    connection.execute(f"CREATE TEMP TABLE {name} ({', '.join(f'{column} VARCHAR' for column in columns)})")
    holds: dict[str, set[Holds]] = {column: set() for column in columns}
    for chunk in _chunks(rows):
        texts = {}
        for column, values in zip(columns, zip(*chunk, strict=True), strict=True):
            cells, held = cells_of(values)
            holds[column] |= held
            texts[column] = pd.array(cells, dtype="string")
        connection.register("incoming", pd.DataFrame(texts))
        connection.execute(f"INSERT INTO {name} SELECT * FROM incoming")
        connection.unregister("incoming")
    return {column: sql_type_of(held) for column, held in holds.items()}


def _chunks(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    remaining = iter(rows)
    while chunk := list(islice(remaining, ROWS)):
        yield chunk


_Cell = tuple[str | None, Holds | None]


def _converter(kind: type) -> Callable[[Any], _Cell]:
    if kind.__name__ in {"NoneType", "NAType", "NaTType"}:
        return lambda _: (None, None)
    if issubclass(kind, bool) or kind.__name__ == "bool":  # numpy's too
        return lambda value: ("true" if value else "false", "true or false")
    for types, converter in _CONVERTERS:
        if issubclass(kind, types):
            return converter
    raise TypeError(kind.__name__)


def _of_integer(value: Any) -> _Cell:  # noqa: ANN401 - Python's and numpy's
    number = int(value)
    if not BOUNDS[0] <= number < BOUNDS[1]:
        return str(number), "exact"
    return str(number), "integer" if abs(number) <= EXACT_IN_FLOATS else "wide"


def _of_float(value: Any) -> _Cell:  # noqa: ANN401 - Python's and numpy's
    number = float(value)
    if math.isnan(number):
        return None, None
    if number.is_integer() and abs(number) <= EXACT_IN_FLOATS:
        return str(int(number)), "integer"
    return repr(number), "decimal"


def _of_exact(value: Decimal) -> _Cell:
    return (None, None) if value.is_nan() else (f"{value:f}", "exact")


def _of_moment(value: datetime) -> _Cell:
    """Return a moment; one that tells its zone is taken in UTC, as a typed column of such moments is."""
    if value.tzinfo is None:
        return value.isoformat(" "), "moment"
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(" "), "moment of a zone"


_CONVERTERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], _Cell]], ...] = (
    (str, lambda value: (str(value), "text")),
    (Integral, _of_integer),
    (Decimal, _of_exact),
    (Real, _of_float),
    (bytes, lambda value: (value.hex(), "bytes")),
    (datetime, _of_moment),
    (date, lambda value: (value.isoformat(), "date")),
    (time, lambda value: (value.isoformat(), "time")),
    (timedelta, lambda value: (f"{value.total_seconds()} seconds", "span")),
)
