"""The last step of the experiments: from figures to curves, pictures and a page."""

from collections.abc import Sequence
from pathlib import Path

from tasks.experiments.figures import Point
from tasks.experiments.overview import Overview, overview
from tasks.experiments.results import read_results
from tasks.steps import step


@step("draw the curves")
def summarise(store: Path, points: Sequence[Point]) -> list[Overview]:
    """Write the figures of some points as files beside the store; return their overview."""
    from tasks.experiments.experiment_page import write_experiments  # noqa: PLC0415 - matplotlib's second

    figures, levels = read_results(store, points)
    write_experiments(figures, levels, store.parent)
    return overview(figures, levels)
