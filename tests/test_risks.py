"""Disclosure risk from class counts: by hand, and against joins that are really made."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce
from math import comb, log, prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tasks.measure_risks import risks
from tasks.risks import own_classes
from tasks.risks.combination import class_revealed, posterior, published_prior
from tasks.risks.figures import Bin, Spread
from tasks.risks.membership import likelihoods
from tasks.risks.own_classes import MOST, class_sizes, join_rows
from tasks.risks.reidentification import journalist, prosecutor, reidentification
from tasks.risks.spread import binned, spread

quick = settings(deadline=None, max_examples=60)
VALUES = 3


def counted(ecs, published):
    counts = np.zeros((max(ecs) + 1, VALUES), dtype=np.int64)
    np.add.at(counts, (ecs, published), 1)
    return counts


@st.composite
def releases(draw, least=1, most=3):
    """Draw the ECs of some records, their classes, and the class values that each fragment publishes."""
    m, n = draw(st.integers(least, most)), draw(st.integers(1, 8))

    def column(largest):
        return np.array(draw(st.lists(st.integers(0, largest), min_size=n, max_size=n)), dtype=np.int32)

    members = [np.unique(column(2), return_inverse=True)[1].astype(np.int32) for _ in range(m)]
    classes = column(VALUES - 1)
    changed = draw(st.booleans())
    published = [column(VALUES - 1) if changed else classes for _ in range(m)]
    counts = [counted(ecs, values) for ecs, values in zip(members, published, strict=True)]
    return counts, members, classes, published


def joined(members, published):
    """Return the class join of all fragments, row by row."""
    tables = [
        pd.DataFrame({f"ec{i}": ecs, "class": values})
        for i, (ecs, values) in enumerate(zip(members, published, strict=True))
    ]
    return reduce(lambda left, right: left.merge(right, on="class"), tables)


def rows_of_own(members, published):
    whole = joined(members, published)
    own = zip(*members, strict=True)
    return [
        int(np.logical_and.reduce([whole[f"ec{i}"] == ec for i, ec in enumerate(ecs)]).sum()) for ecs in own
    ], len(whole)


# --- candidates ---------------------------------------------------------------------------------


def test_the_candidates_of_a_record_are_the_records_of_its_class():
    assert_array_equal(class_sizes(np.array([2, 0, 2, 2], dtype=np.int32)), [3, 1, 3, 3])


@given(releases())
@quick
def test_join_rows_are_those_of_a_join_that_is_made(release):
    counts, members, _, published = release
    assert join_rows(counts, members).tolist() == rows_of_own(members, published)[0]


def test_blocks_of_records_make_no_difference(monkeypatch):
    rng = np.random.default_rng(1)
    counts = [rng.integers(0, 5, (7, VALUES)) for _ in range(3)]
    members = [rng.integers(0, 7, 100).astype(np.int32) for _ in range(3)]
    whole = risks(counts, members, members[0] % VALUES)
    monkeypatch.setattr(own_classes, "CACHED", 100_000)
    assert risks(counts, members, members[0] % VALUES) == whole


def test_classes_changed_apart_leave_no_row_to_pick():
    counts, members = [np.array([[2, 0]]), np.array([[0, 2]])], [np.zeros(2, dtype=np.int32)] * 2
    pair = list(reidentification(counts, members))[-1]
    assert pair.candidates == (Bin(0, 0, 1.0),)
    assert (pair.prosecutor.largest, pair.journalist.largest, pair.marketer, pair.unique) == (0, 0, 0, 0)


def test_joins_too_large_for_any_number_are_counted_as_very_large():
    counts = [np.array([[10**6, 0], [0, 10**6]])] * 60
    members = [np.zeros(3, dtype=np.int32)] * 60
    assert join_rows(counts, members).tolist() == [MOST] * 3
    members[7] = np.array([0, 1, 0], dtype=np.int32)
    assert join_rows(counts, members).tolist() == [MOST, 0, MOST]


# --- prosecutor, journalist, marketer -----------------------------------------------------------


def test_every_fragment_every_pair_and_all_are_measured():
    counts, members = [np.ones((1, 2), dtype=np.int64)] * 4, [np.zeros(2, dtype=np.int32)] * 4

    def parts(m):
        return [part.fragments for part in reidentification(counts[:m], members[:m])]

    assert parts(1) == [(1,)]
    assert parts(2) == [(1,), (2,), (1, 2)]
    assert parts(3) == [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]
    assert len(parts(4)) == 4 + 6 + 1


def test_pairs_are_measured_of_up_to_eight_fragments():
    counts, members = [np.ones((1, 2), dtype=np.int64)] * 9, [np.zeros(2, dtype=np.int32)] * 9
    *_, pair, whole = reidentification(counts[:8], members[:8])
    assert (pair.fragments, whole.fragments) == ((7, 8), tuple(range(1, 9)))
    *alone, whole = reidentification(counts, members)
    assert [part.fragments for part in alone] == [(number,) for number in range(1, 10)]
    assert whole.fragments == tuple(range(1, 10))


def test_risks_of_a_fragment_and_a_join_by_hand():
    counts = [np.array([[1, 4], [1, 0]]), np.array([[2, 0], [0, 4]])]
    members = [np.array([0, 0, 0, 0, 0, 1]), np.array([0, 1, 1, 1, 1, 0])]
    first, second, pair = reidentification(counts, [m.astype(np.int32) for m in members])
    assert first.prosecutor.largest == 1
    assert first.prosecutor.median == pytest.approx(1 / 5)
    assert (first.unique, second.unique, pair.unique) == (1, 0, 0)
    assert first.marketer == pytest.approx(2 / 6)  # ECs / records
    assert first.candidates == (Bin(1, 1, 1 / 6), Bin(2, 4, 0.0), Bin(5, 9, 5 / 6))
    # rows of the join: 1 * 2, four times 4 * 4, 1 * 2
    assert pair.marketer == pytest.approx((2 / 2 + 4 / 16) / 6)
    assert pair.candidates[-1] == Bin(10, 19, 4 / 6)
    assert first.journalist == first.prosecutor


@given(releases(), st.sampled_from([None, 8, 30]))
@quick
def test_the_marketer_hits_as_many_as_there_are_classes(release, population):
    counts, members, _, _ = release
    parts = list(reidentification(counts, members, population))
    for number, held in enumerate(counts):
        assert parts[number].marketer == pytest.approx(len(held) / len(members[0]))
    for part in parts:
        assert sum(group.share for group in part.candidates) == pytest.approx(1)
        assert part.journalist.mean <= part.prosecutor.mean + 1e-12
        assert part.unique / len(members[0]) == pytest.approx(
            sum(group.share for group in part.candidates if group.upper == 1 == group.lower)
        )


def summed(f, p):
    """Return E[1/F] by its definition, the sum over populations, until nothing is left of it."""
    with localcontext(prec=40):
        p = Decimal(p.numerator) / p.denominator
        weight, total, h = p**f, Decimal(0), f
        while h < 2 * f / p or weight > total * Decimal("1e-18"):
            total += weight / h
            weight *= (1 - p) * h / (h - f + 1)
            h += 1
        return float(total)


@pytest.mark.parametrize("p", [Fraction(9, 10), Fraction(1, 2), Fraction(49, 100), Fraction(1, 20)])
def test_the_journalist_expects_what_the_negative_binomial_says(p):
    sizes = [1, 2, 3, 18, 19, 20, 21, 40]
    assert_allclose(journalist(np.array(sizes), float(p)), [summed(f, p) for f in sizes], rtol=1e-12)


def test_the_sum_of_the_oracle_starts_as_the_formula_does():
    f, p = 3, Fraction(1, 3)
    terms = [comb(h - 1, f - 1) * p**f * (1 - p) ** (h - f) / h for h in range(f, 200)]
    assert summed(f, p) == pytest.approx(float(sum(terms)), rel=1e-12)


@pytest.mark.parametrize("p", [1 - 1e-12, 0.5, 1e-3, 1e-9])
def test_the_journalist_is_sound_at_the_edges(p):
    sizes = np.array([0, 1, 2, 19, 20, 39, 40, 41, 10**6, MOST])
    chances = journalist(sizes, p)
    assert chances[0] == 0
    assert chances[1] == pytest.approx(-p * log(p) / (1 - p))  # Benedetti and Franconi's own case f = 1
    assert (np.diff(chances[1:]) < 0).all()
    assert (chances <= prosecutor(sizes) * (1 + 1e-15)).all()
    assert (chances >= p * prosecutor(sizes) * (1 - 1e-12)).all()
    assert chances[-1] == pytest.approx(p / MOST)


def test_the_journalist_of_the_whole_population_is_the_prosecutor():
    sizes = np.array([1, 5, 19, 20, 1000])
    assert_array_equal(journalist(sizes, 1.0), prosecutor(sizes))
    counts, members = [np.array([[3, 1]])], [np.zeros(4, dtype=np.int32)]
    assert next(reidentification(counts, members, 4)).journalist.mean == 1 / 4
    assert next(reidentification(counts, members, 5)).journalist.mean < 1 / 4


# --- spreads and bins ---------------------------------------------------------------------------


def test_a_spread_by_hand():
    values = np.arange(101) / 100
    assert spread(values[::-1]) == pytest.approx(Spread(0.5, 0, 0.05, 0.25, 0.5, 0.75, 0.95, 1))
    assert spread(np.array([0.25])) == Spread(*[0.25] * 8)


@pytest.mark.parametrize(
    "size, lower, upper",
    [
        *[(0, 0, 0), (1, 1, 1), (2, 2, 4), (4, 2, 4), (5, 5, 9), (9, 5, 9), (10, 10, 19), (19, 10, 19)],
        *[(20, 20, 49), (49, 20, 49), (50, 50, 99), (99, 50, 99), (100, 100, 999), (999, 100, 999)],
        *[(1000, 1000, 9999), (9999, 1000, 9999), (10_000, 10_000, 99_999), (MOST, MOST, 10 * MOST - 1)],
    ],
)
def test_bins_at_their_bounds(size, lower, upper):
    assert binned(np.array([size, size]))[-1] == Bin(lower, upper, 1.0)


# --- membership ---------------------------------------------------------------------------------


@given(releases(least=2))
@quick
def test_the_membership_likelihood_is_the_share_of_a_join_that_is_made(release):
    counts, members, _, published = release
    rows, everything = rows_of_own(members, published)
    expected = [float(Fraction(own, everything)) if everything else 0.0 for own in rows]
    assert_allclose(likelihoods(counts, members), expected, rtol=1e-13)


def test_the_likelihoods_of_all_choices_sum_to_one():
    rng = np.random.default_rng(3)
    counts = [rng.integers(0, 9, (4, VALUES)) for _ in range(3)]
    choices = [column.ravel().astype(np.int32) for column in np.meshgrid(*[np.arange(4)] * 3)]
    assert likelihoods(counts, choices).sum() == pytest.approx(1)


def test_the_likelihood_survives_joins_beyond_any_number():
    counts, members = [np.array([[10**6, 5], [10**6, 5]])] * 60, [np.zeros(1, dtype=np.int32)] * 60
    assert likelihoods(counts, members)[0] == pytest.approx(0.5**60)


# --- the class ----------------------------------------------------------------------------------


def combined_by_definition(counts, members, classes):
    """Return every record's probabilities of class values, as fractions."""
    n = len(classes)
    prior = [
        sum(Fraction(int(fragment[:, c].sum()), n) for fragment in counts) / len(counts)
        for c in range(VALUES)
    ]
    for ecs in zip(*members, strict=True):
        held = [fragment[ec].tolist() for fragment, ec in zip(counts, ecs, strict=True)]
        weights = [
            prod(Fraction(row[c], sum(row)) for row in held) / prior[c] ** (len(held) - 1)
            if all(row[c] for row in held)
            else Fraction(0)
            for c in range(VALUES)
        ]
        yield [weight / sum(weights) for weight in weights] if any(weights) else prior


