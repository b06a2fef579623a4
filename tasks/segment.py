"""Segments: sets of rows, made before anonymization, whose chunks are anonymized each by itself.

The second step of fragmentation for l-diversity and t-closeness (paper, section "Extension to
l-Diversity"): the equivalence classes (ECs) of a segment's chunks keep the segment's own level.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain
from tasks.errors import InfeasibleError
from tasks.requirements import (
    TOLERANCE,
    All,
    AllValues,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
    Requirement,
    entropy_level,
    group_sizes,
    recursive_level,
    shortfall,
)

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

BLOCK_CELLS = 1 << 20  # codes that are counted at once
ROUNDING = 1e-12  # nats; gains that differ by less are equal


class _Node(NamedTuple):
    rows: Codes
    codes: npt.NDArray[Any]  # (features, rows), in the narrowest type that holds them
    sizes: Counts  # of each feature, above all its codes; never many more than rows
    classes: Codes  # of the rows


class _Split(NamedTuple):
    gain: float  # nats
    feature: int
    code: int  # the highest of the left part


def segment(
    codes: npt.NDArray[np.int32],
    domains: Sequence[Domain],
    classes: npt.NDArray[np.int32],
    requirement: Requirement,
    minimum: int,
) -> npt.NDArray[np.int32]:
    """Divide the rows into segments, by splits that say most about the class.

    From the whole table down, a segment is split where `feature <= value` has the highest information
    gain on the class of all splits that leave two allowed parts; of equal gains the lowest feature's,
    then the lowest value's. A split without gain is never made: it would only make segments
    smaller, which costs information in every chunk.

    Parameters
    ----------
    codes : ndarray of shape (rows, features)
        Each value's rank in its feature's domain; missing counts as the lowest value.
    domains
        The features' domains, in the order of the columns of `codes`.
    classes : ndarray of shape (rows,)
        Class codes from 0.
    requirement
        What both parts of a split must satisfy, k included.
    minimum
        The rows that both parts of a split must have; with k it is the paper's rule.

    Returns
    -------
    ndarray of shape (rows,)
        Each row's segment, numbered in the tree's order, left before right.

    Raises
    ------
    InfeasibleError
        If the whole table does not satisfy the requirement.
    """
    counts = np.bincount(classes)
    lacking = shortfall(requirement, counts)
    if lacking:
        raise InfeasibleError(f"{lacking}. Ask for less.")
    segments, number = np.empty(len(classes), dtype=np.int32), 0
    nodes = [_root(codes, domains, classes)]
    while nodes:
        node = nodes.pop()
        split = _best_split(node, len(counts), requirement, max(minimum, requirement.minimum_size))
        if split is None:
            segments[node.rows] = number
            number += 1
        else:
            left = node.codes[split.feature] <= split.code
            nodes += [_part(node, ~left), _part(node, left)]
    return segments


def _root(codes: Codes, domains: Sequence[Domain], classes: Codes) -> _Node:
    sizes = np.array([domain.size for domain in domains], dtype=np.int64)
    columns = np.ascontiguousarray(codes.T, dtype=np.min_scalar_type(sizes.max()))
    return _Node(np.arange(len(classes), dtype=np.int32), columns, sizes, classes)


def _part(node: _Node, chosen: npt.NDArray[np.bool_]) -> _Node:
    """Take some rows; features with more codes than rows get new codes without gaps."""
    codes, sizes = node.codes[:, chosen], node.sizes.copy()
    for feature in np.flatnonzero(sizes > codes.shape[1]):
        present = np.zeros(sizes[feature], dtype=np.bool_)
        present[codes[feature]] = True
        ranks = np.cumsum(present)
        codes[feature] = (ranks - 1)[codes[feature]]
        sizes[feature] = ranks[-1]
    return _Node(node.rows[chosen], codes, sizes, node.classes[chosen])


def _best_split(node: _Node, class_values: int, requirement: Requirement, minimum: int) -> _Split | None:
    """Return the allowed split with the highest gain, if any has one."""
    if len(node.rows) < 2 * minimum:
        return None
    splits = list(_block_splits(node, class_values, requirement, minimum))
    highest = max((split.gain for split in splits), default=0.0)
    if highest <= ROUNDING:
        return None
    return next(split for split in splits if split.gain >= highest - ROUNDING)


def _block_splits(node: _Node, class_values: int, requirement: Requirement, minimum: int) -> Iterator[_Split]:
    """Yield the best split of some features at a time."""
    width = max(1, BLOCK_CELLS // len(node.rows))
    totals = np.bincount(node.classes, minlength=class_values)
    for first in range(0, len(node.sizes), width):
        block = slice(first, first + width)
        left, feature, code = _left_counts(node.codes[block], node.sizes[block], node.classes, totals)
        sizes = group_sizes(left)
        allowed = np.flatnonzero((sizes >= minimum) & (sizes <= len(node.rows) - minimum))
        left = left[allowed]
        sound = requirement.holds(left) & requirement.holds(totals - left)
        allowed, left = allowed[sound], left[sound]
        if len(allowed):
            gains = information_gains(left, totals)
            best = np.flatnonzero(gains >= gains.max() - ROUNDING)[0]
            place = allowed[best]
            yield _Split(float(gains[best]), first + int(feature[place]), int(code[place]))


def _left_counts(
    codes: npt.NDArray[Any], sizes: Counts, classes: Codes, totals: Counts
) -> tuple[Counts, Counts, Counts]:
    """Return the class counts of the rows up to each code present, its feature, and the code."""
    offsets = np.cumsum(sizes) - sizes
    cells = (codes + offsets[:, None]) * len(totals) + classes
    counts = np.bincount(cells.ravel(), minlength=sizes.sum() * len(totals)).reshape(-1, len(totals))
    present = np.flatnonzero(group_sizes(counts))
    feature = np.searchsorted(offsets, present, side="right") - 1
    left = np.cumsum(counts[present], axis=0) - feature[:, None] * totals
    return left, feature, present - offsets[feature]


def information_gains(left: Counts, totals: Counts) -> Floats:
    """Return the mutual information of each split's side and the class, in nats.

    Parameters
    ----------
    left : ndarray of shape (splits, class values)
        Class counts of the left parts; neither part is empty.
    totals : ndarray of shape (class values,)
        Class counts of what is split.

    Returns
    -------
    ndarray of shape (splits,)

    Examples
    --------
    >>> information_gains(np.array([[2, 0], [1, 1]]), np.array([2, 2])).round(3)
    array([0.693, 0.   ])
    """
    whole = _scaled_entropies(totals[None])
    return np.asarray((whole - _scaled_entropies(left) - _scaled_entropies(totals - left)) / totals.sum())


def _scaled_entropies(counts: Counts) -> Floats:
    """Return each group's class entropy times its rows."""
    sizes = group_sizes(counts)
    of_values = np.einsum("gc,gc->g", counts, np.log(np.maximum(counts, 1)))
    return np.asarray(sizes * np.log(sizes) - of_values)


