"""Builds a published folder by hand, from released cells and class counts, without the project's writer."""

import calendar
import csv
import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from gate_oracles import largest_distance, smallest_level

PARQUET_TYPES = {
    "integer": "STRUCT(lower BIGINT, upper BIGINT, missing BOOLEAN)",
    "decimal": "STRUCT(lower DOUBLE, upper DOUBLE, missing BOOLEAN)",
    **{
        f"fixed_{scale}": f"STRUCT(lower DECIMAL(18,{scale}), upper DECIMAL(18,{scale}), missing BOOLEAN)"
        for scale in range(1, 19)
    },
    **{
        f"date_{precision}": "STRUCT(lower DATE, upper DATE, missing BOOLEAN)"
        for precision in ("day", "month", "quarter", "year")
    },
    "categorical": "VARCHAR[]",
    "grouped": "VARCHAR[]",
    "sensitive": "VARCHAR",
    "class": "VARCHAR",
}
"""Of every kind of column; categorical features with a hierarchy are "grouped"."""


class Range(NamedTuple):
    """Numbers; those of a fixed scale are Decimals with as many digits."""

    lower: float | Decimal | None
    upper: float | Decimal | None
    missing: bool = False

    @property
    def text(self):
        if self.lower is None:
            return ""
        lower, upper = (f"{n:f}" if isinstance(n, Decimal) else repr(n) for n in self[:2])
        return (lower if lower == upper else f"[{lower}, {upper}]") + suffix(self)

    @property
    def value(self):
        return self._asdict()


class Span(NamedTuple):
    """Dates, as they are written: 2024-03-05, 2024-03, 2024-Q1 or 2024."""

    lower: str | None
    upper: str | None
    missing: bool = False

    @property
    def text(self):
        if self.lower is None:
            return ""
        return (self.lower if self.lower == self.upper else f"[{self.lower}, {self.upper}]") + suffix(self)

    @property
    def value(self):
        bounds = (None, None) if self.lower is None else (days(self.lower)[0], days(self.upper)[1])
        return {"lower": bounds[0], "upper": bounds[1], "missing": self.missing}


def days(text):
    """Return the first and the last day of a written date."""
    year, rest = int(text[:4]), text[5:]
    if rest[:1] == "Q":
        first, last = 3 * int(rest[1]) - 2, 3 * int(rest[1])
    elif len(rest) == 5:
        return (date.fromisoformat(text),) * 2
    else:
        first, last = (int(rest), int(rest)) if rest else (1, 12)
    return date(year, first, 1), date(year, last, calendar.monthrange(year, last)[1])


class Categories(NamedTuple):
    values: tuple[str, ...]
    missing: bool = False

    @property
    def text(self):
        if not self.values:
            return ""
        first = self.values[0]
        plain = len(self.values) == 1 and first and first[0] not in "[{" and not first.endswith(" or missing")
        members = ", ".join(json.dumps(value, ensure_ascii=False) for value in sorted(self.values))
        return (first if plain else "{" + members + "}") + suffix(self)

    @property
    def value(self):
        return [*sorted(self.values), *[None] * (self.missing or not self.values)]


def suffix(cell):
    return " or missing" if cell.missing else ""


class ClassOf(NamedTuple):
    """An equivalence class: a cell per feature, and how many records have each class value.

    Where there are sensitive attributes, each record's values, in the order of the class values.
    """

    cells: Sequence[Range | Span | Categories]
    counts: dict[str, int]
    values: Sequence[tuple[str | None, ...]] = ()


class Fragment(NamedTuple):
    features: dict[str, str]  # name -> kind of its cells, as in PARQUET_TYPES
    classes: Sequence[ClassOf]
    sensitive: tuple[str, ...] = ()


@dataclass(frozen=True)
class Protection:
    """What l and t ask, as the manifest words it."""

    l: float | None = None  # noqa: E741 (the manifest's own key)
    l_model: str | None = None
    c: float | None = None
    t: float | None = None
    t_distance: str | None = None
    orders: dict[str, list[str]] = field(default_factory=dict)
    hierarchies: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    @property
    def is_asked(self):
        return self.l is not None or self.t is not None


NOTHING = Protection()


@dataclass
class Table:
    """A fragment as it will be written; the same rows twice, so that damage can be done to one format."""

    names: list[str]
    types: list[str]
    csv: list[list[str]]
    parquet: list[list[Any]]


@dataclass
class Release:
    manifest: dict[str, Any]
    tables: list[Table]

    def write(self, folder: Path) -> Path:
        """Write all files; the manifest's hashes are made to fit, whatever was done to the tables."""
        folder.mkdir(parents=True, exist_ok=True)
        for number, (table, entry) in enumerate(zip(self.tables, self.manifest["fragments"], strict=True), 1):
            paths = {kind: folder / f"fragment_{number}.{kind}" for kind in ("csv", "parquet")}
            write_csv(paths["csv"], table)
            write_parquet(paths["parquet"], table)
            entry["sha256"] = {kind: sha256(path) for kind, path in paths.items()}
        (folder / "release.json").write_text(json.dumps(self.manifest), encoding="utf-8")
        return folder


