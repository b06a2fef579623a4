"""Step: how many fragments serve best, found by trials with records that are kept out."""

import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import duckdb

from tasks.config import Config, Learner
from tasks.errors import InfeasibleError
from tasks.events import progress
from tasks.joins.safe_joins import promise_holds
from tasks.learning.learners import ready_learners
from tasks.persons.credit import Codes
from tasks.persons.stored import read_persons
from tasks.steps import step
from tasks.store import open_store
from tasks.tables import read_codes, read_domains
from tasks.trials.held_out import Held, folds, sample
from tasks.trials.limits import beyond_limits
from tasks.trials.number_trials import Attempt, Candidate, best_number, try_numbers
from tasks.trials.trial import Trial, prepare_trial, sampled, trial_folder, try_release

FOLDS = 3
TESTED = 5_000  # of the records that a fold keeps out, at most
LEARNERS: tuple[Learner, ...] = ("tree", "neighbours")


def score_of(trial: Trial) -> float:
    """Return what a trial is judged by: higher is better.

    The mean over learners of the F-measure with the best form of a released cell. Without learners, minus
    the sum of information loss and changed class values: the shares of what is lost of the features and
    of what is not true of the class.
    """
    if not trial.f_measures:
        return -(trial.information_loss + trial.changed)
    learners = dict.fromkeys(learner for learner, _ in trial.f_measures)
    best = [max(f for (of, _), f in trial.f_measures.items() if of == learner) for learner in learners]
    return sum(best) / len(best)


@step("choose the number of fragments", closed=True)
def choose_fragments(store: Path, config: Config) -> int:
    """Store what trials say of each number of fragments; return the best.

    Nothing is tried where the number is given. A number whose trial does not keep what is asked, or costs
    more than the limits allow, is not chosen.

    Raises
    ------
    InfeasibleError
        If no number that was tried is feasible with two thirds of the records.
    """
    end = time.perf_counter() + config.fragmentation.time_budget
    candidates: list[Candidate] = []
    records = 0
    if config.fragmentation.fragments == "auto":
        with trial_folder(store) as folder:
            whole, records = sampled(store, config, folder)
            candidates = _tried(whole, config, folder, end)
        config = config.with_fragments(_best(candidates))
    with open_store(store) as connection:
        _write(connection, config, candidates, records)
    return config.fragments


def _tried(whole: Path, config: Config, folder: Path, end: float) -> list[Candidate]:
    with open_store(whole) as connection:
        features, of_class = read_domains(connection)
        classes = read_codes(connection, [of_class])[:, 0]
        persons = read_persons(connection, config)
    seed = config.run.seed
    parts = [_fewer_tested(held, classes, seed) for held in folds(classes, FOLDS, seed, persons)]
    most = min(config.fragmentation.max_fragments, len(features))
    learners = LEARNERS if config.fragmentation.objective == "f_measure" else ()
    prepare = cache(lambda fold: prepare_trial(whole, config, parts[fold], folder / f"fold_{fold}"))
    done = 0

    def attempt(number: int, fold: int) -> Attempt:
        nonlocal done
        try:
            return _attempt(whole, prepare(fold), config.with_fragments(number), parts[fold], learners)
        finally:
            done += 1
            progress(done / (most * FOLDS))

    prepare(0)  # before the first trial, which tells how long others take
    ready_learners()
    return try_numbers(most, FOLDS, attempt, end, time.perf_counter)


def _attempt(whole: Path, prepared: Path, config: Config, held: Held, learners: Sequence[Learner]) -> Attempt:
    try:
        trial = try_release(whole, prepared, config, held, learners)
    except InfeasibleError as error:
        return Attempt(None, reason=str(error))
    reason = _unsafe(prepared, config) or beyond_limits(trial, config.limits)
    if reason:
        return Attempt(None, reason=f"a trial was refused: {reason}")
    tested = len(held.test) if trial.f_measures else 0
    return Attempt(score_of(trial), trial.information_loss, trial.changed, tested=tested)


def _unsafe(prepared: Path, config: Config) -> str:
    """Return why the joins of a trial do not keep the promise, in a few words; empty if they do."""
    holds = promise_holds(prepared, config)
    if holds is None:
        return "too many joins to be checked"
    return "" if holds else "the promise of safe joins does not hold"


def _fewer_tested(held: Held, classes: Codes, seed: int) -> Held:
    if len(held.test) <= TESTED:
        return held
    return held._replace(test=held.test[sample(classes[held.test], TESTED, seed)])


def _best(candidates: Sequence[Candidate]) -> int:
    best = best_number(candidates)
    if best is None:
        raise InfeasibleError(
            'fragmentation.fragments = "auto": no number that was tried is feasible with two thirds of the '
            f"records, which leaves the others for testing: {candidates[0].reason}"
        )
    return best


def _write(
    connection: duckdb.DuckDBPyConnection, config: Config, candidates: Sequence[Candidate], records: int
) -> None:
    """Make the table `fragment_trials`, a row per number; empty where the number was given."""
    connection.execute("""
        CREATE OR REPLACE TABLE fragment_trials (
            fragments INTEGER, folds INTEGER, score DOUBLE, error DOUBLE, information_loss DOUBLE,
            changed DOUBLE, seconds DOUBLE, reason VARCHAR, chosen BOOLEAN, objective VARCHAR, records BIGINT
        )
    """)
    objective = config.fragmentation.objective
    rows = [(*each, each.fragments == config.fragments, objective, records) for each in candidates]
    if rows:
        connection.executemany(f"INSERT INTO fragment_trials VALUES ({', '.join('?' * 11)})", rows)
