"""How often two fragments are linked, by the definition of Anonymeter's linkability evaluator."""

import itertools
from fractions import Fraction
from math import comb

from attack_oracles import known


def rebuilt(one, other):
    """Return pairs of rows of two fragments: the first of a class value with the first of it, and so on."""
    values = sorted({row.told for row in one.rows if row.told is not None})
    return [
        pair
        for value in values
        for pair in zip(*([r for r in fragment.rows if r.told == value] for fragment in (one, other)))  # noqa: B905
    ]


def spans(fragment):
    """Return for every feature the largest less the least published bound; 0 for categories."""
    columns = zip(*(row.cells for row in fragment.rows), strict=True)
    bounds = [[b for cell in column if cell.bounds for b in cell.bounds] for column in columns]
    return [max(each) - min(each) if each else 0 for each in bounds]


def cell_distance(cell, value, span):
    """Return 0 inside; else 1, or for numbers the way to the nearer bound over the span."""
    if cell.covers(value):
        return Fraction(0)
    if value is None or isinstance(value, str) or cell.bounds is None:
        return Fraction(1)
    beyond = max(Fraction(cell.bounds[0]) - Fraction(value), Fraction(value) - Fraction(cell.bounds[1]))
    return beyond / Fraction(span) if span else Fraction(1)


def row_distance(fragment, row, target):
    return sum(
        cell_distance(*each) for each in zip(row.cells, known(fragment, target), spans(fragment), strict=True)
    )


def nearest(distances, neighbours):
    """Return every set of nearest rows that breaking ties at random can give; all are as likely."""
    order = sorted(distances)
    furthest = order[min(neighbours, len(order)) - 1]
    sure = [row for row, distance in enumerate(distances) if distance < furthest]
    tied = [row for row, distance in enumerate(distances) if distance == furthest]
    taken = min(neighbours, len(order)) - len(sure)
    return [{*sure, *some} for some in itertools.combinations(tied, taken)]


def linkage_success(one, other, target, neighbours=1):
    """Return the chance that the target's nearest rebuilt rows by either fragment have one in common."""
    pairs = rebuilt(one, other)
    sides = [
        nearest([row_distance(fragment, pair[side], target) for pair in pairs], neighbours)
        for side, fragment in enumerate((one, other))
    ]
    met = [bool(left & right) for left, right in itertools.product(*sides)]
    return Fraction(sum(met), len(met))


def linkage_by_chance(rows, neighbours=1):
    """Return the chance that two random sets of rows have one in common."""
    return 1 - Fraction(comb(rows - neighbours, neighbours), comb(rows, neighbours))
