"""What a group of records must satisfy to be published as an equivalence class (EC).

Every requirement looks at counts only: how often each value of the class, or of several attributes
side by side, occurs in a group.
"""

import math
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tasks.errors import InfeasibleError
from tasks.partitions.closeness import Ground, t_distance
from tasks.partitions.diversity import (
    TOLERANCE,
    Counts,
    distinct_level,
    entropy_level,
    group_sizes,
    recursive_level,
)

Flags = npt.NDArray[np.bool_]


class Requirement(Protocol):
    """A predicate on the value counts of a group of records; its text says what it asks for."""

    @property
    def minimum_size(self) -> int:
        """The records that a group needs at least, at least 1."""

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups satisfy the requirement.

        Parameters
        ----------
        counts : ndarray of shape (groups, values)
            How often each value occurs in each group; every group has a row. The last values may be
            left out if no group has them.

        Returns
        -------
        ndarray of shape (groups,)
        """

    def shortfall(self, counts: Counts) -> str:
        """Say what is asked and what can be reached, for a table that does not satisfy it.

        Parameters
        ----------
        counts : ndarray of shape (1, values)
            The whole table as one group.
        """


def refuse_unreachable(requirement: Requirement, counts: Counts) -> None:
    """Refuse a requirement that not even all records as one group satisfy.

    Parameters
    ----------
    requirement
        What is asked.
    counts : ndarray of shape (values,)
        How often each value occurs in the table.

    Raises
    ------
    InfeasibleError
        Saying what is asked and what can be reached, a line each, without any value of the data.
    """
    if not requirement.holds(counts[None, :])[0]:
        raise InfeasibleError(requirement.shortfall(counts[None, :]))


@dataclass(frozen=True)
class KAnonymity:
    """At least k records, for the counts of one attribute that no record lacks.

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
        """The records that a group needs at least."""
        return self.k

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups have k records, for counts of shape (groups, values)."""
        return np.asarray(group_sizes(counts) >= self.k)

    def shortfall(self, counts: Counts) -> str:
        """Say how many records there are, for counts of shape (1, values)."""
        return f"{self} is asked, but the table has {_number(counts.sum(), 'record')}."


@dataclass(frozen=True)
class DistinctDiversity:
    """At least l different values."""

    l: int  # noqa: E741 - the field's own letter

    def __str__(self) -> str:
        return f"l = {self.l} (distinct)"

    @property
    def minimum_size(self) -> int:
        """The records that a group needs at least."""
        return self.l

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups have l values, for counts of shape (groups, values)."""
        return np.asarray(distinct_level(counts) >= self.l)

    def shortfall(self, counts: Counts) -> str:
        """Say how many values there are, for counts of shape (1, values)."""
        level = distinct_level(counts)[0]
        return f"{self} is asked, but only l = {level} can be reached: it has {_number(level, 'value')}."


@dataclass(frozen=True)
class AllValues:
    """Every one of these values."""

    held: tuple[int, ...]

    def __str__(self) -> str:
        return f"every one of {_number(len(self.held), 'value')}"

    @property
    def minimum_size(self) -> int:
        """The records that a group needs at least."""
        return max(len(self.held), 1)

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups have these values, for counts of shape (groups, values)."""
        if max(self.held, default=-1) >= counts.shape[1]:
            return np.zeros(len(counts), dtype=np.bool_)
        return np.asarray((counts[:, self.held] > 0).all(axis=1))

    def shortfall(self, counts: Counts) -> str:
        """Say how many of the values there are, for counts of shape (1, values)."""
        present = np.isin(self.held, np.flatnonzero(counts[0])).sum()
        return f"{self} is asked, but the table has {present} of them."


@dataclass(frozen=True)
class EntropyDiversity:
    """The entropy of the values at least that of l equally frequent values."""

    l: float  # noqa: E741 - the field's own letter

    def __str__(self) -> str:
        return f"l = {self.l:g} (entropy)"

    @property
    def minimum_size(self) -> int:
        """The records that a group needs at least."""
        return math.ceil(self._least)

    @property
    def _least(self) -> float:
        return self.l * (1 - TOLERANCE)

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups have that entropy, for counts of shape (groups, values)."""
        return np.asarray(entropy_level(counts) >= self._least)

    def shortfall(self, counts: Counts) -> str:
        """Say which l the table has as one group, for counts of shape (1, values)."""
        level = math.floor(100 * entropy_level(counts)[0] * (1 + TOLERANCE)) / 100
        return f"{self} is asked, but at most l = {level:g} can be reached."