def segment_level(counts: Counts, wanted: Requirement, level: Literal["exact", "floor"]) -> Requirement:
    """Return what the ECs of a segment's chunks must satisfy for the segment's own level.

    Parameters
    ----------
    counts : ndarray of shape (class values,)
        The class counts of the segment, which satisfies `wanted`.
    wanted
        What is asked for the whole table. Distinct l becomes all of the segment's class values
        (paper, Theorem 5.1); recursive l the largest that the segment reaches with the same c;
        entropy l as `level` says. k and t stay as they are.
    level
        "exact": the exponential of the segment's class entropy, which leaves almost no cut. "floor":
        the largest whole number below, but at least what is wanted.

    Examples
    --------
    >>> segment_level(np.array([4, 0, 5]), DistinctDiversity(2), "exact")
    AllValues(values=(0, 2))
    >>> segment_level(np.array([4, 4, 5]), EntropyDiversity(1.5), "floor")
    EntropyDiversity(l=2)
    """
    match wanted:
        case All(requirements=parts):
            return All(tuple(segment_level(counts, part, level) for part in parts))
        case DistinctDiversity():
            return AllValues(tuple(np.flatnonzero(counts).tolist()))
        case EntropyDiversity(l=least):
            reached = float(entropy_level(counts[None])[0])
            whole = math.floor(reached * (1 + TOLERANCE))
            return EntropyDiversity(reached if level == "exact" else max(whole, least))
        case RecursiveDiversity(c=c):
            return RecursiveDiversity(c, int(recursive_level(counts[None], c)[0]))
        case _:
            return wanted
