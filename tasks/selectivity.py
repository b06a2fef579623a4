"""delta-selectivity: the share of versions whose join keeps k rows, and its enforcement (Appendix C).

Of an equivalence class (EC) only its size and its support are published. A version is a vector of
positive counts of its class values that sum to its size.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.class_join import Booleans, Counts, Floats, Indices, distinct_rows
from tasks.dependency_graph import Nodes, cheapest, nodes_of, remove_rarest, walk
from tasks.errors import InfeasibleError

MAX_CELLS = 30_000_000
MAX_ADDITIONS = 20_000_000_000
MAX_CHOICES = 5_000_000
BLOCK = 4_000_000
DOUBT = 1e-9


class _Below(NamedTuple):
    """How many tuples of common counts join to fewer than k rows, by the sum of the counts of each EC."""

    sums: Indices
    numbers: npt.NDArray[np.object_]


class Choices(NamedTuple):
    """Choices of ECs that share a class value, all from the same fragments.

    Attributes
    ----------
    nodes : ndarray of shape (choices, fragments)
        The ECs, as nodes; of each support in each fragment only the smallest EC is chosen.
    sizes, values : int64 ndarrays of shape (choices, fragments)
        Records and class values of each EC.
    common : int64 ndarray of shape (choices,)
        Class values that all members share.
    """

    nodes: Indices
    sizes: Counts
    values: Counts
    common: Counts


def eta(sizes: Sequence[int], values: Sequence[int], common: int, k: int) -> Fraction:
    """Return the share of versions of two or more ECs whose join holds at least k rows.

    Parameters
    ----------
    sizes
        Records of each EC.
    values
        Class values of each EC.
    common
        Class values that all the ECs share, at least 1.
    k
        The smallest join wanted, in rows.

    Returns
    -------
    Fraction
        The paper's eta, counted exactly by dynamic programming over the common values.

    Raises
    ------
    InfeasibleError
        If k or the number of ECs is too large for it.

    Examples
    --------
    >>> eta([5, 5], [3, 3], 1, 5)
    Fraction(5, 36)
    """
    members = list(zip(sizes, values, strict=True))
    versions = prod(comb(n - 1, c - 1) for n, c in members)
    below = _below(len(members), common, k)
    ways = [[_ways(n, c, common, a) for a in range(max(k, 1))] for n, c in members]
    failing = sum(
        int(number) * prod(way[a] for way, a in zip(ways, sums, strict=True))
        for sums, number in zip(below.sums.tolist(), below.numbers, strict=True)
    )
    return Fraction(versions - failing, versions)


def smallest_eta(supports: Sequence[Booleans], sizes: Sequence[Counts], k: int) -> Fraction | None:
    """Return the smallest eta over all choices with a common class value; None if there is none.

    Parameters
    ----------
    supports : sequence of boolean ndarrays of shape (E_i, class values)
        The published class values of each EC of each fragment.
    sizes : sequence of int64 ndarrays of shape (E_i,)
        Records of each EC.
    k
        The smallest join wanted, in rows.

    Raises
    ------
    InfeasibleError
        If there are too many choices, or k or the number of fragments is too large.
    """
    nodes = nodes_of([support.astype(np.int64) for support in supports])
    nodes = nodes._replace(sizes=np.concatenate(sizes))
    smallest: Fraction | None = None
    for choices in _every_choice(nodes):
        etas = _etas(choices, k)
        for i in _distinct_choices(choices, np.flatnonzero(etas < etas.min(initial=1.0) + DOUBT)).tolist():
            exact = _exact_eta(choices, i, k)
            smallest = exact if smallest is None else min(smallest, exact)
    return smallest


def enforce_selectivity(nodes: Nodes, k: int, delta: float, seed: int) -> None:
    """Remove class values until every choice has eta of at least delta (Algorithm 4), in place.

    Pairs are enforced breadth-first; larger choices are mended afterwards, until nothing changes.

    Parameters
    ----------
    nodes
        The ECs with their original class counts; a removed value's count becomes 0.
    k
        The smallest join wanted, in rows.
    delta
        The smallest eta allowed.
    seed
        Chooses where the walk starts.
    """
    least = Fraction(delta)

    def violates(nodes: Nodes, node: int, others: Indices) -> Booleans:
        return _insufficient_pairs(nodes, node, others, k, least)

    walk(nodes, seed, violates, remove_rarest)
    while _mend_choices(nodes, k, least):
        pass


def _mend_choices(nodes: Nodes, k: int, least: Fraction) -> bool:
    """Mend the choices that are violated now; return whether there were any."""
    found = [choices.nodes[_insufficient(choices, k, least)] for choices in _every_choice(nodes)]
    for members in (members for choices in found for members in choices):
        while _insufficient(_choices(nodes, members[None, :]), k, least).any():
            node = members[cheapest([nodes.counts[member] for member in members])]
            for alike in _alike(nodes, node):
                remove_rarest(nodes.counts[alike])
    return any(len(choices) for choices in found)


def _alike(nodes: Nodes, node: int) -> Indices:
    """Return the ECs of the node's fragment that are published like it."""
    supports = nodes.counts > 0
    same = (supports == supports[node]).all(axis=1) & (nodes.sizes == nodes.sizes[node])
    return np.flatnonzero(same & (nodes.fragments == nodes.fragments[node]))


