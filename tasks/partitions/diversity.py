"""How diverse the values of groups of records are, from how often each value occurs.

Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity" (TKDD 2007).
"""

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Levels = npt.NDArray[np.float64]

TOLERANCE = 1e-12  # figures that differ by less are equal: far above rounding, far below one record


def group_sizes(counts: Counts) -> Counts:
    """Return the records of each group, for counts of shape (groups, values)."""
    return np.asarray(np.einsum("gc->g", counts))  # several times faster than a sum over a short axis


def distinct_level(counts: Counts) -> Counts:
    """Return the number of different values in each group.

    Parameters
    ----------
    counts : ndarray of shape (groups, values)

    Returns
    -------
    ndarray of shape (groups,)

    Examples
    --------
    >>> distinct_level(np.array([[3, 0, 1], [0, 0, 0]]))
    array([2, 0])
    """
    return group_sizes((counts > 0).astype(np.int64))


def entropy_level(counts: Counts) -> Levels:
    """Return the exponential of the entropy, in nats, of each group's values; 0 for an empty group.

    It is the number of values where all are equally frequent, and less otherwise.

    Parameters
    ----------
    counts : ndarray of shape (groups, values)

    Returns
    -------
    ndarray of shape (groups,)

    Examples
    --------
    >>> entropy_level(np.array([[2, 2, 0], [0, 0, 0]]))
    array([2., 0.])
    """
    sizes = group_sizes(counts)
    at_least_one = np.maximum(counts, 1).astype(np.float64)
    logs = np.einsum("gc,gc->g", at_least_one, np.log(at_least_one))
    return np.asarray(sizes * np.exp(-logs / np.maximum(sizes, 1)))


def recursive_level(counts: Counts, c: float) -> Counts:
    """Return the largest whole l for which each group is recursively (c, l)-diverse.

    With counts r_1 >= r_2 >= ... >= r_m this is r_1 < c (r_l + ... + r_m). It is 0 where no l
    satisfies it, as in an empty group. A ratio of counts that is c is c as rounded too, so not below it.

    Parameters
    ----------
    counts : ndarray of shape (groups, values)
    c
        Above 0.

    Returns
    -------
    ndarray of shape (groups,)

    Examples
    --------
    >>> recursive_level(np.array([[4, 2, 1], [4, 0, 0], [0, 0, 0]]), c=2)
    array([2, 1, 0])
    """
    descending = np.sort(counts, axis=1)[:, ::-1]
    from_l_on = np.cumsum(descending[:, ::-1], axis=1)[:, ::-1]
    ratios = np.divide(descending[:, :1], from_l_on, out=np.full(counts.shape, np.inf), where=from_l_on > 0)
    return np.asarray((ratios < c).sum(axis=1))
