"""Figures held against each other, point by point: what the paper's text says of its curves."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from tasks.experiments.curves import FIXED_K, LOSS, STRATEGIES, Axis, axes_of, largest_features, x_of
from tasks.experiments.figures import Bounds, Figure, Method, Point

ONE_TABLE: Mapping[Method, Method] = {
    "naive": "unfragmented",
    "dependency_graph": "unfragmented",
    "delta_selectivity": "unfragmented",
    "min_distortion": "unfragmented",
    "diversity": "unfragmented_diversity",
}


class Pair(NamedTuple):
    """Two figures that a claim compares.

    Attributes
    ----------
    data, features, k
        Where; of a rise along an axis, its later place.
    seed
        None for the means over seeds.
    method, bounds, measure
        Of the figure that was found.
    found, against
        The figure, and what it is held against.
    """

    data: str
    features: int
    k: int
    seed: int | None
    method: Method
    bounds: Bounds
    measure: str
    found: float
    against: float

    @property
    def gain(self) -> float:
        """By how much the figure is higher, as a share of what it is held against, which is above 0."""
        return self.found / self.against - 1


class Judged(NamedTuple):
    """What became of a claim.

    Attributes
    ----------
    held, of
        Pairs that agree with it, of all.
    exceptions
        The other pairs.
    """

    held: int
    of: int
    exceptions: tuple[Pair, ...]

    @property
    def holds(self) -> bool | None:
        """Whether every pair agrees; None where there is none."""
        return None if self.of == 0 else self.held == self.of


def judged(pairs: Iterable[Pair], agrees: Callable[[Pair], bool]) -> Judged:
    """Hold a claim against every pair."""
    pairs = list(pairs)
    exceptions = tuple(sorted((pair for pair in pairs if not agrees(pair)), key=_order))
    return Judged(len(pairs) - len(exceptions), len(pairs), exceptions)


def fragments_against_one_table(figures: Iterable[Figure]) -> list[Pair]:
    """Pair each figure of a release in fragments with that of one table, of the same point and bounds."""
    figures = list(figures)
    whole = {(f.point, f.method, f.bounds, f.measure): f.value for f in figures}
    return [
        _pair(figure, figure.value, against)
        for figure in figures
        if figure.method in ONE_TABLE and figure.value is not None
        for against in [whole.get((figure.point, ONE_TABLE[figure.method], figure.bounds, figure.measure))]
        if against is not None
    ]


def tight_against_cuts(figures: Iterable[Figure]) -> list[Pair]:
    """Pair the information loss of each release with tight bounds with that of the same with cuts."""
    losses = {(f.point, f.method, f.bounds): f for f in figures if f.measure == LOSS}
    return [
        _pair(figure, figure.value, cuts.value)
        for (point, method, bounds), figure in losses.items()
        if bounds == "tight" and figure.value is not None
        for cuts in [losses.get((point, method, "cuts"))]
        if cuts is not None and cuts.value is not None
    ]


def steps_along(figures: Iterable[Figure], axis: Axis) -> list[Pair]:
    """Pair the information loss at each place of an x axis with that at the place before, seed by seed."""
    return [
        _pair(later, later.value, earlier.value)
        for line in _losses_along(figures, axis)
        for earlier, later in pairwise(sorted(line, key=lambda figure: x_of(figure.point, axis)))
        if earlier.value is not None and later.value is not None
    ]


def _losses_along(figures: Iterable[Figure], axis: Axis) -> Iterable[list[Figure]]:
    """Return the losses of each data set, seed, method and bounds that lie along an axis."""
    figures = [figure for figure in figures if figure.measure == LOSS]
    largest = largest_features(figure.point for figure in figures)
    lines: dict[tuple[str, int, Method, Bounds], list[Figure]] = defaultdict(list)
    for figure in figures:
        if axis in axes_of(figure.point, largest):
            lines[figure.point.data, figure.point.seed, figure.method, figure.bounds].append(figure)
    return lines.values()


def losses_against_level(figures: Iterable[Figure], features: int, level: float) -> list[Pair]:
    """Pair the loss of one table with cuts bounds at k = 40 with a level that it is to exceed."""
    return [
        _pair(figure, figure.value, level)
        for figure in figures
        if figure.measure == LOSS and figure.method == "unfragmented" and figure.bounds == "cuts"
        if figure.point.features == features and figure.point.k == FIXED_K and figure.value is not None
    ]


def _pair(figure: Figure, found: float, against: float) -> Pair:
    point = figure.point
    place = point.data, point.features, point.k, point.seed
    return Pair(*place, figure.method, figure.bounds, figure.measure, found, against)


def means(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs of each place as one, of the means over the seeds that have both figures."""
    places: dict[Pair, list[Pair]] = defaultdict(list)
    for pair in pairs:
        places[pair._replace(seed=None, found=0.0, against=0.0)].append(pair)
    return [
        place._replace(found=fmean(p.found for p in part), against=fmean(p.against for p in part))
        for place, part in places.items()
    ]


def strategies_against_each_other(figures: Iterable[Figure]) -> list[Pair]:
    """Pair the information loss of each strategy with that of the first one at the same point and bounds."""
    first: dict[tuple[Point, Bounds], float] = {}
    pairs = []
    for figure in figures:
        if figure.measure == LOSS and figure.method in STRATEGIES and figure.value is not None:
            place = figure.point, figure.bounds
            if place in first:
                pairs.append(_pair(figure, figure.value, first[place]))
            first.setdefault(place, figure.value)
    return pairs


def strategies_once(pairs: Iterable[Pair]) -> list[Pair]:
    """Return pairs of losses with those of the strategies once where they are the same.

    A pair of a strategy stands for all strategies that found the same.
    """
    kept: dict[tuple[object, ...], Pair] = {}
    for pair in pairs:
        method = "strategies" if pair.method in STRATEGIES else pair.method
        place = pair.data, pair.features, pair.k, pair.seed, pair.bounds
        kept.setdefault((*place, method, round(pair.found, 9), round(pair.against, 9)), pair)
    return list(kept.values())


def along(pairs: Iterable[Pair], axis: Axis) -> list[Pair]:
    """Return the pairs that lie on an x axis; the largest number of features is that of the pairs."""
    pairs = list(pairs)
    largest = largest_features(pairs)
    return [pair for pair in pairs if axis in axes_of(pair, largest)]


def extremes(pairs: Iterable[Pair]) -> tuple[Pair, Pair] | None:
    """Return the pairs of the lowest and of the highest gain; None where no pair has one."""
    gaining = sorted((pair for pair in pairs if pair.against > 0), key=_order)
    if not gaining:
        return None
    return min(gaining, key=lambda pair: pair.gain), max(gaining, key=lambda pair: pair.gain)


def _order(pair: Pair) -> tuple[str | int, ...]:
    seed = -1 if pair.seed is None else pair.seed
    return pair.data, pair.measure, pair.bounds, pair.method, pair.features, pair.k, seed
