"""Dates as texts: how they are written, which texts do not fit, and what looks like them."""

import re

import duckdb

from tasks.domain import Precision
from tasks.store import literal

DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d %b %Y", "%d-%b-%Y", "%d%b%Y", "%d %B %Y", "%B %d, %Y", "%b %d, %Y"),
)
TIMES = (
    *("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p"),
    *("T%H:%M", "T%H:%M:%S", "T%H:%M:%SZ", "T%H:%M:%S.%f", "T%H:%M:%S.%fZ", "T%H:%M:%S%z", " %H:%M:%S%z"),
)
USUAL = tuple(day + time for day in DAYS for time in TIMES)
SHORT_YEARS = tuple(day.replace("%Y", "%y") for day in DAYS)
LIKE_A_DATE = (
    "([0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{4}"
    "|[0-9]{2}[-./][0-9]{2}[-./][0-9]{2}|[0-9]{1,2}[- ]?[A-Za-z]{3,9}[- ]?([0-9]{2}|[0-9]{4})"
    "|[A-Za-z]{3,9} [0-9]{1,2}, [0-9]{4})([ T].*)?"
)
NEARLY_ALL = 0.9  # of the distinct texts of a column
SOME = 1000  # distinct texts that tell what others are likely to be

PARTS: dict[Precision, dict[str, tuple[str, ...]]] = {
    "year": {"year": ("%Y",)},
    "month": {"year": ("%Y",), "month": ("%m", "%-m", "%b", "%B", "%j", "%-j")},
    "day": {
        "year": ("%Y",),
        "month": ("%m", "%-m", "%b", "%B", "%j", "%-j"),
        "day": ("%d", "%-d", "%j", "%-j"),
    },
}
PARTS["quarter"] = PARTS["month"]


def format_fault(written: str, precision: Precision) -> str | None:
    """Return why a format does not tell dates of a precision, or None."""
    if not _understood(written):
        return "is none: write it with %Y, %m, %d, %H, %M, %S, as %d.%m.%Y"
    found = set(_signs(written))
    if {"%y", "%-y"} & found:
        return "has two digits for the year, which may be of any century: write years as %Y"
    lacking = [part for part, signs in PARTS[precision].items() if not set(signs) & found]
    if not lacking:
        return None
    return (
        f"lacks the {' and the '.join(lacking)}: add what is there, or set columns.precision to what "
        "dates are told by"
    )


def _signs(written: str) -> list[str]:
    """Return the parts of a format that stand for something."""
    return re.findall("%-?.", written)


def _understood(written: str) -> bool:
    with duckdb.connect() as connection:
        try:
            connection.execute(f"SELECT try_strptime('', {literal(written)})")
        except duckdb.Error:
            return False
    return True


def day_of(text: str, written: str) -> str:
    """Return SQL for the day that a text tells, in UTC where it tells an offset; NULL if it tells none."""
    moment = f"try_strptime({text}, {literal(written)})"
    if {"%z", "%Z"} & set(_signs(written)):
        moment = f"({moment} AT TIME ZONE 'UTC')"
    return f"CAST({moment} AS DATE)"


def fits(text: str, written: str) -> str:
    """Return SQL for whether a text is a date in a format; years have four digits: 24 is no year."""
    day = day_of(text, written)
    year = f"year({day})"
    return (
        f"coalesce({year} BETWEEN 1 AND 9999 AND NOT regexp_matches({text}, '^\\s|\\s$') "
        f"AND ({year} >= 1000 OR contains({text}, printf('%04d', {year}))), false)"
    )


def fitting_formats(connection: duckdb.DuckDBPyConnection, raw: str) -> list[str]:
    """Return which usual formats all values of a text column of the raw table are written in."""
    fitting = list(USUAL)
    for some in (f"ORDER BY hash(v) LIMIT {SOME}", ""):  # few formats fit some values, and are tried on all
        if fitting:
            conditions = ", ".join(f"bool_and({fits('v', written)})" for written in fitting)
            ((*all_fit,),) = connection.execute(
                f"SELECT {conditions} FROM ({_distinct(raw)} {some})"
            ).fetchall()
            fitting = [written for written, fit in zip(fitting, all_fit, strict=True) if fit]
    return fitting


def look_like_dates(connection: duckdb.DuckDBPyConnection, raw: str) -> bool:
    """Whether nearly all of some values of a text column of the raw table are dates in usual formats."""
    formats = ", ".join(map(literal, (*USUAL, *SHORT_YEARS)))
    ((dates, distinct),) = connection.execute(f"""
        SELECT count(try_strptime(v, [{formats}])), count(*)
        FROM ({_distinct(raw)} ORDER BY hash(v) LIMIT {SOME})
    """).fetchall()
    return bool(dates >= NEARLY_ALL * distinct)


def _distinct(raw: str) -> str:
    return f"SELECT DISTINCT {raw} AS v FROM raw WHERE {raw} IS NOT NULL"
