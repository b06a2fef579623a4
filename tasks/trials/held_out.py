"""Which records a trial keeps out: stratified by class, the same for the same seed.

Where persons count, all records of a person are kept out, or none is.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.persons.credit import Codes, credit

Rows = npt.NDArray[np.intp]


class Held(NamedTuple):
    """The records of a table, by row number from 0, ascending.

    Attributes
    ----------
    train
        What is released in a trial; every class value of the table occurs.
    test
        What the trial never sees, and is tested with.
    """

    train: Rows
    test: Rows


def held_out(classes: Codes, share: float, seed: int, persons: Codes | None = None) -> Held:
    """Keep out a share of the records, of every class value alike.

    Parameters
    ----------
    classes : ndarray of shape (n,)
        Class codes.
    share
        Of the records to keep out, 0 to 1, at least one unless it is 0; every class value keeps one for
        training.
    seed
        Chooses the records; never published.
    persons : ndarray of shape (n,), optional
        Whom each record is of, where persons count: then the share is one of persons.

    Examples
    --------
    >>> held_out(np.array([0, 0, 0, 0, 1, 1, 2]), 0.3, 0)
    Held(train=array([1, 2, 3, 4, 6]), test=array([0, 5]))
    """
    if persons is not None:
        return _together(classes, persons, lambda of_persons: [held_out(of_persons, share, seed)])[0]
    order, first = _by_class(classes, seed)
    rest = order[~first]
    wanted = min(max(round(share * len(order)), int(share > 0)), len(rest))
    test = rest[((np.arange(wanted) + 0.5) * len(rest) / max(wanted, 1)).astype(np.intp)]
    return _without(len(order), test)


def folds(classes: Codes, number: int, seed: int, persons: Codes | None = None) -> list[Held]:
    """Cut the records into parts, each of which is kept out once.

    Parameters
    ----------
    classes : ndarray of shape (n,)
        Class codes. A class value that occurs once is never kept out.
    number
        Of parts, 2 or more.
    seed
        Chooses the records; never published.
    persons : ndarray of shape (n,), optional
        Whom each record is of, where persons count.
    """
    if persons is not None:
        return _together(classes, persons, lambda of_persons: folds(of_persons, number, seed))
    order, first = _by_class(classes, seed)
    alone = first & np.append(first[1:], True)
    part = np.where(alone, -1, np.arange(len(order)) % number)
    return [_without(len(order), order[part == held]) for held in range(number)]


def sample(classes: Codes, records: int, seed: int, persons: Codes | None = None) -> Rows:
    """Return at most so many records, of every class value alike and of each at least one.

    Where persons count, these are about so many records: all of some persons.
    """
    return held_out(classes, max(1 - records / len(classes), 0.0), seed, persons).train


def _together(classes: Codes, persons: Codes, divide: Callable[[Codes], list[Held]]) -> list[Held]:
    """Divide persons as if each were a record, of the class value that it counts under among all.

    One person of each value always trains. Where a value has no person of its own, all who have it are needed
    for others, alone: otherwise more values could have one. So they train, and every class value does.
    """
    counted = credit(np.zeros_like(persons), persons, classes, int(classes.max()) + 1)
    return [
        _without(len(classes), np.flatnonzero(np.isin(counted.of_record, held.test)))
        for held in divide(counted.values.astype(np.int32))
    ]


def _by_class(classes: Codes, seed: int) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """Return the records class after class, shuffled within, and where each class starts."""
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    order = shuffled[np.argsort(classes[shuffled], kind="stable")]
    return order, np.diff(classes[order], prepend=-1) > 0


def _without(records: int, test: Rows) -> Held:
    train = np.ones(records, dtype=bool)
    train[test] = False
    return Held(np.flatnonzero(train), np.flatnonzero(~train))
