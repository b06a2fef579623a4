"""How surely a record can be picked out of a fragment or a join: prosecutor, journalist and marketer risk."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tasks.risks.figures import Reidentification
from tasks.risks.own_classes import class_sizes, join_rows
from tasks.risks.per_person import fewest_candidates
from tasks.risks.spread import binned, spread

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

SMALL = 20  # candidates; from here on few terms of the series suffice
TERMS = 50  # of the series: what is left out is below 1e-16 of the sum
HALF = 0.5
PAIRED = 8  # fragments; of more no pairs are measured


def prosecutor(candidates: Counts) -> Floats:
    """Return the chance to pick out each record of those that look like it: 1 / candidates.

    Parameters
    ----------
    candidates : int64 ndarray of shape (records,)

    Returns
    -------
    float64 ndarray of shape (records,)
        0 where there is none to pick.
    """
    return np.divide(1.0, candidates, out=np.zeros(len(candidates)), where=candidates > 0)


def journalist(candidates: Counts, fraction: float) -> Floats:
    """Return the expected chance to pick out each record of those in the population that look like it.

    The number F of people that look like a record is taken for negative binomial, given the f candidates
    among the records and the fraction p of the population that they are (Benedetti and Franconi 1998; the
    individual risk of mu-Argus and sdcMicro):
    ``E[1/F] = sum_{h >= f} C(h-1, f-1) p^f q^(h-f) / h = p^f/f 2F1(f, f; f+1; q)``, q = 1 - p.

    Parameters
    ----------
    candidates : int64 ndarray of shape (records,)
    fraction
        Records / people of the population, above 0 and at most 1. With 1 this is the prosecutor's chance.

    Returns
    -------
    float64 ndarray of shape (records,)
        0 where there is none to pick.

    Notes
    -----
    The rows of a join are read as candidates that stand for 1 / p people each. In truth the join of m
    fragments of the population would grow as p^-m, so for joins the figure is on the cautious side.

    Examples
    --------
    >>> journalist(np.array([1, 2]), 0.5).round(6)
    array([0.693147, 0.306853])
    """
    different, places = np.unique(candidates, return_inverse=True)
    found = different > 0
    expected = np.zeros(len(different))
    expected[found] = _expected_chance(different[found], fraction)
    return expected[places]


def _expected_chance(candidates: Counts, p: float) -> Floats:
    """Sum p/f 2F1(1, 1; f+1; q), which equals p^f/f 2F1(f, f; f+1; q) and has small positive terms."""
    q = 1 - p
    total = np.ones(len(candidates))
    for j in range(TERMS, 0, -1):
        total = 1 + total * (j * q / (candidates + j))
    chances = p / candidates * total
    if p < HALF:
        few = candidates < SMALL
        chances[few] = _chances_of_few(p)[candidates[few]]
    return chances


def _chances_of_few(p: float) -> Floats:
    """Return the expected chance for 0 (which none has) to SMALL - 1 candidates.

    ``E[1/F] = p I_f`` with ``I_f = int_0^1 u^(f-1) / (p + qu) du``, so ``q I_(f+1) = 1/f - p I_f``.
    """
    q = 1 - p
    integrals = [-np.log(p) / q]
    for f in range(1, SMALL - 1):
        integrals.append((1 / f - p * integrals[-1]) / q)
    return p * np.array([0.0, *integrals])


def reidentification(
    counts: Sequence[Counts],
    members: Sequence[Labels],
    population: int | None = None,
    persons: Labels | None = None,
) -> Iterator[Reidentification]:
    """Measure every fragment, every pair of up to eight fragments, and all where there are more than two.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment; in persons where these are counted.
    members : sequence of ndarrays of shape (records,)
        The EC of every record, for each fragment.
    population
        People that the table's are drawn from, at least as many; None if the table is the population.
    persons : ndarray of shape (records,), or None
        Whom each record is of, numbered from 0; None where each record is taken for a person.
    """
    people = len(members[0]) if persons is None else int(persons.max()) + 1
    fraction = 1.0 if population is None else people / population
    for fragments in _parts(len(members)):
        first, *others = fragments
        candidates = (
            join_rows([counts[i] for i in fragments], [members[i] for i in fragments])
            if others
            else class_sizes(members[first], None if persons is None else counts[first])
        )
        own = fewest_candidates(candidates, persons)
        yield _measured([i + 1 for i in fragments], np.sort(own), fraction)


def _parts(fragments: int) -> list[tuple[int, ...]]:
    everything = range(fragments)
    whole = [tuple(everything)] if fragments > 2 else []  # noqa: PLR2004 - two are a pair
    pairs = combinations(everything, 2) if fragments <= PAIRED else []
    return [*combinations(everything, 1), *pairs, *whole]


def _measured(fragments: Sequence[int], candidates: Counts, fraction: float) -> Reidentification:
    chances = prosecutor(candidates)
    known = spread(chances)
    return Reidentification(
        fragments=tuple(fragments),
        prosecutor=known,
        journalist=known if fraction == 1 else spread(journalist(candidates, fraction)),
        marketer=float(chances.mean()),
        unique=int(np.count_nonzero(candidates == 1)),
        candidates=binned(candidates),
    )
