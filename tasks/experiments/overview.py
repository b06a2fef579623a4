"""The experiments in a few numbers for each data set."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from tasks.experiments.figures import Bounds, Figure, Level, Method
from tasks.experiments.methods import BOUNDS, WAYS
from tasks.experiments.points import FIXED_K

FRAGMENTED: Method = "min_distortion"  # loss is the same for all strategies


class Loss(NamedTuple):
    """Information loss at k = 40, as the mean over seeds.

    Attributes
    ----------
    bounds
        Of released ranges.
    unfragmented, fragmented
        With the fewest features and with the most.
    """

    bounds: Bounds
    unfragmented: tuple[float | None, float | None]
    fragmented: tuple[float | None, float | None]


class Overview(NamedTuple):
    """What was found for a data set.

    Attributes
    ----------
    data
        Its name.
    points
        How many.
    features
        The fewest and the most.
    losses
        For each kind of bounds.
    best_f
        For each method, at k = 40 with the most features: the highest weighted F-measure of all learners,
        forms and bounds, each as the mean over seeds; None where no release keeps what was asked.
    majority
        The weighted F-measure of who names the most frequent class there; None without such a point.
    """

    data: str
    points: int
    features: tuple[int, int]
    losses: tuple[Loss, ...]
    best_f: dict[Method, float | None]
    majority: float | None


def overview(figures: Sequence[Figure], levels: Sequence[Level]) -> list[Overview]:
    """Return the overview of each data set, in the order of the figures."""
    by_data: dict[str, list[Figure]] = defaultdict(list)
    for figure in figures:
        by_data[figure.point.data].append(figure)
    return [
        _of_data(found, [level for level in levels if level.point.data == data])
        for data, found in by_data.items()
    ]


def _of_data(figures: Sequence[Figure], levels: Sequence[Level]) -> Overview:
    numbers = {figure.point.features for figure in figures}
    ends = min(numbers), max(numbers)
    fixed = [figure for figure in figures if figure.point.k == FIXED_K]
    widest = [figure for figure in fixed if figure.point.features == ends[1]]
    reached = [level.majority for level in levels if level.point[2:] == (ends[1], FIXED_K)]
    return Overview(
        levels[0].point.data,
        len(levels),
        ends,
        tuple(_loss(fixed, bounds, ends) for bounds in BOUNDS),
        {method: _best_f(widest, method) for method in WAYS},
        _mean(reached),
    )


def _loss(figures: Iterable[Figure], bounds: Bounds, ends: tuple[int, int]) -> Loss:
    found: dict[tuple[Method, int], list[float | None]] = defaultdict(list)
    for point, method, with_bounds, measure, value in figures:
        if measure == "information_loss" and with_bounds == bounds:
            found[method, point.features].append(value)
    fewest, most = ends
    unfragmented = _mean(found["unfragmented", fewest]), _mean(found["unfragmented", most])
    return Loss(bounds, unfragmented, (_mean(found[FRAGMENTED, fewest]), _mean(found[FRAGMENTED, most])))


def _best_f(figures: Iterable[Figure], method: Method) -> float | None:
    found: dict[tuple[Bounds, str], list[float | None]] = defaultdict(list)
    for _, by, bounds, measure, value in figures:
        if by == method and measure.startswith("f_"):
            found[bounds, measure].append(value)
    return max((mean for values in found.values() if (mean := _mean(values)) is not None), default=None)


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what is known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
