"""The definitions of l-diversity and t-closeness executed on lists of values, and random inputs for them.

None is a missing value: it belongs to no distribution.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import exp, fsum, log
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import oracles
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

ROUNDING = Fraction(1, 10**9)

Values: TypeAlias = Sequence[Any]
Paths: TypeAlias = dict[Any, tuple[Any, ...]]  # of each value, its ancestors up to the root


# --- l-diversity --------------------------------------------------------------------------------


def frequencies(values: Values) -> list[int]:
    """Return how often each value occurs, the most frequent first."""
    return [count for _, count in Counter(value for value in values if value is not None).most_common()]


def distinct_level(values: Values) -> int:
    """Return the number of different values."""
    return len(frequencies(values))


def entropy_level(values: Values) -> float:
    """Return the exponential of the entropy in nats; 0 without any value."""
    counts = frequencies(values)
    return exp(-fsum(r / sum(counts) * log(r / sum(counts)) for r in counts)) if counts else 0.0


def is_entropy_diverse(values: Values, l: float) -> bool:  # noqa: E741 - the field's own letter
    """Whether the entropy of the values is at least that of l equally frequent ones."""
    return entropy_level(values) >= l - ROUNDING


def is_recursively_diverse(values: Values, c: Fraction, l: int) -> bool:  # noqa: E741 - the field's own letter
    """Whether r_1 < c (r_l + ... + r_m), which too few values cannot satisfy."""
    r = frequencies(values)
    return len(r) >= l and r[0] < c * sum(r[l - 1 :])


def recursive_level(values: Values, c: Fraction) -> int:
    """Return the largest l that holds; 0 if none does."""
    return max((l for l in range(1, len(values) + 1) if is_recursively_diverse(values, c, l)), default=0)  # noqa: E741


# --- t-closeness --------------------------------------------------------------------------------


def shares(values: Values) -> dict[Any, Fraction]:
    """Return each value's share of the values that are not missing."""
    counts = Counter(value for value in values if value is not None)
    return {value: Fraction(count, counts.total()) for value, count in counts.items()}


def equal_distance(values: Values, everyone: Values) -> Fraction:
    """Return half the sum of the differences of the shares."""
    p, q = shares(values), shares(everyone)
    return sum((abs(p.get(value, Fraction(0)) - q[value]) for value in q), Fraction(0)) / 2


def ordered_distance(values: Values, everyone: Values) -> float:
    """Return the earth mover's distance of values whose order is their own, each a step from the next."""
    rank = {value: number for number, value in enumerate(sorted(shares(everyone)))}
    p, q = shares(values), shares(everyone)
    moved = wasserstein_distance(
        [rank[value] for value in p],
        [rank[value] for value in q],
        [float(share) for share in p.values()],
        [float(share) for share in q.values()],
    )
    return float(moved) / max(len(rank) - 1, 1)


def is_close(
    values: Values, everyone: Values, t: Fraction, distance: Callable[[Values, Values], Fraction | float]
) -> bool:
    """Whether some values, if there are any, are at most t away from everyone's."""
    return any(value is not None for value in values) and distance(values, everyone) <= t + ROUNDING


def apart(one: Any, other: Any, paths: Paths) -> Fraction:
    """Return the lowest level at which two values have a common ancestor, over the number of levels."""
    if one == other:
        return Fraction(0)
    levels = len(paths[one])
    return Fraction(next(i for i in range(1, levels + 1) if paths[one][i - 1] == paths[other][i - 1]), levels)


def hierarchical_distance(values: Values, everyone: Values, paths: Paths) -> float:
    """Return the least cost of turning one distribution into the other, as a linear program."""
    p, q = shares(values), shares(everyone)
    names = tuple(sorted(q))
    costs = tuple(float(apart(one, other, paths)) for one in names for other in names)
    return _least_cost(tuple(float(p.get(n, 0)) for n in names), tuple(float(q[n]) for n in names), costs)


@cache
def _least_cost(supply: tuple[float, ...], demand: tuple[float, ...], costs: tuple[float, ...]) -> float:
    m = len(supply)
    leaving, arriving = np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))
    found: Any = linprog(costs, A_eq=np.vstack([leaving, arriving]), b_eq=[*supply, *demand])
    return float(found.fun)


# --- random inputs ------------------------------------------------------------------------------


def counts_of(values: Values, order: Sequence[Any]) -> list[int]:
    """Return how often each value of an order occurs."""
    return [sum(value == other for other in values) for value in order]


@st.composite
def paths(draw: st.DrawFn, values: Sequence[int]) -> Paths:
    """Draw a hierarchy: nodes of each level fall under one of the next, and all under the root."""
    found: Paths = dict.fromkeys(values, ())
    nodes: dict[int, Any] = {value: value for value in values}
    for level in range(draw(st.integers(0, 2))):
        parents = {node: (level, draw(st.integers(0, 2))) for node in sorted(set(nodes.values()), key=str)}
        nodes = {value: parents[nodes[value]] for value in values}
        found = {value: (*found[value], nodes[value]) for value in values}
    return {value: (*found[value], "root") for value in values}


def ancestors(hierarchy: Paths, order: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the code of each value's ancestor at each level, shape (values, levels)."""
    levels = zip(*(hierarchy[value] for value in order), strict=True)
    return np.array([np.unique([str(node) for node in level], return_inverse=True)[1] for level in levels]).T


class Protected(NamedTuple):
    """A table with the class and other attributes to protect."""

    table: oracles.Table
    attributes: list[list[int | None]]  # the class first
    codes: npt.NDArray[np.int32]  # (rows, attributes), each one's after those of the one before
    ranges: list[tuple[int, int]]  # the codes of each attribute's values, missing left out


@st.composite
def protected(draw: st.DrawFn, max_attributes: int = 3) -> Protected:
    """Draw a table and up to so many attributes; all but the class may have missing values, or only these."""
    table = draw(oracles.tables(max_rows=40, max_columns=3))
    rows = len(table.codes)
    attributes: list[list[int | None]] = [table.classes.tolist()]
    codes, ranges, start = [table.classes], [(0, int(table.classes.max()) + 1)], int(table.classes.max()) + 1
    for _ in range(draw(st.integers(0, max_attributes - 1))):
        cells = st.integers(0, draw(st.integers(0, 4)))
        values = draw(
            st.lists(draw(st.sampled_from([cells, st.none() | cells])), min_size=rows, max_size=rows)
        )
        ranked, domain = oracles.encode(values, "integer")
        attributes.append(values)
        codes.append(ranked + np.int32(start))
        ranges.append((start + domain.missing, start + domain.size))
        start += domain.size
    return Protected(table, attributes, np.column_stack(codes), ranges)
