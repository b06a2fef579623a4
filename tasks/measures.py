"""What a release costs and what it leaves: information loss, classes, changed values (paper, appendix D)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.partitions.regions import Regions


def information_loss(regions: Sequence[Regions], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the mean share of each feature's range that its released values span.

    Numbers: (upper - lower) / (max - min); categories: (s - 1) / (S - 1), missing being one of
    them; a cell that mixes numbers and missing counts 1 (paper, appendix D.I).

    Parameters
    ----------
    regions
        One per feature.
    sizes : ndarray of shape (E,)
        The records of each equivalence class.

    Returns
    -------
    ndarray of shape (features,)
        Between 0 (exact values) and 1 (nothing is left).
    """
    return np.array([region.loss() @ sizes / sizes.sum() for region in regions])


def discernibility(sizes: npt.NDArray[np.int64]) -> int:
    """Return the sum of squared class sizes: how many records each record looks like, summed."""
    return int((sizes.astype(object) ** 2).sum())
