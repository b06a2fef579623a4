"""Pairs of class counts whose join is small, found without multiplying out groups that cannot have any."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tasks.joins.class_join import Booleans, Counts, Indices, refuse_if_too_costly
from tasks.joins.count_tree import CountTree, Level, Numbers

MAX_JOINS = 5_000_000_000
GROUPS = 50_000  # pairs of groups that are bounded at once
JOINED = 500  # pairs of the smallest groups that are multiplied out at once
EXACT_IN_FLOAT32 = 2**24  # whole numbers


class LowPairs(NamedTuple):
    """Pairs of class counts by their numbers, and the rows of their joins; each of shape (pairs,)."""

    first: Indices
    second: Indices
    sizes: Numbers


class _Groups(NamedTuple):
    """Pairs of groups, one of each tree, all of one depth."""

    depth: int
    first: Indices
    second: Indices


def low_pairs(f: Counts, g: Counts, k: int) -> Iterator[LowPairs]:
    """Yield the pairs of class counts whose join holds some rows but fewer than k, in parts.

    Parameters
    ----------
    f : int64 ndarray of shape (n, class values)
    g : int64 ndarray of shape (m, class values)
    k
        In rows.

    Raises
    ------
    InfeasibleError
        If more than `MAX_JOINS` joins cannot be told by bounds over groups.

    Examples
    --------
    >>> next(low_pairs(np.array([[9, 1], [0, 8]]), np.array([[0, 5]]), 6)).sizes.tolist()
    [5.0]
    """
    if not len(f) or not len(g):
        return
    exact = np.float32 if k * k * f.shape[1] < EXACT_IN_FLOAT32 else np.float64
    first, second = (CountTree.of(np.minimum(counts, k).astype(exact)) for counts in (f, g))
    yield from _search(first, second, k)


def _search(first: CountTree, second: CountTree, k: int) -> Iterator[LowPairs]:
    deepest = max(len(first.levels), len(second.levels)) - 1
    root = np.zeros(1, dtype=np.intp)
    members = _members(first), _members(second)
    products = members[0].numbers.shape[1] * members[1].numbers.shape[1]
    waiting, joins = [_Groups(0, root, root)], 0
    while waiting:
        groups = _open_groups(waiting.pop(), first, second, k)
        if groups.depth < deepest:
            waiting.extend(_cut_in_parts(_children(groups, first, second), GROUPS))
        elif len(groups.first):
            joins += len(groups.first) * products
            refuse_if_too_costly(joins, MAX_JOINS)
            for part in _cut_in_parts(groups, JOINED):
                yield _multiplied(part, *members, k)


def _open_groups(groups: _Groups, first: CountTree, second: CountTree, k: int) -> _Groups:
    """Leave out pairs of groups of which no two members have a join of some rows but fewer than k."""
    one, other = _level(first, groups.depth), _level(second, groups.depth)
    surely = np.einsum("ij,ij->i", one.least[groups.first], other.least[groups.second])
    left = np.flatnonzero(surely < k)
    narrow = _Groups(groups.depth, groups.first[left], groups.second[left])
    if not len(left):
        return narrow
    lowest = (one.positive[narrow.first] * other.positive[narrow.second]).min(axis=1)
    might: Booleans = (lowest < k) | ((surely[left] > 0) & (lowest < np.inf))
    return _Groups(groups.depth, narrow.first[might], narrow.second[might])


def _level(tree: CountTree, depth: int) -> Level:
    return tree.levels[min(depth, len(tree.levels) - 1)]


def _children(groups: _Groups, first: CountTree, second: CountTree) -> _Groups:
    one, other = groups.first, groups.second
    if groups.depth < len(first.levels) - 1:
        one, other = np.column_stack([2 * one, 2 * one + 1]).ravel(), np.repeat(other, 2)
    if groups.depth < len(second.levels) - 1:
        other, one = np.column_stack([2 * other, 2 * other + 1]).ravel(), np.repeat(one, 2)
    return _Groups(groups.depth + 1, one, other)


def _cut_in_parts(groups: _Groups, size: int) -> Iterator[_Groups]:
    for start in range(0, len(groups.first), size):
        part = slice(start, start + size)
        yield _Groups(groups.depth, groups.first[part], groups.second[part])


class _Members(NamedTuple):
    """The members of the smallest groups, filled up to the same number with such as join with nothing.

    Attributes
    ----------
    numbers : ndarray of shape (groups, members)
    vectors : ndarray of shape (groups, members, class values)
    """

    numbers: Indices
    vectors: Numbers


def _members(tree: CountTree) -> _Members:
    starts = tree.levels[-1].starts
    places = starts[:-1, None] + np.arange(np.diff(starts).max())
    there = places < starts[1:, None]
    places[~there] = 0
    return _Members(tree.order[places], tree.vectors[places] * there[:, :, None])


def _multiplied(groups: _Groups, first: _Members, second: _Members, k: int) -> LowPairs:
    """Multiply out pairs of the smallest groups."""
    sizes = first.vectors[groups.first] @ second.vectors[groups.second].transpose(0, 2, 1)
    low = np.flatnonzero((sizes > 0) & (sizes < k))  # many times faster than places in three dimensions
    pairs, rows, columns = np.unravel_index(low, sizes.shape)
    return LowPairs(
        first.numbers[groups.first[pairs], rows],
        second.numbers[groups.second[pairs], columns],
        sizes[pairs, rows, columns],
    )