@dataclass(frozen=True)
class RecursiveDiversity:
    """The most frequent value is rarer than c times all but the l - 1 most frequent ones."""

    c: float
    l: int  # noqa: E741 - the field's own letter

    def __str__(self) -> str:
        return f"l = {self.l} (recursive, c = {self.c:g})"

    @property
    def minimum_size(self) -> int:
        """The records that a group needs at least."""
        return self.l

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups are (c, l)-diverse, for counts of shape (groups, values)."""
        return np.asarray(recursive_level(counts, self.c) >= self.l)

    def shortfall(self, counts: Counts) -> str:
        """Say which l the table has as one group, for counts of shape (1, values)."""
        level = recursive_level(counts, self.c)[0]
        reachable = f"only l = {level}" if level else "no l"
        return f"{self} is asked, but {reachable} can be reached with this c."


@dataclass(frozen=True, eq=False)
class TCloseness:
    """The values at a distance of at most t from those of all records."""

    t: float
    overall: Counts
    ground: Ground

    def __str__(self) -> str:
        return f"t = {self.t:g} ({self.ground if isinstance(self.ground, str) else 'hierarchical'})"

    @property
    def minimum_size(self) -> int:
        """The records that a group needs at least."""
        return 1

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups are that close, for counts of shape (groups, values)."""
        return np.asarray(t_distance(counts, self.overall, self.ground) <= self.t + TOLERANCE)

    def shortfall(self, counts: Counts) -> str:
        """Say how far the table is as one group, for counts of shape (1, values)."""
        if not counts.any():
            return f"{self} is asked, but no record has a value."
        distance = math.ceil(100 * t_distance(counts, self.overall, self.ground)[0]) / 100
        return f"{self} is asked, but these records together are at a distance of {distance:g}."


@dataclass(frozen=True)
class Of:
    """A requirement on one of several attributes, whose values have the columns from start to stop."""

    name: str
    start: int
    stop: int
    requirement: Requirement

    def __str__(self) -> str:
        return f"{self.requirement} of {self.name!r}"

    @property
    def minimum_size(self) -> int:
        """The records that a group needs at least."""
        return self.requirement.minimum_size

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups satisfy it, for counts of shape (groups, values of all attributes)."""
        return self.requirement.holds(counts[:, self.start : self.stop])

    def shortfall(self, counts: Counts) -> str:
        """Say what can be reached of the attribute, for counts of shape (1, values of all attributes)."""
        found = self.requirement.shortfall(counts[:, self.start : self.stop])
        return found if isinstance(self.requirement, KAnonymity) else f"Column {self.name!r}: {found}"


@dataclass(frozen=True)
class All:
    """Several requirements at once."""

    requirements: tuple[Requirement, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.requirements))

    @property
    def minimum_size(self) -> int:
        """The records that a group needs at least."""
        return max(requirement.minimum_size for requirement in self.requirements)

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups satisfy all, for counts of shape (groups, values)."""
        return reduce(np.logical_and, (requirement.holds(counts) for requirement in self.requirements))

    def shortfall(self, counts: Counts) -> str:
        """Say what can be reached of each that fails, for counts of shape (1, values)."""
        return "\n".join(requirement.shortfall(counts) for requirement in self.failing(counts))

    def failing(self, counts: Counts) -> list[Requirement]:
        """Return the requirements that some group fails, for counts of shape (groups, values)."""
        return [requirement for requirement in self.requirements if not requirement.holds(counts).all()]


def is_k_alone(requirement: Requirement) -> bool:
    """Tell whether nothing is asked but a number of records."""
    parts = requirement.requirements if isinstance(requirement, All) else (requirement,)
    return all(isinstance(part, KAnonymity) for part in parts)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
