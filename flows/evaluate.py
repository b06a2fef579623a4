"""The experiments flow: every figure of the paper, from data sets by name to curves and pictures."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from tasks.experiments.data_tables import read_data
from tasks.experiments.overview import Overview
from tasks.experiments.points import points
from tasks.experiments.results import (
    keep_failure,
    keep_run,
    require_all_run,
    results_folder,
    still_to_run,
)
from tasks.experiments.runs import run_point
from tasks.experiments.summarise import summarise
from tasks.worker_processes import available_cores

CORES = available_cores()
THREADS: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=CORES)


@flow(name="experiments", persist_result=False, task_runner=THREADS)
def experiments(
    names: tuple[str, ...], seeds: int, folder: Path, files: Path | None = None, *, quick: bool = False
) -> list[Overview]:
    """Release each data set with every method at every point, and draw the curves of the paper.

    What a folder already holds of the same data, settings and program is not run again. A point that fails
    costs no other one.

    Parameters
    ----------
    names
        Of the data sets.
    seeds
        How many choices of features.
    folder
        Where results are kept and files are written.
    files
        Where files of data sets are and are kept; None for the user's cache.
    quick
        Fewer points.

    Returns
    -------
    list of Overview
        One per data set.

    Raises
    ------
    StepError
        If points failed, once all others are run and shown.
    """
    with results_folder(folder) as store:
        tables = {table.data: table for table in read_data.map(store, names, files)}
        planned = points(tables.values(), seeds, quick=quick)
        to_run = still_to_run(store, planned, tables)
        reasons: Counter[str] = Counter()
        kept, failed = partial(keep_run, store, tables), partial(keep_failure, store, reasons)
        run_point.map(store, to_run, tables, workers=CORES, arrived=kept, failed=failed)
        missing = still_to_run(store, planned, tables)
        overviews = summarise(store, planned, missing)
        require_all_run(store, planned, missing, reasons)
    return overviews
