"""The grammar of a published cell: how values are written, and read back.

A single value stands as itself, a range of numbers as ``[lower, upper]``, a set of categories
as ``{"a", "b"}``; missing is an empty cell, and what also covers missing ends in `` or missing``.
A category whose own text could be taken for another form is written as a set of one.
"""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from tasks.domain import Kind

OR_MISSING = " or missing"
RANGE = re.compile(r"\[(?P<lower>[^,\]]+), (?P<upper>[^,\]]+)\]")

Number = int | float


class NumericCell(NamedTuple):
    """The numbers a cell covers; both bounds are None where it covers missing alone."""

    lower: Number | None
    upper: Number | None
    missing: bool


class CategoryCell(NamedTuple):
    """The categories a cell covers, in the order of their code points."""

    values: tuple[str, ...]
    missing: bool


def format_number(number: Number) -> str:
    """Return the shortest text that reads back as the same number."""
    return repr(number)


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
        text = "{" + ", ".join(json.dumps(value, ensure_ascii=False) for value in values) + "}"
    return text + OR_MISSING if missing else text


def _stands_as_itself(category: str) -> bool:
    return category != "" and category[0] not in "[{" and not category.endswith(OR_MISSING)


def parse_cell(text: str, kind: Kind) -> NumericCell | CategoryCell:
    """Read a published cell back.

    Parameters
    ----------
    text
        The cell of a CSV file.
    kind
        What its column holds.

    Raises
    ------
    ValueError
        If the text is not a cell of that kind.
    """
    body = text.removesuffix(OR_MISSING)
    missing = body != text or text == ""
    if kind == "categorical":
        cell: NumericCell | CategoryCell = CategoryCell(_categories(body), missing)
    else:
        cell = NumericCell(*_bounds(body, int if kind == "integer" else float), missing)
    if _written(cell) != text:
        raise ValueError("the text is not how a cell of this kind is written")
    return cell


def _categories(body: str) -> tuple[str, ...]:
    if body == "":
        return ()
    if not body.startswith("{"):
        return (body,)
    return tuple(sorted({str(value) for value in json.loads(f"[{body[1:-1]}]")}))


def _bounds(body: str, number: type[int] | type[float]) -> tuple[Number | None, Number | None]:
    if body == "":
        return None, None
    found = RANGE.fullmatch(body)
    lower, upper = (found["lower"], found["upper"]) if found else (body, body)
    if number(lower) > number(upper):
        raise ValueError("a range starts with its lower bound")
    return number(lower), number(upper)


def _written(cell: NumericCell | CategoryCell) -> str:
    """Return the one way to write a cell."""
    if isinstance(cell, CategoryCell):
        return category_cell(cell.values, missing=cell.missing)
    if cell.lower is None or cell.upper is None:
        return ""
    return numeric_cell(format_number(cell.lower), format_number(cell.upper), missing=cell.missing)
