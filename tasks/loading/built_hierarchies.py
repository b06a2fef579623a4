"""Hierarchies that are made, not read: of prefixes, ranges, dates, rare values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tasks.loading.hierarchy import Taxonomy, free_name, rooted
from tasks.table_settings import Builder

RARE = "rare values"
NUMBER = "[+-]?([0-9]{1,300}([.][0-9]{0,300})?|[.][0-9]{1,300})([eE][+-]?[0-9]{1,3})?"
SPANS = {"month": 7, "quarter": 7, "year": 4}

Paths = Mapping[str, tuple[str, ...]]


def built_hierarchy(
    builder: Builder, values: Sequence[str], occurrences: npt.NDArray[np.intp]
) -> Taxonomy | str:
    """Return the hierarchy of a feature's values, or why it cannot be made.

    Parameters
    ----------
    builder
        How.
    values
        The values of the feature, in the order of their code points; dates in ISO form.
    occurrences : ndarray of shape (values,)
        How many records, or persons, have each.
    """
    if builder.ranges is not None:
        others = sum(re.fullmatch(NUMBER, value) is None for value in values)
        if others:
            return (
                f"{_of(others, values)} not written as numbers, of which ranges are: make another hierarchy"
            )
        return rooted(ranges(values, builder.ranges))
    if builder.dates is not None:
        return rooted(spans_of_time(values, builder.dates))
    if builder.rare is not None:
        return rooted(rare_values(values, occurrences, builder.rare))
    paths = prefixes(values, builder.prefix or ())
    unclear = len({name for value, names in paths.items() for name in names if name != value} & paths.keys())
    if unclear:
        return (
            f"{_of(unclear, values)} written as the prefix of others is, with a star: "
            "give it a hierarchy in a file"
        )
    return rooted(paths)


def _of(some: int, values: Sequence[str]) -> str:
    return f"{some} of its {len(values)} values {'is' if some == 1 else 'are'}"


def prefixes(values: Iterable[str], lengths: Iterable[int]) -> Paths:
    """Return the prefixes of values, each with a star; what is shorter stays as it is.

    Parameters
    ----------
    values
        In any order.
    lengths
        Of the prefixes, the longest first. The one of length 0 is the root.

    Examples
    --------
    >>> prefixes(["250.1", "25", "V"], [3, 1])
    {'250.1': ('250*', '2*'), '25': ('25', '2*'), 'V': ('V', 'V*')}
    """
    counted = [length for length in lengths if length]
    return {
        value: tuple(f"{value[:length]}*" if len(value) >= length else value for length in counted)
        for value in values
    }


def ranges(values: Iterable[str], widths: Sequence[float]) -> Paths:
    """Return the ranges of numbers that hold values, without their upper bounds; in the order of numbers.

    Parameters
    ----------
    values
        Numbers as they are written.
    widths
        Each a multiple of the one before. Ranges start at multiples of their width.

    Examples
    --------
    >>> ranges(["31", "-0.5", "7"], [5, 10])
    {'-0.5': ('[-5, 0)', '[-10, 0)'), '7': ('[5, 10)', '[0, 10)'), '31': ('[30, 35)', '[30, 40)')}
    """
    exact = {value: Fraction(value) for value in values}
    steps = [Fraction(repr(width)) for width in widths]
    places = max(map(_places, {*exact.values(), *steps}))
    numbers = {value: int(number * 10**places) for value, number in exact.items()}
    ordered = sorted(numbers, key=lambda value: (numbers[value], value))
    names = [_ranges_of(numbers, step, places) for step in steps]
    return {value: tuple(held[value] for held in names) for value in ordered}


def _places(number: Fraction) -> int:
    """Return how many digits a decimal number has after the point."""
    twos = (number.denominator & -number.denominator).bit_length() - 1
    fives, rest = 0, number.denominator >> twos
    while rest > 1:
        fives, rest = fives + 1, rest // 5
    return max(twos, fives)


def _ranges_of(numbers: Mapping[str, int], step: Fraction, places: int) -> dict[str, str]:
    """Return the range of each number; numbers are given without their point, after so many digits."""
    width, shown = int(step * 10**places), _places(step)
    lower = {value: number // width * width for value, number in numbers.items()}
    names = {
        start: f"[{_plain(start, places, shown)}, {_plain(start + width, places, shown)})"
        for start in set(lower.values())
    }
    return {value: names[start] for value, start in lower.items()}


def _plain(number: int, places: int, shown: int) -> str:
    """Return a number given without its point, with so many digits after it, which are all it has."""
    digits = str(abs(number) // 10 ** (places - shown)).zfill(shown + 1)
    whole, rest = digits[: len(digits) - shown], digits[len(digits) - shown :]
    return ("-" if number < 0 else "") + whole + ("." + rest if rest else "")


def spans_of_time(values: Iterable[str], spans: Sequence[str]) -> Paths:
    """Return the months, quarters and years that hold dates in ISO form.

    Examples
    --------
    >>> spans_of_time(["2024-03-05"], ["month", "quarter", "year"])
    {'2024-03-05': ('2024-03', '2024-Q1', '2024')}
    """
    return {value: tuple(_span(value, span) for span in spans) for value in values}


def _span(value: str, span: str) -> str:
    if span == "quarter" and "Q" not in value:
        return f"{value[:4]}-Q{(int(value[5:7]) + 2) // 3}"
    return value[: SPANS[span]]


def rare_values(values: Sequence[str], occurrences: npt.NDArray[np.intp], least: int) -> Paths:
    """Return the group of the values that occur less often than that; others are by themselves.

    Examples
    --------
    >>> rare_values(["a", "b", "c"], np.array([1, 9, 2]), 5)
    {'a': ('rare values',), 'b': ('b',), 'c': ('rare values',)}
    """
    name = free_name(RARE, set(values))
    held = zip(values, occurrences.tolist(), strict=True)
    return {value: (name if number < least else value,) for value, number in held}