def write_csv(path: Path, table: Table) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.names)
        writer.writerows(table.csv)


def write_parquet(path: Path, table: Table) -> None:
    with duckdb.connect() as connection:
        columns = ", ".join(
            '"' + name.replace('"', '""') + '" ' + kind
            for name, kind in zip(table.names, table.types, strict=True)
        )
        connection.execute(f"CREATE TABLE fragment ({columns})")
        if table.parquet:
            places = ", ".join("?" * len(table.names))
            connection.executemany(f"INSERT INTO fragment VALUES ({places})", table.parquet)
        connection.table("fragment").to_parquet(str(path))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def build(
    fragments: Sequence[Fragment],
    *,
    k: int,
    class_attribute: str = "class",
    delta=None,
    protection=NOTHING,
    scope="all",
    within=None,
    guarantee="join",
) -> Release:
    """Return a release of these fragments; class values are per class where a delta is given.

    With l or t it is a draft, unless figures of joins within segments are given. It states
    that the guarantee is achieved, be it so or not.
    """
    tables = [table_of(fragment, class_attribute, per_class=delta is not None) for fragment in fragments]
    manifest = manifest_of(fragments, k, class_attribute, delta)
    if protection.is_asked:
        add_protection(manifest, fragments, tables, protection)
    manifest["joins"] |= {"scope": scope, "within_segments": within}
    for key in ("asked", "achieved") if delta is None else ("asked",):
        manifest["guarantees"]["guarantee"][key] = guarantee
    if protection.is_asked and within is None:
        manifest["validation"]["success"] = None
    return Release(manifest, tables)


def table_of(fragment: Fragment, class_attribute: str, *, per_class: bool) -> Table:
    rows = []
    for cells, counts, values in fragment.classes:
        listed = list(itertools.chain.from_iterable([value] * n for value, n in counts.items()))
        if per_class:
            listed = [*counts, *[None] * (len(listed) - len(counts))]
        beside = values or [()] * len(listed)
        rows += [(cells, own, value) for own, value in zip(beside, listed, strict=True)]
    texts = [
        [*[cell.text for cell in cells], *[value or "" for value in own], class_text(class_value)]
        for cells, own, class_value in rows
    ]
    order = sorted(range(len(rows)), key=lambda row: [text.encode() for text in texts[row]])
    kinds = (*fragment.features.values(), *["sensitive"] * len(fragment.sensitive), "class")
    return Table(
        names=[*fragment.features, *fragment.sensitive, class_attribute],
        types=[PARQUET_TYPES[kind] for kind in kinds],
        csv=[texts[row] for row in order],
        parquet=[[*[cell.value for cell in rows[row][0]], *rows[row][1], rows[row][2]] for row in order],
    )


def class_text(value: str | None) -> str:
    return "" if value is None else Categories((value,)).text


def manifest_of(fragments: Sequence[Fragment], k: int, class_attribute: str, delta) -> dict[str, Any]:
    sizes = [[sum(each.counts.values()) for each in fragment.classes] for fragment in fragments]
    records = sum(sizes[0])
    joins = [None, None] if delta is not None else smallest(fragments)
    changed = [0] * len(fragments) if delta is not None else changes(fragments)
    entries = [
        {
            "csv": f"fragment_{number}.csv",
            "parquet": f"fragment_{number}.parquet",
            "features": list(fragment.features),
            "sensitive": list(fragment.sensitive),
            "protected": [],
            "equivalence_classes": len(size),
            "smallest_class": min(size),
        }
        for number, (fragment, size) in enumerate(zip(fragments, sizes, strict=True), 1)
    ]
    empty = {"asked": None, "achieved": None}
    return {
        "name": "by hand",
        "version": "20261127T030000Z",
        "unjoin_version": "0",
        "records": records,
        "class": class_attribute,
        "class_values": "per_record" if delta is None else "per_class",
        "enforcement": "delta_selectivity" if delta is not None else "naive" if any(changed) else "none",
        "columns": [
            {"name": name, "fragment": number} | stated_kind(kind)
            for number, fragment in enumerate(fragments, 1)
            for name, kind in fragment.features.items()
        ],
        "sensitive": [name for fragment in fragments for name in fragment.sensitive],
        "protected": [],
        "guarantees": {
            "k": {"asked": k, "achieved": min(map(min, sizes))},
            "guarantee": {"asked": "join", "achieved": "join" if delta is None else None},
            "delta": {"asked": delta, "achieved": None},
            "l": empty,
            "l_model": empty,
            "c": empty,
            "t": empty,
            "t_distance": empty,
        },
        "fragments": entries,
        "joins": {
            "smallest_join": joins[0],
            "smallest_records": joins[1],
            "smallest_record_share": None,
            "choices": prod(1 + len(size) for size in sizes) - 1 - sum(map(len, sizes)),
            "scope": "all",
            "within_segments": None,
        },
        "changed_class_values": {
            "total": sum(changed),
            "share": sum(changed) / (records * len(fragments)),
            "per_fragment": changed,
        },
        "suppressed_records": 0,
        "measures": {"information_loss": {"fragmented": 0.25, "unfragmented": 0.5}},
        "limits": {"max_information_loss": None, "max_changed_class_values": None},
        "config_sha256": "0" * 64,
        "versions": {},
        "validation": {"success": True, "path": "validation"},
    }


