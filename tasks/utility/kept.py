"""How much of the input is kept in what is published: per feature, per pair of features, of the class."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.partitions.regions import NumericRegions, Regions
from tasks.utility.binned import Binned
from tasks.utility.spread import Numbers, blocks, moments_after, moments_before, spread, spread_classes

PAIRED_BINS = 140  # of the features of a fragment whose pairs are measured, together


class Kept(NamedTuple):
    """What is kept of a feature.

    Attributes
    ----------
    information
        Mutual information of the feature and the class in what is published, in nats.
    distance
        Total variation distance of the feature's distribution over its bins, before and after: the share of
        records that would have to be in another bin; 0 to 1.
    mean_shift
        Mean after minus mean before, in standard deviations of before; None where the feature is not numeric
        or does not vary.
    spread_ratio
        Standard deviation after, in standard deviations of before; likewise.
    """

    information: float
    distance: float
    mean_shift: float | None
    spread_ratio: float | None


class Pair(NamedTuple):
    """Two features of a fragment, by their places in it, and their mutual information after, in nats."""

    first: int
    second: int
    information: float


def kept_of_feature(region: Regions, before: Binned, counts: Numbers) -> Kept:
    """Return what is kept of a feature.

    Parameters
    ----------
    region
        What the equivalence classes (ECs) release of it.
    before
        Its values in the input.
    counts : ndarray of shape (ECs, class values)
        The published class counts, or shares of records where class values are published per EC; rows sum
        to the records of the ECs.
    """
    joint = spread_classes(region, before, counts)
    distance = total_variation(before.records(), joint.sum(axis=1))
    shift, ratio = _moved(region, before, counts.sum(axis=1))
    return Kept(information(joint), distance, shift, ratio)


def _moved(
    region: Regions, values: Binned, sizes: npt.NDArray[Any]
) -> tuple[float, float] | tuple[None, None]:
    """Return the shift of the mean and the ratio of standard deviations."""
    before = moments_before(values) if isinstance(region, NumericRegions) else None
    if not isinstance(region, NumericRegions) or before is None or before.deviation == 0:
        return None, None
    after = moments_after(region, sizes)
    return (after.mean - before.mean) / before.deviation, after.deviation / before.deviation


def total_variation(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> float:
    """Return half the summed difference of two distributions, given as weights.

    Examples
    --------
    >>> total_variation(np.array([1, 1, 2]), np.array([2, 2, 0]))
    0.5
    """
    distance = np.abs(first / first.sum() - second / second.sum()).sum() / 2
    return round(float(distance), 12)  # what is equal shall not differ by the rounding of sums


def information(joint: Numbers) -> float:
    """Return the mutual information of rows and columns of a table of weights, in nats.

    Examples
    --------
    >>> round(information(np.eye(2)), 6)
    0.693147
    """
    shares = joint / joint.sum()
    rows, columns = _entropy(shares.sum(axis=1)), _entropy(shares.sum(axis=0))
    return max(rows + columns - _entropy(shares.ravel()), 0.0)


def _entropy(shares: Numbers) -> float:
    present = shares[shares > 0]
    return float(-(present @ np.log(present)))


def pair_information(
    regions: Sequence[Regions], before: Sequence[Binned], sizes: npt.NDArray[Any]
) -> list[Pair]:
    """Return the mutual information of pairs of features of a fragment in what is published.

    Within an EC two features are taken as independent: an EC does not tell which values go together. The
    pairs are those of the fragment's first features that have at most 140 bins together.

    Parameters
    ----------
    regions
        What the ECs release, one per feature.
    before
        The values in the input, likewise.
    sizes : ndarray of shape (ECs,)
        The records of each EC.
    """
    chosen = _paired([values.bins for values in before])
    if len(chosen) < 2:  # noqa: PLR2004 - a pair
        return []
    ends = np.cumsum([0, *(before[place].bins for place in chosen)]).tolist()
    together = np.zeros((ends[-1], ends[-1]))
    for block in blocks(len(sizes), ends[-1]):
        shares = np.hstack([spread(regions[place].take(block), before[place]) for place in chosen])
        together += shares.T @ (sizes[block, None] * shares)
    spans = {place: slice(*ends[i : i + 2]) for i, place in enumerate(chosen)}
    return [
        Pair(first, second, information(together[spans[first], spans[second]]))
        for first, second in combinations(chosen, 2)
    ]


def _paired(bins: Sequence[int]) -> list[int]:
    """Return the places of the first features whose bins fit."""
    chosen, taken = list[int](), 0
    for place, number in enumerate(bins):
        if taken + number <= PAIRED_BINS:
            chosen.append(place)
            taken += number
    return chosen
