"""The hierarchy of a protected attribute's values, from a file as ARX writes it."""

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.errors import ConfigurationError

ROOT = "*"
NAMED_ROWS = 10

Row = tuple[int, tuple[str, ...]]


class Taxonomy(NamedTuple):
    """The ancestors of values, from the parent to the root.

    Attributes
    ----------
    ancestors_of
        Of each value, one per level; all have the same number, and the last one in common.
    """

    ancestors_of: Mapping[str, tuple[str, ...]]

    def lacking(self, values: Collection[str]) -> int:
        """Return how many of some values have no row in the file."""
        return sum(value not in self.ancestors_of for value in values)

    def paths(self, values: Collection[str]) -> list[list[str]]:
        """Return the ancestors of values that have a row, from the parent to the root."""
        return [list(self.ancestors_of[value]) for value in values]


def ancestor_codes(paths: Sequence[Sequence[str]]) -> npt.NDArray[np.int64]:
    """Return the codes of the ancestors of values.

    Parameters
    ----------
    paths
        The ancestors of each value, from the parent to the root.

    Returns
    -------
    ndarray of shape (values, H)
        At level 1 to H; two values have the same code at a level where they have the same
        ancestor. The last level is the root, and constant.
    """
    levels = zip(*paths, strict=True)
    coded = [np.unique(np.array(level, dtype=object), return_inverse=True)[1] for level in levels]
    return np.column_stack(coded).astype(np.int64)


def read_hierarchy(path: Path) -> Taxonomy:
    """Read a hierarchy: a line per value, as value;level1;level2;..., without a header.

    Quotes are those of RFC 4180; blank lines do not count. Where the last level is not common to
    all values, a root is added.

    Parameters
    ----------
    path
        A CSV file in UTF-8 with semicolons, the layout of ARX.

    Raises
    ------
    ConfigurationError
        If the file cannot be read, or with one line per kind of fault; rows are named by number.
    """
    rows = _rows(path)
    if not rows:
        raise ConfigurationError(f"columns.hierarchies: {path.name} has no rows")
    faults = [f"columns.hierarchies: {path.name}: {fault}" for fault in _faults(rows)]
    if faults:
        raise ConfigurationError("\n".join(faults))
    without_root = len(rows[0][1]) == 1 or len({cells[-1] for _, cells in rows}) > 1
    root = (ROOT,) if without_root else ()
    return Taxonomy({value: (*ancestors, *root) for _, (value, *ancestors) in rows})


def _rows(path: Path) -> list[Row]:
    """Return the rows that are not blank, each with its number."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            numbered = enumerate(csv.reader(file, delimiter=";", strict=True), 1)
            return [(number, tuple(cells)) for number, cells in numbered if cells]
    except OSError as error:
        raise ConfigurationError(
            f"columns.hierarchies: {path.name} cannot be read ({error.strerror})"
        ) from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"columns.hierarchies: {path.name} is not a text file in UTF-8") from None
    except csv.Error:
        raise ConfigurationError(
            f"columns.hierarchies: {path.name} cannot be read as CSV: check its quotes and line ends"
        ) from None


def _faults(rows: Sequence[Row]) -> Iterator[str]:
    width = len(rows[0][1])
    if all(len(cells) == 1 and "," in cells[0] for _, cells in rows):
        yield "has commas and no semicolon: write each row as value;level1;level2;..."
    ragged = [number for number, cells in rows if len(cells) != width]
    if ragged:
        yield f"{_some(ragged)} not the {width} cells of the first row: give every value as many levels"
    holed = [number for number, cells in rows if "" in cells]
    if holed:
        yield f"{_some(holed)} an empty cell: fill it in"
    twice = _repeated(rows)
    if twice:
        yield f"{_some(twice)} a value that a row before has: keep one"
    common = [level for level in range(1, width) if len({cells[level:][:1] for _, cells in rows}) == 1]
    if len(rows) > 1 and len(common) > 1:
        yield f"{len(common)} levels are common to all values, which would make every distance less: keep one"
    torn = _torn(rows, width)
    if torn:
        yield f"{_some(torn)} an ancestor that has another parent in a row before: give it one parent"


def _repeated(rows: Sequence[Row]) -> list[int]:
    first: dict[str, int] = {}
    return [number for number, (value, *_) in rows if first.setdefault(value, number) != number]


def _torn(rows: Sequence[Row], width: int) -> list[int]:
    """Return the rows in which an ancestor has another parent than where it first occurs."""
    parents: dict[tuple[int, str], str] = {}
    return [
        number
        for number, cells in rows
        if len(cells) == width
        and any(
            parents.setdefault((level, cells[level]), cells[level + 1]) != cells[level + 1]
            for level in range(1, width - 1)
        )
    ]


def _some(numbers: Sequence[int]) -> str:
    """Return how many rows have something, and which are the first of them."""
    shown = ", ".join(map(str, numbers[:NAMED_ROWS]))
    more = ", ..." if len(numbers) > NAMED_ROWS else ""
    if len(numbers) == 1:
        return f"1 row (number {shown}) has"
    return f"{len(numbers)} rows (numbers {shown}{more}) have"