def _insufficient_pairs(nodes: Nodes, node: int, others: Indices, k: int, least: Fraction) -> Booleans:
    """Return which of some ECs of other fragments have an eta below the least with one EC."""
    supports = nodes.counts > 0
    common = supports[others][:, supports[node]].sum(axis=1)
    values = supports.sum(axis=1)
    first, labels = distinct_rows(np.column_stack([nodes.sizes[others], values[others], common]))
    pairs = np.column_stack([np.full(len(first), node), others[first]])
    choices = Choices(pairs, nodes.sizes[pairs], values[pairs], common[first])
    return _insufficient(choices, k, least)[labels]


def _choices(nodes: Nodes, members: Indices) -> Choices:
    """Describe choices given by their nodes, shape (choices, fragments)."""
    supports = nodes.counts[members] > 0
    common = supports.all(axis=1).sum(axis=1)
    return Choices(members, nodes.sizes[members], supports.sum(axis=2), common)


def _every_choice(nodes: Nodes) -> Iterator[Choices]:
    """Yield the choices with a common value of every subset of fragments, smallest ECs only.

    eta is non-decreasing in the size of each EC (Efron 1965), so the smallest EC of a support decides.
    """
    supports = nodes.counts > 0
    kinds = [_smallest_of_each_support(nodes, i) for i in np.unique(nodes.fragments)]
    for number in range(2, len(kinds) + 1):
        for chosen in combinations(kinds, number):
            members, common = chosen[0][:, None], supports[chosen[0]]
            for kind in chosen[1:]:
                members, common = _cross(members, common, kind, supports[kind])
            values = supports.sum(axis=1)[members]
            yield Choices(members, nodes.sizes[members], values, common.sum(axis=1))


def _smallest_of_each_support(nodes: Nodes, fragment: int) -> Indices:
    own = np.flatnonzero(nodes.fragments == fragment)
    by_size = own[np.argsort(nodes.sizes[own], kind="stable")]
    return by_size[distinct_rows(nodes.counts[by_size] > 0)[0]]


def _cross(members: Indices, common: Booleans, kind: Indices, supports: Booleans) -> tuple[Indices, Booleans]:
    """Add one EC of a further fragment to choices, where a common value is left."""
    if len(members) * len(kind) > MAX_CHOICES:
        raise _too_costly()
    row, column = np.nonzero(common.astype(np.float64) @ supports.T.astype(np.float64))
    return np.column_stack([members[row], kind[column]]), common[row] & supports[column]


def _insufficient(choices: Choices, k: int, least: Fraction) -> Booleans:
    """Return which choices have a common value and an eta below the least, decided exactly."""
    etas = _etas(choices, k)
    insufficient = etas < float(least)
    for i in np.flatnonzero(np.abs(etas - float(least)) < DOUBT).tolist():
        insufficient[i] = _exact_eta(choices, i, k) < least
    return insufficient & (choices.common > 0)


def _exact_eta(choices: Choices, i: int, k: int) -> Fraction:
    kinds = zip(choices.sizes[i].tolist(), choices.values[i].tolist(), strict=True)
    return _cached_eta(tuple(sorted(kinds)), int(choices.common[i]), k)


def _distinct_choices(choices: Choices, rows: Indices) -> Indices:
    kinds = np.column_stack([choices.sizes, choices.values, choices.common])[rows]
    return rows[distinct_rows(kinds)[0]]


