"""How often an attack succeeds, with its confidence interval, and by how much more than it would anyway."""

from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Name = Literal["class_join", "position", "linkage", "inference"]

Z = 1.959963984540054  # a standard normal variable is within it with probability 0.95
QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)

Flags = npt.NDArray[np.bool_]


class Rate(NamedTuple):
    """How often something succeeded.

    Attributes
    ----------
    successes, attempts
        There is at least one attempt.
    value
        successes / attempts.
    low, high
        The 95 % score interval (Wilson 1927).
    """

    successes: int
    attempts: int
    value: float
    low: float
    high: float


class Attack(NamedTuple):
    """What came of an attack on a number of targets.

    Attributes
    ----------
    name, subject
        The attack, and what it was about.
    success, baseline
        Of the attack, and of the same without the target's record or without what the attack rests on.
    only_with, only_without
        For how many targets the attack alone succeeded, and the baseline alone.
    excess, excess_low, excess_high
        (success - baseline) / (1 - baseline), see `attack`; its interval at 95 %.
    """

    name: Name
    subject: str
    success: Rate
    baseline: Rate
    only_with: int
    only_without: int
    excess: float
    excess_low: float
    excess_high: float


class Candidates(NamedTuple):
    """How many rows the targets can be, over targets.

    Attributes
    ----------
    fragment
        Its number, from 1; None for the rows of the join of all fragments.
    least, quarter, median, three_quarters, largest
        Quantiles; between two targets they are interpolated.
    """

    fragment: int | None
    least: float
    quarter: float
    median: float
    three_quarters: float
    largest: float


def rate(succeeded: Flags) -> Rate:
    """Return the rate of success, shape (attempts,), at least one.

    Examples
    --------
    >>> found = rate(np.array([True, False, False, False]))
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.25, 0.046, 0.699)
    """
    successes, attempts = int(succeeded.sum()), len(succeeded)
    value = successes / attempts
    middle, error = _score(value, attempts)
    low = 0.0 if successes == 0 else middle - error
    high = 1.0 if successes == attempts else middle + error
    return Rate(successes, attempts, value, low, high)


def _score(value: float, attempts: int) -> tuple[float, float]:
    """Return the middle of the score interval and half its width."""
    middle = (value + Z**2 / (2 * attempts)) / (1 + Z**2 / attempts)
    spread = value * (1 - value) / attempts + (Z / (2 * attempts)) ** 2
    return middle, Z * sqrt(spread) / (1 + Z**2 / attempts)


def attack(name: Name, subject: str, succeeded: Flags, otherwise: Flags) -> Attack:
    """Return an attack with what it gains over its baseline.

    Parameters
    ----------
    name, subject
        The attack, and what it was about.
    succeeded, otherwise : ndarray of shape (attempts,)
        For which targets the attack succeeded, and for which of the same targets its baseline; at least one.

    Notes
    -----
    The interval of the excess is that of Anonymeter's residual risk (Giomi et al., "A Unified Framework for
    Quantifying Privacy Risk in Synthetic Data", 2023): the excess of the middles of the two score intervals,
    with half their widths propagated to first order as if the rates were independent. Rates of the same
    targets rise and fall together, so it is rather too wide; `gains.verdicts` does not rest on it. Excess
    and bounds are cut to [0, 1]; a baseline of 1 leaves nothing to gain.
    """
    success, baseline = rate(succeeded), rate(otherwise)
    gained = _residual(success.value, baseline.value)
    middle, error = (_middle(success), _middle(baseline)), (_half(success), _half(baseline))
    by_success = error[0] / (1 - middle[1])
    by_baseline = error[1] * (1 - middle[0]) / (1 - middle[1]) ** 2
    wide, centre = sqrt(by_success**2 + by_baseline**2), _residual(*middle)
    excess = _cut(gained), _cut(centre - wide), _cut(centre + wide)
    only_with, only_without = int((succeeded & ~otherwise).sum()), int((otherwise & ~succeeded).sum())
    return Attack(name, subject, success, baseline, only_with, only_without, *excess)


def _residual(success: float, baseline: float) -> float:
    return 0.0 if baseline == 1 else (success - baseline) / (1 - baseline)


def _middle(rate: Rate) -> float:
    return _score(rate.value, rate.attempts)[0]


def _half(rate: Rate) -> float:
    return _score(rate.value, rate.attempts)[1]


def _cut(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def candidates(fragment: int | None, rows: npt.NDArray[np.float64]) -> Candidates:
    """Return how a number of rows, shape (targets,), is spread over targets."""
    return Candidates(fragment, *np.quantile(rows, QUARTILES).tolist())
