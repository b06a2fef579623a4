"""What l, t and joins are by definition, computed from the text of published rows, value by value."""

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from math import prod

import numpy as np
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance


def values_of_classes(rows, features, place):
    """Return a Counter of the values in a column for every equivalence class; empty cells are no values."""
    classes = defaultdict(Counter)
    for row in rows:
        classes[tuple(row[:features])].update([row[place]] if row[place] else [])
    return list(classes.values())


def level(counts, model, c=None):
    """Return how diverse the values of one equivalence class are."""
    if model == "distinct":
        return len(counts)
    if model == "entropy":
        shares = [n / counts.total() for n in counts.values()]
        return math.exp(-sum(share * math.log(share) for share in shares)) if shares else 0
    frequencies = sorted(counts.values(), reverse=True)
    held = [
        rank
        for rank in range(1, len(frequencies) + 1)
        if frequencies[0] < Fraction(repr(c)) * sum(frequencies[rank - 1 :])
    ]
    return max(held, default=0)


def smallest_level(rows, features, place, model, c=None):
    return min(level(counts, model, c) for counts in values_of_classes(rows, features, place))


def distance(counts, overall, name, *, order=None, hierarchy=None):
    """Return the distance of one equivalence class from all records."""
    values = sorted(overall)
    if name == "ordered":
        values.sort(key=order.index if order else float)
    p = np.array([counts[value] / counts.total() for value in values])
    q = np.array([overall[value] / overall.total() for value in values])
    if name == "equal":
        return np.abs(p - q).sum() / 2
    if name == "ordered":
        ranks = np.arange(len(values))
        return 0 if len(values) == 1 else wasserstein_distance(ranks, ranks, p, q) / (len(values) - 1)
    return moved(p, q, [[apart(a, b, hierarchy) for b in values] for a in values])


def apart(one, other, hierarchy):
    """Return the lowest level at which two values have the same ancestor, over the number of levels."""
    paths = [one, *hierarchy[one]], [other, *hierarchy[other]]
    same = [level for level, (a, b) in enumerate(zip(*paths, strict=True)) if a == b]
    return min(same) / len(hierarchy[one])


def moved(p, q, cost):
    """Return the cheapest way to turn one distribution into another, as a linear program."""
    number = len(p)
    sums = np.vstack([np.kron(np.eye(number), np.ones(number)), np.kron(np.ones(number), np.eye(number))])
    return linprog(np.ravel(cost), A_eq=sums, b_eq=np.concatenate([p, q])).fun


def largest_distance(rows, features, place, name, **ground):
    classes = values_of_classes(rows, features, place)
    overall = sum(classes, Counter())
    return max(distance(counts, overall, name, **ground) for counts in classes if counts)


def joined(chosen):
    """Return the rows of the join of equivalence classes, each given as a Counter of its class values."""
    common = set.intersection(*({value for value, n in counts.items() if n} for counts in chosen))
    return sum(prod(counts[value] for counts in chosen) for value in common)


def choices(fragments):
    """Yield every choice of one equivalence class from each of two or more fragments."""
    for size in range(2, len(fragments) + 1):
        for subset in itertools.combinations(fragments, size):
            yield from itertools.product(*subset)


def joined_records(chosen):
    """Return the fewest records of one equivalence class with a value that all of them have; 0 if none."""
    common = set.intersection(*({value for value, n in counts.items() if n} for counts in chosen))
    return min(sum(counts[value] for value in common) for counts in chosen)


def without_partner(fragments, k, changed, figure=joined):
    """Return the records that have no fit equivalence class in some other fragment, beyond those changed."""
    excess = 0
    for first, second in itertools.permutations(range(len(fragments)), 2):
        alone = sum(
            counts[value]
            for counts in fragments[first]
            for value in counts
            if not any(other[value] and figure([counts, other]) >= k for other in fragments[second])
        )
        excess += max(0, alone - changed[first] - changed[second])
    return excess
