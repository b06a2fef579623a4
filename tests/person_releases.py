"""Releases by hand of tables with several records of a person, and the private stores behind them."""

from collections import Counter
from itertools import combinations, product
from math import prod
from typing import NamedTuple

import duckdb
from protected_release import fragment_of
from published_folder import build, write_store


class Row(NamedTuple):
    """A record: whose it is, its class place in each fragment, what these publish, and a sensitive value."""

    person: int
    places: tuple[int, ...]
    classes: tuple[str, ...]
    diag: str | None = None


class Stated(NamedTuple):
    """The figures of persons, by the definitions."""

    number: int
    smallest_class: int
    smallest_join: int | None
    smallest_records: int | None
    l: int | None  # noqa: E741 (the manifest's own key)


def credit(rows, fragment):
    """Return a person's class value for every (place, person), so that each class value of a place has one.

    None if there is no such way. Tried one after the other: for tiny tables.
    """
    found = {}
    for place in sorted({row.places[fragment] for row in rows}):
        own = {}
        for row in rows:
            if row.places[fragment] == place:
                own.setdefault(row.person, set()).add(row.classes[fragment])
        published = set().union(*own.values())
        ways = product(*(sorted(values) for values in own.values()))
        way = next((way for way in ways if set(way) == published), None)
        if way is None:
            return None
        found |= {(place, person): value for person, value in zip(own, way, strict=True)}
    return found


def credit_diag(rows):
    """Return a sensitive value for every (place, person) of the first fragment, as many as can be."""
    found = {}
    for place in sorted({row.places[0] for row in rows}):
        own = {}
        for row in rows:
            if row.places[0] == place and row.diag is not None:
                own.setdefault(row.person, set()).add(row.diag)
        ways = product(*(sorted(values) for values in own.values()))
        best = max(ways, key=lambda way: len(set(way)))
        found |= {(place, person): value for person, value in zip(own, best, strict=True)}
    return found


def figures(rows, credited, diags, *, diverse):
    """Return what is stated of persons, by definition: choices one by one, all combinations of persons."""
    fragments = range(len(credited))
    ecs = [sorted({row.places[fragment] for row in rows}) for fragment in fragments]
    held = [
        [{row.person for row in rows if row.places[fragment] == place} for place in ecs[fragment]]
        for fragment in fragments
    ]
    counts = [
        [
            Counter(value for (place, _), value in credited[fragment].items() if place == each)
            for each in ecs[fragment]
        ]
        for fragment in fragments
    ]
    joins, records = [], []
    for size in range(2, len(credited) + 1):
        for chosen in combinations(fragments, size):
            for choice in product(*(counts[fragment] for fragment in chosen)):
                common = set.intersection(*(set(each) for each in choice))
                if common:
                    joins.append(sum(prod(each[value] for each in choice) for value in common))
                    records += [sum(each[value] for value in common) for each in choice]
    levels = [len(each) for of_fragment in counts for each in of_fragment]
    levels += [len({value for (place, _), value in diags.items() if place == each}) for each in ecs[0]]
    return Stated(
        len({row.person for row in rows}),
        min(len(each) for of_fragment in held for each in of_fragment),
        min(joins, default=None),
        min(records, default=None),
        min(levels) if diverse else None,
    )


def release_of(rows, k, *, protection=None, guarantee="join", stated=None):
    """Return the release of some rows as files and manifest, which states these figures of persons."""
    sensitive = ("diag",) if protection else ()
    first, *others = (
        [(row.places[fragment], row.classes[fragment], row.diag) for row in rows]
        for fragment in range(len(rows[0].places))
    )
    fragments = [fragment_of("x0", first if sensitive else [each[:2] for each in first], sensitive)]
    fragments += [
        fragment_of(f"x{place}", [each[:2] for each in listed]) for place, listed in enumerate(others, 1)
    ]
    asked = {"protection": protection, "scope": "segments" if others else "all"} if protection else {}
    release = build(fragments, k=k, guarantee=guarantee, **asked)
    release.manifest["persons"] = None if stated is None else stated._asdict()
    return fragments, release


def store_of(path, fragments, rows, credited, diags=()):
    """Write what the gate reads of a private store, beside what it reads of segments: a single one."""
    members = [
        [sorted({row.places[fragment] for row in rows}).index(row.places[fragment]) for row in rows]
        for fragment in range(len(fragments))
    ]
    write_store(path, fragments, members, [0] * len(rows))
    values = sorted({value for row in rows for value in row.classes})
    names = ", ".join(f"fragment_{number} INTEGER" for number in range(1, len(fragments) + 1))
    with duckdb.connect(path) as connection:
        tables = {
            "source (class VARCHAR, diag VARCHAR, person VARCHAR)": [
                [row.classes[0], row.diag, "who?"] for row in rows
            ],
            "codes (class INTEGER, diag INTEGER)": [[values.index(row.classes[0]), 0] for row in rows],
            "persons (person INTEGER)": [[row.person] for row in rows],
            f"published_classes ({names})": [[values.index(value) for value in row.classes] for row in rows],
            "counted (fragment INTEGER, ec INTEGER, person INTEGER, class_value VARCHAR)": [
                [number, place_of(rows, number, place), person, value]
                for number, of_fragment in enumerate(credited, 1)
                for (place, person), value in of_fragment.items()
            ],
            "counted_sensitive (fragment INT, ec INT, person INT, attribute VARCHAR, value VARCHAR)": [
                [1, place_of(rows, 1, place), person, "diag", value]
                for (place, person), value in dict(diags).items()
            ],
        }
        for table, content in tables.items():
            connection.execute(f"CREATE TABLE {table}")
            if content:
                places = ", ".join("?" * len(content[0]))
                connection.executemany(f"INSERT INTO {table.split()[0]} VALUES ({places})", content)
    return path


def place_of(rows, number, place):
    return sorted({row.places[number - 1] for row in rows}).index(place)
