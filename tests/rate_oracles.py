"""Intervals of rates, of what they exceed others by, and tests, from what defines them."""

from fractions import Fraction
from itertools import combinations, product
from math import sqrt
from statistics import NormalDist


def wilson(successes, attempts, confidence=0.95):
    """Return the least and the largest p with |successes / attempts - p| <= z sqrt(p (1 - p) / attempts)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    seen = successes / attempts

    def possible(p):
        return abs(seen - p) <= z * sqrt(p * (1 - p) / attempts) or p == seen

    return boundary(possible, seen, 0.0), boundary(possible, seen, 1.0)


def boundary(possible, inside, outside):
    """Return where it stops to be possible on the way from a point inside to one that may be outside."""
    if possible(outside):
        return outside
    for _ in range(200):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if possible(middle) else (inside, middle)
    return inside


def residual(success, baseline):
    return (success - baseline) / (1 - baseline)


def residual_error(success, baseline, success_error, baseline_error, step=1e-6):
    """Return the error of the residual to first order, with slopes taken from small differences."""
    by_success = (residual(success + step, baseline) - residual(success - step, baseline)) / (2 * step)
    by_baseline = (residual(success, baseline + step) - residual(success, baseline - step)) / (2 * step)
    return sqrt((by_success * success_error) ** 2 + (by_baseline * baseline_error) ** 2)


def sign_test(more, fewer):
    """Return the share of all ways to toss as many coins that show as many heads as `more`, or more."""
    tosses = list(product((0, 1), repeat=more + fewer))
    return Fraction(sum(sum(toss) >= more for toss in tosses), len(tosses))


def closed_tests(chances, level):
    """Return which are rejected if every set that they are in is, each by Bonferroni's test."""
    places = range(len(chances))
    sets = [set(some) for size in range(1, len(chances) + 1) for some in combinations(places, size)]
    kept = [some for some in sets if min(chances[place] for place in some) > level / len(some)]
    return [not any(place in some for some in kept) for place in places]
