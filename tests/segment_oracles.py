"""Segmentation executed by its definition, in exact arithmetic, and the tables it is run on."""

from fractions import Fraction
from math import prod

import numpy as np
import oracles


def merged_counts(counts, common):
    """Return the counts with the common values counted as one."""
    return [sum(counts[value] for value in common)] + [
        count for value, count in enumerate(counts) if value not in common
    ]


def certainty(counts):
    """Return exp(-n H): a cut has a gain where the product over its sides is above that of the whole."""
    return Fraction(prod(count**count for count in counts), sum(counts) ** sum(counts))


def values_of(classes, rows, width):
    return np.bincount(np.atleast_2d(classes)[:, rows].ravel(), minlength=width)


def common_values(counts, values):
    """Return which class values are counted as one in a segment."""
    ordered = sorted(range(len(counts)), key=lambda value: (-counts[value], value))[:values]
    return ordered if 2 * sum(counts[value] for value in ordered) >= sum(counts) else ordered[:1]


def best_cut(table, rows, allowed, values):
    """Return the first allowed cut of the highest gain as feature and code, or none."""
    width = max(table.classes) + 1
    counts = values_of(table.classes, rows, width).tolist()
    common = common_values(counts, values)
    best, highest = None, certainty(merged_counts(counts, common))
    for feature in range(table.codes.shape[1]):
        for code in range(int(table.codes[rows, feature].max())):
            left, right = divided(table, rows, (feature, code))
            if not left or not allowed(left) or not allowed(right):
                continue
            sides = [values_of(table.classes, side, width).tolist() for side in (left, right)]
            product = prod(certainty(merged_counts(side, common)) for side in sides)
            if product > highest:
                best, highest = (feature, code), product
    return best


def divided(table, rows, cut):
    feature, code = cut
    left = [row for row in rows if table.codes[row, feature] <= code]
    return left, [row for row in rows if table.codes[row, feature] > code]


def segments_of(table, rows, allowed, values):
    """Return the rows of every segment, left before right."""
    cut = best_cut(table, rows, allowed, values)
    if cut is None:
        return [rows]
    return [
        group for side in divided(table, rows, cut) for group in segments_of(table, side, allowed, values)
    ]


def column(values, classes):
    codes, domain = oracles.encode(values, "integer")
    return oracles.Table(codes[:, None], [domain], np.array(classes, dtype=np.int32))


def random_table(seed, rows, columns, values, class_values):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(rows, 2))
    raw = np.round(values * (factors @ rng.normal(size=(2, columns)) + rng.normal(size=(rows, columns))))
    encoded = [oracles.encode(one, "integer") for one in raw.astype(int).T.tolist()]
    score = factors[:, 0] + rng.normal(size=rows) / 2
    classes = np.searchsorted(np.quantile(score, np.arange(1, class_values) / class_values), score)
    return oracles.Table(
        np.column_stack([codes for codes, _ in encoded]),
        [domain for _, domain in encoded],
        classes.astype(np.int32),
    )
