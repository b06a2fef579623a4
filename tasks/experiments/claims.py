"""What the paper's text says of its curves, and what was set out to be shown, held against the figures."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from tasks.experiments.comparisons import (
    ONE_TABLE,
    Judged,
    Pair,
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
from tasks.experiments.figures import Figure

PAPER_DATA = "musk"
TARGETS = ((10, 0.65), (40, 0.9))
Said = Literal["the paper", "this project"]
WHOLE = frozenset(ONE_TABLE.values())


class Verdict(NamedTuple):
    """What became of a claim: at each single point, and on the means over seeds.

    A claim that is of one of them alone has it twice.
    """

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
            at_least,
        ),
        *(claim for features, level in TARGETS for claim in _targets(figures, features, level)),
        _tight_below_cuts(figures),
    ]


def _claim(says: str, pairs: Sequence[Pair], agrees: Callable[[Pair], bool]) -> Claim:
    return Claim(says, "the paper", _verdict(filter(as_in_paper, pairs), agrees), _verdict(pairs, agrees))


def _targets(figures: Sequence[Figure], features: int, level: float) -> Iterator[Claim]:
    """Yield the claim that one table loses more than a level, on the mean and then at each point."""
    pairs = [pair for pair in losses_against_level(figures, features, level) if pair.data == PAPER_DATA]
    for where, held in (("on the mean over seeds", means(pairs)), ("with every seed", pairs)):
        says = f"With {features} features in one table, k = 40, the information loss is above {level:g}"
        found = judged(held, _higher)
        yield Claim(f"{says} {where}.", "this project", Verdict(found, found), None)


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


def _higher(pair: Pair) -> bool:
    return pair.found > pair.against


def _lower(pair: Pair) -> bool:
    return pair.found < pair.against


def _same(pair: Pair) -> bool:
    return abs(pair.found - pair.against) <= SAME


def at_least(pair: Pair) -> bool:
    """Tell whether a figure is as high as what it is held against, but for rounding, or higher."""
    return pair.found >= pair.against - SAME
