"""What the texts of a column look like, in counts."""

import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import duckdb
import numpy as np

from tasks.loading.dates import LIKE_A_DATE

NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
COMMA_NUMBER = "[+-]?[0-9]+,[0-9]+"
AT_ONCE = 20  # columns whose texts are counted in one query
EXACT_LENGTH = 15  # characters of a number without exponent that a double can always tell apart


def plainly(text: str) -> str:
    """Return a text as people read it: without case, surrounding blanks, or how its letters are encoded."""
    return unicodedata.normalize("NFKC", text).strip().casefold()


class Texts(NamedTuple):
    """What the texts of a column look like; missing ones are not counted.

    Attributes
    ----------
    values, distinct
        How many there are.
    numbers
        How many are numbers.
    others
        How many distinct texts are not.
    wholes, wide
        How many are whole numbers, and need more than 64 bits.
    leading_zeros
        How many are numbers that start with a needless zero, as codes do.
    fewest_places, most_places
        Digits after the point of numbers, -1 where there is no point, or an exponent.
    digits
        The most digits of a number that has no exponent, without leading zeros of its whole part.
    like_dates, commas
        How many distinct texts look like dates, and like numbers with a decimal comma.
    """

    values: int
    distinct: int
    numbers: int
    others: int
    wholes: int
    wide: int
    leading_zeros: int
    fewest_places: int
    most_places: int
    digits: int
    like_dates: int
    commas: int


NONE = Texts(0, 0, 0, 0, 0, 0, 0, -1, -1, 0, 0, 0)


def texts_of(connection: duckdb.DuckDBPyConnection, raws: Sequence[str]) -> dict[str, Texts]:
    """Return what the texts of some columns of the table `raw` look like, by column."""
    found: dict[str, Texts] = {}
    for start in range(0, len(raws), AT_ONCE):
        found |= _texts_of(connection, raws[start : start + AT_ONCE])
    return found


def _texts_of(connection: duckdb.DuckDBPyConnection, raws: Sequence[str]) -> dict[str, Texts]:
    """Count on distinct texts, which are far fewer than records in most columns."""
    distinct = " UNION ALL ".join(
        f"SELECT {place} AS place, {raw} AS v, count(*) AS n FROM raw WHERE {raw} IS NOT NULL GROUP BY {raw}"
        for place, raw in enumerate(raws)
    )
    rows = connection.execute(f"""
        SELECT place, sum(n)::BIGINT, count(*), coalesce(sum(n) FILTER (number), 0)::BIGINT,
            count(*) FILTER (NOT number), coalesce(sum(n) FILTER (whole), 0)::BIGINT,
            coalesce(sum(n) FILTER (whole AND TRY_CAST(v AS BIGINT) IS NULL), 0)::BIGINT,
            coalesce(sum(n) FILTER (number AND body[1] = '0' AND body[2] BETWEEN '0' AND '9'), 0)::BIGINT,
            coalesce(min(places) FILTER (number), -1), coalesce(max(places) FILTER (number), -1),
            coalesce(max(digits) FILTER (number), 0),
            count(*) FILTER (CASE WHEN number THEN false ELSE regexp_full_match(v, '{LIKE_A_DATE}') END),
            count(*) FILTER (CASE WHEN number THEN false ELSE regexp_full_match(v, '{COMMA_NUMBER}') END)
        FROM (
            SELECT *, number AND point = 0 AND NOT exponent AS whole,
                CASE WHEN point = 0 OR exponent THEN -1 ELSE length(body) - point END AS places,
                length(ltrim(CASE WHEN point = 0 THEN body ELSE left(body, point - 1) END, '0'))
                    + greatest(places, 0) AS digits
            FROM (
                SELECT place, v, n, regexp_full_match(v, '{NUMBER}') AS number, ltrim(v, '+-') AS body,
                    strpos(body, '.') AS point, contains(v, 'e') OR contains(v, 'E') AS exponent
                FROM ({distinct})
            )
        ) GROUP BY place
    """).fetchall()
    return dict.fromkeys(raws, NONE) | {raws[place]: Texts(*counts) for place, *counts in rows}


def inexact_numbers(connection: duckdb.DuckDBPyConnection, raw: str) -> int:
    """Return how many numbers of a text column are not those of their nearest double, printed shortest."""
    doubtful = connection.execute(f"""
        SELECT v, n FROM (SELECT {raw} AS v, count(*) AS n FROM raw WHERE {raw} IS NOT NULL GROUP BY v)
        WHERE (length(v) > {EXACT_LENGTH} OR contains(lower(v), 'e'))
            AND CAST(CAST(v AS DOUBLE) AS VARCHAR) <> v
    """).fetchnumpy()
    exact = np.fromiter(map(told_exactly, doubtful["v"]), dtype=np.bool_, count=len(doubtful["v"]))
    return int(np.asarray(doubtful["n"])[~exact].sum())


def told_exactly(text: str) -> bool:
    """Whether a text is the number of its nearest double, printed shortest; infinite ones are told elsewhere.

    Examples
    --------
    >>> told_exactly("1.10"), told_exactly("0.12345678901234567890123")
    (True, False)
    """
    number = float(text)
    if number in {np.inf, -np.inf}:
        return True
    if number == 0:
        return not set(text.lower().partition("e")[0]) & set("123456789")
    return Decimal(text) == Decimal(repr(number))
