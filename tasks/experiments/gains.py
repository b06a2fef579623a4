"""How much better classifiers are with fragments than with one table, beside the most frequent class."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from tasks.experiments.claims import as_in_paper, at_least, f_measures
from tasks.experiments.comparisons import (
    ONE_TABLE,
    Judged,
    Pair,
    along,
    extremes,
    fragments_against_one_table,
    judged,
    means,
)
from tasks.experiments.curves import SAME
from tasks.experiments.figures import Figure, Level, Method

GAIN_WITH_DIVERSITY, GAIN_OVER_K = 0.28, 0.54

Majority = Callable[[Pair], float | None]


class Beside(NamedTuple):
    """A pair of F-measures beside that of who always names the most frequent class.

    Attributes
    ----------
    pair
        Of means over seeds.
    majority
        The mean over all seeds of its place; None where there is none.
    """

    pair: Pair
    majority: float | None

    @property
    def above(self) -> bool:
        """Whether the better of the two is above the most frequent class alone."""
        return self.majority is not None and max(self.pair.found, self.pair.against) > self.majority + SAME


class Extremes(NamedTuple):
    """Relative gains.

    Attributes
    ----------
    lowest, highest
        Of all pairs.
    above
        The highest of the pairs whose better figure is above the most frequent class alone; None where no
        pair is.
    """

    lowest: Beside
    highest: Beside
    above: Beside | None


class Gains(NamedTuple):
    """Relative gains in F-measure by fragments, on the means over seeds.

    Attributes
    ----------
    says
        What the paper's text says.
    up_to
        The gain it names.
    paper, all
        On the paper's data with cuts bounds and ranges read by both ends, and on everything measured; None
        where nothing was.
    """

    says: str
    up_to: float
    paper: Extremes | None
    all: Extremes | None

    @property
    def reached(self) -> bool | None:
        """Whether the gain is as high on the paper's data; None where that was not measured."""
        return None if self.paper is None else self.paper.highest.pair.gain >= self.up_to

    @property
    def reached_above(self) -> bool | None:
        """Whether it is so where the better of the two figures is above the most frequent class alone."""
        if self.paper is None:
            return None
        return self.paper.above is not None and self.paper.above.pair.gain >= self.up_to


class Tally(NamedTuple):
    """How often fragments are at least as good in F-measure, on the means over seeds.

    Attributes
    ----------
    data, method
        Of the release in fragments.
    measure
        Learner and form; None for all of them together.
    bounds
        None for both together.
    at_least
        The pairs where it is.
    above
        The pairs whose better figure is above the most frequent class alone.
    found
        The pairs of the lowest and the highest relative gain.
    """

    data: str
    method: Method
    measure: str | None
    bounds: str | None
    at_least: Judged
    above: Judged
    found: Extremes


def gains(figures: Iterable[Figure], levels: Iterable[Level]) -> list[Gains]:
    """Return the largest relative gains in F-measure, beside those that the paper's text names."""
    pairs, majority = means(f_measures(fragments_against_one_table(figures))), majority_of(levels)
    diverse = [pair for pair in along(pairs, "features") if pair.method == "diversity"]
    return [
        _gains(
            "Up to 28 % better with l-diversity, over the number of features",
            GAIN_WITH_DIVERSITY,
            diverse,
            majority,
        ),
        _gains("Up to 54 % better over k", GAIN_OVER_K, along(pairs, "k"), majority),
    ]


def _gains(says: str, up_to: float, pairs: Sequence[Pair], majority: Majority) -> Gains:
    as_there = list(filter(as_in_paper, pairs))
    return Gains(says, up_to, _extremes(as_there, majority), _extremes(pairs, majority))


def majority_of(levels: Iterable[Level]) -> Majority:
    """Return what tells the F-measure of the most frequent class alone at the place of a pair."""
    found: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for (data, _, features, k), reached in levels:
        found[data, features, k].append(reached)
    at = {place: fmean(part) for place, part in found.items()}
    return lambda pair: at.get((pair.data, pair.features, pair.k))


def _extremes(pairs: Iterable[Pair], majority: Majority) -> Extremes | None:
    beside = {pair: Beside(pair, majority(pair)) for pair in pairs}
    ends = extremes(beside)
    if ends is None:
        return None
    lowest, highest = (beside[pair] for pair in ends)
    above = extremes(pair for pair, one in beside.items() if one.above)
    return Extremes(lowest, highest, beside[above[1]] if above else None)


def tallies(figures: Iterable[Figure], levels: Iterable[Level]) -> list[Tally]:
    """Return, by data set and method, how often fragments are at least as good, and the extremes.

    Returns
    -------
    list of Tally
        For each data set and method first over all learners, forms and bounds, then for each of them.
    """
    pairs, majority = means(f_measures(fragments_against_one_table(figures))), majority_of(levels)
    grouped: dict[tuple[str, Method, str, str], list[Pair]] = {}
    for pair in pairs:
        for measure, bounds in (("", ""), (pair.measure, pair.bounds)):
            grouped.setdefault((pair.data, pair.method, measure, bounds), []).append(pair)
    return [
        Tally(
            *(data, method, measure or None, bounds or None),
            judged(part, at_least),
            judged(part, lambda pair: Beside(pair, majority(pair)).above),
            ends,
        )
        for (data, method, measure, bounds), part in sorted(grouped.items(), key=_tally_order)
        for ends in [_extremes(part, majority)]
        if ends
    ]


def _tally_order(group: tuple[tuple[str, Method, str, str], list[Pair]]) -> tuple[str, int, str, str]:
    data, method, measure, bounds = group[0]
    return data, list(ONE_TABLE).index(method), measure, bounds