@given(releases(least=2))
@quick
def test_the_combination_is_the_product_of_shares_over_the_prior(release):
    counts, members, classes, _ = release
    found = list(combined_by_definition(counts, members, classes))
    revealed = class_revealed(counts, members, classes)[-1]
    largest = [max(each) for each in found]
    assert revealed.largest == pytest.approx(spread(np.array(largest, dtype=np.float64)))
    assert revealed.above_half == pytest.approx(np.mean([each > Fraction(1, 2) for each in largest]))
    assert revealed.above_nine_tenths == pytest.approx(np.mean([each > Fraction(9, 10) for each in largest]))
    assert revealed.certain == pytest.approx(np.mean([each == 1 for each in largest]))
    sure = [
        each.count(top) == 1 and each[c] == top for each, top, c in zip(found, largest, classes, strict=True)
    ]
    possible = [each[c] == top for each, top, c in zip(found, largest, classes, strict=True)]
    assert np.mean(sure) - 1e-12 <= revealed.right <= np.mean(possible) + 1e-12


@given(releases())
@quick
def test_the_best_fragment_is_the_one_that_is_right_most_often(release):
    counts, members, classes, _ = release
    _, best, *_ = class_revealed(counts, members, classes)
    chosen = best.fragment - 1
    alone = [
        class_revealed([held], [ecs], classes)[1].right for held, ecs in zip(counts, members, strict=True)
    ]
    if all(np.array_equal(held.sum(axis=0), counts[0].sum(axis=0)) for held in counts):  # one prior for all
        assert alone[chosen] == best.right == max(alone)
    shares = (counts[chosen] / counts[chosen].sum(axis=1, keepdims=True))[members[chosen]]
    assert best.largest == pytest.approx(spread(shares.max(axis=1)))


