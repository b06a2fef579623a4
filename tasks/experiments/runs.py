"""A run: every method at one point, released by the project's own steps and learnt from."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from tasks.config import Config, Learner
from tasks.errors import InfeasibleError
from tasks.experiments.data_tables import WORK, Table, rows_that_test, table_path
from tasks.experiments.figures import Figure, Level, Point
from tasks.experiments.methods import BOUNDS, WAYS, as_released, base_config
from tasks.learning.learn import FORMS
from tasks.load import load_table
from tasks.steps import step
from tasks.store import create_workspace, open_store
from tasks.tables import read_class_domain, read_codes
from tasks.trials.held_out import Held, held_out
from tasks.trials.learnt import majority_f
from tasks.trials.trial import TOTAL, prepare_trial, try_release

LEARNERS: tuple[Learner, ...] = ("tree", "neighbours")
TEST_SHARE = 0.3  # of a data set that does not say which records test
MEASURES = (
    *("information_loss", "changed", "equivalence_classes", "seconds"),
    *(f"f_{learner}_{form}" for learner in LEARNERS for form in FORMS),
)


class Run(NamedTuple):
    """What was found at a point.

    Attributes
    ----------
    point
        Where.
    figures
        Every measure of every method with every kind of bounds.
    level
        What can be reached without learning.
    seconds
        That it took.
    """

    point: Point
    figures: tuple[Figure, ...]
    level: Level
    seconds: float


@step("run the points")
def run_point(store: Path, point: Point, tables: Mapping[str, Table]) -> Run:
    """Release the training records of a point with every method, in a private store of its own.

    Parameters
    ----------
    store
        Of the results; it is not opened.
    point
        Where to run.
    tables
        By name of the data set.
    """
    started = time.perf_counter()
    table, path = tables[point.data], table_path(store, point.data)
    with TemporaryDirectory(prefix="point-", dir=store.parent / WORK) as folder:
        loaded = create_workspace(Path(folder) / "run")
        base = base_config(table, path, point)
        load_table.function(loaded, base)
        classes = _classes(loaded)
        held = _divided(path) if table.divided else held_out(classes, TEST_SHARE, point.seed)
        prepared = prepare_trial(loaded, base, held, Path(folder) / "training")
        figures = tuple(
            Figure(point, method, bounds, measure, value)
            for method in WAYS
            for bounds in BOUNDS
            for measure, value in _measured(loaded, prepared, as_released(base, method, bounds), held)
        )
    level = Level(point, majority_f(classes, held))
    return Run(point, figures, level, time.perf_counter() - started)


def _classes(store: Path) -> np.ndarray:
    with open_store(store) as connection:
        return read_codes(connection, [read_class_domain(connection)])[:, 0]


def _divided(path: Path) -> Held:
    test = rows_that_test(path)
    return Held(np.flatnonzero(~test), np.flatnonzero(test))


def _measured(store: Path, prepared: Path, config: Config, held: Held) -> Iterator[tuple[str, float | None]]:
    """Yield every measure of a trial; None where no release keeps what was asked."""
    try:
        trial = try_release(store, prepared, config, held, LEARNERS)
    except InfeasibleError:
        yield from ((measure, None) for measure in MEASURES)
        return
    costs = (trial.information_loss, trial.changed, float(trial.equivalence_classes), trial.seconds[TOTAL])
    learnt = (trial.f_measures[learner, form] for learner in LEARNERS for form in FORMS)
    yield from zip(MEASURES, (*costs, *learnt), strict=True)
