"""Tiny random releases, as they are to be published, and the records that they are of."""

from collections import Counter
from datetime import date
from decimal import Decimal
from typing import NamedTuple

import published_folder
from hypothesis import strategies as st


class Tiny(NamedTuple):
    """The records of a table, as dicts with their class, and its fragments as they are to be published.

    A date is held as the ordinal of its first day.
    """

    records: list[dict]
    fragments: list[published_folder.Fragment]
    kinds: dict[str, str]


@st.composite
def releases(draw, *, fragments=(1, 3), records=(1, 7), groups=3, changed=None):
    """Draw a tiny release whose ECs may overlap, cover missing values, and tell changed class values.

    The first fragment has the sensitive attribute "s".
    """
    count, m = draw(st.integers(*records)), draw(st.integers(*fragments))
    kinds = {f"x{i}": draw(st.sampled_from(list(VALUES))) for i in range(m)}
    table = [{name: draw(VALUES[kind]) for name, kind in kinds.items()} for _ in range(count)]
    column = st.lists(st.sampled_from("abc"), min_size=count, max_size=count)
    true = draw(column)
    secret = draw(st.lists(st.none() | st.sampled_from("uv"), min_size=count, max_size=count))
    change = draw(st.booleans()) if changed is None else changed
    parts = [
        published_folder.Fragment(
            {name: kind},
            grouped(
                [row[name] for row in table],
                draw(st.lists(st.integers(1, groups), min_size=count, max_size=count)),
                draw(column) if change else true,
                kind,
                [] if place else secret,
            ),
            () if place else ("s",),
        )
        for place, (name, kind) in enumerate(kinds.items())
    ]
    known = zip(table, true, secret, strict=True)
    return Tiny([row | {"class": value, "s": own} for row, value, own in known], parts, kinds)


VALUES = {
    "integer": st.none() | st.integers(-2, 4),
    "decimal": st.none() | st.integers(-4, 8).map(lambda n: n / 2),
    "fixed_2": st.none() | st.integers(-150, 150).map(lambda n: Decimal(n).scaleb(-2)),
    "date_day": st.none() | st.integers(-2, 2).map(lambda n: date(1970, 1, 1).toordinal() + n),
    "date_month": st.none() | st.integers(1, 4).map(lambda month: date(1970, month, 1).toordinal()),
    "date_quarter": st.none() | st.sampled_from((1, 4, 7, 10)).map(lambda n: date(1969, n, 1).toordinal()),
    "date_year": st.none() | st.integers(1968, 1971).map(lambda year: date(year, 1, 1).toordinal()),
    "categorical": st.none() | st.sampled_from(["x", "y z", '"', "[", "or missing"]),
    "grouped": st.none() | st.sampled_from(["a1", "a2", "b1", "[b"]),
}
GROUPS = {"a*": {"a1", "a2"}, "[b*": {"b1", "[b"}, "*": {"a1", "a2", "b1", "[b"}}
"""The groups of a feature with a hierarchy, the smallest first, and the values that they hold."""


def grouped(values, labels, told_values, kind, secret):
    """Return the ECs of one feature; groups that would look the same are one."""
    members = {}
    for place, label in enumerate(labels):
        own = [value for value, group in zip(values, labels, strict=True) if group == label]
        members.setdefault(cell_of(own, kind), []).append(place)
    return [
        published_folder.ClassOf(
            (cell,),
            dict(sorted(Counter(told_values[place] for place in places).items())),
            [(secret[place],) for place in sorted(places, key=lambda place: told_values[place]) if secret],
        )
        for cell, places in members.items()
    ]


def cell_of(values, kind):
    present = sorted(value for value in set(values) if value is not None)
    if kind.startswith("date"):
        bounds = [written(value, kind) for value in (present[:1] + present[-1:])] or [None, None]
        return published_folder.Span(*bounds, None in values)
    if kind == "grouped" and len(present) > 1:
        name = next(name for name, held in GROUPS.items() if held.issuperset(present))
        return published_folder.Categories((name,), None in values)
    if kind in {"categorical", "grouped"}:
        return published_folder.Categories(tuple(present), None in values)
    return published_folder.Range(min(present, default=None), max(present, default=None), None in values)


def written(ordinal, kind):
    day = date.fromordinal(ordinal)
    forms = {
        "date_day": f"{day}",
        "date_month": f"{day:%Y-%m}",
        "date_quarter": f"{day.year}-Q{(day.month + 2) // 3}",
        "date_year": f"{day.year}",
    }
    return forms[kind]
