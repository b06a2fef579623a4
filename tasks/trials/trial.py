"""A trial: the steps of a release on some of the records, and what can be learnt of the others from it.

There is one pipeline: a trial runs the very steps of a release, on a private store that holds the training
records alone. Nobody hears of these steps.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import duckdb

from tasks.chunks import anonymize_chunks
from tasks.config import Config, Learner
from tasks.enforce import enforce_non_reconstructibility
from tasks.errors import InfeasibleError
from tasks.fragment import fragment_features
from tasks.merge import merge_chunks
from tasks.mutual_information import measure_mutual_information
from tasks.persons.stored import read_persons
from tasks.segment import segment_records
from tasks.steps import Step
from tasks.store import open_store
from tasks.tables import read_class_domain, read_codes
from tasks.trials.held_out import Held, sample
from tasks.trials.learnt import Reading, learnt_from_release
from tasks.trials.take_records import take_records

T = TypeVar("T")

TOTAL = "total"
RECORDS = 50_000  # of a large table, in trials that a release makes on its own


class Trial(NamedTuple):
    """What a release of the training records costs, and what can be learnt from it.

    Attributes
    ----------
    fragments
        How many.
    information_loss
        Mean over the training records and features, 0 to 1.
    changed
        Share of the class values of all fragments that were changed or removed.
    equivalence_classes
        Of all fragments.
    f_measures
        Weighted F-measure on the test records, by learner and form; none without test records.
    seconds
        By the name of the step, and "total" for all steps; learning is not counted.
    """

    fragments: int
    information_loss: float
    changed: float
    equivalence_classes: int
    f_measures: dict[Reading, float]
    seconds: dict[str, float]


@contextmanager
def trial_folder(store: Path) -> Iterator[Path]:
    """Open a private folder beside the store, and delete it with all that is in it."""
    with TemporaryDirectory(prefix="trial-", dir=store.parent) as folder:
        yield Path(folder)


def sampled(store: Path, config: Config, folder: Path) -> tuple[Path, int]:
    """Return a store of all records, or of a sample of many, stratified by class, and their number.

    k stays as it is, so that the equivalence classes of a sample are coarser than those of the table.
    """
    with open_store(store) as connection:
        classes = read_codes(connection, [read_class_domain(connection)])[:, 0]
        persons = read_persons(connection, config)
    if len(classes) <= RECORDS:
        return store, len(classes)
    rows = sample(classes, RECORDS, config.run.seed, persons)
    return take_records(store, rows, folder / "sample"), len(rows)


def prepare_trial(store: Path, config: Config, held: Held, folder: Path) -> Path:
    """Make a private store of the training records; it serves any number of trials, one after the other.

    Parameters
    ----------
    store
        With the loaded table.
    config
        Of the release.
    held
        Which records to train with.
    folder
        To be made, for this store alone.

    Returns
    -------
    Path
        Of the store. Domains are those of the training records; mutual information is measured.
    """
    prepared = take_records(store, held.train, folder)
    _unheard(measure_mutual_information.function, prepared, config)
    return prepared


def try_release(
    store: Path, prepared: Path, config: Config, held: Held, learners: Sequence[Learner]
) -> Trial:
    """Run the steps of a release on the training records, and learn from what they would publish.

    Parameters
    ----------
    store
        With all records.
    prepared
        As `prepare_trial` made it of the same `held`; it may have served other trials.
    config
        Of the release, with a number of fragments.
    held
        Which records train and test.
    learners
        What to evaluate, with every form of a released cell.

    Raises
    ------
    InfeasibleError
        If no release of the training records keeps what was asked.
    """
    try:
        seconds = _unheard(_run_steps, prepared, config)
    except InfeasibleError as error:
        raise InfeasibleError(
            str(error).replace("the table has", "the table of training records has")
        ) from None
    with open_store(prepared) as connection:
        loss, changed, classes = _costs(connection)
    f_measures = {}
    if learners and len(held.test):
        f_measures = learnt_from_release(store, prepared, config, held, learners)
    cells = len(held.train) * config.fragments
    return Trial(config.fragments, loss, changed / cells, classes, f_measures, seconds)


def _unheard(function: Callable[..., T], *args: Any) -> T:  # noqa: ANN401 - as the function
    """Call a function whose progress no listener hears of, nor Prefect."""
    return Context().run(function, *args)


def _run_steps(store: Path, config: Config) -> dict[str, float]:
    """Run the steps up to safe joins; return how long each took."""
    seconds: dict[str, float] = {}

    def timed(step: Step[..., T], *args: Any) -> T:  # noqa: ANN401 - as the step
        started = time.perf_counter()
        result = step.function(store, *args)
        seconds[step.name] = seconds.get(step.name, 0.0) + time.perf_counter() - started
        return result

    timed(fragment_features, config)
    batches = timed(segment_records, config)
    chunks = [timed(anonymize_chunks, batch, config) for batch in batches]
    timed(merge_chunks, chunks, batches, config)
    timed(enforce_non_reconstructibility, config)
    return {**seconds, TOTAL: sum(seconds.values())}


def _costs(connection: duckdb.DuckDBPyConnection) -> tuple[float, int, int]:
    """Return the information loss, how many class values changed, and how many ECs there are."""
    (costs,) = connection.execute("""
        SELECT (SELECT avg(information_loss) FROM feature_loss WHERE release = 'fragmented'),
               (SELECT sum(class_values) FROM changes), (SELECT count(*) FROM equivalence_classes)
    """).fetchall()
    loss, changed, classes = costs
    return loss, int(changed), classes
