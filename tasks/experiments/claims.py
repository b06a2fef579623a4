"""What the paper's text says of its curves, and what was set out to be shown, held against the figures."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from tasks.experiments.comparisons import (
    ONE_TABLE,
    Judged,
    Pair,
    along,
    extremes,
    fragments_against_one_table,
    judged,
    losses_against_level,
    means,
    steps_along,
    strategies_against_each_other,
    strategies_once,
    tight_against_cuts,
)
from tasks.experiments.curves import LOSS, SAME
from tasks.experiments.experiment_words import learner_and_form
from tasks.experiments.figures import Figure, Method

PAPER_DATA = "musk"
GAIN_WITH_DIVERSITY, GAIN_OVER_K = 0.28, 0.54
TARGETS = ((10, 0.65), (40, 0.9))
Said = Literal["the paper", "this project"]
WHOLE = frozenset(ONE_TABLE.values())


class Verdict(NamedTuple):
    """What became of a claim: at each single point, and on the means over seeds."""

    points: Judged
    means: Judged


class Claim(NamedTuple):
    """A statement about all points.

    Attributes
    ----------
    says
        The statement.
    by
        Whose statement it is; what the project states was set out to be shown.
    paper
        On the paper's data, with cuts bounds, ranges read by both ends.
    all
        On everything measured; None of a statement about the paper's data alone.
    """

    says: str
    by: Said
    paper: Verdict
    all: Verdict | None


class Gains(NamedTuple):
    """Relative gains in F-measure by fragments, on the means over seeds.

    Attributes
    ----------
    says
        What the paper's text says.
    up_to
        The gain it names.
    paper, all
        The lowest and the highest gain, on the paper's data with cuts bounds and ranges read by both ends,
        and on everything measured; None where nothing was.
    """

    says: str
    up_to: float
    paper: tuple[Pair, Pair] | None
    all: tuple[Pair, Pair] | None

    @property
    def reached(self) -> bool | None:
        """Whether the gain is as high on the paper's data; None where that was not measured."""
        return None if self.paper is None else self.paper[1].gain >= self.up_to


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
    lowest, highest
        The pairs of the lowest and the highest relative gain.
    """

    data: str
    method: Method
    measure: str | None
    bounds: str | None
    at_least: Judged
    lowest: Pair
    highest: Pair


def claims(figures: Iterable[Figure]) -> list[Claim]:
    """Judge every statement about all points."""
    figures = list(figures)
    pairs = fragments_against_one_table(figures)
    losses = [pair for pair in strategies_once(pairs) if pair.measure == LOSS]
    rising = [pair for pair in steps_along(figures, "features") if pair.method in WHOLE]
    return [
        _claim("Without fragments, the information loss rises with the number of features.", rising, _higher),
        _claim("The information loss rises with k.", strategies_once(steps_along(figures, "k")), _higher),
        _claim(
            "The information loss is lower in fragments than in one table (k-anonymity).",
            [pair for pair in losses if pair.method != "diversity"],
            _lower,
        ),
        _claim(
            "The information loss is lower in fragments than in one table (l-diversity).",
            [pair for pair in losses if pair.method == "diversity"],
            _lower,
        ),
        _claim(
            "The information loss does not depend on the strategy.",
            strategies_against_each_other(figures),
            _same,
        ),
        _claim(
            "Classifiers are at least as good with fragments as with one table.",
            f_measures(pairs),
            _at_least,
        ),
        *(_target(figures, features, level) for features, level in TARGETS),
        _tight_below_cuts(figures),
    ]


def _claim(says: str, pairs: Sequence[Pair], agrees: Callable[[Pair], bool]) -> Claim:
    return Claim(says, "the paper", _verdict(filter(as_in_paper, pairs), agrees), _verdict(pairs, agrees))


def _target(figures: Sequence[Figure], features: int, level: float) -> Claim:
    pairs = [pair for pair in losses_against_level(figures, features, level) if pair.data == PAPER_DATA]
    says = f"With {features} features in one table, k = 40, the information loss is above {level:g}."
    return Claim(says, "this project", _verdict(pairs, _higher), None)


def _tight_below_cuts(figures: Sequence[Figure]) -> Claim:
    pairs = strategies_once(tight_against_cuts(figures))
    paper = _verdict([pair for pair in pairs if pair.data == PAPER_DATA], _lower)
    says = "The information loss is lower with tight bounds than with bounds by cuts."
    return Claim(says, "this project", paper, _verdict(pairs, _lower))


def _verdict(pairs: Iterable[Pair], agrees: Callable[[Pair], bool]) -> Verdict:
    pairs = list(pairs)
    return Verdict(judged(pairs, agrees), judged(means(pairs), agrees))


def as_in_paper(pair: Pair) -> bool:
    """Tell whether a pair is of the paper's data, with cuts bounds, ranges read by both ends."""
    learnt = learner_and_form(pair.measure)
    return pair.data == PAPER_DATA and pair.bounds == "cuts" and (learnt is None or learnt[1] == "bounds")


def f_measures(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs of F-measures."""
    return [pair for pair in pairs if learner_and_form(pair.measure)]


def gains(figures: Iterable[Figure]) -> list[Gains]:
    """Return the largest relative gains in F-measure, beside those that the paper's text names."""
    pairs = means(f_measures(fragments_against_one_table(figures)))
    diverse = [pair for pair in along(pairs, "features") if pair.method == "diversity"]
    return [
        _gains(
            "Up to 28 % better with l-diversity, over the number of features", GAIN_WITH_DIVERSITY, diverse
        ),
        _gains("Up to 54 % better over k", GAIN_OVER_K, along(pairs, "k")),
    ]


def _gains(says: str, up_to: float, pairs: Sequence[Pair]) -> Gains:
    return Gains(says, up_to, extremes(filter(as_in_paper, pairs)), extremes(pairs))


def tallies(figures: Iterable[Figure]) -> list[Tally]:
    """Return, by data set and method, how often fragments are at least as good, and the extremes.

    Returns
    -------
    list of Tally
        For each data set and method first over all learners, forms and bounds, then for each of them.
    """
    pairs = means(f_measures(fragments_against_one_table(figures)))
    grouped: dict[tuple[str, Method, str, str], list[Pair]] = {}
    for pair in pairs:
        for measure, bounds in (("", ""), (pair.measure, pair.bounds)):
            grouped.setdefault((pair.data, pair.method, measure, bounds), []).append(pair)
    return [
        Tally(data, method, measure or None, bounds or None, judged(part, _at_least), *ends)
        for (data, method, measure, bounds), part in sorted(grouped.items(), key=_tally_order)
        for ends in [extremes(part)]
        if ends
    ]


def _tally_order(group: tuple[tuple[str, Method, str, str], list[Pair]]) -> tuple[str, int, str, str]:
    data, method, measure, bounds = group[0]
    return data, list(ONE_TABLE).index(method), measure, bounds


def _higher(pair: Pair) -> bool:
    return pair.found > pair.against


def _lower(pair: Pair) -> bool:
    return pair.found < pair.against


def _same(pair: Pair) -> bool:
    return abs(pair.found - pair.against) <= SAME


def _at_least(pair: Pair) -> bool:
    return pair.found >= pair.against - SAME
