"""l-diversity, t-closeness and segments as their definitions say, row by row, slow and obvious."""

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np
import oracles
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

ClassValues: TypeAlias = Sequence[int]  # of the rows of a group
Paths: TypeAlias = Sequence[tuple[int, ...]]  # for each class value its nodes from itself to the root


def is_distinct_diverse(values: ClassValues, least: int) -> bool:
    """Whether so many different values occur."""
    return len(set(values)) >= least


def is_entropy_diverse(values: ClassValues, least: Fraction) -> bool:
    """Whether the entropy is at least log l, in whole numbers: n^n / prod c^c >= l^n."""
    rows = len(values)
    return Fraction(rows**rows, prod(count**count for count in Counter(values).values())) >= least**rows


def is_recursive_diverse(values: ClassValues, c: Fraction, least: int) -> bool:
    """Whether r_1 < c (r_l + ... + r_m); 1-diversity is always satisfied."""
    frequencies = sorted(Counter(values).values(), reverse=True)
    return least <= 1 or frequencies[0] < c * sum(frequencies[least - 1 :])


def transport(one: ClassValues, other: ClassValues, ground: Callable[[int, int], float], size: int) -> float:
    """Return the least work that turns one distribution into the other: the transportation problem."""
    shares = [np.bincount(values, minlength=size) / len(values) for values in (one, other)]
    cost = [ground(i, j) for i in range(size) for j in range(size)]
    leaving = [np.repeat(row, size) for row in np.eye(size)]
    arriving = [np.tile(row, size) for row in np.eye(size)]
    solved = linprog(cost, A_eq=np.array([*leaving, *arriving]), b_eq=np.concatenate(shares))
    assert solved.fun is not None
    return float(solved.fun)


def equal_distance(one: ClassValues, other: ClassValues, size: int) -> float:
    """Return the work if any two values are 1 apart."""
    return transport(one, other, lambda i, j: float(i != j), size)


def ordered_distance(one: ClassValues, other: ClassValues, size: int) -> float:
    """Return the work if values lie in a row of length 1."""
    return float(wasserstein_distance(one, other)) / max(size - 1, 1)


def hierarchical_distance(one: ClassValues, other: ClassValues, paths: Paths) -> float:
    """Return the work if two values are as far apart as their lowest common ancestor is high."""
    height = len(paths[0]) - 1

    def ground(i: int, j: int) -> float:
        return next(level for level in range(height + 1) if paths[i][level] == paths[j][level]) / height

    return transport(one, other, ground, len(paths))


def paths_to_root(parents: Sequence[Sequence[int]]) -> Paths:
    """Return each class value's nodes from itself to the root."""
    paths: list[tuple[int, ...]] = [(value,) for value in range(len(parents[0]))]
    for of_level in parents:
        paths = [(*path, int(of_level[path[-1]])) for path in paths]
    return paths


def gain(codes: Any, classes: Any, rows: list[int], feature: int, code: int) -> float:
    """Return the information gain of the split at the code."""
    sides = [int(codes[row, feature] <= code) for row in rows]
    return oracles.mutual_information(sides, [int(classes[row]) for row in rows])


def segments(codes: Any, classes: Any, holds: Callable[[ClassValues], bool], minimum: int) -> list[list[int]]:
    """Return the rows of every segment, left before right: always the allowed split with most gain."""

    def is_allowed(rows: list[int]) -> bool:
        return len(rows) >= minimum and holds([int(classes[row]) for row in rows])

    def parts(rows: list[int]) -> list[list[int]]:
        found = []
        for feature in range(codes.shape[1]):
            for code, _ in pairwise(sorted({int(codes[row, feature]) for row in rows})):
                left = [row for row in rows if codes[row, feature] <= code]
                right = [row for row in rows if codes[row, feature] > code]
                if is_allowed(left) and is_allowed(right):
                    found.append((gain(codes, classes, rows, feature, code), left, right))
        most = max((split[0] for split in found), default=0.0)
        if most < 1e-9:
            return [rows]
        _, left, right = next(split for split in found if split[0] > most - 1e-9)
        return parts(left) + parts(right)

    return parts(list(range(len(codes))))
