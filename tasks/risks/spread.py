"""How figures are spread over records."""

import numpy as np
import numpy.typing as npt

from tasks.risks.figures import Bin, Spread

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

QUANTILES = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
STARTS = (1, 2, 5, 10, 20, 50, 100, 1000)  # of bins; above the last they grow tenfold


def spread(values: Floats) -> Spread:
    """Return the mean and the quantiles of a figure that every record has.

    Parameters
    ----------
    values : ndarray of shape (records,)
        At least one. Quantiles between two records are interpolated.

    Examples
    --------
    >>> spread(np.array([0.0, 1.0])).median
    0.5
    """
    return Spread(float(values.mean()), *np.quantile(values, QUANTILES).tolist())


def binned(candidates: Counts) -> tuple[Bin, ...]:
    """Return the shares of records by how many candidates they have.

    Parameters
    ----------
    candidates : int64 ndarray of shape (records,)

    Returns
    -------
    tuple of Bin
        1, 2 to 4, 5 to 9, 10 to 19, 20 to 49, 50 to 99, 100 to 999 and so on, up to the record that has most;
        first a bin of records without candidates, where there are any.

    Examples
    --------
    >>> binned(np.array([1, 3, 3, 4]))
    (Bin(lower=1, upper=1, share=0.25), Bin(lower=2, upper=4, share=0.75))
    """
    starts = [*([] if candidates.min() else [0]), *STARTS]
    while starts[-1] <= candidates.max():
        starts.append(10 * starts[-1])
    records = np.histogram(candidates, starts)[0].tolist()
    last = max(place for place, number in enumerate(records) if number)
    return tuple(
        Bin(lower, following - 1, number / len(candidates))
        for lower, following, number in zip(starts, starts[1:], records[: last + 1], strict=False)
    )
