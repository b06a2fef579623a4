"""A comparison in words and figures, as its steward reads them."""

from collections import Counter
from collections.abc import Iterator

from tasks.comparing.compare import FAILED, Comparison, Recommendation, Tried, Variant, configured
from tasks.comparing.recommend import barred, f_of, figures, mean_f
from tasks.errors import InfeasibleError, StepError
from tasks.trials.trial import TOTAL, Trial

Row = tuple[str, ...]

NAMED = 2
NONE_KEEPS = "no variant that was tried keeps what is asked"


def headings(comparison: Comparison) -> Row:
    """Return the headings of the columns of `rows`."""
    learners = (f"F {learner}" for learner in comparison.learners)
    return ("", "strategy", "guarantee", "split", "m", "holds", "changed", "loss", *learners, "seconds")


def rows(comparison: Comparison) -> Iterator[Row]:
    """Yield the cells of every variant that has figures, the recommended one marked by a star."""
    for one in comparison.tried:
        if one.trial is not None:
            mark = "*" if _is_recommended(one, comparison) else ""
            yield (mark, *_names(one.variant), _truth(one), *_figures(one.trial, comparison))


def reference_rows(comparison: Comparison) -> Iterator[Row]:
    """Yield the cells of what every variant lies between."""
    raw, majority = comparison.references
    learnt = (f"{raw[learner]:.3f}" for learner in comparison.learners)
    yield ("", "the table itself", "", "", "", "", "", "", *learnt, "")
    always = (f"{majority:.3f}" for _ in comparison.learners)
    yield ("", "majority class only", "", "", "", "", "", "", *always, "")


def refusals(comparison: Comparison) -> list[str]:
    """Return why variants have no figures, a line for each reason."""
    refused: dict[str, list[str]] = {}
    for one in comparison.tried:
        if one.trial is None:
            refused.setdefault(one.refusal, []).append(in_words(one.variant))
    return [f"not possible: {_first_of(names)}: {reason}" for reason, names in refused.items()]


def _first_of(names: list[str]) -> str:
    more = len(names) - NAMED
    return f"{'; '.join(names[:NAMED])}{f'; and {more} more' if more > 0 else ''}"


def in_words(variant: Variant) -> str:
    """Return a variant as a steward calls it.

    Examples
    --------
    >>> in_words(Variant("coarsen", "records", "infogain", 4))
    'coarsen with guarantee records, infogain splits and 4 fragments'
    >>> in_words(Variant("none", "join", "median", 1))
    'median splits and 1 fragment'
    >>> in_words(Variant("delta_selectivity", "join", "median", 1))
    'delta_selectivity with median splits and 1 fragment'
    """
    if variant.of_any_strategy:
        return f"{variant.split} splits and 1 fragment"
    if variant.fragments == 1:
        return f"{variant.strategy} with {variant.split} splits and 1 fragment"
    return (
        f"{variant.strategy} with guarantee {variant.guarantee}, {variant.split} splits "
        f"and {variant.fragments} fragments"
    )


def _names(variant: Variant) -> Row:
    strategy = "any" if variant.of_any_strategy else variant.strategy
    guarantee = "any" if variant.fragments == 1 else variant.guarantee
    return (strategy, guarantee, variant.split, str(variant.fragments))


def _truth(one: Tried) -> str:
    return "unknown" if one.holds is None else str(one.holds).lower()


def _figures(trial: Trial, comparison: Comparison) -> Row:
    return (
        f"{trial.changed:.1%}",
        f"{trial.information_loss:.3f}",
        *(f"{f_of(trial, learner):.3f}" for learner in comparison.learners),
        f"{trial.seconds[TOTAL]:.1f}",
    )


def _is_recommended(one: Tried, comparison: Comparison) -> bool:
    return comparison.recommendation is not None and one is comparison.recommendation.chosen


def recommendation_in_words(comparison: Comparison) -> list[str]:
    """Return what to take and why, a sentence each; what stands in the way if nothing keeps what is asked."""
    found = comparison.recommendation
    if found is None:
        return [f"{NONE_KEEPS.capitalize()}: {reasons(comparison)}."]
    return [
        f"Recommended: {in_words(found.chosen.variant)}.",
        _weighed(comparison, found),
        _costs_least(found),
        _between(comparison),
        *_beside(comparison, found),
        *_records_cost(found),
        _found_on(comparison),
    ]


def require_recommendation(comparison: Comparison) -> None:
    """See that there is something to recommend.

    Raises
    ------
    InfeasibleError
        If nothing that was tried keeps what is asked.
    StepError
        If that may be for want of a variant that failed.
    """
    if comparison.recommendation is None:
        failed = any(one.refusal == FAILED for one in comparison.tried)
        kind = StepError if failed else InfeasibleError
        raise kind(f"{NONE_KEEPS}: {reasons(comparison)}")


def reasons(comparison: Comparison) -> str:
    """Return why variants do not keep what is asked, each reason with how often it was met."""
    met = Counter(filter(None, (barred(one, comparison.config) for one in comparison.tried)))
    return "; ".join(f"{reason} ({times} of {len(comparison.tried)})" for reason, times in met.most_common())


def _weighed(comparison: Comparison, found: Recommendation) -> str:
    return (
        f"Of {len(comparison.tried)} variants, {found.able} keep what is asked; the highest mean F-measure "
        f"among these is {mean_f(figures(found.best)):.3f} ± {found.error:.3f} "
        f"({in_words(found.best.variant)})."
    )


def _costs_least(found: Recommendation) -> str:
    if found.chosen is found.best:
        return f"It is the recommended one: {_costs(found.chosen)}."
    return f"Within that error, the recommended one costs least, in whole percent: {_costs(found.chosen)}."


def _costs(one: Tried) -> str:
    trial = figures(one)
    return (
        f"mean F-measure {mean_f(trial):.3f}, {trial.changed:.1%} of class values changed, "
        f"information loss {trial.information_loss:.3f}"
    )


def _between(comparison: Comparison) -> str:
    raw, majority = comparison.references
    mean = sum(raw.values()) / len(raw)
    return f"The table itself gives {mean:.3f}, the most frequent class alone {majority:.3f}."


def _beside(comparison: Comparison, found: Recommendation) -> list[str]:
    """Return what the configuration gives as it stands, if it was tried."""
    now = configured(comparison)
    if now is None:
        return []
    if now is found.chosen:
        return ["The recommended variant is what is configured now."]
    if now.trial is None:
        return [f"What is configured now is not possible: {now.refusal}."]
    barrier = barred(now, comparison.config)
    return [f"Configured now: {_costs(now)}{f' ({barrier})' if barrier else ''}."]


def _records_cost(found: Recommendation) -> list[str]:
    """Return what the stronger guarantee would cost, if it is not what is recommended anyway."""
    if found.chosen.variant.keeps_records:
        return []
    if found.stronger is None:
        return ['No variant was tried that keeps guarantee = "records".']
    meaning = 'With guarantee = "records", where joins rest on k records of each equivalence class'
    return [f"{meaning}: {_costs(found.stronger)} ({in_words(found.stronger.variant)})."]


def _found_on(comparison: Comparison) -> str:
    return (
        f"Found on {comparison.testing:,} records that were kept out, from trials with the other "
        f"{comparison.training:,}; a release of all records will differ a little."
    )
