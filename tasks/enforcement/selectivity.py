"""delta-selectivity: eta over all choices of equivalence classes (ECs), and its enforcement (Algorithm 4)."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from tasks.enforcement.dependency_graph import Condition, Nodes, cheapest, nodes_of, remove_rarest, walk
from tasks.enforcement.eta import cached_eta, failing_shares, refuse_if_too_costly
from tasks.joins.class_join import Booleans, Counts, Floats, Indices, distinct_rows

MAX_CHOICES = 50_000_000
BLOCK = 1_000_000
DOUBT = 1e-9


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
        etas = [_exact_eta(choices, i, k) for i in _possibly_smallest(choices, k).tolist()]
        smallest = min([*etas, *([] if smallest is None else [smallest])], default=None)
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
    least = Fraction(repr(delta))

    def violates(nodes: Nodes, node: int, others: Indices) -> Booleans:
        return _insufficient_pairs(nodes, node, others, k, least)

    def mend(nodes: Nodes, node: int, others: Indices) -> None:
        while violates(nodes, node, others).any():
            remove_rarest(nodes.counts[node])

    def visible(nodes: Nodes, node: int) -> bytes:
        return bytes(np.append(nodes.counts[node] > 0, nodes.sizes[node]))

    _kinds(nodes)  # refuses what is too costly before the work, not after
    walk(nodes, seed, Condition(to_mend=violates, mend=mend, visible=visible))
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
    supports = nodes.counts[others] > 0
    common = supports[:, nodes.counts[node] > 0].sum(axis=1)
    first, labels = distinct_rows(np.column_stack([nodes.sizes[others], supports.sum(axis=1), common]))
    pairs = np.column_stack([np.full(len(first), node), others[first]])
    return _insufficient(_choices(nodes, pairs), k, least)[labels]


def _choices(nodes: Nodes, members: Indices) -> Choices:
    """Describe choices given by their nodes, shape (choices, fragments)."""
    supports = nodes.counts[members] > 0
    common = supports.all(axis=1).sum(axis=1)
    return Choices(members, nodes.sizes[members], supports.sum(axis=2), common)


def _every_choice(nodes: Nodes) -> Iterator[Choices]:
    """Yield the choices with a common value of every subset of fragments, smallest ECs only.

    eta is non-decreasing in the size of each EC (Efron 1965), so the smallest EC of a support decides.
    """
    kinds = _kinds(nodes)
    supports = nodes.counts > 0
    values = supports.sum(axis=1)
    for number in range(2, len(kinds) + 1):
        for chosen in combinations(kinds, number):
            for members, common in _crossed(chosen, supports):
                yield Choices(members, nodes.sizes[members], values[members], common.sum(axis=1))


def _kinds(nodes: Nodes) -> list[Indices]:
    """Return each fragment's smallest EC of each support; refuse if their choices are too many."""
    kinds = []
    for fragment in np.unique(nodes.fragments):
        own = np.flatnonzero(nodes.fragments == fragment)
        by_size = own[np.argsort(nodes.sizes[own], kind="stable")]
        kinds.append(by_size[distinct_rows(nodes.counts[by_size] > 0)[0]])
    refuse_if_too_costly(prod(len(kind) for kind in kinds), MAX_CHOICES)
    return kinds


def _crossed(kinds: Sequence[Indices], supports: Booleans) -> Iterator[tuple[Indices, Booleans]]:
    """Yield blocks of choices of one EC from each, and the class values that each choice shares."""
    *others, kind = kinds
    if not others:
        yield kind[:, None], supports[kind]
        return
    added = supports[kind]
    step = max(BLOCK // len(kind), 1)
    for members, common in _crossed(others, supports):
        for start in range(0, len(members), step):
            block = slice(start, start + step)
            row, column = np.nonzero(common[block].astype(np.float64) @ added.T.astype(np.float64))
            row += start
            yield np.column_stack([members[row], kind[column]]), common[row] & added[column]


def _insufficient(choices: Choices, k: int, least: Fraction) -> Booleans:
    """Return which choices have a common value and an eta below the least, decided exactly."""
    insufficient = np.zeros(len(choices.common), dtype=np.bool_)
    doubtful = _possibly_below(choices, k, float(least))
    for i, value in zip(doubtful.tolist(), _etas(_select(choices, doubtful), k), strict=True):
        near = abs(value - float(least)) < DOUBT
        insufficient[i] = _exact_eta(choices, i, k) < least if near else value < least
    return insufficient


def _possibly_below(choices: Choices, k: int, level: float) -> Indices:
    """Return the choices with a common value that may have an eta at or below a level.

    Choices with the same numbers of values are judged together, as if all had the smallest sizes.
    """
    first, labels = distinct_rows(np.column_stack([choices.values, choices.common]))
    smallest = choices.sizes[first]
    np.minimum.at(smallest, labels, choices.sizes)
    bounds = _etas(_select(choices, first)._replace(sizes=smallest), k)
    return np.flatnonzero((bounds[labels] < level + DOUBT) & (choices.common > 0))


def _select(choices: Choices, rows: Indices) -> Choices:
    return Choices(*(field[rows] for field in choices))


def _exact_eta(choices: Choices, i: int, k: int) -> Fraction:
    kinds = zip(choices.sizes[i].tolist(), choices.values[i].tolist(), strict=True)
    return cached_eta(tuple(sorted(kinds)), int(choices.common[i]), k)


def _possibly_smallest(choices: Choices, k: int) -> Indices:
    """Return choices among which the smallest eta is, within the precision of floating point."""
    kinds = np.column_stack([choices.values, choices.common])
    reached = _etas(_select(choices, distinct_rows(kinds)[0]), k).min(initial=1.0)
    rows = _possibly_below(choices, k, reached)
    rows = rows[distinct_rows(np.column_stack([choices.sizes, kinds])[rows])[0]]
    etas = _etas(_select(choices, rows), k)
    smallest: Indices = rows[etas < etas.min(initial=1.0) + DOUBT]
    return smallest


def _etas(choices: Choices, k: int) -> Floats:
    """Return the eta of each choice in floating point, within 1e-12."""
    etas = np.ones(len(choices.common))
    for common in np.unique(choices.common[choices.common > 0]):
        rows = np.flatnonzero(choices.common == common)
        members = np.stack([choices.sizes[rows], choices.values[rows]], axis=2)
        etas[rows] = 1 - failing_shares(members, int(common), k)
    return etas
