"""Trying variants: each is released from the same training records, and learnt from."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tasks.comparing.compare import FAILED, References, Tried, Variant, varied
from tasks.config import Config, Learner
from tasks.errors import ConfigurationError, InfeasibleError, StepError
from tasks.joins.safe_joins import promise_holds
from tasks.persons.stored import read_persons
from tasks.steps import Step, step
from tasks.store import open_store
from tasks.tables import read_class_domain, read_codes
from tasks.trials.held_out import Held, held_out, sample
from tasks.trials.learnt import learnt_exactly, majority_f
from tasks.trials.trial import prepare_trial, try_release

PREPARED = "training"


class Kept(NamedTuple):
    """The records that variants are made of, and those they are tested with.

    Attributes
    ----------
    held
        Row numbers of the loaded table.
    prepared
        The private store of the training records.
    """

    held: Held
    prepared: Path


@step("keep records out for testing", closed=True)
def keep_records_out(store: Path, config: Config, most: int | None) -> Kept:
    """Choose which records train and which test; make the store of the training records.

    Parameters
    ----------
    store
        With the loaded table.
    config
        As its steward wrote it.
    most
        Records to use at most, of every class value alike; all if None.
    """
    with open_store(store) as connection:
        classes = read_codes(connection, [read_class_domain(connection)])[:, 0]
        persons = read_persons(connection, config)
    seed = config.run.seed
    rows = sample(classes, most or len(classes), seed, persons)
    persons = None if persons is None else persons[rows]
    among = held_out(classes[rows], config.evaluation.test_share, seed, persons)
    if not len(among.test):
        raise InfeasibleError(f"the table has {len(rows)} records: too few to keep any out for testing")
    held = Held(rows[among.train], rows[among.test])
    return Kept(held, prepare_trial(store, config, held, store.parent / PREPARED))


@step("learn from the table itself", closed=True)
def measure_references(store: Path, config: Config, held: Held, learners: Sequence[Learner]) -> References:
    """Return what is learnt from the training records as they are, and what needs no learning."""
    with open_store(store) as connection:
        classes = read_codes(connection, [read_class_domain(connection)])[:, 0]
    return References(learnt_exactly(store, config, held, learners), majority_f(classes, held))


def _try_variant(
    store: Path, variant: Variant, kept: Kept, config: Config, learners: Sequence[Learner]
) -> Tried:
    try:
        settings = varied(config, variant)
        trial = try_release(store, kept.prepared, settings, kept.held, learners)
    except (ConfigurationError, InfeasibleError) as error:
        return Tried(variant, None, None, _in_short(str(error)))
    return Tried(variant, trial, promise_holds(kept.prepared, settings))


attempt = Step("try a variant", _try_variant)


def try_variant(
    store: Path, variant: Variant, kept: Kept, config: Config, learners: Sequence[Learner]
) -> Tried:
    """Release the training records as a variant says, see whether joins are safe, and learn from it.

    A failure that nobody foresaw costs this variant alone; its text goes to the workspace's error log.

    Parameters
    ----------
    store
        With the loaded table.
    variant
        What to try.
    kept
        What to try it with.
    config
        As its steward wrote it.
    learners
        What to evaluate.
    """
    try:
        return attempt.guarded(store, variant, kept, config, learners)
    except StepError:
        return Tried(variant, None, None, FAILED)


def _in_short(message: str) -> str:
    """Return the first fault of a message, without its place and its advice."""
    place, _, rest = message.splitlines()[0].rstrip(".").partition(": ")
    return place if " " in place or not rest else rest.partition(": ")[0]


try_strategies = Step("try strategies and guarantees", try_variant)
try_cuts = Step("try splits and numbers of fragments", try_variant)
try_strategies_again = Step("try strategies with the best cuts", try_variant)
