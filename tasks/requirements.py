"""What a group of rows must satisfy to be published as an equivalence class (EC).

Every requirement looks at class counts only. Beside the predicates stand the quantities that they
compare, which also say what a release has achieved.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

TOLERANCE = 64 * float(np.finfo(np.float64).eps)  # what rounding may add to a level or a distance


class Hierarchy(NamedTuple):
    """A tree over the class values, all of them at the same depth.

    Attributes
    ----------
    parents
        One array for each level, from the class values upwards: every node's parent on the next
        level, from 0. The last array's parents are the root, 0.
    """

    parents: tuple[npt.NDArray[np.int64], ...]


Distance = Literal["equal", "ordered"] | Hierarchy


def group_sizes(counts: Counts) -> Counts:
    """Return the rows of each group, for counts of shape (groups, class values)."""
    return np.asarray(np.einsum("gc->g", counts))  # several times faster than a sum over a short axis


def distinct_level(counts: Counts) -> npt.NDArray[np.int64]:
    """Return how many class values occur in each group.

    Parameters
    ----------
    counts : ndarray of shape (groups, class values)

    Returns
    -------
    ndarray of shape (groups,)

    Examples
    --------
    >>> distinct_level(np.array([[3, 0], [2, 1]]))
    array([1, 2])
    """
    return np.asarray(np.count_nonzero(counts, axis=1))


def entropy_level(counts: Counts) -> Floats:
    """Return the exponential of each group's class entropy: as many values of equal frequency have it.

    Parameters
    ----------
    counts : ndarray of shape (groups, class values)
        Every group has a row.

    Returns
    -------
    ndarray of shape (groups,)

    Examples
    --------
    >>> entropy_level(np.array([[3, 0], [2, 2]]))
    array([1., 2.])
    """
    return np.exp(_entropies(counts))


def recursive_level(counts: Counts, c: float) -> npt.NDArray[np.int64]:
    """Return the largest l for which each group is recursively (c, l)-diverse.

    With the counts in descending order r_1, ..., r_m this is the largest l for which
    r_1 < c (r_l + ... + r_m); 1-diversity is always satisfied (Machanavajjhala et al., "l-diversity:
    Privacy beyond k-anonymity").

    Parameters
    ----------
    counts : ndarray of shape (groups, class values)
        Every group has a row.
    c

    Returns
    -------
    ndarray of shape (groups,)
        At least 1.

    Examples
    --------
    >>> recursive_level(np.array([[3, 2, 1], [4, 2, 1]]), c=1)
    array([1, 1])
    >>> recursive_level(np.array([[3, 2, 1], [4, 2, 1]]), c=1.5)
    array([2, 2])
    """
    ascending = np.sort(counts, axis=1)
    rests = np.cumsum(ascending, axis=1)
    reached = ascending[:, -1:] * (1 + TOLERANCE) < c * rests
    return np.asarray(np.maximum(np.count_nonzero(reached, axis=1), 1))


def t_distance(counts: Counts, overall: Counts, distance: Distance) -> Floats:
    """Return how far each group's class distribution is from the whole table's.

    The earth mover's distance (Li, Li, Venkatasubramanian, "t-closeness: Privacy beyond k-anonymity
    and l-diversity"), between 0 and 1. Two values are 1 apart ("equal"), or the difference
    of their codes over the largest such difference ("ordered"), or the height of their lowest
    common ancestor over the tree's height (a hierarchy).

    Parameters
    ----------
    counts : ndarray of shape (groups, class values)
        Every group has a row. The last class values may be left out if no group has them.
    overall : ndarray of shape (class values,)
        The class counts of the whole table.
    distance

    Returns
    -------
    ndarray of shape (groups,)

    Examples
    --------
    >>> t_distance(np.array([[4, 0, 0], [0, 4, 0]]), np.array([2, 4, 2]), "equal")
    array([0.75, 0.5 ])
    >>> t_distance(np.array([[4, 0, 0], [0, 4, 0]]), np.array([2, 4, 2]), "ordered")
    array([0.5 , 0.25])
    """
    surplus = np.tile(-overall / overall.sum(), (len(counts), 1))
    surplus[:, : counts.shape[1]] += counts / group_sizes(counts)[:, None]
    if isinstance(distance, Hierarchy):
        return _moved_in_tree(surplus, distance)
    if distance == "ordered":
        steps = np.abs(np.cumsum(surplus, axis=1)).sum(axis=1)
        return np.asarray(steps / max(len(overall) - 1, 1))
    return np.asarray(np.abs(surplus).sum(axis=1) / 2)


def _entropies(counts: Counts) -> Floats:
    shares = counts / group_sizes(counts)[:, None]
    return np.asarray(-(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)).sum(axis=1))


def _moved_in_tree(surplus: Floats, hierarchy: Hierarchy) -> Floats:
    """Settle what can be settled below each node, level by level upwards (Li et al.)."""
    cost = np.zeros(len(surplus))
    for height, parents in enumerate(hierarchy.parents, start=1):
        below = np.eye(parents.max() + 1)[parents]
        settled = np.minimum(np.maximum(surplus, 0) @ below, np.maximum(-surplus, 0) @ below)
        cost += settled.sum(axis=1) * height
        surplus = surplus @ below
    return cost / len(hierarchy.parents)


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


@dataclass(frozen=True)
class DistinctDiversity:
    """At least l class values.

    Examples
    --------
    >>> DistinctDiversity(2).holds(np.array([[3, 0, 0], [1, 0, 1]]))
    array([False,  True])
    """

    l: int  # noqa: E741  the letter of the literature

    def __str__(self) -> str:
        return f"distinct l = {self.l}"

    @property
    def minimum_size(self) -> int:
        """The rows that a group needs at least."""
        return self.l

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups have l class values, for counts of shape (groups, class values)."""
        return distinct_level(counts) >= self.l


@dataclass(frozen=True)
class AllValues:
    """Every class value of the segment: what makes Theorem 5.1 true for distinct l-diversity.

    Examples
    --------
    >>> AllValues((0, 2)).holds(np.array([[3, 1, 0], [1, 0, 1]]))
    array([False,  True])
    """

    values: tuple[int, ...]

    def __str__(self) -> str:
        return f"all {len(self.values)} class values of the segment"

    @property
    def minimum_size(self) -> int:
        """The rows that a group needs at least."""
        return len(self.values)

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups have all the values, for counts of shape (groups, class values)."""
        return np.asarray((counts[:, self.values] > 0).all(axis=1))


@dataclass(frozen=True)
class EntropyDiversity:
    """A class entropy of at least log l (Machanavajjhala et al.), up to `TOLERANCE`.

    Examples
    --------
    >>> EntropyDiversity(2).holds(np.array([[2, 1], [2, 2]]))
    array([False,  True])
    """

    l: float  # noqa: E741  the letter of the literature

    def __str__(self) -> str:
        return f"entropy l = {self.l:g}"

    @property
    def minimum_size(self) -> int:
        """The rows that a group needs at least: the entropy of n rows is at most log n."""
        return math.ceil(math.exp(self._least))

    @property
    def _least(self) -> float:
        return math.log(self.l) - TOLERANCE * max(1.0, math.log(self.l))

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups have the entropy, for counts of shape (groups, class values)."""
        return np.asarray(_entropies(counts) >= self._least)


@dataclass(frozen=True)
class RecursiveDiversity:
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m); what is equal up to `TOLERANCE` fails.

    See Also
    --------
    recursive_level : the definition in full.

    Examples
    --------
    >>> RecursiveDiversity(c=2, l=2).holds(np.array([[2, 1], [3, 2]]))
    array([False,  True])
    """

    c: float
    l: int  # noqa: E741  the letter of the literature

    def __str__(self) -> str:
        return f"recursive l = {self.l} with c = {self.c:g}"

    @property
    def minimum_size(self) -> int:
        """The rows that a group needs at least: so many different values satisfy it."""
        return self.l + math.floor(1 / self.c) if self.l > 1 else 1

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups are (c, l)-diverse, for counts of shape (groups, class values)."""
        return recursive_level(counts, self.c) >= self.l