def stated_kind(kind: str) -> dict[str, Any]:
    family, _, detail = kind.partition("_")
    if family == "fixed":
        return {"kind": "fixed", "scale": int(detail)}
    if family == "date":
        return {"kind": "date", "precision": detail}
    if family == "grouped":
        return {"kind": "categorical", "hierarchy": {"made": "prefix", "prefix": [2]}}
    return {"kind": kind}


def changes(fragments: Sequence[Fragment]) -> list[int]:
    """Return how many class values of each fragment were changed, if none of the first one's were."""
    first, *others = (
        sum((Counter(each.counts) for each in fragment.classes), Counter()) for fragment in fragments
    )
    return [0, *((first - other).total() for other in others)]


def add_protection(
    manifest: dict[str, Any], fragments: Sequence[Fragment], tables: Sequence[Table], asked: Protection
) -> None:
    """State what l and t ask, and what the rows reach by the definitions."""
    placed = {manifest["class"]: None}
    placed |= {name: number for number, fragment in enumerate(fragments, 1) for name in fragment.sensitive}
    manifest["protected"] = [
        {
            "column": name,
            "fragment": number,
            "order": asked.orders.get(name),
            "hierarchy": asked.hierarchies.get(name),
        }
        for name, number in placed.items()
    ]
    for fragment, table, entry in zip(fragments, tables, manifest["fragments"], strict=True):
        names = [manifest["class"], *fragment.sensitive]
        entry["protected"] = [reached(table, len(fragment.features), name, asked) for name in names]
    found = [each for entry in manifest["fragments"] for each in entry["protected"]]
    achieved = {
        "l": None if asked.l is None else min(each["l"] for each in found),
        "t": None if asked.t is None else max(each["t"] for each in found),
    }
    for name in ("l", "l_model", "c", "t", "t_distance"):
        value = getattr(asked, name)
        manifest["guarantees"][name] = {"asked": value, "achieved": achieved.get(name, value)}


def reached(table: Table, features: int, name: str, asked: Protection) -> dict[str, Any]:
    place = table.names.index(name)
    found = {"column": name, "l": None, "t": None}
    if asked.l is not None:
        lowest = smallest_level(table.csv, features, place, asked.l_model, asked.c)
        found["l"] = math.floor((lowest + 1e-9) * 10**6) / 10**6 if asked.l_model == "entropy" else lowest
    if asked.t is not None:
        ground = {"order": asked.orders.get(name), "hierarchy": asked.hierarchies.get(name)}
        furthest = largest_distance(table.csv, features, place, asked.t_distance, **ground)
        found["t"] = math.ceil((furthest - 1e-9) * 10**6) / 10**6
    return found


def write_store(
    path: Path,
    fragments: Sequence[Fragment],
    members: Sequence[Sequence[int]],
    segments: Sequence[int],
) -> Path:
    """Write what the gate reads of a private store; members are the records' classes per fragment."""
    with duckdb.connect(path) as connection:
        for number, fragment in enumerate(fragments, 1):
            names = ", ".join(f"f{place} VARCHAR" for place in range(1, len(fragment.features) + 1))
            connection.execute(f"CREATE TABLE regions_{number} ({names})")
            cells = [[cell.text for cell in each.cells] for each in fragment.classes]
            places = ", ".join("?" * len(fragment.features))
            connection.executemany(f"INSERT INTO regions_{number} VALUES ({places})", cells)
        names = ", ".join(f"fragment_{number} BIGINT" for number in range(1, len(fragments) + 1))
        connection.execute(f"CREATE TABLE members ({names})")
        rows = [list(row) for row in zip(*members, strict=True)]
        connection.executemany(f"INSERT INTO members VALUES ({', '.join('?' * len(fragments))})", rows)
        connection.execute("CREATE TABLE segments (segment INTEGER)")
        connection.executemany("INSERT INTO segments VALUES (?)", [[segment] for segment in segments])
    return path


def smallest(fragments: Sequence[Fragment]) -> list[int | None]:
    """Return the smallest join with rows and the fewest records it rests on, by the definition."""
    joins, records = [], []
    for chosen in choices(fragments):
        common = set.intersection(*(set(counts) for counts in chosen))
        if common:
            joins.append(sum(prod(counts[value] for counts in chosen) for value in common))
            records += [sum(counts[value] for value in common) for counts in chosen]
    return [min(joins, default=None), min(records, default=None)]


def choices(fragments: Sequence[Fragment]) -> Iterable[tuple[dict[str, int], ...]]:
    for size in range(2, len(fragments) + 1):
        for subset in itertools.combinations(fragments, size):
            yield from itertools.product(*([each.counts for each in one.classes] for one in subset))
