"""Measure Mondrian on a large table against a yardstick: mondrian.py [rows] [--medians].

Cuts at medians are measured against a yardstick, cuts by information gain against them, and cuts where
persons count, of two records each, against cuts where records do. The yardstick is
what any implementation must do at least: find the lowest and the highest code of every column, once per
level of the tree. `--medians` leaves out the others.
"""

import math
import resource
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from tables import correlated_integers

from tasks.domain import Domain
from tasks.partitions.mondrian import partition
from tasks.partitions.person_requirements import KPersons
from tasks.partitions.requirements import KAnonymity, Of

COLUMNS, K, SEED, REPEATS = 40, 40, 1, 3


def main() -> None:
    """Print one measurement a line."""
    (rows,) = [int(text) for text in sys.argv[1:] if text[0] != "-"] or [1_000_000]
    codes, classes = correlated_integers(rows, COLUMNS, SEED)
    domains = [
        Domain(f"column {number}", "integer", np.arange(size), missing=False)
        for number, size in enumerate(codes.max(axis=0) + 1)
    ]
    before = peak_megabytes()
    seconds = median_seconds(lambda: partition(codes, domains, classes, KAnonymity(K), "strict"))
    peak = peak_megabytes()
    classes_made = len(partition(codes, domains, classes, KAnonymity(K), "strict").lower)
    levels = math.ceil(math.log2(classes_made))
    columns = np.ascontiguousarray(codes.T)
    yardstick = levels * median_seconds(lambda: (columns.min(axis=1), columns.max(axis=1)))
    print(f"rows {rows}, columns {COLUMNS}, k {K}")
    print(f"equivalence classes {classes_made}, levels {levels}")
    print(f"seconds {seconds:.2f} (median of {REPEATS})")
    print(f"yardstick {yardstick:.2f} s, ratio {seconds / yardstick:.1f}")
    print(f"peak memory {peak:.0f} MB ({before:.0f} MB before the first run)", flush=True)
    if "--medians" not in sys.argv:
        print_other_cuts(codes, domains, classes, seconds)


def print_other_cuts(
    codes: npt.NDArray[np.int32], domains: list[Domain], classes: npt.NDArray[np.int32], seconds: float
) -> None:
    """Print what cuts by information gain take, and cuts where persons count, as a ratio to `seconds` too."""
    gain_seconds = median_seconds(
        lambda: partition(codes, domains, classes, KAnonymity(K), "strict", "infogain")
    )
    print(f"by information gain {gain_seconds:.2f} s, ratio to medians {gain_seconds / seconds:.1f}")
    persons = np.random.default_rng(SEED).permutation(np.arange(len(codes), dtype=np.int32) // 2)
    values = int(classes.max()) + 1
    places = np.column_stack([classes, np.full_like(classes, values)])
    everybody = Of("persons", values, values + 1, KPersons(K))
    person_seconds = median_seconds(
        lambda: partition(codes, domains, places, everybody, "strict", persons=persons)
    )
    print(f"where persons count {person_seconds:.2f} s, ratio to medians {person_seconds / seconds:.1f}")


def median_seconds(run: Callable[[], object]) -> float:
    """Return the median wall-clock time of some runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_megabytes() -> float:
    """Return the most memory that this process has held so far (Linux: ru_maxrss is in kibibytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    main()
