"""Strategies that make joins safe by changing class values (Algorithms 2 to 4)."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from tasks.class_join import Booleans, Counts, Indices
from tasks.config import Privacy
from tasks.dependency_graph import (
    Condition,
    Nodes,
    Numbers,
    mend_joins,
    nodes_of,
    pairs_violate,
    take_majority,
    walk,
)
from tasks.selectivity import enforce_selectivity

FEW = 8  # of all ECs, one in so many: these are picked out before they are multiplied


class Enforced(NamedTuple):
    """Class counts after enforcement.

    Attributes
    ----------
    counts : tuple of int64 ndarrays of shape (E_i, class values)
        How often each class value occurs in each EC; for "per_class" the original counts of the
        class values that are still published, else 0.
    sizes : tuple of int64 ndarrays of shape (E_i,)
        Records of each EC.
    changed
        Records of each fragment whose class value was changed or removed.
    class_values
        Whether class values are published for each record or once for each EC.
    """

    counts: tuple[Counts, ...]
    sizes: tuple[Counts, ...]
    changed: tuple[int, ...]
    class_values: Literal["per_record", "per_class"]


def enforce(privacy: Privacy, counts: Sequence[Counts], seed: int) -> Enforced:
    """Make every choice of ECs, joined on the class, keep what the guarantee promises.

    Parameters
    ----------
    privacy
        Which strategy, guarantee, k and delta. "none" changes nothing, nor does any strategy with one
        fragment; "naive" gives every EC its majority value; "dependency_graph" changes single records
        along the graph; "delta_selectivity" publishes the class values of an EC once and removes the
        rarest where eta is below delta.
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment; every EC holds at least k records.
    seed
        Chooses where the walks over the dependency graph start.

    Raises
    ------
    InfeasibleError
        If the choices are too many to be checked.
    """
    nodes = nodes_of(counts)
    if len(counts) > 1:
        _apply(privacy, nodes, seed)
    ends = np.cumsum([len(fragment) for fragment in counts])[:-1]
    after = np.split(nodes.counts.astype(np.int64), ends)
    per_class = privacy.enforcement == "delta_selectivity"
    return enforced(counts, after, "per_class" if per_class else "per_record")


def enforced(
    before: Sequence[Counts], after: Sequence[Counts], class_values: Literal["per_record", "per_class"]
) -> Enforced:
    """Return what changed, for class counts of each fragment before and after."""
    lost = [np.maximum(old - new, 0).sum() for old, new in zip(before, after, strict=True)]
    return Enforced(
        counts=tuple(after),
        sizes=tuple(fragment.sum(axis=1) for fragment in before),
        changed=tuple(int(records) for records in lost),
        class_values=class_values,
    )


def _apply(privacy: Privacy, nodes: Nodes, seed: int) -> None:
    """Run one strategy on the nodes' class counts, in place."""
    if privacy.enforcement == "naive":
        _give_majority(nodes)
    elif privacy.enforcement == "dependency_graph":
        _enforce_joins(nodes, privacy.k, seed)
    elif privacy.enforcement == "delta_selectivity" and privacy.delta is not None:
        enforce_selectivity(nodes, privacy.k, privacy.delta, seed)


def _give_majority(nodes: Nodes) -> None:
    majority = nodes.counts.argmax(axis=1)
    nodes.counts[:] = 0
    nodes.counts[np.arange(len(majority)), majority] = nodes.sizes


def _enforce_joins(nodes: Nodes, k: int, seed: int) -> None:
    """Walk over the pairs first, then mend what larger choices still violate."""

    def violates(nodes: Nodes, node: int, others: Indices) -> Booleans:
        joined = _joined(nodes, node, others)
        return (joined > 0) & (joined < k)

    def suspects(nodes: Nodes, node: int, others: Indices) -> Indices:
        return others[_may_fall_below(nodes.counts[node], nodes.counts[others] > 0, k)]

    if pairs_violate(nodes, k):
        walk(nodes, seed, Condition(violates, take_majority, visible=np.asarray, suspects=suspects))
    mend_joins(nodes, k)


def _joined(nodes: Nodes, node: int, others: Indices) -> Numbers:
    """Return the rows that one EC and each of some others join to."""
    counts = nodes.counts[node]
    if len(others) > len(nodes.counts) // FEW:
        return np.asarray((nodes.counts @ counts)[others])
    return np.asarray(nodes.counts[others] @ counts)


def _may_fall_below(counts: Numbers, supports: Booleans, k: int) -> Booleans:
    """Return the supports in which an EC has fewer than k records, now or while they take its majority value.

    A join holds at least the records that the EC has in the other's support; records that take the
    majority value never leave a support that has it.
    """
    return (supports @ counts < k) | ~supports[:, counts.argmax()]
