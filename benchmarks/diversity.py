"""Measure what l-diversity and t-closeness cost Mondrian on a large table: `python benchmarks/diversity.py`.

The yardstick is the same table with k-anonymity alone. All take turns, so that all share the
machine's good and bad moments.
"""

import statistics
import time

import numpy as np
from mondrian import COLUMNS, REPEATS, ROWS, SEED, K
from tables import correlated_integers

from tasks.domain import Domain
from tasks.partitions.mondrian import partition
from tasks.partitions.requirements import (
    All,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    TCloseness,
)

K_ONLY = KAnonymity(K)


def main() -> None:
    """Print one measurement a line."""
    codes, classes = correlated_integers(ROWS, COLUMNS, SEED)
    domains = [
        Domain(f"column {number}", "integer", np.arange(size), missing=False)
        for number, size in enumerate(codes.max(axis=0) + 1)
    ]
    asked = requirements(np.bincount(classes))
    seconds: dict[Requirement, list[float]] = {requirement: [] for requirement in asked}
    found = {}
    for _ in range(REPEATS):
        for requirement in asked:
            start = time.perf_counter()
            found[requirement] = len(partition(codes, domains, classes, requirement, "strict").lower)
            seconds[requirement].append(time.perf_counter() - start)
    yardstick = statistics.median(seconds[K_ONLY])
    print(f"rows {ROWS}, columns {COLUMNS}, class values {classes.max() + 1}, median of {REPEATS}")
    for requirement in asked:
        median = statistics.median(seconds[requirement])
        ratio = f"{median:.2f} s, ratio {median / yardstick:.2f}"
        print(f"{requirement}: {ratio}, equivalence classes {found[requirement]}")


def requirements(overall: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[Requirement]:
    """Return k-anonymity alone, then with each l-diversity and t-closeness."""
    return [
        K_ONLY,
        *(
            All((K_ONLY, more))
            for more in (
                DistinctDiversity(3),
                EntropyDiversity(3),
                RecursiveDiversity(c=3, l=3),
                TCloseness(0.1, overall, "equal"),
                TCloseness(0.3, overall, "equal"),
                TCloseness(0.1, overall, "ordered"),
                TCloseness(0.3, overall, "ordered"),
            )
        ),
    ]


if __name__ == "__main__":
    main()
