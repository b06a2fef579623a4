"""What the fragments together tell of a value, taken as independent given the class."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.float64]
Numbered = npt.NDArray[np.int32]

NOTHING = -1  # to guess
CLOSE = 1e-9  # shares, and logarithms of probabilities, that differ by less are equal


class Belief(NamedTuple):
    """What the attacker takes the value of each target for.

    Attributes
    ----------
    scores : ndarray of shape (targets, values)
        Logarithms of probabilities, up to a constant for each target; minus infinity where impossible.
    prior : ndarray of shape (targets, values)
        Shares of the values in the files.
    """

    scores: Counts
    prior: Counts

    @property
    def guesses(self) -> Numbered:
        """The most likely values, shape (targets,): of equal ones the most frequent, then the first.

        The most frequent value of all where every one is impossible; -1 where the files have none at all.
        """
        possible = np.isfinite(self.scores).any(axis=1, keepdims=True)
        scores = np.where(possible, self.scores, 0.0)
        likely = scores >= scores.max(axis=1, keepdims=True) - CLOSE
        shares = np.where(likely, self.prior, -1.0)
        guesses = (shares >= shares.max(axis=1, keepdims=True) - CLOSE).argmax(axis=1)
        return np.where(self.prior.any(axis=1), guesses, NOTHING).astype(np.int32)

    def certain(self, value: Numbered) -> npt.NDArray[np.bool_]:
        """Return for which targets one value alone is possible, and is the given one."""
        possible = np.isfinite(self.scores)
        return np.asarray((possible.sum(axis=1) == 1) & possible[np.arange(len(value)), value])


def without(counts: Counts, own: Numbered) -> Counts:
    """Return the counts of each target without a record of its own value, where there is one.

    Parameters
    ----------
    counts : ndarray of shape (targets, values)
    own : ndarray of shape (targets,)
        Places of the targets' true values.
    """
    left = counts.copy()
    targets = np.arange(len(own))
    left[targets, own] -= counts[targets, own] >= 1
    return left


def combined(counts: Sequence[Counts], totals: Sequence[Counts]) -> Belief:
    """Return prod_i f_i(c) / prior(c)^(m-1), with f_i the shares of fragment i.

    Parameters
    ----------
    counts : per fragment, array of shape (targets, values)
        Over the rows that cover a target; a fragment without such rows tells nothing of the target.
    totals : per fragment, array of shape (targets, values)
        Over all rows. The prior is the mean of the fragments' shares.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = sum((total / total.sum(axis=1, keepdims=True) for total in totals), 0.0) / len(totals)
        logs = scores = np.log(prior)
        for each in counts:
            told = each.any(axis=1, keepdims=True)
            gains = np.log(each / each.sum(axis=1, keepdims=True)) - logs
            scores = scores + np.where(told, gains, 0.0)
    return Belief(np.where(np.isnan(scores), -np.inf, scores), np.nan_to_num(prior))
