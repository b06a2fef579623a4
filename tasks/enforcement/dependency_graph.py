"""The dependency graph of equivalence classes (ECs), and enforcement along it (Algorithms 2, 3 and 4)."""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tasks.joins.class_join import Booleans, Counts, Distinct, Indices, distinct_rows
from tasks.joins.violating_joins import Witness, witnesses

MENDED_AT_ONCE = 1000

Numbers = Counts | npt.NDArray[np.float64]


class Nodes(NamedTuple):
    """The ECs of all fragments, in fragment order.

    Attributes
    ----------
    fragments : ndarray of shape (nodes,)
    sizes : int64 ndarray of shape (nodes,)
        Records of each EC.
    counts : ndarray of shape (nodes, class values)
        Class counts; enforcement changes them in place.
    """

    fragments: Indices
    sizes: Counts
    counts: Numbers


class Condition(NamedTuple):
    """What holds on an edge, and how it is mended.

    Attributes
    ----------
    to_mend
        Which of some unvisited nodes have to change, since they violate the condition with a visited one.
    mend
        Change the class counts of one node until the condition holds with some visited nodes.
    visible
        What of a visited node the condition depends on.
    """

    to_mend: Callable[[Nodes, int, Indices], Booleans]
    mend: Callable[[Nodes, int, Indices], None]
    visible: Callable[[Nodes, int], bytes]


def nodes_of(counts: Sequence[Counts]) -> Nodes:
    """Copy the class counts of all fragments into one table of nodes."""
    together = np.concatenate(counts)
    fragments = np.repeat(np.arange(len(counts)), [len(fragment) for fragment in counts])
    return Nodes(fragments, together.sum(axis=1), together)


def components(nodes: Nodes) -> Indices:
    """Return the connected component of each EC (Algorithm 2), shape (nodes,).

    An edge joins ECs of different fragments that have a class value in common. Every EC is linked
    to its class values instead, as far as they occur in more than one fragment.
    """
    supports = nodes.counts > 0
    fragments = np.unique(nodes.fragments)
    occurs = np.array([supports[nodes.fragments == fragment].any(axis=0) for fragment in fragments])
    ecs, values = np.nonzero(supports & (occurs.sum(axis=0) > 1))
    size = len(supports) + supports.shape[1]
    links = csr_array((np.ones(len(ecs)), (ecs, values + len(supports))), shape=(size, size))
    labels = connected_components(links, directed=False)[1]
    return np.unique(labels[: len(supports)], return_inverse=True)[1]


def take_majority(counts: Numbers) -> None:
    """Give one record of the least frequent class value the majority value, in place.

    Ties: the lowest class value is the majority, and of the others the lowest changes.
    """
    majority = counts.argmax()
    others = counts.copy()
    others[majority] = 0
    counts[_rarest(others)] -= 1
    counts[majority] += 1


def remove_rarest(counts: Numbers) -> None:
    """Remove the EC's least frequent class value, in place; ties: the lowest."""
    counts[_rarest(counts)] = 0


def walk(nodes: Nodes, seed: int, condition: Condition) -> None:
    """Enforce a condition on all edges, breadth-first (Algorithms 3 and 4), changing counts in place.

    Each component starts at a node that the seed chooses. An unvisited neighbour that violates the
    condition with the current node is changed until it holds with that node and with every visited one.

    Parameters
    ----------
    nodes
        The ECs; their supports only ever shrink.
    seed
        Chooses the start nodes.
    condition
        What must hold on each edge.
    """
    random = np.random.default_rng(seed)
    labels = components(nodes)
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    for component in members:
        start = int(random.integers(len(component)))
        counts = nodes.counts[component].astype(np.float64)  # products of floats are the fast ones
        part = Nodes(nodes.fragments[component], nodes.sizes[component], counts)
        _walk_component(part, start, condition)
        nodes.counts[component] = part.counts


