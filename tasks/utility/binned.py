"""A feature's values in the input, in the bins that mutual information is measured with."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain
from tasks.mutual_information import bins_of_codes

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Binned:
    """How often each value of a feature occurs, and where its bins start.

    Attributes
    ----------
    domain
        Of the feature.
    occurrences : ndarray of shape (size of the domain,), records
    starts : ndarray of shape (bins,)
        The first code of each bin, ascending from 0; missing is a bin of its own, as is each category.
    """

    domain: Domain
    occurrences: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]

    @property
    def bins(self) -> int:
        """The number of bins."""
        return len(self.starts)

    def records(self) -> npt.NDArray[np.intp]:
        """Return how many records are in each bin, shape (bins,)."""
        return np.add.reduceat(self.occurrences, self.starts)

    def bin_of(self, codes: Codes) -> npt.NDArray[np.intp]:
        """Return the bin of each code."""
        return np.searchsorted(self.starts, codes, side="right") - 1


def binned(codes: Codes, domain: Domain, bins: int) -> Binned:
    """Return a feature's values in their bins.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Every code of the domain occurs.
    domain
        Of the feature.
    bins
        Wanted for numbers, see `tasks.mutual_information.bins_of_codes`.
    """
    occurrences = np.bincount(codes, minlength=domain.size)
    if domain.numeric:
        bin_of_code = bins_of_codes(occurrences, missing=domain.missing, bins=bins)
    else:
        bin_of_code = np.arange(domain.size, dtype=np.int32)
    return Binned(domain, occurrences, np.flatnonzero(np.diff(bin_of_code, prepend=-1)))
