"""The comparison: releases of one table side by side, none of which is published."""

from tasks.comparing.compare import (
    Comparison,
    as_configured,
    cuts_beside,
    learners_of,
    numbers_of_fragments,
    scope_of,
    strategies_beside,
    untried,
)
from tasks.comparing.compare_trials import (
    keep_records_out,
    measure_references,
    try_cuts,
    try_strategies,
    try_strategies_again,
)
from tasks.comparing.recommend import leading, recommend
from tasks.config import Config
from tasks.load import load_table
from tasks.workspace import private_store


def compare(config: Config, *, quick: bool = False) -> Comparison:
    """Try releases of a table side by side, on the same records, some of which are kept out for testing.

    First every strategy and guarantee with the configured cuts, then every split and several numbers of
    fragments with the best of them, then the strategies once more with the best cuts.

    Parameters
    ----------
    config
        What its steward wants to release.
    quick
        Fewer records, the configured guarantee only, fewer fragments, and no third round.
    """
    scope, learners = scope_of(config, quick=quick), learners_of(config)
    with private_store(config, "comparison") as store:
        features = load_table(store, config).features
        kept = keep_records_out(store, config, scope.records)
        references = measure_references(store, config, kept.held, learners)
        training, testing = len(kept.held.train), len(kept.held.test)
        start = as_configured(config, features)
        tried = try_strategies.map(store, strategies_beside(start, scope.guarantees), kept, config, learners)
        numbers = numbers_of_fragments(start, features, scope)
        cuts = cuts_beside(leading(tried, config, testing) or start, numbers)
        tried += try_cuts.map(store, untried(cuts, tried), kept, config, learners)
        best = leading(tried, config, testing) or start
        if again := untried(strategies_beside(best, scope.guarantees_again), tried):
            tried += try_strategies_again.map(store, again, kept, config, learners)
    recommendation = recommend(tried, config, testing)
    return Comparison(config, learners, training, testing, references, tuple(tried), recommendation)
