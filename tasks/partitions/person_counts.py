"""Counts of persons instead of rows, where a person may have several rows.

A person counts once with every value that it has in a group. So counts are not additive: a cut may leave
a person on both sides.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Narrow = npt.NDArray[Any]


class Runs(NamedTuple):
    """The rows of some nodes, node after node, where those of a person with the same value lie together.

    Attributes
    ----------
    order : ndarray of shape (rows,) or None
        The places of the rows among those of all nodes; None if they lie so as they are.
    starts : ndarray of shape (runs,)
        Where, in that order, each run of such rows starts.
    values : ndarray of shape (runs,)
        The value of each.
    held : ndarray of shape (nodes,)
        How many runs each node has.
    """

    order: Ints | None
    starts: Ints
    values: Narrow
    held: Ints


class Extremes(NamedTuple):
    """What the rows of each run have at least and at most, for runs of some nodes.

    Attributes
    ----------
    owner : ndarray of shape (runs,)
        Which of the nodes.
    values : ndarray of shape (runs,)
        The run's value.
    lowest, highest : ndarrays of shape (runs,)
    """

    owner: Ints
    values: Narrow
    lowest: Narrow
    highest: Narrow


def runs_of(persons: Narrow, classes: Narrow, sizes: Ints) -> tuple[Runs, ...]:
    """Return the runs of some nodes, one for each attribute.

    Parameters
    ----------
    persons : ndarray of shape (rows,)
        Whom each row is of; within a node, those of a person follow each other.
    classes : ndarray of shape (attributes, rows)
        Each row's values.
    sizes : ndarray of shape (nodes,)
        Rows of each node.
    """
    ends = np.cumsum(sizes)
    first = np.empty(len(persons), dtype=np.bool_)
    np.not_equal(persons[1:], persons[:-1], out=first[1:])
    first[ends - sizes] = True
    return tuple(_runs(first, values, ends) for values in classes)


def _runs(first: Flags, values: Narrow, ends: Ints) -> Runs:
    """Return the runs of one attribute; `first` tells where the rows of each person start."""
    order = None
    if (~first[1:] & (values[1:] < values[:-1])).any():
        order = np.lexsort((values, np.cumsum(first)))
        values = values[order]
    starts = np.flatnonzero(first | np.append(True, values[1:] != values[:-1]))
    return Runs(order, starts, values[starts], np.diff(np.searchsorted(starts, ends), prepend=0))


def extremes(
    runs: Sequence[Runs], nodes: Ints, sizes: Ints, shifts: Ints, seen: Narrow
) -> Iterator[Extremes]:
    """Yield, for each attribute, the extremes of what is seen in the rows of each run.

    Parameters
    ----------
    runs
        Of some nodes.
    nodes : ndarray of shape (m,)
        Some of the nodes, each any number of times.
    sizes : ndarray of shape (m,)
        Their rows.
    shifts : ndarray of shape (m,)
        From the places of a node's rows in `seen` to those among the rows of all nodes.
    seen : ndarray
        What is seen in each row of these nodes, one node after the other.
    """
    for order, starts, values, held in runs:
        number = held[nodes]
        owner = np.repeat(np.arange(len(nodes)), number)
        chosen = np.arange(len(owner)) + np.repeat((np.cumsum(held) - held)[nodes], number)
        chosen -= np.repeat(np.cumsum(number) - number, number)
        ordered = seen
        if order is not None:
            shift = np.repeat(shifts, sizes)
            ordered = seen[order[np.arange(len(seen)) + shift] - shift]
        begin = starts[chosen] - shifts[owner]
        lowest, highest = (extreme.reduceat(ordered, begin) for extreme in (np.minimum, np.maximum))
        yield Extremes(owner, values[chosen], lowest, highest)


def side_counts(  # noqa: PLR0917 - nodes, as for `extremes`, and their sides
    runs: Sequence[Runs], nodes: Ints, sizes: Ints, shifts: Ints, left: Flags, values: int
) -> tuple[Ints, Ints]:
    """Count the persons with each value among the rows on the left, and among those on the right.

    Parameters
    ----------
    runs, nodes, sizes, shifts
        As for `extremes`.
    left : ndarray of shape (rows,)
        Which rows of the nodes are on the left.
    values
        How many values there are, of all attributes together.

    Returns
    -------
    left, right : ndarrays of shape (m, values)
    """
    counts = np.zeros((2, len(nodes) * values), dtype=np.int64)
    for owner, value, lowest, highest in extremes(runs, nodes, sizes, shifts, left):
        cells = owner * values + value
        counts[0] += np.bincount(cells[highest], minlength=counts.shape[1])
        counts[1] += np.bincount(cells[~lowest], minlength=counts.shape[1])
    on_left, on_right = counts.reshape(2, len(nodes), values)
    return on_left, on_right


def first_seen(persons: Narrow) -> npt.NDArray[np.int32]:
    """Return persons numbered from 0 in the order in which they first occur.

    Examples
    --------
    >>> first_seen(np.array([7, 3, 7]))
    array([0, 1, 0], dtype=int32)
    """
    _, first, number = np.unique(persons, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number].astype(np.int32)


def person_counts(persons: Narrow, classes: Narrow, values: int) -> Ints:
    """Count the persons with each value among all rows.

    Parameters
    ----------
    persons : ndarray of shape (rows,)
        Whom each row is of; those of a person follow each other.
    classes : ndarray of shape (attributes, rows)
        Each row's values, those of an attribute after those of the one before.
    values
        How many values there are.

    Returns
    -------
    ndarray of shape (values,)

    Examples
    --------
    >>> person_counts(np.array([0, 0, 1]), np.array([[0, 0, 1]]), 2)
    array([1, 1])
    """
    held = [runs.values for runs in runs_of(persons, classes, np.array([len(persons)]))]
    return np.bincount(np.concatenate(held), minlength=values)
