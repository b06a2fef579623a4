"""How surely a record's class follows from what is published of its features."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.risks.figures import ClassRevealed
from tasks.risks.own_classes import together
from tasks.risks.per_person import Sureness, surest
from tasks.risks.spread import spread

Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]

CLOSE = 1e-12  # probabilities that differ by less are equal


class Guess(NamedTuple):
    """What an attacker takes the class for.

    Attributes
    ----------
    likely : ndarray of shape (n,)
        The most likely class value.
    probability : float64 ndarray of shape (n,)
        Its probability.
    """

    likely: npt.NDArray[np.intp]
    probability: Floats

    def of(self, places: Labels) -> "Guess":
        """Return the guesses at these places."""
        return Guess(self.likely[places], self.probability[places])


def published_prior(counts: Sequence[Counts]) -> Floats:
    """Return the class shares that the fragments publish, as their mean.

    Parameters
    ----------
    counts : sequence of ndarrays of shape (E_i, class values)
        Class counts of each fragment.
    """
    shares = np.array([fragment.sum(axis=0) / fragment.sum() for fragment in counts])
    return np.asarray(shares.mean(axis=0))


def posterior(logs: Floats) -> Floats:
    """Return the probabilities of class values.

    Parameters
    ----------
    logs : ndarray of shape (n, class values)
        Their logarithms, up to a constant in each row; minus infinity where a value is impossible.

    Returns
    -------
    ndarray of shape (n, class values)
        Rows sum to 1; 0 for all where every value is impossible.

    Examples
    --------
    >>> posterior(np.log([[2.0, 6.0]]))
    array([[0.25, 0.75]])
    """
    highest = logs.max(axis=1, keepdims=True)
    impossible = np.isneginf(highest)
    highest[impossible] = 0.0
    weights = np.exp(logs - highest)
    return np.asarray(weights / (weights.sum(axis=1, keepdims=True) + impossible))


def class_revealed(
    counts: Sequence[Counts], members: Sequence[Labels], classes: Labels, persons: Labels | None = None
) -> tuple[ClassRevealed, ...]:
    """Measure what the prior, the best single fragment and all fragments together tell of the class.

    Together they tell ``prod_i f_i(c) / prior(c)^(m-1)``, f_i being the shares of the class values in the
    record's equivalence class (EC) of fragment i: fragments are taken as independent given the class. A class
    value that one of a record's ECs lacks is impossible.

    Parameters
    ----------
    counts : sequence of ndarrays of shape (E_i, class values)
        Class counts as published; where an EC publishes its class values once, equal shares of them.
    members : sequence of ndarrays of shape (records,)
        The EC of every record, for each fragment.
    classes : ndarray of shape (records,)
        The class of every record in the input.
    persons : ndarray of shape (records,), or None
        Whom each record is of, numbered from 0; each person then counts once, with the record whose class
        follows most surely. None where each record is taken for a person.

    Returns
    -------
    tuple of ClassRevealed
        "prior", "fragment" (whose most likely class is right most often; the first of equals) and, of several
        fragments, "combination". Of equally likely class values the more frequent counts, then the first.
    """
    prior = published_prior(counts)
    by_frequency = np.argsort(-prior, kind="stable")
    rank = np.argsort(by_frequency)
    counts = [fragment.take(by_frequency, axis=1) for fragment in counts]
    truth, prior = rank[classes], prior[by_frequency]

    single = [
        _told([_logarithms(fragment)], [np.arange(len(fragment), dtype=np.int32)], prior)
        for fragment in counts
    ]

    def known(guess: Guess) -> Sureness:
        return surest(Sureness(guess.probability, (guess.likely == truth).astype(np.float64)), persons)

    right = [known(guess.of(ecs)).right.sum() for guess, ecs in zip(single, members, strict=True)]
    best = int(np.argmax(right))
    revealed = [
        _revealed("prior", None, known(_before(prior, len(truth)))),
        _revealed("fragment", best + 1, known(single[best].of(members[best]))),
    ]
    if len(counts) > 1:
        revealed.append(_revealed("combination", None, known(_combined(counts, members, prior))))
    return tuple(revealed)


def _combined(counts: Sequence[Counts], members: Sequence[Labels], prior: Floats) -> Guess:
    """Guess the class of every record from its ECs in all fragments."""
    known = _logarithms(np.where(prior > 0, prior, 1.0))
    first, *others = (_logarithms(fragment) for fragment in counts)
    return _told([first, *(table - known for table in others)], members, prior)


def _told(tables: Sequence[Floats], members: Sequence[Labels], prior: Floats) -> Guess:
    """Guess the class of every record from sums of logarithms, or the prior's where they leave no value.

    Changed class values can make fragments contradict each other, and then they tell nothing.
    """
    guess = _before(prior, len(members[0]))
    for records, values, logs in together(tables, members, np.add, absent=-np.inf):
        probabilities = posterior(logs)
        largest = probabilities.max(axis=1)
        places = (probabilities >= largest[:, None] - CLOSE).argmax(axis=1)
        likely = places if values is None else values[np.arange(len(values)), places]
        possible = largest > 0
        guess.likely[records[possible]] = likely[possible]
        guess.probability[records[possible]] = largest[possible]
    return guess


def _before(prior: Floats, records: int) -> Guess:
    """Guess the most frequent class value, which comes first, for every record."""
    return Guess(np.zeros(records, dtype=np.intp), np.full(records, prior[0]))


def _logarithms(shares: Counts) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(shares)


def _revealed(
    knowledge: Literal["prior", "fragment", "combination"], fragment: int | None, known: Sureness
) -> ClassRevealed:
    return ClassRevealed(
        knowledge,
        fragment,
        largest=spread(known.probability),
        above_half=float(np.mean(known.probability > 0.5 + CLOSE)),
        above_nine_tenths=float(np.mean(known.probability > 0.9 + CLOSE)),
        certain=float(np.mean(known.probability >= 1 - CLOSE)),
        right=float(np.mean(known.right)),
    )
