"""Hierarchies of values, and the reader of those in files as ARX writes them."""

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.errors import ConfigurationError
from tasks.loading.hierarchy_faults import Row, feature_faults, protected_faults

ROOT = "*"


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

    def ordered(self, values: Collection[str]) -> list[str]:
        """Return values that have a row so that those of a group are adjacent, else in the order of rows."""
        wanted, rows = set(values), list(self.ancestors_of)
        groups = [_first_rows(level) for level in zip(*self.paths(rows), strict=True)]
        ordered = (rows[row] for row in np.lexsort(groups).tolist())
        return [value for value in ordered if value in wanted]


def _first_rows(names: Sequence[str]) -> list[int]:
    """Return the place at which each name first stands."""
    first: dict[str, int] = {}
    return [first.setdefault(name, row) for row, name in enumerate(names)]


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


def read_hierarchy(path: Path, *, of_feature: bool = False) -> Taxonomy:
    """Read a hierarchy: a line per value, as value;level1;level2;..., without a header.

    Quotes are those of RFC 4180; blank lines do not count. Where the last level is not common to
    all values, a root is added.

    Parameters
    ----------
    path
        A CSV file in UTF-8 with semicolons, the layout of ARX.
    of_feature
        Whether names of groups are published: each must then stand for the same values wherever it occurs.
        Else levels are distances, and no more than one may be common to all values.

    Raises
    ------
    ConfigurationError
        If the file cannot be read, or with one line per kind of fault; rows are named by number.
    """
    rows = _rows(path)
    if not rows:
        raise ConfigurationError(f"columns.hierarchies: {path.name} has no rows")
    found = feature_faults(rows) if of_feature else protected_faults(rows)
    faults = [f"columns.hierarchies: {path.name}: {fault}" for fault in found]
    if faults:
        raise ConfigurationError("\n".join(faults))
    return rooted({value: tuple(ancestors) for _, (value, *ancestors) in rows})


def rooted(ancestors_of: Mapping[str, tuple[str, ...]]) -> Taxonomy:
    """Return a taxonomy of values, with a root where the last level is not common to all values."""
    tops = {ancestors[-1:] for ancestors in ancestors_of.values()}
    if len(tops) == 1 and tops != {()}:
        return Taxonomy(ancestors_of)
    taken = {name for value, ancestors in ancestors_of.items() for name in (value, *ancestors)}
    root = free_name(ROOT, taken)
    return Taxonomy({value: (*ancestors, root) for value, ancestors in ancestors_of.items()})


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name, with stars added until no value or group has it.

    Examples
    --------
    >>> free_name("*", {"a", "*"})
    '**'
    """
    while name in taken:
        name += "*"
    return name


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
