"""What is different in a table, held against an earlier release of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain, Kind, Precision
from tasks.drift.earlier import Earlier, EarlierColumn
from tasks.partitions.numbers import number_texts
from tasks.tables import Counts, Role

MUCH = 2
ROLES: dict[Role, str] = {"feature": "a feature", "sensitive": "a sensitive attribute", "class": "the class"}
NOUNS: dict[Role, tuple[str, str]] = {
    "feature": ("category", "categories"),
    "sensitive": ("value", "values"),
    "class": ("class value", "class values"),
}
KINDS: dict[Kind, str] = {"integer": "whole numbers", "decimal": "numbers", "categorical": "categories"}


class Held(NamedTuple):
    """A column of the table.

    Attributes
    ----------
    role
    domain
    records : ndarray of shape (domain.size,)
        How many records hold each code.
    hierarchy
        How the groups of a categorical feature are made, if it has any.
    """

    role: Role
    domain: Domain
    records: Counts
    hierarchy: dict[str, Any] | None = None


class Finding(NamedTuple):
    """A difference, told without any value; the values that it is of are for the private store.

    Attributes
    ----------
    column
        None where it is of the table as a whole.
    told
        What is different.
    values
        The categories that are new or gone.
    """

    column: str | None
    told: str
    values: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The finding in one line."""
        return self.told if self.column is None else f"column {self.column!r}: {self.told}"


def findings(earlier: Earlier, held: Sequence[Held], aside: Mapping[str, str]) -> Iterator[Finding]:
    """Yield where a table is not like an earlier release.

    Parameters
    ----------
    earlier
        The release.
    held
        The columns that are to be released now.
    aside
        Columns of the table that are not, and under which setting they stand.
    """
    yield from _size(earlier.records, int(held[0].records.sum()))
    before = {column.name: column for column in earlier.columns}
    now = {column.domain.name: column for column in held}
    for name, column in now.items():
        if name in before:
            yield from _changes(before[name], column)
        else:
            yield Finding(
                name,
                f"is new: the earlier release has no column of that name, and it is {ROLES[column.role]}",
            )
    for name, gone in before.items():
        if name in aside:
            yield Finding(name, f"was {ROLES[gone.role]}, and is under columns.{aside[name]} now")
        elif name not in now:
            yield Finding(name, f"was {ROLES[gone.role]}, and the table does not have it any more")


def _size(before: int, now: int) -> Iterator[Finding]:
    if now > MUCH * before or before > MUCH * now:
        yield Finding(None, f"the table has {_of(now, 'record', 'records')}, the earlier release {before:,}")


def _changes(before: EarlierColumn, now: Held) -> Iterator[Finding]:
    """Yield what is different in a column; once it is of another sort, its values are not compared."""
    domain = now.domain
    held, holds = (_sort(each.kind, each.scale, each.precision) for each in (before, domain))
    if before.role != now.role:
        yield Finding(domain.name, f"was {ROLES[before.role]}, and is {ROLES[now.role]} now")
    elif held != holds:
        yield Finding(domain.name, f"held {held}, and holds {holds} now")
    elif before.hierarchy != now.hierarchy:
        yield Finding(domain.name, "is grouped in another way than it was")
    else:
        values = now.records[domain.missing :]
        yield from (_beyond if domain.numeric else _new_and_gone)(before, now, values)
        yield from _missing(before, now)


def _sort(kind: Kind, scale: int, precision: Precision) -> str:
    if kind == "fixed":
        return f"numbers with {_of(scale, 'decimal', 'decimals')}"
    return f"{precision}s" if kind == "date" else KINDS[kind]


def _missing(before: EarlierColumn, now: Held) -> Iterator[Finding]:
    if now.domain.missing and not before.missing:
        records = _of(int(now.records[0]), "record", "records")
        yield Finding(now.domain.name, f"is missing in {records}, and never was in the earlier release")


def _beyond(before: EarlierColumn, now: Held, records: Counts) -> Iterator[Finding]:
    """Yield how many numbers lie outside the range that the earlier release shows."""
    domain = now.domain
    noun = ("date", "dates") if domain.kind == "date" else ("number", "numbers")
    if before.lowest is None or before.highest is None:
        if len(domain.values):
            yield Finding(
                domain.name, f"has {_of(int(records.sum()), *noun)}, and the earlier release has none"
            )
        return
    low, high = ("before", "after") if domain.kind == "date" else ("below", "above")
    for outside, where in ((domain.values < before.lowest, low), (domain.values > before.highest, high)):
        if outside.any():
            number = int(records[outside].sum())
            told = f"{_of(number, *noun)} {_are(number)} {where} all of the earlier release"
            yield Finding(domain.name, told, tuple(number_texts(domain.values[outside], domain)))


def _new_and_gone(before: EarlierColumn, now: Held, records: Counts) -> Iterator[Finding]:
    """Yield how many categories the earlier release does not show, and how many it alone shows."""
    domain = now.domain
    levels = [domain.values.tolist()] if domain.tree is None else domain.tree.labels
    new = ~np.any([_among(names, before.names) for names in levels], axis=0)
    gone = before.names.difference(*levels)
    if new.any():
        told = (
            f"{_of(int(new.sum()), *NOUNS[now.role])} in {_of(int(records[new].sum()), 'record', 'records')}"
        )
        verb = _are(int(new.sum()))
        what = f"{verb} new" if domain.tree is None else f"{verb} in no group of the earlier release"
        yield Finding(domain.name, f"{told} {what}", tuple(domain.values[new].tolist()))
    if gone:
        nouns = NOUNS[now.role] if domain.tree is None else ("group", "groups")
        told = f"{_of(len(gone), *nouns)} of the earlier release {_are(len(gone))} gone"
        yield Finding(domain.name, told, tuple(sorted(gone)))


def _among(names: Sequence[str], known: frozenset[str]) -> npt.NDArray[np.bool_]:
    return np.fromiter((name in known for name in names), dtype=np.bool_, count=len(names))


def _of(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
