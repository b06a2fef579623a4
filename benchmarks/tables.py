"""Tables for the benchmarks, from a seed."""

import numpy as np
import numpy.typing as npt

FACTORS = 4
CLASS_VALUES = 10
DEVIATIONS = 4.5  # values beyond are set to this
DISTINCT = 1000


def correlated_integers(
    rows: int, columns: int, seed: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Make integer columns and a class that share a few latent factors.

    Each column is a random mix of four normal factors plus as much noise, rounded to about a thousand
    distinct values; the class has ten values of equal frequency and is made like a column.

    Returns
    -------
    codes : ndarray of shape (rows, columns)
        Ranks among the column's distinct values.
    classes : ndarray of shape (rows,)

    Examples
    --------
    >>> codes, classes = correlated_integers(50, 3, seed=1)
    >>> codes.shape, len(np.unique(classes))
    ((50, 3), 10)
    """
    generator = np.random.default_rng(seed)
    factors = generator.standard_normal((rows, FACTORS), dtype=np.float32)
    codes = np.empty((rows, columns), dtype=np.int32)
    for column in range(columns):
        scaled = np.clip(_mix(factors, generator) / DEVIATIONS, -1, 1) * (DISTINCT / 2)
        codes[:, column] = np.unique(np.round(scaled), return_inverse=True)[1]
    score = _mix(factors, generator)
    thresholds = np.quantile(score, np.arange(1, CLASS_VALUES) / CLASS_VALUES)
    return codes, np.searchsorted(thresholds, score).astype(np.int32)


def _mix(factors: npt.NDArray[np.float32], generator: np.random.Generator) -> npt.NDArray[np.float32]:
    weights = generator.standard_normal(FACTORS, dtype=np.float32)
    signal = factors @ (weights / np.linalg.norm(weights))
    noise = generator.standard_normal(len(factors), dtype=np.float32)
    mixed: npt.NDArray[np.float32] = (signal + noise) / np.sqrt(np.float32(2))
    return mixed
