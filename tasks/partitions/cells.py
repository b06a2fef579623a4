"""The grammar of a published cell: how values are written, and read back.

A single value stands as itself, a range of numbers as ``[lower, upper]``, a set of categories
as ``{"a", "b"}``; missing is an empty cell, and what also covers missing ends in `` or missing``.
A category whose own text could be taken for another form is written as a set of one.
Numbers are written as `tasks.partitions.numbers` says.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from tasks.domain import Kind
from tasks.partitions.numbers import Number, form_of, read_number, span_of

OR_MISSING = " or missing"
RANGE = re.compile(r"\[(?P<lower>[^,\]]+), (?P<upper>[^,\]]+)\]")


class NumericCell(NamedTuple):
    """The numbers a cell covers; both bounds are None where it covers missing alone.

    Bounds are whole numbers, floats, decimals with their scale, or the first and the last day.
    """

    lower: Number | None
    upper: Number | None
    missing: bool


class CategoryCell(NamedTuple):
    """The categories a cell covers, in the order of their code points."""

    values: tuple[str, ...]
    missing: bool


def numeric_cell(lower: str | None, upper: str | None, *, missing: bool) -> str:
    """Return the cell of a range of numbers, given the texts of its bounds.

    Examples
    --------
    >>> numeric_cell("1", "5", missing=True)
    '[1, 5] or missing'
    >>> numeric_cell("1", "1", missing=False)
    '1'
    """
    if lower is None:
        return ""
    text = lower if lower == upper else f"[{lower}, {upper}]"
    return text + OR_MISSING if missing else text


def category_cell(values: Sequence[str], *, missing: bool) -> str:
    """Return the cell of a set of categories, given in the order of their code points.

    Examples
    --------
    >>> category_cell(["a", "b"], missing=False)
    '{"a", "b"}'
    >>> category_cell(["[0-10)"], missing=True)
    '{"[0-10)"} or missing'
    """
    if not values:
        return ""
    if len(values) == 1 and _stands_as_itself(values[0]):
        text = values[0]
    else:
        text = "{" + ", ".join(map(_in_quotes, values)) + "}"
    return text + OR_MISSING if missing else text


@lru_cache(maxsize=10_000)
def _in_quotes(category: str) -> str:
    return json.dumps(category, ensure_ascii=False)


def _stands_as_itself(category: str) -> bool:
    return category != "" and category[0] not in "[{" and not category.endswith(OR_MISSING)


def parse_cell(text: str, kind: Kind, scale: int = 0) -> NumericCell | CategoryCell:
    """Read a published cell back.

    Parameters
    ----------
    text
        The cell of a CSV file.
    kind
        What its column holds.
    scale
        Digits after the point, where the kind is "fixed".

    Raises
    ------
    ValueError
        If the text is not a cell of that kind.

    Examples
    --------
    >>> parse_cell("[2024-02, 2024-03]", "date").upper
    datetime.date(2024, 3, 31)
    """
    body = text.removesuffix(OR_MISSING)
    missing = body != text
    if not body:
        if missing:
            raise ValueError("missing alone is an empty cell")
        return CategoryCell((), missing=True) if kind == "categorical" else NumericCell(None, None, True)  # noqa: FBT003
    if kind != "categorical":
        return NumericCell(*_bounds(body, kind, scale), missing)
    cell = CategoryCell(_categories(body), missing)
    if category_cell(cell.values, missing=missing) != text:
        raise ValueError("the text is not how a set of categories is written")
    return cell


def _categories(body: str) -> tuple[str, ...]:
    if not body.startswith("{"):
        return (body,)
    try:
        values = json.loads(f"[{body[1:-1]}]")
    except RecursionError:
        raise ValueError("categories are texts, not lists") from None
    return tuple(sorted({str(value) for value in values}))


def _bounds(body: str, kind: Kind, scale: int) -> tuple[Number, Number]:
    found = RANGE.fullmatch(body)
    if not found:
        return span_of(body, kind, scale)
    ends: list[Any] = [read_number(found[bound], kind, scale) for bound in ("lower", "upper")]
    if kind == "date" and form_of(found["lower"]) != form_of(found["upper"]):
        raise ValueError("both bounds are days, months, quarters or years")
    if not ends[0] < ends[1]:
        raise ValueError("a range starts with its lower bound")
    return ends[0], span_of(found["upper"], kind, scale)[1]
