"""What a group of rows must satisfy to be published as an equivalence class (EC).

Every requirement looks at class counts only.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def group_sizes(counts: Counts) -> Counts:
    """Return the rows of each group, for counts of shape (groups, class values)."""
    return np.asarray(np.einsum("gc->g", counts))  # several times faster than a sum over a short axis


class Requirement(Protocol):
    """A predicate on the class counts of a group of rows; its text says what it asks for."""

    @property
    def minimum_size(self) -> int:
        """The rows that a group needs at least, at least 1."""

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups satisfy the requirement.

        Parameters
        ----------
        counts : ndarray of shape (groups, class values)
            How often each class value occurs in each group; every group has a row. The last class
            values may be left out if no group has them.

        Returns
        -------
        ndarray of shape (groups,)
        """


@dataclass(frozen=True)
class KAnonymity:
    """At least k rows.

    Examples
    --------
    >>> KAnonymity(3).holds(np.array([[1, 1], [2, 1]]))
    array([False,  True])
    """

    k: int

    def __str__(self) -> str:
        return f"k = {self.k}"

    @property
    def minimum_size(self) -> int:
        """The rows that a group needs at least."""
        return self.k

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups have k rows, for counts of shape (groups, class values)."""
        return np.asarray(group_sizes(counts) >= self.k)
