"""A first look at a table that has no configuration yet: counts of what its columns hold."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import duckdb

from tasks.domain import Kind
from tasks.errors import InputError
from tasks.loading.column_texts import NUMBER
from tasks.loading.dates import LIKE_A_DATE, fitting_formats
from tasks.loading.held import Asked, Held
from tasks.loading.kinds import column_types, columns_held
from tasks.reading.read_input import column_labels, column_names, read_rows, recognised
from tasks.store import STORE, literal, open_store
from tasks.table_settings import Input

TOKENS = ("?", "-", ".", "NA", "N/A", "NULL", "null", "None", "NaN", "nan")
HARDLY_VALUES = ("?", ".", "N/A", "NULL", "null", "NaN", "nan")  # of these
CODE = "[A-Za-z]{0,2}[0-9]+([.-][0-9A-Za-z]+)?"
USUAL_K = 10


@dataclass(frozen=True)
class Look:
    """What a column looks like; all but `absent` and `formats` are counts.

    Attributes
    ----------
    name
    kind
        None if no release can hold its values as they are; then `fault` says why.
    fault
    distinct, missing
        Different values, and records without one; the texts in `absent` are none.
    infinite
        Records whose number is infinite.
    tokens
        Records that hold each of `TOKENS`.
    absent
        Those of them that stand beside numbers or dates alone.
    formats
        How all its dates can be read, if it looks like dates.
    label
        What the column is called at length, where the file says so.
    rare
        Values that fewer than the suggested k records hold.
    codes
        Records that hold something like a code: letters, then digits.
    longest
        Characters of the longest value.
    """

    name: str
    kind: Kind | None
    fault: str
    distinct: int
    missing: int
    infinite: int = 0
    tokens: tuple[int, ...] = (0,) * len(TOKENS)
    absent: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    label: str = ""
    rare: int = 0
    codes: int = 0
    longest: int = 0

    @property
    def gaps(self) -> bool:
        """Whether some records have no value, or hold a text that hardly is one."""
        return self.missing > 0 or any(
            cells for token, cells in zip(TOKENS, self.tokens, strict=True) if token in HARDLY_VALUES
        )


class Sight(NamedTuple):
    """A table as it was looked at."""

    table: Input
    records: int
    looks: tuple[Look, ...]


class _Counts(NamedTuple):
    """Of a column, before anything stands for missing but what the format calls so."""

    distinct: int
    present: int
    rare: int
    longest: int
    numbers: int
    infinite: int
    dated: int
    codes: int
    tokens: tuple[int, ...]


def suggested_k(records: int) -> int:
    """Return a usual k, smaller for tables that are small.

    Examples
    --------
    >>> suggested_k(100), suggested_k(100_000)
    (5, 10)
    """
    return max(2, min(USUAL_K, records // 20))


def look_at(table: Input) -> Sight:
    """Count what the columns of a table hold.

    Raises
    ------
    InputError
        If the table cannot be read, or has no records.
    """
    table = recognised(table)
    names = column_names(table)
    labels = column_labels(table)
    with TemporaryDirectory(prefix="unjoin-") as folder, open_store(Path(folder) / STORE) as connection:
        records = read_rows(connection, table, names, range(len(names)))
        if records == 0:
            raise InputError("input.path: the table has no records")
        types = column_types(connection)
        looks = [
            _look(connection, name, raw, sql_type, records)
            for name, (raw, sql_type) in zip(names, types.items(), strict=True)
        ]
        asked = [
            Asked(look.name, raw, dates=look.formats[0] if look.formats else None)
            for look, raw in zip(looks, types, strict=True)
        ]
        held = columns_held(connection, asked)
    return Sight(
        table,
        records,
        tuple(
            replace(look, label=labels.get(look.name, ""), **_kind_or_fault(each))
            for look, each in zip(looks, held, strict=True)
        ),
    )


def _look(connection: duckdb.DuckDBPyConnection, name: str, raw: str, sql_type: str, records: int) -> Look:
    """Count what a column holds, and make what stands for missing in it missing."""
    counts = _counts(connection, raw, sql_type, suggested_k(records))
    found = {token: cells for token, cells in zip(TOKENS, counts.tokens, strict=True) if cells}
    valued = counts.present - sum(found.values())
    all_numbers, all_dates = 0 < valued == counts.numbers, 0 < valued == counts.dated
    absent = tuple(found) if all_numbers or all_dates else ()
    _forget(connection, raw, absent)
    return Look(
        name,
        None,
        "",
        counts.distinct - len(absent),
        records - (valued if absent else counts.present),
        counts.infinite,
        counts.tokens,
        absent,
        _one_of_each_order(fitting_formats(connection, raw)) if all_dates else (),
        rare=counts.rare,
        codes=counts.codes,
        longest=counts.longest,
    )


def _counts(connection: duckdb.DuckDBPyConnection, raw: str, sql_type: str, k: int) -> _Counts:
    """Count on distinct values; what only texts can be is not looked for elsewhere."""
    number, others = "false", ["0"] * (2 + len(TOKENS))
    infinite = f"sum(n) FILTER (isinf({raw}))" if sql_type in {"FLOAT", "DOUBLE"} else "0"
    if sql_type == "VARCHAR":
        number = f"regexp_full_match({raw}, '{NUMBER}')"
        others = [
            f"sum(n) FILTER (CASE WHEN number THEN false ELSE {condition} END)"
            for condition in (
                f"regexp_full_match({raw}, '{LIKE_A_DATE}')",
                f"regexp_full_match({raw}, '{CODE}')",
                *(f"{raw} = {literal(token)}" for token in TOKENS),
            )
        ]
        infinite = f"sum(n) FILTER (number AND isinf(TRY_CAST({raw} AS DOUBLE)))"
    parts = [
        *("count(*)", "sum(n)", f"count(*) FILTER (n < {k})", f"max(length(CAST({raw} AS VARCHAR)))"),
        *("sum(n) FILTER (number)", infinite, *others),
    ]
    (counts,) = connection.execute(f"""
        SELECT {", ".join(f"coalesce({part}, 0)::BIGINT" for part in parts)} FROM (
            SELECT *, {number} AS number
            FROM (SELECT {raw}, count(*) AS n FROM raw WHERE {raw} IS NOT NULL GROUP BY {raw})
        )
    """).fetchall()
    distinct, present, rare, longest, numbers, infinite_numbers, dated, codes, *tokens = counts
    return _Counts(
        distinct, present, rare, longest, numbers, infinite_numbers, dated, numbers + codes, tuple(tokens)
    )


def _one_of_each_order(formats: Sequence[str]) -> tuple[str, ...]:
    """Return the formats that differ in the order of day, month and year; the months' names are no order.

    Examples
    --------
    >>> _one_of_each_order(["%d %b %Y", "%d %B %Y"]), _one_of_each_order(["%d/%m/%Y", "%m/%d/%Y"])
    (('%d %b %Y',), ('%d/%m/%Y', '%m/%d/%Y'))
    """
    orders = {tuple(re.findall("%[dmY]", re.sub("%[bB]", "%m", form))): form for form in reversed(formats)}
    return tuple(reversed(orders.values()))


def _forget(connection: duckdb.DuckDBPyConnection, raw: str, absent: Sequence[str]) -> None:
    if absent:
        texts = ", ".join(map(literal, absent))
        connection.execute(f"UPDATE raw SET {raw} = NULL WHERE {raw} IN ({texts})")


def _kind_or_fault(held: Held | str) -> dict[str, Any]:
    return {"fault": held} if isinstance(held, str) else {"kind": held.kind}
