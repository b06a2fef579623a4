"""How numbers and dates are written in a cell, and read back: one way for each.

Whole numbers and floats are written shortest (5, 1e-05, 0.30000000000000004), fixed numbers with all their
digits after the point (12.50), days as 2024-03-05, months as 2024-03, quarters as 2024-Q1, years as 2024.
"""

import re
from datetime import date, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain, Kind, Precision

Number = int | float | Decimal | date

DATE_UNITS: dict[Precision, Literal["D", "M", "Y"]] = {"day": "D", "month": "M", "quarter": "M", "year": "Y"}
FIXED = re.compile("-?(0|[1-9][0-9]*)[.]([0-9]+)")
DATE = re.compile("(?P<year>[0-9]{4})(-Q(?P<quarter>[1-4])|-(?P<month>[0-9]{2})(-(?P<day>[0-9]{2}))?)?")
FIXED_DIGITS = 18


def number_texts(values: npt.NDArray[Any], domain: Domain) -> list[str]:
    """Return the texts of numbers as `domain.values` holds them.

    Examples
    --------
    >>> amounts = Domain("amount", "fixed", np.array([-50, 1250]), missing=False, scale=2)
    >>> number_texts(amounts.values, amounts)
    ['-0.50', '12.50']
    """
    if domain.kind == "fixed":
        return [_fixed_text(number, domain.scale) for number in values.tolist()]
    if domain.kind == "date":
        return _date_texts(values, domain.precision)
    return list(map(repr, values.tolist()))


def _fixed_text(number: int, scale: int) -> str:
    digits = str(abs(number)).zfill(scale + 1)
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _date_texts(days: npt.NDArray[np.int64], precision: Precision) -> list[str]:
    units = days.astype("datetime64[D]").astype(f"datetime64[{DATE_UNITS[precision]}]")
    texts: list[str] = np.datetime_as_string(units).tolist()
    if precision != "quarter":
        return texts
    return [f"{text[:4]}-Q{(int(text[5:]) + 2) // 3}" for text in texts]


def read_number(text: str, kind: Kind, scale: int) -> Number:
    """Return the number of a text, or the first day of a date.

    Raises
    ------
    ValueError
        If it is not how a number of that kind is written.
    """
    if kind == "date":
        return span_of(text, kind, scale)[0]
    if kind == "fixed":
        return _fixed_number(text, scale)
    number = int(text) if kind == "integer" else float(text)
    if repr(number) != text or not isfinite(number):
        raise ValueError("the text is not how a number of this kind is written")
    return number


def _fixed_number(text: str, scale: int) -> Decimal:
    found = FIXED.fullmatch(text)
    if not found or len(found[2]) != scale or len(found[1].lstrip("0")) + scale > FIXED_DIGITS:
        raise ValueError("the text is not a number with that many digits")
    if text.startswith("-") and not set(text) & set("123456789"):
        raise ValueError("zero has no sign")
    return Decimal(text)


def span_of(text: str, kind: Kind, scale: int) -> tuple[Number, Number]:
    """Return the least and the greatest number that a text stands for: the days of a date, else one number.

    Raises
    ------
    ValueError
        As of `read_number`.

    Examples
    --------
    >>> span_of("2024-Q1", "date", 0)
    (datetime.date(2024, 1, 1), datetime.date(2024, 3, 31))
    """
    if kind != "date":
        number = read_number(text, kind, scale)
        return number, number
    found = DATE.fullmatch(text)
    if not found:
        raise ValueError("the text is not how a date is written")
    year = int(found["year"])
    if found["day"]:
        day = date(year, int(found["month"]), int(found["day"]))
        return day, day
    month, months = 1, 12
    if found["quarter"]:
        month, months = 3 * int(found["quarter"]) - 2, 3
    elif found["month"]:
        month, months = int(found["month"]), 1
    return date(year, month, 1), _last_day(year, month + months - 1)


def form_of(text: str) -> str:
    """Return what the text of a date looks like, whichever date it is.

    Examples
    --------
    >>> form_of("2024-Q1")
    '0000-Q0'
    """
    return re.sub("[0-9]", "0", text)


def _last_day(year: int, month: int) -> date:
    if month == 12:  # noqa: PLR2004 - December, after which there may be no year
        return date(year, 12, 31)
    return date(year, month + 1, 1) - timedelta(days=1)
