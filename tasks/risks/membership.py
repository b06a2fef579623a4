"""How likely it looks that a person is in the table at all (paper, section 4.2)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.risks.own_classes import together

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]


def likelihoods(counts: Sequence[Counts], members: Sequence[Labels]) -> Floats:
    """Return the paper's membership likelihood of each record: |EC_1 join ... EC_m| / |F_1 join ... F_m|.

    Both joins are sums over class values of products of class counts, and only ratios of counts are
    multiplied: ``sum_c w(c) prod_i f_i(c) / N_i(c)``, where N_i are the class counts of fragment i as a whole
    and w(c) is the share of class c in the join of the fragments.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment.
    members : sequence of ndarrays of shape (records,)
        The EC of every record, for each fragment.

    Returns
    -------
    float64 ndarray of shape (records,)
        Between 0 and 1; 0 for all if the join of the fragments holds no row.

    Examples
    --------
    >>> f, g = np.array([[1, 4], [2, 0]]), np.array([[3, 4]])
    >>> likelihoods([f, g], [np.array([0, 1]), np.array([0, 0])])  # 19 and 6 of 25 rows
    array([0.76, 0.24])
    """
    totals = np.array([fragment.sum(axis=0) for fragment in counts], dtype=np.float64)
    likelihood = np.zeros(len(members[0]))
    joined = np.flatnonzero(totals.all(axis=0))
    if len(joined):
        tables = [
            fragment.take(joined, axis=1) / total[joined]
            for fragment, total in zip(counts, totals, strict=True)
        ]
        tables[0] *= _shares_of_join(totals[:, joined])
        for records, _, ratios in together(tables, members, np.multiply):
            likelihood[records] = ratios.sum(axis=1)
    return likelihood


def _shares_of_join(totals: Floats) -> Floats:
    """Return each class value's share of the rows of the join of the fragments."""
    logs = np.log(totals).sum(axis=0)
    rows = np.exp(logs - logs.max())
    return np.asarray(rows / rows.sum())
