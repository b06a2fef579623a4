"""Strategies that make joins safe by changing class values (Algorithms 2 to 4)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple, cast

import numpy as np

from tasks.config import Privacy
from tasks.enforcement.dependency_graph import (
    Condition,
    Nodes,
    Numbers,
    mend_joins,
    nodes_of,
    pairs_violate,
    take_majority,
    walk,
)
from tasks.enforcement.keep_records import keep_record_shares, keep_records
from tasks.enforcement.min_distortion import min_distortion
from tasks.enforcement.selectivity import enforce_selectivity
from tasks.joins.class_join import Booleans, Counts, Indices

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
        Which strategy, guarantee, k and delta. With the guarantee "join" a choice that joins at all joins
        to k rows or more; with "records" it rests on k records or more of each of its ECs.

        "naive" gives every EC its majority value: what its ECs have in common, if anything, is then the
        class value of all their records, so either guarantee holds. "dependency_graph" changes single
        records along the graph; "min_distortion" changes as few as a global search finds.
        "delta_selectivity" publishes the class values of an EC once and removes the rarest where a
        choice keeps the guarantee in a share of the versions below delta. "none" and "coarsen" change
        no class value, nor does any strategy with one fragment.
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment; every EC holds at least k records.
    seed
        Chooses where the walks over the dependency graph start.

    Raises
    ------
    InfeasibleError
        If the choices are too many to be checked.
    """
    after = _changed(privacy, counts, seed) if len(counts) > 1 else counts
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


def _changed(privacy: Privacy, counts: Sequence[Counts], seed: int) -> Sequence[Counts]:
    """Return the class counts of each fragment after one strategy."""
    k, records = privacy.k, privacy.guarantee == "records"
    match privacy.enforcement:
        case "none" | "coarsen":
            return counts
        case "naive":
            return [_majority_only(fragment) for fragment in counts]
        case "min_distortion":
            return min_distortion(counts, k, privacy.guarantee)
        case "dependency_graph":
            mend = keep_records if records else _enforce_joins
            return _along_graph(counts, partial(mend, k=k, seed=seed))
        case "delta_selectivity":
            remove = keep_record_shares if records else enforce_selectivity
            delta = cast("float", privacy.delta)  # which its configuration always has
            return _along_graph(counts, partial(remove, k=k, delta=delta, seed=seed))


def _majority_only(counts: Counts) -> Counts:
    after = np.zeros_like(counts)
    after[np.arange(len(counts)), counts.argmax(axis=1)] = counts.sum(axis=1)
    return after


def _along_graph(counts: Sequence[Counts], change: Callable[[Nodes], None]) -> Sequence[Counts]:
    """Change the class counts of all fragments as nodes of the dependency graph."""
    nodes = nodes_of(counts)
    change(nodes)
    return np.split(nodes.counts.astype(np.int64), np.cumsum([len(fragment) for fragment in counts])[:-1])


def _enforce_joins(nodes: Nodes, k: int, seed: int) -> None:
    """Walk over the pairs first, then mend what larger choices still violate."""

    def violates(nodes: Nodes, node: int, others: Indices) -> Booleans:
        joined = _joined(nodes, node, others)
        return (joined > 0) & (joined < k)

    def mend(nodes: Nodes, node: int, others: Indices) -> None:
        suspects = others[_may_fall_below(nodes.counts[node], nodes.counts[others] > 0, k)]
        while violates(nodes, node, suspects).any():
            take_majority(nodes.counts[node])

    def visible(nodes: Nodes, node: int) -> bytes:
        return bytes(nodes.counts[node])

    if pairs_violate(nodes, k):
        walk(nodes, seed, Condition(to_mend=violates, mend=mend, visible=visible))
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
