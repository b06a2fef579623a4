"""Hierarchies by their definition: the sets of leaves that names stand for, straight from rows."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import oracles
from hypothesis import strategies as st

from tasks.domain import Domain
from tasks.loading.feature_trees import in_order_of_leaves
from tasks.loading.hierarchy import rooted

Rows = list[tuple[str, ...]]
Values = frozenset[str]


Sides = tuple[list[int], list[int]]


class Grown(NamedTuple):
    """A feature: its hierarchy, if it has one, its cells (None is missing), and what is made of them."""

    rows: Rows | None
    cells: list[str | None]
    codes: npt.NDArray[np.int32]
    domain: Domain


def groups(rows: Rows, values: Values) -> dict[str, Values]:
    """Return the values that each name stands for, of those that occur; a root holds all."""
    held: dict[str, Values] = {}
    for name in {name for row in rows for name in row}:
        held[name] = frozenset(row[0] for row in rows if name in row) & values
    if values not in held.values():
        held["*"] = values
    return held


def smallest_group(rows: Rows, values: Values, held: Values) -> Values:
    """Return the smallest group that holds some values."""
    return min((group for group in groups(rows, values).values() if held <= group), key=len)


def name_of(rows: Rows, values: Values, group: Values) -> str:
    """Return what a group is called: by the lowest level at which it stands, where a value stands lowest."""
    names = [name for name, held in groups(rows, values).items() if held == group]
    levels = {
        name: min((row.index(name) for row in rows if name in row), default=len(rows[0])) for name in names
    }
    return min(names, key=lambda name: levels[name])


def loss(grown: Grown, held: set[str | None]) -> Fraction:
    """Return the loss of the smallest group that holds some cells."""
    values = frozenset(grown.domain.values.tolist())
    present = frozenset(cell for cell in held if cell is not None)
    size = (len(smallest_group(grown.rows, values, present)) if present else 0) + (None in held)
    return Fraction(size - 1, max(grown.domain.size - 1, 1))


def children(grown: Grown, held: Sequence[str | None]) -> list[set[str | None]]:
    """Return the cells of a node in the parts between which it may be cut: missing, then the tree's order."""
    values = frozenset(grown.domain.values.tolist())
    present = frozenset(cell for cell in held if cell is not None)
    parts: list[set[str | None]] = [{None}] if None in held else []
    if not present:
        return parts
    group = smallest_group(grown.rows, values, present)
    below = {held for held in groups(grown.rows, values).values() if held and held < group}
    largest = [part for part in below if not any(part < other for other in below)]
    order = {value: rank for rank, value in enumerate(grown.domain.values.tolist())}
    largest = sorted(largest or [group], key=lambda part: min(order[value] for value in part))
    return parts + [set(part & present) for part in largest if part & present]


def cells_of(grown: Grown, rows: Sequence[int]) -> list[str | None]:
    """Return the cells of some records."""
    return [grown.cells[row] for row in rows]


def width(grown: Grown, rows: Sequence[int]) -> float:
    """Return the width of a node: with a hierarchy the loss of the smallest group that holds its records."""
    if grown.rows is None:
        return oracles.width(grown.codes[rows], grown.domain)
    return float(loss(grown, set(cells_of(grown, rows))))


def cuts(grown: Grown, rows: Sequence[int]) -> list[Sides]:
    """Return the cuts to be tried: after and before the child with the median, the more even one first."""
    if grown.rows is None:
        return [sides(grown.codes, rows, cut) for cut in oracles.strict_cuts(grown.codes[rows])]
    ranks = np.full(len(grown.cells), -1)
    for place, part in enumerate(children(grown, cells_of(grown, rows))):
        ranks[[row for row in rows if grown.cells[row] in part]] = place
    median = oracles.median_code(ranks[rows])
    tried = [sides(ranks, rows, median), sides(ranks, rows, median - 1)]
    return sorted(tried, key=lambda both: -min(map(len, both)))


