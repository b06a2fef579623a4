"""What the equivalence classes (ECs) of each record hold together, a block of records at a time.

No join is materialised: what is needed of one is a sum over class values.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tasks.joins.class_join import blocks_of

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

MOST = 10**17  # candidates; more are counted as these
CACHED = 16  # times smaller than the blocks of the class join, to stay in the processor's cache


def together(
    tables: Sequence[Floats], members: Sequence[Labels], combine: Callable[[Floats, Floats, Floats], object]
) -> Iterator[tuple[slice, Floats]]:
    """Combine the rows that the ECs of each record have in the fragments' tables.

    Parameters
    ----------
    tables : sequence of float64 ndarrays of shape (E_i, class values)
        One per fragment.
    members : sequence of ndarrays of shape (records,)
        The EC of every record, for each fragment.
    combine
        Takes what there is so far, a fragment's rows, and where the result goes.

    Yields
    ------
    block : slice
        Of the records.
    combined : float64 ndarray of shape (records of the block, class values)
    """
    for block in blocks_of(len(members[0]), CACHED * tables[0].shape[1]):
        combined = tables[0].take(members[0][block], axis=0)
        for table, classes in zip(tables[1:], members[1:], strict=True):
            combine(combined, table.take(classes[block], axis=0), combined)
        yield block, combined


def class_sizes(classes: Labels) -> Counts:
    """Return how many records share the EC of each record.

    Parameters
    ----------
    classes : ndarray of shape (records,)
        The EC of every record.

    Examples
    --------
    >>> class_sizes(np.array([0, 1, 1]))
    array([1, 2, 2])
    """
    return np.bincount(classes)[classes]


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
    rows = np.empty(len(members[0]), dtype=np.int64)
    tables = [fragment.astype(np.float64) for fragment in counts]
    for block, products in together(tables, members, _capped_product):
        rows[block] = np.minimum(products.sum(axis=1), MOST)
    return rows


def _capped_product(left: Floats, right: Floats, out: Floats) -> None:
    np.multiply(left, right, out=out)
    np.minimum(out, MOST, out=out)
