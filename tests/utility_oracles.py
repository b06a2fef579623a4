"""What is kept by definition: every record is spread over what its published cell covers, one by one."""

from fractions import Fraction
from math import ceil, log

import numpy as np

from tasks.mutual_information import discretise


class Bins:
    """The bins of a column, from its values in the input; None is missing."""

    def __init__(self, values, kind, bins):
        self.kind = kind
        self.distinct = sorted({value for value in values if value is not None})
        self.missing = None in values
        by_code = [None] * self.missing + self.distinct
        codes = np.array([by_code.index(value) for value in values], dtype=np.int32)
        of_rows = discretise(
            codes, len(by_code), numeric=kind != "categorical", missing=self.missing, bins=bins
        )
        self.of_value = dict(zip(values, of_rows.tolist(), strict=True))
        self.number = max(self.of_value.values()) + 1
        self.records = np.bincount(of_rows, minlength=self.number)

    def spread(self, covered, *, missing):
        """Return the share in each bin of a record whose cell covers values; of numbers only bounds count."""
        shares = [Fraction(0)] * self.number
        if self.kind == "categorical":
            members = [*covered, *[None] * missing]
            for member in members:
                shares[self.of_value[member]] += Fraction(1, len(members))
            return shares
        weight = Fraction(0) if not covered else Fraction(1, 1 + missing)
        if missing:
            shares[self.of_value[None]] += 1 - weight
        if covered:
            for place, share in enumerate(self._of_range(min(covered), max(covered))):
                shares[place + self.missing] += weight * share
        return shares

    def _of_range(self, lower, upper):
        if lower == upper:
            return [Fraction(place == self.of_value[lower]) for place in range(self.missing, self.number)]
        below = [self._below(cut, lower, upper) for cut in self._cuts()]
        return [b - a for a, b in zip([Fraction(0), *below], [*below, Fraction(1)], strict=True)]

    def _cuts(self):
        """Return the numbers midway between neighbouring values of different bins."""
        return [
            (Fraction(one) + Fraction(other)) / 2
            for one, other in zip(self.distinct, self.distinct[1:], strict=False)
            if self.of_value[one] != self.of_value[other]
        ]

    def _below(self, cut, lower, upper):
        if self.kind == "integer":
            whole = min(max(ceil(cut) - lower, 0), upper - lower + 1)
            on_it = Fraction(cut.denominator == 1 and lower <= cut <= upper, 2)
            return (whole + on_it) / Fraction(upper - lower + 1)
        share = (cut - Fraction(lower)) / (Fraction(upper) - Fraction(lower))
        return min(max(share, Fraction(0)), Fraction(1))


def moments(values):
    """Return mean and variance of numbers."""
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers) / len(numbers)
    return mean, sum((number - mean) ** 2 for number in numbers) / len(numbers)


def squares_up_to(n):
    return Fraction(n * (n + 1) * (2 * n + 1), 6)


def moments_of_ranges(ranges, kind):
    """Return mean and variance of records that lie evenly within ranges: (weight, lower, upper) each."""
    total = sum(weight for weight, _, _ in ranges)
    mean = sum(weight * (Fraction(low) + Fraction(high)) / 2 for weight, low, high in ranges) / total
    square = sum(weight * _mean_square(low, high, kind) for weight, low, high in ranges) / total
    return mean, square - mean**2


def _mean_square(low, high, kind):
    if kind == "integer":
        return (squares_up_to(high) - squares_up_to(low - 1)) / (high - low + 1)
    a, b = Fraction(low), Fraction(high)
    return (a * a + a * b + b * b) / 3


def information(joint):
    """Return the mutual information of a table of weights, cell by cell."""
    table = np.array(joint, dtype=float)
    table /= table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    return sum(
        share * log(share / (rows[i] * columns[j])) for (i, j), share in np.ndenumerate(table) if share > 0
    )
