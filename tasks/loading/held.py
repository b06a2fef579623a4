"""What is asked of a column, and what it holds."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import duckdb

from tasks.domain import Kind, Precision

NAMED_ROWS = 5


class Asked(NamedTuple):
    """A column of the raw table, and what the configuration says of it.

    Attributes
    ----------
    name, raw
        The column's name in the input and in the raw table.
    declared
        Its type, if it is declared.
    dates
        How its dates are written, if that is declared.
    precision
        How exactly dates are published, if that is declared.
    texts
        Whether its values are wanted as text, as for a hierarchy; dates in ISO form.
    """

    name: str
    raw: str
    declared: Literal["numeric", "float", "categorical"] | None = None
    dates: str | None = None
    precision: Precision | None = None
    texts: bool = False


class Held(NamedTuple):
    """What a column holds.

    Attributes
    ----------
    kind
        Of its values.
    reading
        SQL for its typed value.
    scale, precision
        As in `tasks.domain.Domain`.
    remarks
        What a person should know of it; no value is told.
    dates
        Whether its values are dates, also where they are wanted as text.
    """

    kind: Kind
    reading: str
    scale: int = 0
    precision: Precision = "day"
    remarks: tuple[str, ...] = ()
    dates: bool = False


def rows_where(connection: duckdb.DuckDBPyConnection, condition: str) -> list[int]:
    """Return the numbers of the records, counted from 1, for which a condition on the raw table holds."""
    found = connection.execute(f"""
        SELECT row FROM (SELECT *, row_number() OVER (ORDER BY rowid) AS row FROM raw)
        WHERE {condition} ORDER BY row
    """).fetchall()
    return [int(row) for (row,) in found]


def rows_in_words(rows: Sequence[int], noun: str) -> str:
    """Return how many records are meant, and which are the first of them.

    Examples
    --------
    >>> rows_in_words([17], "value")
    '1 value (row 17) is'
    >>> rows_in_words([2, 3, 5, 7, 11, 13], "date")
    '6 dates (rows 2, 3, 5, 7, 11 and 1 more) are'
    """
    shown = ", ".join(map(str, rows[:NAMED_ROWS]))
    more = f" and {len(rows) - NAMED_ROWS} more" if len(rows) > NAMED_ROWS else ""
    if len(rows) == 1:
        return f"1 {noun} (row {shown}) is"
    return f"{len(rows)} {noun}s (rows {shown}{more}) are"
