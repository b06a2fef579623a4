"""Which numbers of fragments to try in which order, and which of them serves best.

Trials go fold by fold. The first fold comes to all numbers it has time for; a further fold counts only if
it comes to all numbers that are still candidates, so that all are compared on the same records.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np


class Attempt(NamedTuple):
    """A trial of one number of fragments on one fold.

    Attributes
    ----------
    score
        Higher is better; None if no release of the training records keeps what was asked.
    information_loss, changed
        As `tasks.trials.trial.Trial` has them.
    reason
        Why there is no such release.
    tested
        The records that the score, a share, was found on; 0 if the score is no such share.
    """

    score: float | None
    information_loss: float | None = None
    changed: float | None = None
    reason: str | None = None
    tested: int = 0


class Candidate(NamedTuple):
    """What the trials say of a number of fragments; None where nothing is known.

    Attributes
    ----------
    fragments
        The number.
    folds
        On how many folds it was tried; 0 if there was no time.
    score, error
        Mean over folds and its standard error: that between folds, which takes two, and at least that of a
        share found on as many records, where the score is one.
    information_loss, changed
        Means over folds.
    seconds
        Of all its trials.
    reason
        Why it is not feasible, if it is not.
    """

    fragments: int
    folds: int
    score: float | None
    error: float | None
    information_loss: float | None
    changed: float | None
    seconds: float
    reason: str | None


class _Timed(NamedTuple):
    attempt: Attempt
    seconds: float


def order_of_trials(most: int) -> list[int]:
    """Return the numbers from 1 in the order in which trials tell most early: doubled, then what is between.

    >>> order_of_trials(8)
    [1, 2, 4, 3, 8, 6, 5, 7]
    """
    return sorted(range(1, most + 1), key=lambda m: ((m - 1).bit_length(), -(m & -m), m))


def try_numbers(
    most: int,
    folds: int,
    attempt: Callable[[int, int], Attempt],
    end: float,
    clock: Callable[[], float],
) -> list[Candidate]:
    """Try numbers of fragments as long as there is time.

    The first trial is always made. No other one starts that is predicted to end too late: on the
    first fold a trial is taken to last as long as the longest before it, on others as long as the same
    number did on the first.

    Parameters
    ----------
    most
        The highest number to try.
    folds
        How many there are.
    attempt
        Tries a number, given it and the fold's index.
    end
        When all should be done, by the clock.
    clock
        Tells the time in seconds.

    Returns
    -------
    list of Candidate
        One per number, from 1 to `most`.
    """
    order = order_of_trials(most)
    rounds = [_first_fold(order, attempt, end, clock)]
    for fold in range(1, folds):
        known = {m: timed.seconds for m, timed in rounds[0].items() if _feasible(m, rounds)}
        tried = _whole_fold(fold, known, attempt, end, clock)
        if tried is None:
            break
        rounds.append(tried)
    return [_summary(m, [tried[m] for tried in rounds if m in tried]) for m in range(1, most + 1)]


def best_number(candidates: Sequence[Candidate]) -> int | None:
    """Return the lowest number within one standard error of the best; None if none is feasible."""
    scores = {each.fragments: each for each in candidates if each.score is not None and each.reason is None}
    if not scores:
        return None
    best = max(scores.values(), key=lambda each: (each.score, -each.fragments))
    enough = (best.score or 0.0) - (best.error or 0.0)
    return min(number for number, each in scores.items() if (each.score or 0.0) >= enough)


def _first_fold(
    order: Sequence[int], attempt: Callable[[int, int], Attempt], end: float, clock: Callable[[], float]
) -> dict[int, _Timed]:
    tried: dict[int, _Timed] = {}
    for number in order:
        longest = max((timed.seconds for timed in tried.values()), default=0.0)
        if tried and clock() + longest > end:
            break
        tried[number] = _timed(attempt, number, 0, clock)
    return tried


def _whole_fold(
    fold: int,
    known: dict[int, float],
    attempt: Callable[[int, int], Attempt],
    end: float,
    clock: Callable[[], float],
) -> dict[int, _Timed] | None:
    """Try all candidates on a fold; return None as soon as there is no time for the rest of them."""
    tried: dict[int, _Timed] = {}
    for number in known:
        rest = sum(seconds for other, seconds in known.items() if other not in tried)
        if clock() + rest > end:
            return None
        tried[number] = _timed(attempt, number, fold, clock)
    return tried or None


def _timed(
    attempt: Callable[[int, int], Attempt], number: int, fold: int, clock: Callable[[], float]
) -> _Timed:
    started = clock()
    return _Timed(attempt(number, fold), clock() - started)


def _feasible(number: int, rounds: Sequence[dict[int, _Timed]]) -> bool:
    return all(tried[number].attempt.reason is None for tried in rounds if number in tried)


def _summary(number: int, tried: Sequence[_Timed]) -> Candidate:
    attempts = [timed.attempt for timed in tried]
    scores = [attempt.score for attempt in attempts if attempt.score is not None]
    return Candidate(
        number,
        len(tried),
        _mean(scores),
        _error(scores, sum(attempt.tested for attempt in attempts)),
        _mean([attempt.information_loss for attempt in attempts]),
        _mean([attempt.changed for attempt in attempts]),
        sum(timed.seconds for timed in tried),
        next((attempt.reason for attempt in attempts if attempt.reason is not None), None),
    )


def _error(scores: Sequence[float], tested: int) -> float | None:
    """Return the standard error of the mean score; None where nothing tells it."""
    between = float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else None
    if not scores or not tested:
        return between
    share = sum(scores) / len(scores)
    return max(sqrt(max(share * (1 - share), 0.0) / tested), between or 0.0)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
