"""Figures of persons from those of their records: a person counts once, with the record that is worst off."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

CLOSE = 1e-12  # probabilities that differ by less are equal
NONE = np.iinfo(np.int64).max


class Sureness(NamedTuple):
    """How surely something follows, and how often it is right.

    Attributes
    ----------
    probability : float64 ndarray of shape (n,)
        Of the most likely value of each record, or of each person.
    right : float64 ndarray of shape (n,)
        Whether it is the true one, 0 or 1; of a person the share of the records that are as sure.
    """

    probability: Floats
    right: Floats


def fewest_candidates(candidates: Counts, persons: Labels | None) -> Counts:
    """Return the fewest candidates of a person's records, those without any aside; 0 if all have none.

    Parameters
    ----------
    candidates : int64 ndarray of shape (records,)
    persons : ndarray of shape (records,), or None
        Whom each record is of, numbered from 0; None where each record is taken for a person.

    Examples
    --------
    >>> fewest_candidates(np.array([4, 2, 0, 0]), np.array([0, 0, 0, 1]))
    array([2, 0])
    """
    if persons is None:
        return candidates
    fewest = np.full(persons.max() + 1, NONE)
    np.minimum.at(fewest, persons, np.where(candidates > 0, candidates, NONE))
    return np.where(fewest == NONE, 0, fewest)


def largest(values: Floats, persons: Labels | None) -> Floats:
    """Return the largest value of a person's records, none of which is negative.

    Parameters
    ----------
    values : ndarray of shape (records,)
    persons : ndarray of shape (records,), or None
        See `fewest_candidates`.
    """
    if persons is None:
        return values
    most = np.zeros(persons.max() + 1)
    np.maximum.at(most, persons, values)
    return most


def surest(known: Sureness, persons: Labels | None) -> Sureness:
    """Return how surely it follows for each person, by the record for which it follows most surely.

    Parameters
    ----------
    known
        Of each record.
    persons : ndarray of shape (records,), or None
        See `fewest_candidates`.

    Examples
    --------
    >>> surest(Sureness(np.array([0.5, 0.8, 0.8]), np.array([1.0, 1.0, 0.0])), np.array([0, 0, 0]))
    Sureness(probability=array([0.8]), right=array([0.5]))
    """
    if persons is None:
        return known
    probability = largest(known.probability, persons)
    sure = known.probability >= probability[persons] - CLOSE
    of = persons[sure]
    return Sureness(probability, np.bincount(of, known.right[sure]) / np.bincount(of))
