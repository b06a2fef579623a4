"""Step: what can be learnt from the release, found by a trial of it with records that are kept out."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb

from tasks.config import Config
from tasks.errors import InfeasibleError
from tasks.events import progress
from tasks.persons.stored import read_persons
from tasks.steps import step
from tasks.store import open_store
from tasks.tables import read_class_domain, read_codes
from tasks.trials.held_out import Held, held_out
from tasks.trials.learnt import learnt_exactly, majority_f
from tasks.trials.trial import prepare_trial, sampled, trial_folder, try_release

F_DIGITS = 3  # more would be noise


class Learnt(NamedTuple):
    """What a learner makes of a release.

    Attributes
    ----------
    release
        "fragmented" is the release as configured, "unfragmented" the same without fragments, "raw" the
        table as it is; "majority" learns nothing but the most frequent class value.
    learner
        "tree", "neighbours" or "forest"; None for "majority".
    form
        Of a released cell, as `tasks.learning.learn` names it; None where values are exact.
    f_measure
        Weighted, on the records that were kept out; None where a trial is not feasible.
    """

    release: str
    learner: str | None
    form: str | None
    f_measure: float | None


@step("try what can be learnt", closed=True)
def try_learning(store: Path, config: Config) -> int:
    """Store the F-measures of the learners that are asked for; return how many there are.

    Where the training records alone have no release that keeps what was asked, the F-measure is NULL. Where
    learning fails, all are, and what failed is stored: it does not stop a release that is sound.
    """
    learners = config.evaluation.learners
    learnt, held, failure = list[Learnt](), (0, 0), None
    if learners:
        try:
            learnt, held = _try(store, config)
        except Exception as error:  # noqa: BLE001 - told in the report; its text may hold data
            learnt = [Learnt("raw", learner, None, None) for learner in learners]
            failure = type(error).__name__
    with open_store(store) as connection:
        _write(connection, learnt, held, failure)
    return len(learnt)


def _try(store: Path, config: Config) -> tuple[list[Learnt], tuple[int, int]]:
    """Return what is learnt, and how many records trained and tested."""
    with trial_folder(store) as folder:
        whole, records = sampled(store, config, folder)
        learnt, tested = _learnt(whole, config, folder)
        return learnt, (records - tested, tested)


def _learnt(store: Path, config: Config, folder: Path) -> tuple[list[Learnt], int]:
    """Return what is learnt from the records of a store, and how many of them were kept out."""
    with open_store(store) as connection:
        classes = read_codes(connection, [read_class_domain(connection)])[:, 0]
        persons = read_persons(connection, config)
    held = held_out(classes, config.evaluation.test_share, config.run.seed, persons)
    prepared = prepare_trial(store, config, held, folder / "training")
    learnt = [*_of_trial("fragmented", store, prepared, config, held)]
    progress(1 / 3)
    if config.fragments > 1:
        learnt += _of_trial("unfragmented", store, prepared, config.with_fragments(1), held)
    progress(2 / 3)
    raw = learnt_exactly(store, config, held, config.evaluation.learners)
    learnt += [Learnt("raw", learner, None, f) for learner, f in raw.items()]
    return [*learnt, Learnt("majority", None, None, majority_f(classes, held))], len(held.test)


def _of_trial(release: str, store: Path, prepared: Path, config: Config, held: Held) -> Iterator[Learnt]:
    learners = config.evaluation.learners
    try:
        trial = try_release(store, prepared, config, held, learners)
    except InfeasibleError:
        yield from (Learnt(release, learner, None, None) for learner in learners)
    else:
        yield from (Learnt(release, *by, f) for by, f in trial.f_measures.items())


def _write(
    connection: duckdb.DuckDBPyConnection,
    learnt: Sequence[Learnt],
    held: tuple[int, int],
    failure: str | None,
) -> None:
    """Make the table `evaluation`; empty where no learner is asked for."""
    connection.execute("""
        CREATE OR REPLACE TABLE evaluation (
            release VARCHAR, learner VARCHAR, form VARCHAR, f_measure DOUBLE, trained BIGINT, tested BIGINT,
            failure VARCHAR
        )
    """)
    rows = [(*by, None if f is None else round(f, F_DIGITS), *held, failure) for *by, f in learnt]
    if rows:
        connection.executemany("INSERT INTO evaluation VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
