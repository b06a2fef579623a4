"""Hierarchies that are made: by the arithmetic of their definition, for every number, prefix and date."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import ConfigurationError
from tasks.loading.built_hierarchies import built_hierarchy, prefixes, ranges, spans_of_time
from tasks.loading.hierarchy import Taxonomy
from tasks.loading.hierarchy_faults import feature_faults
from tasks.read_config import parse_config
from tasks.table_settings import Builder
from tasks.tree import tree_of

quick = settings(deadline=None, max_examples=60)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=0, max_size=5)
decimals = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, allow_nan=False, allow_infinity=False, places=3).map(str),
    st.floats(-1e6, 1e6).map(repr),
    st.sampled_from(["-0", "+5", ".5", "5.", "1e3", "-1E-05", "007"]),
)

widths = st.builds(
    lambda width, steps: [float(Fraction(width) * prod(steps[:number])) for number in range(len(steps) + 1)],
    st.sampled_from(["0.001", "0.1", "0.25", "0.5", "1", "2", "10"]),
    st.lists(st.integers(2, 6), max_size=3),
)


def build(values, occurrences=None, **builder):
    values = sorted(set(values))
    return built_hierarchy(Builder(**builder), values, np.array(occurrences or [1] * len(values)))


def is_sound(taxonomy):
    """Whether a file with these rows has no fault, and its groups lie together in the order of leaves."""
    rows = [(number, (value, *above)) for number, (value, above) in enumerate(taxonomy.ancestors_of.items())]
    order = taxonomy.ordered(list(taxonomy.ancestors_of))
    tree = tree_of(order, list(zip(*taxonomy.paths(order), strict=True)))
    runs = [
        sum(one != other for one, other in pairwise(level)) + 1 == len(set(level)) for level in tree.labels
    ]
    return not [fault for fault in feature_faults(rows) if "empty" not in fault] and all(runs)


@given(st.sets(texts, min_size=1), st.sets(st.integers(0, 5), min_size=1))
@quick
def test_values_share_a_group_where_they_share_a_prefix(values, lengths):
    built = build(values, prefix=sorted(lengths, reverse=True))
    if isinstance(built, str):
        groups = {f"{value[:length]}*" for value in values for length in lengths if 0 < length <= len(value)}
        assert groups & values
        return
    assert is_sound(built)
    for value, above in built.ancestors_of.items():
        for length, name in zip(sorted(lengths - {0}, reverse=True), above, strict=False):
            assert name == (value[:length] + "*" if len(value) >= length else value)


def test_the_root_of_prefixes_is_no_value():
    assert build(["*", "a"], prefix=[0]) == Taxonomy({"*": ("**",), "a": ("**",)})
    assert build(["ab", "ac"], prefix=[1]) == Taxonomy({"ab": ("a*",), "ac": ("a*",)})


def test_a_value_that_is_the_name_of_a_group_is_counted_not_told():
    assert build(["25*", "250", "3"], prefix=[2]) == (
        "1 of its 3 values is written as the prefix of others is, with a star: give it a hierarchy in a file"
    )
    assert isinstance(build(["25*", "3"], prefix=[2]), Taxonomy)


@given(st.sets(decimals, min_size=1), widths)
@quick
def test_a_range_holds_its_numbers_and_starts_at_a_multiple_of_its_width(values, steps):
    built = build(values, ranges=steps)
    assert is_sound(built)
    for value, above in built.ancestors_of.items():
        for width, name in zip(steps, above, strict=False):
            lower, upper = (Fraction(Decimal(end)) for end in name[1:-1].split(", "))
            assert lower <= Fraction(value) < upper
            assert upper - lower == Fraction(repr(width))
            assert lower % Fraction(repr(width)) == 0
    numbers = [Fraction(value) for value in ranges(sorted(values), steps)]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    ("value", "width", "name"),
    [
        ("30", 10, "[30, 40)"),
        ("39.99", 10, "[30, 40)"),
        ("40", 10, "[40, 50)"),
        ("-1", 10, "[-10, 0)"),
        ("-10", 10, "[-10, 0)"),
        ("0.3", 0.1, "[0.3, 0.4)"),
        ("-0.05", 0.1, "[-0.1, 0.0)"),
        ("9007199254740993", 2, "[9007199254740992, 9007199254740994)"),
    ],
)
def test_ranges_are_written_plainly(value, width, name):
    assert ranges([value], [float(width)]) == {value: (name,)}


@pytest.mark.parametrize("other", ["n/a", "1e9999", "1" * 400, "1_000", "1/2", "inf", ""])
def test_what_is_no_number_has_no_range(other):
    assert build(["1", "2", other], ranges=[10]) == (
        "1 of its 3 values is not written as numbers, of which ranges are: make another hierarchy"
    )


@given(st.sets(st.dates(date(1, 1, 1), date(9999, 12, 31)), min_size=1))
@quick
def test_dates_lie_in_their_month_quarter_and_year(days):
    built = build([day.isoformat() for day in days], dates=["month", "quarter", "year"])
    assert is_sound(built)
    for day in days:
        quarter = f"{day:%Y}".zfill(4) + f"-Q{(day.month - 1) // 3 + 1}"
        assert built.ancestors_of[day.isoformat()][:3] == (day.isoformat()[:7], quarter, day.isoformat()[:4])
    ordered = built.ordered([day.isoformat() for day in days])
    assert ordered == [day.isoformat() for day in sorted(days)]


def test_coarser_dates_lie_in_longer_spans():
    assert spans_of_time(["2024-12"], ["quarter", "year"]) == {"2024-12": ("2024-Q4", "2024")}
    assert spans_of_time(["2024-Q2"], ["year"]) == {"2024-Q2": ("2024",)}
    first = date(2024, 3, 31)
    assert [spans_of_time([(first + timedelta(turn)).isoformat()], ["quarter"]) for turn in (0, 1)] == [
        {"2024-03-31": ("2024-Q1",)},
        {"2024-04-01": ("2024-Q2",)},
    ]


def test_values_of_fewer_records_are_one_group():
    built = build(["a", "b", "c", "d"], [4, 5, 6, 1], rare=5)
    rare = ("rare values", "*")
    assert built == Taxonomy({"a": rare, "b": ("b", "*"), "c": ("c", "*"), "d": rare})
    assert built.ordered("abcd") == ["a", "d", "b", "c"]


def test_the_group_of_rare_values_never_has_the_name_of_a_value():
    built = build(["a", "b", "rare values", "rare values*"], [1, 9, 9, 1], rare=5)
    assert built.ancestors_of["a"][0] == "rare values**"
    assert is_sound(built)


def settings_of(**columns):
    return {
        "input": {"path": "x.csv"},
        "columns": {"class": "c", "features": "rest", **columns},
        "privacy": {"k": 2},
        "output": {"name": "a"},
    }


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"hierarchies": {"x": {"prefix": [3, 3]}}}, ".x.prefix: must name the longest prefix first"),
        ({"hierarchies": {"x": {"prefix": [1, 3]}}}, ".x.prefix: must name the longest prefix first"),
        ({"hierarchies": {"x": {"prefix": []}}}, ".x.prefix: must name at least one level"),
        ({"hierarchies": {"x": {"prefix": [-1]}}}, ".x.prefix.0: must be at least 0"),
        ({"hierarchies": {"x": {"ranges": [2, 5]}}}, ".x.ranges: must be widths of which each is a multiple"),
        ({"hierarchies": {"x": {"ranges": [2, 2]}}}, ".x.ranges: must be widths of which each is a multiple"),
        ({"hierarchies": {"x": {"ranges": [0]}}}, ".x.ranges.0: must be above 0"),
        ({"hierarchies": {"x": {"ranges": [float("inf")]}}}, ".x.ranges.0: must be a finite number"),
        ({"hierarchies": {"x": {"dates": ["year", "month"]}}}, ".x.dates: must name the shortest span first"),
        ({"hierarchies": {"x": {"dates": ["week"]}}}, ".x.dates.0: must be 'month', 'quarter' or 'year'"),
        ({"hierarchies": {"x": {"rare": 1}}}, ".x.rare: must be at least 2"),
        (
            {"hierarchies": {"x": {"rare": 2, "prefix": [1]}}},
            ".x: must have one of prefix, ranges, dates, rare",
        ),
        ({"hierarchies": {"x": {}}}, ".x: must have one of prefix, ranges, dates, rare"),
        ({"hierarchies": {"x": {"deep": 1}}}, ".x.deep: is not a setting"),
        ({"hierarchies": {"x": 3}}, ".x: must be a path"),
        ({"hierarchies": {"c": {"rare": 2}}}, ": 'c' is no feature"),
        ({"hierarchies": {"x": {"rare": 2}}, "precision": {"x": "year"}}, ": 'x' has a precision"),
        (
            {"hierarchies": {"x": {"dates": ["month"]}}, "precision": {"x": "month"}},
            ": 'x' has the precision month",
        ),
    ],
)
def test_a_hierarchy_that_cannot_be_made_is_refused(columns, told):
    with pytest.raises(ConfigurationError) as caught:
        parse_config(settings_of(**columns))
    assert str(caught.value).splitlines()[0].startswith(f"columns.hierarchies{told}")


@pytest.mark.parametrize(
    "columns",
    [
        {"hierarchies": {"x": {"ranges": [0.1, 0.3]}}},
        {"hierarchies": {"x": {"prefix": [3, 0]}}, "types": {"x": "categorical"}},
        {"hierarchies": {"x": {"dates": ["quarter"]}}, "precision": {"x": "month"}},
        {"hierarchies": {"x": "f.csv"}, "precision": {"x": "month"}},
    ],
)
def test_a_hierarchy_that_fits_its_column_is_taken(columns):
    config = parse_config(settings_of(**columns))
    assert config.columns.hierarchies
    for mode in ("python", "json"):
        assert parse_config(config.model_dump(mode=mode, by_alias=True)) == config


def test_shorter_values_than_a_prefix_stay_themselves():
    assert prefixes(["", "a", "ab"], [2, 1]) == {"": ("", ""), "a": ("a", "a*"), "ab": ("ab*", "a*")}
