"""What versions of a release tell together of who is in several of them: three conditions.

A person has one equivalence class (EC) or more in each fragment of each version. The class values that are
left of a person are those that occur in every one of these ECs.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

BITS = 64
PAIRS = 1_000_000
"""Pairs of an EC and what is left of its persons that are looked at at once."""
ROWS = 20_000
"""ECs that are intersected at once with all of another version."""


class Version(NamedTuple):
    """Who is in which EC of a version, and what these show.

    Attributes
    ----------
    persons, ecs : ndarrays of shape (memberships,)
        Every person with every EC of it, once, by person; ECs are numbered over all fragments.
    counts : sparse array of shape (ECs, class values)
        How many records, or persons where these count, each EC has with each class value that it shows.
    """

    persons: Ints
    ecs: Ints
    counts: csr_array

    def of(self, chosen: Flags) -> "Version":
        """Return the version with some of its persons only; what its ECs show stays."""
        held = chosen[self.persons]
        return self._replace(persons=self.persons[held], ecs=self.ecs[held])


def values_left(versions: Iterable[Version], persons: int) -> Words:
    """Return the class values that occur in every EC of each person, a bit each.

    Parameters
    ----------
    versions
        At least one.
    persons
        How many there are in all versions together.

    Returns
    -------
    ndarray of shape (persons, words)
        Of a person in no version all bits are set.
    """
    left = np.zeros((persons, 0), dtype=np.uint64)
    for version in versions:
        shown = _shown(version.counts)
        if not left.shape[1]:
            left = np.full((persons, shown.shape[1]), ~np.uint64(0))
        starts = np.flatnonzero(np.diff(version.persons, prepend=-1))
        if len(starts):
            left[version.persons[starts]] &= np.bitwise_and.reduceat(shown[version.ecs], starts)
    return left


def few_values(left: Words, least: float) -> Flags:
    """Tell of whom fewer class values are left than asked for."""
    return np.asarray(np.bitwise_count(left).sum(axis=1) < least)


def few_records(versions: Iterable[Version], left: Words, k: int) -> Flags:
    """Tell who has an EC in which fewer than k records have a class value that is left of that person."""
    few = np.zeros(len(left), dtype=np.bool_)
    patterns, of_person = np.unique(left, axis=0, return_inverse=True)
    for version in versions:
        pairs, of_membership = np.unique(
            version.ecs * len(patterns) + of_person.ravel()[version.persons], return_inverse=True
        )
        parts = [
            _records_left(version.counts, *np.divmod(part, len(patterns)), patterns)
            for part in np.split(pairs, range(PAIRS, len(pairs), PAIRS))
        ]
        few[version.persons[(np.concatenate(parts) < k)[of_membership]]] = True
    return few


def told_by_difference(version: Version, other: Version, persons: int, k: int) -> Flags:
    """Tell whose classes show when the class counts of one version are subtracted from the other's.

    When all persons of an EC of one version are in an EC of the other, the rest of that is empty or at least
    k persons; otherwise these are told. All persons of a version count as an EC as well: the totals of its
    files.
    """
    told = np.zeros(persons, dtype=np.bool_)
    mine, others = _incidence(version, persons), _incidence(other, persons)
    sizes, other_sizes = (np.diff(held.indptr) for held in (mine, others))
    for first in range(0, len(sizes), ROWS):
        common = (mine[first : first + ROWS] @ others.T).tocoo()
        row, column = common.coords[0] + first, common.coords[1]
        size, other_size = sizes[row], other_sizes[column]
        within = (common.data == size) & _few(other_size - size, k)
        _tell_rest(told, others[column[within]], mine[row[within]])
        around = (common.data == other_size) & _few(size - other_size, k)
        _tell_rest(told, mine[row[around]], others[column[around]])
    return told


def _few(rest: Ints, k: int) -> Flags:
    return np.asarray((rest > 0) & (rest < k))


def _tell_rest(told: Flags, whole: csr_array, part: csr_array) -> None:
    told[(whole - part).nonzero()[1]] = True


def _incidence(version: Version, persons: int) -> csr_array:
    """Return who is in each EC, and, as the last row, in any."""
    ones = np.ones(len(version.ecs), dtype=np.int32)
    held = csr_array((ones, (version.ecs, version.persons)), shape=(version.counts.shape[0], persons))
    everybody = np.unique(version.persons)
    whole = (np.ones(len(everybody), dtype=np.int32), (np.zeros_like(everybody), everybody))
    return vstack([held, csr_array(whole, shape=(1, persons))], format="csr")


def _shown(counts: csr_array) -> Words:
    """Return the class values that each EC shows, a bit each, shape (ECs, words)."""
    words, bits = np.divmod(counts.indices, BITS)
    shown = np.zeros((counts.shape[0], -(-counts.shape[1] // BITS)), dtype=np.uint64)
    for word in range(shown.shape[1]):
        held = np.where(words == word, np.uint64(1) << bits.astype(np.uint64), np.uint64(0))
        shown[:, word] = np.bitwise_or.reduceat(held, counts.indptr[:-1])
    return shown


def _records_left(counts: csr_array, ecs: Ints, chosen: Ints, patterns: Words) -> Ints:
    """Return how many records of some ECs have a class value of a pattern."""
    held = counts[ecs]
    words, bits = np.divmod(held.indices, BITS)
    pattern = patterns[np.repeat(chosen, np.diff(held.indptr)), words]
    is_left = (pattern >> bits.astype(np.uint64)) & np.uint64(1)
    return np.add.reduceat(held.data * is_left.astype(np.int64), held.indptr[:-1])
