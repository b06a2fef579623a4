"""Under which value each person counts in an equivalence class (EC): once, so that values have persons."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_bipartite_matching

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Credits(NamedTuple):
    """Whom each EC counts, by EC, then person.

    Attributes
    ----------
    ecs, persons, values : ndarrays of shape (credits,)
        An EC, a person with records there, and the value that the person counts under.
    of_record : ndarray of shape (n,)
        The credit that each record has a part in.
    """

    ecs: Ints
    persons: Ints
    values: Ints
    of_record: Ints

    def counts(self, ecs: int, values: int) -> Ints:
        """Return how many persons count under each value, shape (ecs, values)."""
        cells = np.bincount(self.ecs * values + self.values, minlength=ecs * values)
        return cells.reshape(ecs, values).astype(np.int64)


class _Held(NamedTuple):
    """The different values of each credit's records: by credit, then value."""

    credits: Ints
    values: Ints
    records: Ints


def credit(ecs: Codes, persons: Codes, codes: Codes, values: int) -> Credits:
    """Count each person once in an EC, under a value that a record of that person has there.

    As many different values of an EC as can be have a person of its own (a maximum matching). Who is not
    needed for that counts under the most frequent one of the own values, the lowest of several.

    Parameters
    ----------
    ecs, persons, codes : ndarrays of shape (n,)
        The EC of each record, whom it is of, and its value.
    values
        How many values there are.

    Examples
    --------
    >>> ecs, persons, codes = np.zeros(4, int), np.array([5, 5, 5, 7]), np.array([0, 0, 1, 0])
    >>> credit(ecs, persons, codes, 2).values
    array([1, 0])
    """
    pair = ecs.astype(np.int64) * (int(persons.max()) + 1) + persons
    triples, of_record, records = np.unique(pair * values + codes, return_inverse=True, return_counts=True)
    first = np.diff(triples // values, prepend=-1) > 0
    pairs, of_triple = triples[first] // values, np.cumsum(first) - 1
    held = _Held(of_triple, triples % values, records)
    credited = _most_frequent(held, values)
    where, whom = np.divmod(pairs, int(persons.max()) + 1)
    several = (np.bincount(of_triple) > 1)[of_triple]
    keys = where[of_triple] * values + held.values
    _cover(credited, held, keys, several & ~np.isin(keys, keys[~several]))
    return Credits(where, whom, credited, of_triple[of_record])


def lacks_persons(ecs: Codes, codes: Codes, counts: Ints) -> Flags:
    """Tell which ECs have a value that nobody counts under.

    Parameters
    ----------
    ecs, codes : ndarrays of shape (n,)
        The EC of each record, and its value.
    counts : ndarray of shape (ECs, values)
        How many persons count under each.

    Returns
    -------
    ndarray of shape (ECs,)
    """
    lacking = np.zeros(len(counts), dtype=np.bool_)
    lacking[ecs[counts[ecs, codes] == 0]] = True
    return lacking


def _most_frequent(held: _Held, values: int) -> Ints:
    """Return the value of most records of each credit, the lowest of several."""
    starts = np.flatnonzero(np.diff(held.credits, prepend=-1))
    best = np.maximum.reduceat(held.records * values - held.values, starts)
    return np.asarray(-best % values)


def _cover(credited: Ints, held: _Held, keys: Ints, wanted: Flags) -> None:
    """Credit persons of several values so that as many of the wanted values as can be have one.

    Parameters
    ----------
    credited
        The value of each credit, to be changed.
    held
        What the credits can have.
    keys : ndarray of shape (held,)
        Tells the values of different ECs apart.
    wanted : ndarray of shape (held,)
        Which values no person of this one value has.
    """
    if not wanted.any():
        return
    names, rows = np.unique(keys[wanted], return_inverse=True)
    persons, columns = np.unique(held.credits[wanted], return_inverse=True)
    edges = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), (len(names), len(persons)))
    taken = maximum_bipartite_matching(edges.tocsr(), perm_type="column")[rows] == columns
    credited[held.credits[wanted][taken]] = held.values[wanted][taken]