@dataclass(frozen=True, eq=False)
class TCloseness:
    """A class distribution at most t from the whole table's, up to `TOLERANCE`.

    Examples
    --------
    >>> TCloseness(0.25, np.array([2, 2]), "equal").holds(np.array([[4, 0], [3, 1]]))
    array([False,  True])
    """

    t: float
    overall: Counts  # the class counts of the whole table
    distance: Distance

    def __str__(self) -> str:
        name = "hierarchical" if isinstance(self.distance, Hierarchy) else self.distance
        return f"t = {self.t:g} in {name} distance"

    @property
    def minimum_size(self) -> int:
        """The rows that a group needs at least."""
        return 1

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups are close enough, for counts of shape (groups, class values)."""
        return np.asarray(t_distance(counts, self.overall, self.distance) <= self.t + TOLERANCE)


@dataclass(frozen=True)
class All:
    """Several requirements at once.

    Examples
    --------
    >>> both = All((KAnonymity(3), DistinctDiversity(2)))
    >>> print(both)
    k = 3 and distinct l = 2
    >>> both.holds(np.array([[4, 0], [1, 1], [2, 1]]))
    array([False, False,  True])
    """

    requirements: tuple[Requirement, ...]

    def __str__(self) -> str:
        return " and ".join(str(requirement) for requirement in self.requirements)

    @property
    def minimum_size(self) -> int:
        """The rows that a group needs at least."""
        return max(requirement.minimum_size for requirement in self.requirements)

    def holds(self, counts: Counts) -> Flags:
        """Tell which groups satisfy all of them, for counts of shape (groups, class values)."""
        held = np.ones(len(counts), dtype=np.bool_)
        for requirement in self.requirements:
            held &= requirement.holds(counts)
        return held


def shortfall(requirement: Requirement, counts: Counts) -> str:
    """Say what of a requirement a whole table does not reach; no release of it can then satisfy it.

    Parameters
    ----------
    requirement
    counts : ndarray of shape (class values,)
        The class counts of the whole table.

    Returns
    -------
    str
        Empty if the table satisfies the requirement.

    Examples
    --------
    >>> shortfall(All((KAnonymity(3), DistinctDiversity(3))), np.array([5, 4]))
    'distinct l = 3 is asked, but the class has 2 values'
    """
    if isinstance(requirement, All):
        parts = (shortfall(part, counts) for part in requirement.requirements)
        return "; ".join(part for part in parts if part)
    if requirement.holds(counts[None])[0]:
        return ""
    return f"{requirement} is asked, but {_reached(requirement, counts[None])}"


def _reached(requirement: Requirement, counts: Counts) -> str:
    match requirement:
        case EntropyDiversity():
            return f"the class reaches {math.floor(entropy_level(counts)[0] * 1000) / 1000:g}"
        case RecursiveDiversity(c=c):
            return f"the class reaches {recursive_level(counts, c)[0]}"
        case KAnonymity():
            return f"the table has {_counted(counts.sum(), 'row')}"
        case _:
            return f"the class has {_counted(distinct_level(counts)[0], 'value')}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"
