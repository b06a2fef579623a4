"""Joins made safe in persons: what their records show, and what each person counts under."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.config import Privacy
from tasks.enforcement.strategies import enforce
from tasks.errors import InfeasibleError
from tasks.joins.class_join import Counts
from tasks.persons.credit import Codes, Credits, credit, lacks_persons
from tasks.persons.realise import realise


class Records(NamedTuple):
    """The records of a table with several of a person.

    Attributes
    ----------
    members : sequence of ndarrays of shape (n,)
        The equivalence class (EC) of each record, for each fragment.
    persons, classes : ndarrays of shape (n,)
        Whom each record is of, and its class value.
    values
        How many class values there are.
    """

    members: Sequence[Codes]
    persons: Codes
    classes: Codes
    values: int


class Shown(NamedTuple):
    """What a fragment shows of the class.

    Attributes
    ----------
    counted
        Whom each EC counts, and under which class value.
    published : ndarray of shape (n,)
        The class value of each record.
    """

    counted: Credits
    published: Codes


def shown_as_they_are(records: Records) -> list[Shown]:
    """Return what each fragment shows of records that keep their class values."""
    members, persons, classes, values = records
    return [Shown(credit(ecs, persons, classes, values), classes) for ecs in members]


def change_classes(records: Records, privacy: Privacy, seed: int) -> list[Shown]:
    """Return what each fragment shows once joins are safe in persons.

    A join counts persons, each under one class value. A class value of an EC that nobody can count under
    there, since its persons are needed for other values, is not shown: with one fragment, which is never
    joined, it is.

    Parameters
    ----------
    records
        Every EC has records of k persons or more.
    privacy
        Which strategy, guarantee and k.
    seed
        As for `tasks.enforcement.strategies.enforce`.

    Raises
    ------
    InfeasibleError
        If class values may not change and some cannot be shown, or if there are too many joins to be
        checked.
    """
    shown = shown_as_they_are(records)
    if len(shown) == 1:
        return shown
    before = [
        counted.counts(int(ecs.max()) + 1, records.values)
        for (counted, _), ecs in zip(shown, records.members, strict=True)
    ]
    if privacy.enforcement == "none":
        _refuse_uncounted(before, records)
    after = enforce(privacy, before, seed).counts
    return [
        Shown(*realise(counted, records.classes, wanted))
        for (counted, _), wanted in zip(shown, after, strict=True)
    ]


def _refuse_uncounted(counts: Sequence[Counts], records: Records) -> None:
    for number, (held, ecs) in enumerate(zip(counts, records.members, strict=True), 1):
        short = int(np.count_nonzero(lacks_persons(ecs, records.classes, held)))
        if short:
            raise InfeasibleError(
                f"{short} of {len(held)} equivalence classes of fragment {number} have more class values "
                'than persons to count under them, one each: set privacy.enforcement to "min_distortion", '
                'which changes these values, or to "coarsen"'
            )
