"""What a group of records must satisfy where persons count, who may have several records.

Counts are those of the persons who have a value: who has several counts with each. Every requirement here
that holds for some counts holds for higher ones.
"""

from dataclasses import dataclass

import numpy as np

from tasks.partitions.diversity import Counts
from tasks.partitions.requirements import Flags, KAnonymity


def borne_level(counts: Counts) -> Counts:
    """Return of how many values it is sure that each is borne by a person of its own, for each group.

    From the value with the fewest persons on, one more is sure wherever more persons have it than there
    are values before it: not all of them can be taken (Hall's theorem).

    Parameters
    ----------
    counts : ndarray of shape (groups, values)
        How many persons have each value; one may have several.

    Returns
    -------
    ndarray of shape (groups,)

    Examples
    --------
    >>> borne_level(np.array([[1, 2, 5], [1, 1, 5], [0, 0, 5]]))
    array([3, 2, 1])
    """
    values = counts.shape[1]
    ascending = np.sort(counts, axis=1) + np.arange(values)[::-1]
    return np.asarray(ascending.min(axis=1, initial=values))


@dataclass(frozen=True)
class KPersons(KAnonymity):
    """At least k persons, for the counts of the one value that everybody has."""

    def __str__(self) -> str:
        return f"k = {self.k} persons"

    def shortfall(self, counts: Counts) -> str:
        """Say how many persons there are, for counts of shape (1, 1)."""
        return f"{self} is asked, but the table has {counts.sum()}."


@dataclass(frozen=True)
class BorneValues:
    """At least l different values, each borne by a person of its own."""

    l: int  # noqa: E741 - the field's own letter

    def __str__(self) -> str:
        return f"l = {self.l} (distinct, each borne by a person of its own)"

    @property
    def minimum_size(self) -> int:
        """The records that a group needs at least."""
        return self.l

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups surely have l such values, for counts of shape (groups, values)."""
        return np.asarray(borne_level(counts) >= self.l)

    def shortfall(self, counts: Counts) -> str:
        """Say how many such values there are, for counts of shape (1, values)."""
        return f"{self} is asked, but only l = {borne_level(counts)[0]} is sure."


@dataclass(frozen=True)
class AllBorne:
    """Every one of these values, each borne by a person of its own."""

    held: tuple[int, ...]

    def __str__(self) -> str:
        return f"every one of {len(self.held)} values, each borne by a person of its own"

    @property
    def minimum_size(self) -> int:
        """The records that a group needs at least."""
        return max(len(self.held), 1)

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups surely have these values, for counts of shape (groups, all values)."""
        return np.asarray(borne_level(counts[:, self.held]) == len(self.held))

    def shortfall(self, counts: Counts) -> str:
        """Say for how many of the values there are persons, for counts of shape (1, values)."""
        borne = borne_level(counts[:, self.held])[0]
        return f"{self}, is asked, but the persons suffice for {borne} of them."