def test_fragments_that_are_sound_alone_reveal_a_class_together():
    classes = np.repeat(np.arange(3, dtype=np.int32), 4)
    members = [
        np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1], dtype=np.int32),
        np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0], dtype=np.int32),
    ]
    counts = [counted(ecs, classes) for ecs in members]
    prior, fragment, combination = class_revealed(counts, members, classes)
    assert prior.right == pytest.approx(1 / 3)
    assert (fragment.fragment, fragment.certain) == (1, 0.0)
    # {a4 b2} with {a4 c2} leaves a alone, and so on; {b2 c4} with {b4 c2} leaves b and c alike
    assert combination.certain == pytest.approx(8 / 12)
    assert combination.above_half == pytest.approx(8 / 12)


def test_equal_probabilities_are_not_above_a_half():
    counts = [np.array([[1, 1, 0]])] * 2
    revealed = class_revealed(counts, [np.zeros(2, dtype=np.int32)] * 2, np.array([0, 1]))
    assert [known.above_half for known in revealed] == [0, 0, 0]
    assert [known.largest.largest for known in revealed] == pytest.approx([1 / 2] * 3)


def test_of_equally_likely_values_the_more_frequent_is_named():
    counts = [np.array([[1, 1, 0], [0, 3, 1]])]
    members, classes = [np.array([0, 0, 1, 1, 1, 1])], np.array([0, 1, 1, 1, 1, 2])
    assert class_revealed(counts, members, classes)[1].right == pytest.approx(4 / 6)


