"""Which of the variants that were tried keep what is asked, and which one to take."""

from collections.abc import Sequence
from math import sqrt

from tasks.comparing.compare import Recommendation, Tried, Variant
from tasks.config import Config, Learner
from tasks.learning.learn import FORMS
from tasks.trials.limits import beyond_limits
from tasks.trials.trial import Trial


def f_of(trial: Trial, learner: Learner) -> float:
    """Return the weighted F-measure of a learner, in the form that serves it better."""
    return max(trial.f_measures[learner, form] for form in FORMS)


def mean_f(trial: Trial) -> float:
    """Return the mean over learners of their weighted F-measures."""
    learners = dict.fromkeys(learner for learner, _ in trial.f_measures)
    return sum(f_of(trial, learner) for learner in learners) / len(learners)


def standard_error(f: float, records: int) -> float:
    """Return the standard error of a share found on so many records, as if F were one.

    Examples
    --------
    >>> standard_error(0.8, 400)
    0.02
    """
    return round(sqrt(f * (1 - f) / records), 12)


def barred(one: Tried, config: Config) -> str:
    """Return why a variant does not keep what is asked, in a few words; empty if it does.

    Parameters
    ----------
    one
        The variant and its figures.
    config
        As its steward wrote it.
    """
    if one.trial is None:
        return one.refusal
    if _promises_less(one.variant, config):
        return "promises less than is asked"
    if one.variant.strategy == "none" != config.privacy.enforcement:
        return "nothing makes joins safe"
    if one.holds is None:
        return "too many joins to be checked"
    if not one.holds:
        return "the promise does not hold"
    return beyond_limits(one.trial, config.limits)


def _promises_less(variant: Variant, config: Config) -> bool:
    selectivity = variant.strategy == "delta_selectivity" != config.privacy.enforcement
    return selectivity or (config.privacy.guarantee == "records" and not variant.keeps_records)


def recommend(tried: Sequence[Tried], config: Config, testing: int) -> Recommendation | None:
    """Return the variant to take (the rule of docs/comparing.md), or None if none keeps what is asked.

    Of those that do, the highest mean F-measure counts, and all within one standard error of it. Among
    these: the fewest changed class values, then the least information loss (both in whole percent), then
    the fewest fragments, then the stronger guarantee, then what was tried first.

    Parameters
    ----------
    tried
        What came of each variant.
    config
        As its steward wrote it.
    testing
        Records that the F-measures were found on.
    """
    able = [one for one in tried if not barred(one, config)]
    if not able:
        return None
    best = max(able, key=_f)
    error = standard_error(_f(best), testing)
    near = [one for one in able if _f(one) >= _f(best) - error]
    chosen = min(near, key=_cost)
    stronger = None
    if not chosen.variant.keeps_records:
        records = recommend([one for one in able if one.variant.keeps_records], config, testing)
        stronger = records and records.chosen
    return Recommendation(chosen, best, error, len(able), stronger)


def _f(one: Tried) -> float:
    return mean_f(figures(one))


def _cost(one: Tried) -> tuple[float, float, int, bool]:
    trial, variant = figures(one), one.variant
    changed, loss = round(trial.changed, 2), round(trial.information_loss, 2)
    return changed, loss, variant.fragments, not variant.keeps_records


def figures(one: Tried) -> Trial:
    """Return the figures of a variant that has some."""
    if one.trial is None:
        raise ValueError("a variant without a trial has no figures")
    return one.trial


def leading(tried: Sequence[Tried], config: Config, testing: int) -> Variant | None:
    """Return the recommended one of the variants with several fragments, if any keeps what is asked."""
    several = [one for one in tried if one.variant.fragments > 1]
    found = recommend(several, config, testing)
    return found and found.chosen.variant
