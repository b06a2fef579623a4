"""Which points the experiments have, and which features each of them uses (paper, experimental results)."""

from collections.abc import Iterable

import numpy as np

from tasks.experiments.data_tables import Table
from tasks.experiments.figures import Point

FEATURES, K = (10, 20, 30, 40), (10, 20, 40, 60, 80, 100)
QUICK_FEATURES, QUICK_K = (10, 40), (20, 40, 100)
SEEDS, QUICK_SEEDS, QUICK_DATA = 5, 1, ("musk", "texture")
FIXED_K = 40  # while the number of features varies


def points(tables: Iterable[Table], seeds: int, *, quick: bool = False) -> list[Point]:
    """Return the points of the figures: k = 40 while features vary, most features while k varies.

    Parameters
    ----------
    tables
        Of the data sets.
    seeds
        How many choices of features; seeds count from 1.
    quick
        Fewer numbers of features and fewer k.

    Returns
    -------
    list of Point
        Each once, data set after data set. One with fewer features than a number asks for uses all it has.

    """
    numbers, levels = (QUICK_FEATURES, QUICK_K) if quick else (FEATURES, K)
    found = []
    for table in tables:
        most = len(table.columns)
        asked = sorted({min(number, most) for number in numbers})
        places = [(number, FIXED_K) for number in asked[:-1]] + [(asked[-1], k) for k in levels]
        found += [Point(table.data, seed, *place) for seed in range(1, seeds + 1) for place in places]
    return found


def chosen_features(width: int, point: Point) -> list[int]:
    """Return the features of a point by their place, ascending: the first of all in an order drawn by seed.

    Those of a smaller number are among those of a larger one.

    Examples
    --------
    >>> chosen_features(6, Point("any", 1, 2, 40)), chosen_features(6, Point("any", 1, 4, 40))
    ([0, 4], [0, 1, 2, 4])
    """
    order = np.random.default_rng(point.seed).permutation(width)
    return sorted(order[: point.features].tolist())