def test_fragments_that_contradict_each_other_tell_nothing():
    counts = [np.array([[2, 0, 0]]), np.array([[0, 2, 0]])]
    members = [np.zeros(2, dtype=np.int32)] * 2
    assert_array_equal(published_prior(counts), [0.5, 0.5, 0])
    combination = class_revealed(counts, members, np.array([0, 1]))[-1]
    assert combination.largest.largest == pytest.approx(0.5)
    assert combination.certain == 0
    assert_array_equal(posterior(np.array([[-np.inf] * 3, [0, -np.inf, 0]])), [[0, 0, 0], [0.5, 0, 0.5]])


def test_a_class_value_that_no_fragment_publishes_is_never_named():
    counts, members = [np.array([[3, 0], [2, 0]])] * 2, [np.array([0, 0, 0, 1, 1])] * 2
    revealed = class_revealed(counts, members, np.array([0, 0, 0, 0, 1]))
    assert [known.certain for known in revealed] == [1, 1, 1]
    assert [known.right for known in revealed] == pytest.approx([4 / 5] * 3)


def test_many_fragments_do_not_lose_what_they_tell():
    counts, members = [np.array([[1, 999, 0], [999, 1, 0]])] * 400, [np.zeros(2, dtype=np.int32)] * 399
    members = [*members, np.array([0, 1], dtype=np.int32)]
    combination = class_revealed(counts, members, np.array([1, 1]))[-1]
    assert (combination.certain, combination.right) == (1, 1)


@given(releases(least=2))
@quick
def test_published_sets_are_all_that_tells_of_the_class_where_only_they_are_published(release):
    counts, members, classes, _ = release
    doubled = [held + (held > 0) * np.arange(VALUES) for held in counts]
    measured = [risks(held, members, classes, per_class=True) for held in (counts, doubled)]
    assert measured[0].revealed == measured[1].revealed
    assert measured[0].reidentification == risks(counts, members, classes).reidentification


def test_a_single_fragment_has_no_join_and_no_membership():
    measured = risks([np.array([[2, 1]])], [np.zeros(3, dtype=np.int32)], np.array([0, 0, 1]))
    assert measured.membership is None
    assert [known.knowledge for known in measured.revealed] == ["prior", "fragment"]
    assert [part.fragments for part in measured.reidentification] == [(1,)]