def pairs_violate(nodes: Nodes, k: int) -> bool:
    """Return whether any two ECs of different fragments join to some rows but fewer than k."""
    pairs = combinations(_distinct(nodes), 2)
    return any(next(witnesses(pair, k), None) for pair in pairs)


def mend_joins(nodes: Nodes, k: int) -> None:
    """Change class values until every choice, over every subset of fragments, joins to 0 or k rows or more.

    In a violating choice, the EC with the fewest records outside its majority value changes (ties:
    the first), one record at a time; so do the ECs of its fragment with the same class counts.
    """
    while True:
        fragments = _distinct(nodes)
        found = list(islice(witnesses(fragments, k), MENDED_AT_ONCE))
        if not found:
            return
        for witness in found:
            _mend_choice(fragments, witness, k)
        nodes.counts[:] = np.concatenate([fragment.vectors[fragment.labels] for fragment in fragments])


def cheapest(members: Sequence[Numbers]) -> int:
    """Return which member has the fewest records outside its majority value, of those that have any."""
    outside = np.array([counts.sum() - counts.max() for counts in members])
    return int(np.where(outside > 0, outside, outside.max() + 1).argmin())


def _distinct(nodes: Nodes) -> list[Distinct]:
    """Return the distinct class counts of each fragment."""
    return [Distinct.of(nodes.counts[nodes.fragments == i]) for i in np.unique(nodes.fragments)]


def _rarest(counts: Numbers) -> int:
    present = np.flatnonzero(counts)
    return int(present[counts[present].argmin()])


def _walk_component(nodes: Nodes, start: int, condition: Condition) -> None:
    """Visit every node; a node like one visited before has nothing left to check."""
    queue = deque([start])
    unvisited = np.ones(len(nodes.sizes), dtype=np.bool_)
    waiting = unvisited.copy()
    waiting[start] = False
    visited = np.empty(len(nodes.sizes), dtype=np.intp)
    seen: set[tuple[int, bytes]] = set()
    for _ in range(len(unvisited)):
        current = queue.popleft() if queue else int(waiting.argmax())
        waiting[current] = False
        unvisited[current] = False
        kind = (int(nodes.fragments[current]), condition.visible(nodes, current))
        if kind in seen:
            continue
        visited[len(seen)] = current
        seen.add(kind)
        neighbours = _neighbours(nodes, current, unvisited)
        queue.extend(neighbours[waiting[neighbours]].tolist())
        waiting[neighbours] = False
        _mend_neighbours(nodes, neighbours, visited[: len(seen)], condition)


def _neighbours(nodes: Nodes, current: int, unvisited: Booleans) -> Indices:
    """Return the unvisited ECs of other fragments that have a class value in common with the current one."""
    shared = nodes.counts @ (nodes.counts[current] > 0) > 0
    return np.flatnonzero(shared & unvisited & (nodes.fragments != nodes.fragments[current]))


def _mend_neighbours(nodes: Nodes, neighbours: Indices, visited: Indices, condition: Condition) -> None:
    """Change the neighbours that violate the condition with the last visited node; like nodes at once."""
    violating = neighbours[condition.to_mend(nodes, int(visited[-1]), neighbours)]
    if not len(violating):
        return
    alike = np.column_stack([field[violating] for field in nodes]).astype(np.int64)
    first, labels = distinct_rows(alike)
    for label, node in enumerate(violating[first].tolist()):
        others = visited[nodes.fragments[visited] != nodes.fragments[node]]
        condition.mend(nodes, node, others)
        nodes.counts[violating[labels == label]] = nodes.counts[node]


def _mend_choice(fragments: Sequence[Distinct], witness: Witness, k: int) -> None:
    members = [fragments[i].vectors[v] for i, v in zip(witness.fragments, witness.vectors, strict=True)]
    while 0 < np.prod(members, axis=0, dtype=np.float64).sum() < k:
        take_majority(members[cheapest(members)])
