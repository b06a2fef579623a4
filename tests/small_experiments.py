"""A made-up data set and quick runs of it; as a script, experiments that can be killed."""

import os
import sys
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np

from tasks.experiments.figures import Dataset, Figure, Level
from tasks.experiments.methods import BOUNDS, WAYS
from tasks.experiments.runs import MEASURES, Run
from tasks.steps import step

FEATURES, RECORDS = 12, 150


def made_up(name="made_up", seed=5):
    """Three class values that some features tell; numbers of both kinds, one of them constant."""
    rng = np.random.default_rng(seed)
    classes = rng.choice(["one", "two", "three"], RECORDS, p=[0.5, 0.3, 0.2])
    shift = (classes == "two") + 2.0 * (classes == "three")
    values = rng.normal(0, 1, (RECORDS, FEATURES)).round(2) + shift[:, None] * (np.arange(FEATURES) < 3)
    values[:, 4] = np.round(values[:, 4])
    values[:, 5] = 1.0
    names = tuple(f"x{number}" for number in range(FEATURES))
    return Dataset(name, names, values, classes.astype(object), None)


@step("run the points")
def pretend(store, point, tables):
    """Find at once what is a formula of the point."""
    (store.parent / f"works-{os.getpid()}").touch()
    if __name__ != "small_experiments" and point.seed > 1:  # there is a time to kill
        time.sleep(600)
    figures = tuple(
        Figure(point, method, bounds, measure, point.seed + point.k / point.features + place)
        for place, (method, bounds, measure) in enumerate(
            (method, bounds, measure) for method in WAYS for bounds in BOUNDS for measure in MEASURES
        )
    )
    return Run(point, figures, Level(point, 0.25), 0.5)


@step("run the points")
def end_at_100(store, point, tables):
    """End the process at k = 100."""
    if point.k == 100:
        os._exit(9)
    return pretend.function(store, point, tables)


def experiments(
    folder, names=("made_up",), seeds=2, *, run=pretend, cores=1, page=None, load=None, flow=None, **options
):
    """Run the flow with made-up data, and no page unless asked for."""
    import flows.evaluate  # here, for workers do without
    from tasks.experiments import data_tables, experiment_page

    with (
        patch.object(data_tables, "load_dataset", load or (lambda name, _: made_up(name))),
        patch.object(experiment_page, "write_experiments", page or (lambda *_: None)),
        patch.object(flows.evaluate, "run_point", run),
        patch.object(flows.evaluate, "CORES", cores),
    ):
        return (flow or flows.evaluate.experiments.fn)(names, seeds, folder, **options)


if __name__ == "__main__":
    experiments(Path(sys.argv[1]), cores=2)
