"""The last step of the experiments: from figures to curves, pictures and a page."""

from collections.abc import Sequence
from pathlib import Path

from tasks.experiments.figures import Point
from tasks.experiments.overview import Overview, overview
from tasks.experiments.results import read_results
from tasks.steps import step


@step("draw the curves")
def summarise(store: Path, planned: Sequence[Point], missing: Sequence[Point]) -> list[Overview]:
    """Write figures as files beside the store; return their overview.

    Parameters
    ----------
    store
        Of the results.
    planned
        The points to show.
    missing
        Those of them that have none.
    """
    from tasks.experiments.experiment_page import write_experiments  # noqa: PLC0415 - matplotlib's second

    without = set(missing)
    figures, levels = read_results(store, [point for point in planned if point not in without])
    write_experiments(figures, levels, store.parent, len(missing))
    return overview(figures, levels)
