"""What the report tells of trials: how the number of fragments was chosen, and what can be learnt."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import duckdb

from tasks.learning.learn import FORMS

LEARNERS = {"tree": "decision tree", "neighbours": "nearest neighbours", "forest": "random forest"}


class NumberTrial(NamedTuple):
    """What trials said of a number of fragments; None where nothing is known.

    Attributes
    ----------
    fragments
        The number.
    folds
        On how many parts of the records it was tried; 0 if there was no time.
    score, error
        By the objective, higher being better, and its standard error.
    information_loss, changed
        Means over folds; changed class values as a share.
    seconds
        Of all its trials.
    feasible
        Whether a release of the training records kept what was asked, as far as was tried.
    chosen
        Whether it is this release's number.
    """

    fragments: int
    folds: int
    score: float | None
    error: float | None
    information_loss: float | None
    changed: float | None
    seconds: float
    feasible: bool
    chosen: bool


class NumberChoice(NamedTuple):
    """How the number of fragments was chosen.

    Attributes
    ----------
    objective
        "f_measure" or "information_loss".
    records
        How many the trials worked on.
    trials
        One per number, from 1.
    """

    objective: str
    records: int
    trials: tuple[NumberTrial, ...]

    @property
    def judged(self) -> tuple[NumberTrial, ...]:
        """The numbers among which was chosen."""
        return tuple(trial for trial in self.trials if trial.score is not None and trial.feasible)

    @property
    def chosen(self) -> int:
        """The number of this release."""
        (chosen,) = (trial.fragments for trial in self.trials if trial.chosen)
        return chosen

    @property
    def untried(self) -> tuple[int, ...]:
        """The numbers for which there was no time."""
        return tuple(trial.fragments for trial in self.trials if not trial.folds)

    @property
    def folds(self) -> int:
        """On how many parts of the records the numbers were compared."""
        return max(trial.folds for trial in self.judged)

    @property
    def best(self) -> NumberTrial:
        """The trial of the highest score."""
        return max(self.judged, key=lambda trial: (trial.score or 0.0, -trial.fragments))


class LearnerResult(NamedTuple):
    """What a learner reached: weighted F-measures, None where a trial was not feasible or not made.

    Attributes
    ----------
    learner
        Its name.
    fragmented, unfragmented
        With each form of a released cell, in the order of `tasks.learning.learn.FORMS`; of a trial of the
        release, and of one without fragments.
    raw
        On the table as it is.
    """

    learner: str
    fragmented: tuple[float | None, ...]
    unfragmented: tuple[float | None, ...]
    raw: float

    @property
    def name(self) -> str:
        """What people call it."""
        return LEARNERS[self.learner]


class Learning(NamedTuple):
    """What classifiers learn from a trial of the release.

    Attributes
    ----------
    trained, tested
        How many records the trial released, and how many were kept out.
    majority
        Weighted F-measure of who always says the most frequent class value; None where learning failed.
    results
        One per learner; none where learning failed.
    failure
        The kind of error that learning failed with, if it did.
    """

    trained: int
    tested: int
    majority: float | None
    results: tuple[LearnerResult, ...]
    failure: str | None = None


def best_form(measures: Sequence[float | None]) -> float | None:
    """Return the highest of a learner's F-measures."""
    return max((measure for measure in measures if measure is not None), default=None)


def read_number_choice(connection: duckdb.DuckDBPyConnection) -> NumberChoice | None:
    """Return how the number of fragments was chosen; None where it was given."""
    rows = connection.execute("""
        SELECT objective, records, fragments, folds, score, error, information_loss, changed, seconds,
               reason IS NULL, chosen
        FROM fragment_trials ORDER BY fragments
    """).fetchall()
    if not rows:
        return None
    objective, records = rows[0][:2]
    return NumberChoice(objective, records, tuple(NumberTrial(*row[2:]) for row in rows))


def stated_choice(choice: NumberChoice | None) -> dict[str, Any]:
    """Return what the manifest states of how the number of fragments was chosen, if it was not given."""
    if choice is None:
        return {}
    stated = {"chosen": choice.chosen, "up_to": len(choice.trials), "untried": list(choice.untried)}
    return {"trials_of_fragments": stated}


def read_learning(connection: duckdb.DuckDBPyConnection) -> Learning | None:
    """Return what learners reached; None where none was asked for."""
    rows = connection.execute("SELECT * FROM evaluation ORDER BY rowid").fetchall()
    if not rows:
        return None
    trained, tested, failure = rows[0][4:]
    if failure is not None:
        return Learning(trained, tested, None, (), failure)
    found = {(release, learner, form): f for release, learner, form, f, *_ in rows}

    def reached(release: str, learner: str) -> tuple[float | None, ...]:
        return tuple(found.get((release, learner, form)) for form in FORMS)

    results = [
        LearnerResult(learner, reached("fragmented", learner), reached("unfragmented", learner), f)
        for (release, learner, _), f in found.items()
        if release == "raw"
    ]
    return Learning(trained, tested, found["majority", None, None], tuple(results))
