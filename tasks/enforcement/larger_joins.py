"""Choices from three or more fragments that violate the join condition, multiplied out one by one."""

import numpy as np
import numpy.typing as npt

from tasks.joins.class_join import Indices, blocks_of

Numbers = npt.NDArray[np.float32]

MOST_JOINS = 1_000_000


def violating_larger(counts: Numbers, fragments: Indices, k: int) -> list[list[int]]:
    """Return choices from three or more fragments whose join holds some rows but fewer than k.

    A join is followed no further if it is k or more wherever it is not empty, or if the last member's
    support contains its own or the other way round: it then violates only where a smaller choice does.

    Parameters
    ----------
    counts : float32 ndarray of shape (ECs, class values)
        Class counts of the ECs of all fragments.
    fragments : ndarray of shape (ECs,)
        The fragment of each; ascending.
    k
        The smallest join, in rows.

    Returns
    -------
    list of lists of int
        The ECs of each choice, ascending: all of the fewest members that occur, if no pair
        violates. Empty too where there are too many joins to follow.

    Examples
    --------
    >>> three = np.array([[1, 2, 2, 0], [1, 2, 0, 2], [1, 0, 2, 2]], dtype=np.float32)
    >>> violating_larger(three, np.arange(3), 5)
    [[0, 1, 2]]
    """
    numbers = np.unique(fragments)
    joins, members = np.minimum(counts, k), np.arange(len(counts))[:, None]
    for number in range(1, len(numbers)):
        found: list[list[int]] = []
        grown = [joins[:0]]
        choices = [np.column_stack([members, members[:, -1]])[:0]]
        for fragment in numbers[number:]:
            own = np.flatnonzero(fragments == fragment)
            earlier = np.flatnonzero(fragments[members[:, -1]] < fragment)
            for block in blocks_of(len(earlier), len(own)):
                rows = earlier[block]
                if number > 1:
                    found.extend(_violating(joins[rows], counts[own], members[rows], own, k))
                if not found and number < len(numbers) - 1:
                    left, right = _open(joins[rows], counts[own], k)
                    grown.append(np.minimum(joins[rows[left]] * counts[own[right]], k))
                    choices.append(np.column_stack([members[rows[left]], own[right]]))
        if found:
            return found
        if sum(map(len, grown)) > MOST_JOINS:
            return []
        joins, members = np.concatenate(grown), np.concatenate(choices)
    return []


def _violating(joins: Numbers, own: Numbers, members: Indices, ecs: Indices, k: int) -> list[list[int]]:
    joined = joins @ own.T
    rows, columns = np.nonzero((joined > 0) & (joined < k))
    choices: list[list[int]] = np.column_stack([members[rows], ecs[columns]]).tolist()
    return choices


def _open(joins: Numbers, own: Numbers, k: int) -> tuple[Indices, Indices]:
    """Return which joins can be followed with which ECs."""
    supports, others = (joins > 0).astype(np.float32), (own > 0).astype(np.float32)
    common = supports @ others.T
    crossing = (common > 0) & (common < np.minimum(supports.sum(axis=1)[:, None], others.sum(axis=1)))
    rows, columns = np.nonzero(crossing)
    product = joins[rows] * own[columns]
    low = ((product > 0) & (product < k)).any(axis=1)
    return rows[low], columns[low]
