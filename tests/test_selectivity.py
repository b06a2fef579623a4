"""eta: against the enumeration of all versions, and the values of the sources."""

from fractions import Fraction
from math import comb

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.enforcement.eta import eta
from tasks.enforcement.selectivity import smallest_eta

quick = settings(deadline=None, max_examples=100)


@st.composite
def choices(draw, largest=7, most=3, most_k=30):
    """Draw the sizes, numbers of values and common values of a choice, and k."""
    sizes = draw(st.lists(st.integers(1, largest), min_size=2, max_size=most))
    values = [draw(st.integers(1, size)) for size in sizes]
    return tuple(sizes), tuple(values), draw(st.integers(1, min(values))), draw(st.integers(1, most_k))


@given(choices())
@quick
def test_eta_is_the_share_of_all_versions_that_join_to_k(choice):
    assert eta(*choice) == oracles.eta(*choice)


@given(choices(largest=4, most=4, most_k=10))
@quick
def test_eta_of_four_classes_is_the_share_of_all_versions(choice):
    assert eta(*choice) == oracles.eta(*choice)


@pytest.mark.parametrize(
    "sizes, values, common, k, expected",
    [
        ((6, 6), (3, 3), 2, 5, Fraction(87, 100)),
        ((6, 6), (4, 4), 2, 5, Fraction(41, 100)),
        ((5, 5), (3, 3), 1, 5, Fraction(5, 36)),
        ((8, 9), (3, 3), 2, 8, Fraction(513, 588)),
        ((6, 6), (2, 2), 2, 5, Fraction(1)),
    ],
)
def test_eta_of_the_checked_values(sizes, values, common, k, expected):
    assert eta(sizes, values, common, k) == expected


def test_eta_of_large_classes_with_one_common_value_by_its_formula():
    """With one common value the join is a * b, and C(39 - a, 8) versions have that value a times."""
    ways = {a: comb(39 - a, 8) for a in range(1, 32)}
    enough = sum(ways[a] * ways[b] for a in ways for b in ways if a * b >= 40)
    assert sum(ways.values()) == comb(39, 9)
    assert eta((40, 40), (10, 10), 1, 40) == Fraction(enough, comb(39, 9) ** 2)
    assert float(eta((40, 40), (10, 10), 1, 40)) == pytest.approx(0.09914518017731644)


@given(choices(), st.randoms(use_true_random=False))
@quick
def test_eta_does_not_depend_on_the_order_of_classes(choice, random):
    sizes, values, common, k = choice
    together = list(zip(sizes, values, strict=True))
    random.shuffle(together)
    assert eta(*zip(*together, strict=True), common, k) == eta(*choice)


@given(choices(largest=25), st.integers(0, 2))
@quick
def test_eta_does_not_fall_when_a_class_grows(choice, which):
    sizes, values, common, k = choice
    grown = list(sizes)
    grown[which % len(sizes)] += 1
    assert eta(grown, values, common, k) >= eta(sizes, values, common, k)


@given(choices(largest=25))
@quick
def test_eta_does_not_rise_with_k(choice):
    sizes, values, common, k = choice
    assert 0 <= eta(sizes, values, common, k + 1) <= eta(sizes, values, common, k) <= 1


@given(choices(largest=25))
@quick
def test_eta_is_one_where_one_class_shares_all_its_values_and_holds_k(choice):
    sizes, values, common, _ = choice
    holding_k = [size for size, of_class in zip(sizes, values, strict=True) if of_class == common]
    if holding_k:
        assert eta(sizes, values, common, max(holding_k)) == 1


@pytest.mark.parametrize("k, expected", [(1, 1), (4, 1), (5, Fraction(1, 2)), (6, 0)])
def test_eta_from_the_smallest_to_the_largest_join(k, expected):
    """Versions of 3 rows with 2 values are (1, 2) and (2, 1), so the four joins hold 5, 4, 4 and 5 rows."""
    assert eta((3, 3), (2, 2), 2, k) == expected


@given(oracles.families(max_fragments=3, max_values=4, max_k=4, max_records=10), st.integers(1, 12))
@quick
def test_smallest_eta_is_that_of_all_choices(family, k):
    supports, sizes = [c > 0 for c in family.counts], [c.sum(axis=1) for c in family.counts]
    expected = min(oracles.etas(sizes, family.counts, k).values(), default=None)
    assert smallest_eta(supports, sizes, k) == expected


def test_without_a_common_value_there_is_no_smallest_eta():
    supports = [np.array([[True, False]]), np.array([[False, True]])]
    assert smallest_eta(supports, [np.array([5]), np.array([5])], 5) is None


def test_one_fragment_has_no_smallest_eta():
    assert smallest_eta([np.array([[True, True]])], [np.array([5])], 5) is None
