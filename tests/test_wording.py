"""Figures lose no digit, and joins are called safe within segments exactly when that is what holds."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_release import made_up, protected, segmented, with_joins

from tasks.reports.wording import diversity_in_words, figure, percent, safe_only_within_segments

RELEASE = made_up(["a", "b", "c", "d"])


@given(st.floats(0, 1e6))
def test_a_figure_is_the_number_without_an_exponent(number):
    assert float(figure(number)) == number
    assert "e" not in figure(number)


@given(st.integers(0, 10**6))
def test_a_percentage_is_the_share_to_all_its_six_digits(millionths):
    assert Decimal(percent(millionths / 10**6).removesuffix(" %")) == Decimal(millionths) / 10**4


@pytest.mark.parametrize(
    "smallest_join, at_least, safe",
    [(39, 40, True), (40, 40, False), (39, 39, False), (1, 57, True), (None, 40, False), (39, None, False)],
)
def test_joins_are_safe_only_within_segments_between_the_boundaries(smallest_join, at_least, safe):
    facts = segmented(RELEASE, smallest_join=smallest_join, at_least=at_least)
    assert safe_only_within_segments(facts.manifest) is safe


def test_joins_promised_over_all_choices_are_not_excused_by_segments():
    facts = with_joins(segmented(RELEASE, smallest_join=4), scope="all")
    assert not safe_only_within_segments(facts.manifest)


@pytest.mark.parametrize(
    "achieved, compared",
    [(2, "all its other values together"), (4, "all but its 3 most frequent values together")],
)
def test_recursive_diversity_names_the_values_that_are_added_up(achieved, compared):
    facts = protected(RELEASE, l=(2, achieved), l_model="recursive", c=3)
    assert f"less than 3 times as often as {compared}" in diversity_in_words(facts.manifest)