def _etas(choices: Choices, k: int) -> Floats:
    """Return the eta of each choice in floating point, within 1e-12."""
    etas = np.ones(len(choices.common))
    for common in np.unique(choices.common[choices.common > 0]):
        rows = np.flatnonzero(choices.common == common)
        members = np.stack([choices.sizes[rows], choices.values[rows]], axis=2)
        etas[rows] = 1 - _failing_shares(members, int(common), k)
    return etas


def _failing_shares(members: Counts, common: int, k: int) -> Floats:
    """Return the share of versions that join to fewer than k rows.

    Parameters
    ----------
    members : int64 ndarray of shape (choices, fragments, 2)
        Size and class values of each EC.
    """
    below = _below(members.shape[1], common, k)
    numbers = below.numbers.astype(np.float64)
    tables, labels = zip(
        *(_sum_shares(members[:, i], common, k) for i in range(members.shape[1])), strict=True
    )
    failing = np.empty(len(members))
    step = max(BLOCK // max(len(numbers), 1), 1)
    for start in range(0, len(members), step):
        block = slice(start, start + step)
        terms = numbers
        for table, label, sums in zip(tables, labels, below.sums.T, strict=True):
            terms = terms * table[label[block]][:, sums]
        failing[block] = terms.sum(axis=1)
    return failing


def _sum_shares(members: Counts, common: int, k: int) -> tuple[Floats, Indices]:
    """Return, for each distinct size and number of values, the share of versions by their common sum.

    Returns
    -------
    table : float64 ndarray of shape (distinct members, k)
    labels : ndarray of shape (members,)
    """
    first, labels = distinct_rows(members)
    table = [_shares_of(n, c, common, k) for n, c in members[first].tolist()]
    return np.array(table).reshape(-1, k), labels


@cache
def _shares_of(size: int, values: int, common: int, k: int) -> Floats:
    versions = comb(size - 1, values - 1)
    return np.array([_ways(size, values, common, total) / versions for total in range(k)])


@cache
def _cached_eta(members: tuple[tuple[int, int], ...], common: int, k: int) -> Fraction:
    sizes, values = zip(*members, strict=True)
    return eta(sizes, values, common, k)


def _ways(size: int, values: int, common: int, total: int) -> int:
    """Return how many versions have given counts of the common values, of this total."""
    if values == common:
        return int(total == size)
    return comb(size - total - 1, values - common - 1) if total < size else 0


@cache
def _below(members: int, common: int, k: int) -> _Below:
    """Count the tuples of common counts whose join is below k, by the sums of each member's counts."""
    table = _excess_table(members, common, k).sum(axis=-1)
    sums = np.argwhere(table > 0)
    return _Below(sums + common, table[tuple(sums.T)].astype(np.object_))


@cache
def _excess_table(members: int, common: int, k: int) -> npt.NDArray[Any]:
    """Count tuples of common counts by their excess over 1: the sum for each member, and the join's.

    The join's excess is its rows less one for each common value. A value with counts a_1, ..., a_p
    adds a_i - 1 to member i's sum and their product less 1 to the join's.
    """
    if max(k, 1) ** (members + 1) > MAX_CELLS:
        raise _too_costly()
    if common == 0:
        table = np.zeros((max(k, 1),) * (members + 1), dtype=np.int64)
        table[(0,) * (members + 1)] = 1
        return table
    width = max(k - common, 0)
    before = _excess_table(members, common - 1, k)[(slice(width),) * (members + 1)]
    steps = _steps(members, width)
    if before.size * len(steps) > MAX_ADDITIONS:
        raise _too_costly()
    if float(before.sum()) * len(steps) >= 2.0**62:
        before = before.astype(np.object_)
    after = np.zeros_like(before)
    for step in steps:
        after[tuple(slice(excess, None) for excess in step)] += before[
            tuple(slice(width - excess) for excess in step)
        ]
    return after


def _steps(members: int, width: int) -> list[tuple[int, ...]]:
    """List every way to choose one value's counts, less 1, with their product less 1 below the width."""
    chosen: list[tuple[tuple[int, ...], int]] = [((), 1)]
    for _ in range(members):
        chosen = [
            ((*counts, a - 1), rows * a) for counts, rows in chosen for a in range(1, width // rows + 1)
        ]
    return [(*counts, rows - 1) for counts, rows in chosen]


def _too_costly() -> InfeasibleError:
    return InfeasibleError(
        "delta-selectivity has too many choices of equivalence classes to be checked. Ask for fewer "
        "fragments or a smaller k, use a class attribute with fewer values, or another enforcement."
    )
