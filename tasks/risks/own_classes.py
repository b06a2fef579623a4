"""What the equivalence classes (ECs) of each record hold together, a block of records at a time.

No join is materialised: what is needed of one is a sum over class values.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.joins.class_join import Booleans, Indices, blocks_of

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

MOST = 10**17  # candidates; more are counted as these
CACHED = 16  # times smaller than the blocks of the class join, to stay in the processor's cache
DENSE = 3  # cells of whole rows cost as much as one that is looked up


class Own(NamedTuple):
    """What some ECs of a fragment, with supports of like size, have in its table.

    Attributes
    ----------
    ecs : ndarray of shape (ECs,)
    values : ndarray of shape (ECs, width), or None
        The support of each EC; behind it any values. None for all class values, where that is hardly more.
    cells : float64 ndarray of shape (ECs, width)
        Those of the values; `absent` behind the support.
    """

    ecs: Indices
    values: Indices | None
    cells: Floats


def together(
    tables: Sequence[Floats],
    members: Sequence[Labels],
    combine: Callable[[Floats, Floats, Floats], object],
    absent: float = 0.0,
) -> Iterator[tuple[Indices, Indices | None, Floats]]:
    """Combine what the ECs of each record have in the fragments' tables.

    Only the support of a record's EC in one fragment is visited, the fragment whose supports are smallest: an
    EC of few records has few class values, however many there are.

    Parameters
    ----------
    tables : sequence of float64 ndarrays of shape (E_i, class values)
        One per fragment.
    members : sequence of ndarrays of shape (records,)
        The EC of every record, for each fragment.
    combine
        Takes what there is so far, a fragment's cells, and where the result goes. It is symmetric, and gives
        `absent` for `absent` with anything.
    absent
        Stands in a table where an EC lacks a class value.

    Yields
    ------
    records : ndarray of shape (records of the block,)
        Every record is in one block, or in none if its EC has no class value.
    values : ndarray of shape (records of the block, width), or None
        The class values that were visited, in ascending order, then values whose cells are `absent`. None
        where all were.
    combined : float64 ndarray of shape (records of the block, width)
    """
    present = [table != absent for table in tables]
    least = int(np.argmin([np.count_nonzero(own) / len(own) for own in present]))
    others = [pair for i, pair in enumerate(zip(tables, members, strict=True)) if i != least]
    for own in _by_support(tables[least], present[least], absent):
        place = np.full(len(tables[least]), -1)
        place[own.ecs] = np.arange(len(own.ecs))
        places = place[members[least]]
        records = np.flatnonzero(places >= 0)
        for block in blocks_of(len(records), CACHED * own.cells.shape[1]):
            some = records[block]
            values = None if own.values is None else own.values.take(places[some], axis=0)
            combined = own.cells.take(places[some], axis=0)
            for table, ecs in others:
                combine(combined, _cells(table, ecs[some], values), combined)
            yield some, values, combined


def _by_support(table: Floats, present: Booleans, absent: float) -> Iterator[Own]:
    """Group ECs by the binary digits of the size of their support, so that at most half is padding."""
    sizes = np.count_nonzero(present, axis=1)
    digits = np.frexp(sizes)[1]
    for number in np.unique(digits[sizes > 0]):
        ecs = np.flatnonzero(digits == number)
        width = sizes[ecs].max()
        if DENSE * width > table.shape[1]:
            yield Own(ecs, None, table[ecs])
        else:
            inside = np.arange(width) < sizes[ecs, None]
            values = np.zeros(inside.shape, dtype=np.intp)
            values[inside] = np.nonzero(present[ecs])[1]
            yield Own(ecs, values, np.where(inside, table[ecs[:, None], values], absent))


def _cells(table: Floats, ecs: Labels, values: Indices | None) -> Floats:
    if values is None:
        return table.take(ecs, axis=0)
    return np.asarray(table.ravel().take(ecs.astype(np.intp)[:, None] * table.shape[1] + values))


def class_sizes(classes: Labels, counts: Counts | None = None) -> Counts:
    """Return how many share the EC of each record.

    Parameters
    ----------
    classes : ndarray of shape (records,)
        The EC of every record.
    counts : int64 ndarray of shape (ECs, class values), or None
        Whom the ECs count; None where they count records.

    Examples
    --------
    >>> class_sizes(np.array([0, 1, 1])), class_sizes(np.array([0, 1, 1]), np.array([[1, 0], [0, 1]]))
    (array([1, 2, 2]), array([1, 1, 1]))
    """
    sizes = np.bincount(classes) if counts is None else counts.sum(axis=1)
    return np.asarray(sizes[classes])


def join_rows(counts: Sequence[Counts], members: Sequence[Labels]) -> Counts:
    """Return how many rows the class join of each record's own ECs has: ``sum_c prod_i f_i(c)``.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts, one array per fragment that is joined.
    members : sequence of ndarrays of shape (records,)
        The EC of every record, for each of these fragments.

    Returns
    -------
    int64 ndarray of shape (records,), in rows
        Exact below 2**53; at most 10**17, which stands for all that is more. It is 0 where changed class
        values have left a record's ECs without one in common.

    Examples
    --------
    >>> f, g = np.array([[1, 4]]), np.array([[5, 0], [0, 6]])
    >>> join_rows([f, g], [np.array([0, 0]), np.array([0, 1])])
    array([ 5, 24])
    """
    rows = np.zeros(len(members[0]), dtype=np.int64)
    tables = [fragment.astype(np.float64) for fragment in counts]
    for records, _, products in together(tables, members, _capped_product):
        rows[records] = np.minimum(products.sum(axis=1), MOST)
    return rows


def _capped_product(left: Floats, right: Floats, out: Floats) -> None:
    np.multiply(left, right, out=out)
    np.minimum(out, MOST, out=out)
