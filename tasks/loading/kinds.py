"""What the columns of the raw table hold, and how it is read: as declared, else as their values look."""

from collections.abc import Iterator, Sequence

import duckdb

from tasks.domain import Kind
from tasks.loading.column_texts import NUMBER, Texts, inexact_numbers, texts_of
from tasks.loading.dates import NEARLY_ALL, day_of, fits, look_like_dates
from tasks.loading.held import Asked, Held, rows_in_words, rows_where
from tasks.loading.typed_columns import (
    DATES,
    FIXED_DIGITS,
    as_double,
    as_text,
    base_type,
    held_of_type,
    in_utc,
    releasable,
    too_long,
    too_wide,
)
from tasks.typed_values import date_text, first_day

FEW = 5  # distinct texts among numbers that may stand for missing
IDENTIFYING = {"integer": 0.9, "categorical": 0.5}  # share of records with a value of their own


def column_types(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the SQL type of each column of the raw table."""
    described = connection.execute("DESCRIBE raw").fetchall()
    return {raw: str(sql_type) for raw, sql_type, *_ in described}


def like_identifier(kind: Kind, distinct: int, records: int) -> bool:
    """Whether text or whole numbers have so many values that they may tell who a record is about.

    Other numbers and dates are measured: they differ without telling who is meant.
    """
    return kind in IDENTIFYING and distinct > IDENTIFYING[kind] * records


def columns_held(connection: duckdb.DuckDBPyConnection, asked: Sequence[Asked]) -> list[Held | str]:
    """Return what each column holds, or why it cannot be released.

    Parameters
    ----------
    connection
        To the store that holds the raw table.
    asked
        The columns.
    """
    types = column_types(connection)
    texts = texts_of(connection, [each.raw for each in asked if _is_looked_at(each, types[each.raw])])
    return [_held(connection, each, types[each.raw], texts.get(each.raw)) for each in asked]


def _is_looked_at(asked: Asked, sql_type: str) -> bool:
    """Whether a column's texts decide what it holds."""
    told = asked.dates is not None or asked.precision is not None or asked.declared == "categorical"
    return sql_type == "VARCHAR" and not (told or asked.texts)


def _held(
    connection: duckdb.DuckDBPyConnection, asked: Asked, sql_type: str, texts: Texts | None
) -> Held | str:
    if not releasable(sql_type):
        return f"holds values of type {base_type(sql_type)}, which cannot be released: drop it"
    if asked.dates is not None or (sql_type in DATES and asked.declared is None):
        return _dates(connection, asked, sql_type)
    if asked.precision is not None:
        return "has a precision under columns.precision, but no dates: give their format under input.dates"
    if asked.declared == "categorical" or asked.texts:
        return Held("categorical", as_text(asked.raw, sql_type))
    if texts is not None:
        return _of_texts(connection, asked, texts)
    return held_of_type(connection, asked.raw, sql_type, asked.declared)


def _dates(connection: duckdb.DuckDBPyConnection, asked: Asked, sql_type: str) -> Held | str:
    raw, written = asked.raw, asked.dates
    if written is None:
        day = f"CAST({in_utc(raw, sql_type)} AS DATE)"
        sound = f"coalesce(year({day}) BETWEEN 1 AND 9999, false)"
        fault = "outside the years 1 to 9999: mend them, or drop the column"
    elif sql_type in DATES:
        return "holds dates already: leave its format out of input.dates"
    else:
        text = as_text(raw, sql_type)
        day, sound = day_of(text, written), fits(text, written)
        fault = f"no date written as {written}: mend them, or declare what is missing under input.missing"
    rows = rows_where(connection, f"{raw} IS NOT NULL AND NOT {sound}")
    if rows:
        return f"{rows_in_words(rows, 'value')} {fault}"
    return _held_dates(asked, day)


def _held_dates(asked: Asked, day: str) -> Held:
    precision = asked.precision or "day"
    first = first_day(day, precision)
    if asked.texts:
        return Held("categorical", date_text(first, precision), dates=True)
    return Held("date", first, precision=precision)


def _of_texts(connection: duckdb.DuckDBPyConnection, asked: Asked, texts: Texts) -> Held | str:
    """Return what texts hold; codes such as 007 are no numbers unless they are declared so."""
    raw = asked.raw
    if asked.declared is not None and texts.others:
        rows = rows_where(connection, f"NOT regexp_full_match({raw}, '{NUMBER}')")
        return (
            f"{rows_in_words(rows, 'value')} no number, though columns.types says so: "
            "mend them, or declare what stands for missing under input.missing"
        )
    if texts.others or not texts.values or (texts.leading_zeros and asked.declared is None):
        if texts.like_dates >= max(NEARLY_ALL * texts.distinct, 1) and look_like_dates(connection, raw):
            return (
                'looks like dates: give their format under input.dates, declare it "categorical" under '
                "columns.types, or drop it"
            )
        return Held("categorical", raw, remarks=tuple(_remarks(texts)))
    if asked.declared == "float":
        return Held("decimal", as_double(raw))
    return _of_numbers(connection, raw, texts)


def _of_numbers(connection: duckdb.DuckDBPyConnection, raw: str, texts: Texts) -> Held | str:
    if texts.wholes == texts.values:
        return too_wide(texts.wide) if texts.wide else Held("integer", f"CAST({raw} AS BIGINT)")
    if 0 < texts.fewest_places == texts.most_places and texts.digits <= FIXED_DIGITS:
        scale = texts.most_places
        return Held("fixed", f"CAST({raw} AS DECIMAL({FIXED_DIGITS}, {scale}))", scale)
    inexact = inexact_numbers(connection, raw)
    return too_long(inexact) if inexact else Held("decimal", as_double(raw))


def _remarks(texts: Texts) -> Iterator[str]:
    others = texts.values - texts.numbers
    if texts.numbers > others > 0 and texts.others <= FEW:
        yield f"numbers but for {others} values, so read as categories: declare what stands for missing"
    if texts.commas and texts.commas >= NEARLY_ALL * texts.others:
        yield "numbers with a decimal comma, so read as categories: write a decimal point"