def sides(ranks: npt.NDArray[Any], rows: Sequence[int], cut: int) -> Sides:
    """Return the rows up to a rank, and those beyond."""
    return [row for row in rows if ranks[row] <= cut], [row for row in rows if ranks[row] > cut]


def halves(codes: npt.NDArray[Any], rows: Sequence[int]) -> Sides:
    """Return the halves of the rows in the order of their codes; equal ones stay in their order."""
    ordered = sorted(rows, key=lambda row: (codes[row], row))
    return sorted(ordered[: len(rows) // 2]), sorted(ordered[len(rows) // 2 :])


def narrowing(grown: Grown, rows: Sequence[int]) -> float:
    """Return by how much the first cut narrows the records of a node, on average."""
    if grown.rows is None:
        return oracles.narrowing(grown.codes[rows], grown.domain)
    left, right = cuts(grown, rows)[0]
    narrower = len(left) * width(grown, left) + len(right) * width(grown, right)
    return width(grown, rows) - narrower / len(rows)


def mondrian(columns: Sequence[Grown], holds: Callable[[list[int]], bool], mode: str) -> list[list[int]]:
    """Return the rows of each leaf, left before right; children of groups stay together in either mode."""

    def leaves(rows: list[int]) -> list[list[int]]:
        varying = [column for column in columns if len(set(cells_of(column, rows))) > 1]
        for column in sorted(varying, key=lambda one: (-width(one, rows), -narrowing(one, rows))):
            tried = (
                [halves(column.codes, rows)]
                if mode == "relaxed" and column.rows is None
                else cuts(column, rows)
            )
            for left, right in tried:
                if left and right and holds(left) and holds(right):
                    return leaves(left) + leaves(right)
        return [rows]

    return leaves(list(range(len(columns[0].cells))))


@st.composite
def hierarchies(draw: st.DrawFn, max_values: int = 8) -> Rows:
    """Draw the rows of a hierarchy: groups of groups; some have one member, which may give them its name."""
    values = draw(st.permutations([f"v{number}" for number in range(draw(st.integers(1, max_values)))]))
    rows: Rows = [(value,) for value in values]
    for level in range(draw(st.integers(0, 3))):
        below = list(dict.fromkeys(row[-1] for row in rows))
        parents = {name: f"{level}{draw(st.sampled_from('pqr'))}" for name in below}
        alone = draw(st.sets(st.sampled_from(below), max_size=2))
        parents |= {name: name for name in alone}
        rows = [(*row, parents[row[-1]]) for row in rows]
    return rows


@st.composite
def features(draw: st.DrawFn, records: int, name: str = "x") -> Grown:
    """Draw a feature with a hierarchy; some of its values may not occur, some cells may be missing."""
    rows = draw(hierarchies())
    values = st.sampled_from([value for value, *_ in rows])
    ends = st.sampled_from([rows[0][0], rows[-1][0]])
    cells = draw(st.sampled_from([values, st.none() | values, ends, st.none() | ends]))
    return grown(rows, draw(st.lists(cells, min_size=records, max_size=records)), name)


@st.composite
def tables(draw: st.DrawFn, records: int | None = None) -> list[Grown]:
    """Draw the features of a table; one at least has a hierarchy."""
    records = draw(st.integers(1, 25)) if records is None else records
    drawn = [draw(features(records, f"x{number}")) for number in range(draw(st.integers(1, 3)))]
    for number in range(draw(st.integers(0, 2))):
        codes, domain = draw(oracles.columns(records, f"y{number}"))
        by_code = [None] * domain.missing + domain.values.tolist()
        drawn.insert(0, Grown(None, [by_code[code] for code in codes], codes, domain))
    return drawn


def grown(rows: Rows, cells: Sequence[str | None], name: str = "x") -> Grown:
    """Return a feature from its hierarchy and its cells."""
    codes, domain = oracles.encode(cells, "categorical", name)
    taxonomy = rooted({value: tuple(ancestors) for value, *ancestors in rows})
    domain, codes = in_order_of_leaves(domain, codes, taxonomy)
    return Grown(rows, list(cells), codes, domain)
