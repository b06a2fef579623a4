from fractions import Fraction
from math import log

import pytest
import risk_oracles as oracle
from hypothesis import given, settings
from risk_oracles import record

# Fragment 1: EC 0 {a2 b1}, EC 1 {b2}. Fragment 2: EC 0 {a1 b1}, EC 1 {a1 b2}.
A, B = 0, 1
TABLE = [
    record((0, 0), A),
    record((0, 1), A),
    record((0, 0), B),
    record((1, 1), B),
    record((1, 1), B),
]


def test_candidates_in_a_fragment_are_its_ecs_records():
    assert oracle.candidates(TABLE, [0]) == [3, 3, 3, 2, 2]
    assert oracle.candidates(TABLE, [1]) == [2, 3, 2, 3, 3]


def test_candidates_in_a_join_are_rows_worked_out_by_hand():
    # (0, 0): 2*1 + 1*1; (0, 1): 2*1 + 1*2; (1, 1): 2*2
    assert oracle.candidates(TABLE, [0, 1]) == [3, 4, 3, 4, 4]
    assert len(oracle.join(TABLE, [0, 1])) == 3 + 4 + 4 + 2


def test_marketer_of_a_fragment_is_its_ecs_over_its_records():
    assert oracle.marketer(TABLE, [0]) == Fraction(2, 5)
    assert oracle.marketer(TABLE, [0, 1]) == (2 * Fraction(1, 3) + 3 * Fraction(1, 4)) / 5


def test_one_candidate_is_unique_and_none_is_no_risk():
    changed = [record((0, 0), A, (A, B)), record((1, 1), A)]
    assert oracle.candidates(changed, [0, 1]) == [0, 1]
    assert oracle.uniques(changed, [0, 1]) == 1
    assert oracle.prosecutor(changed, [0, 1]) == [0, 1]
    assert oracle.rightly_picked(changed, [0, 1]) == Fraction(1, 2)


def test_bins_reach_from_the_first_to_the_largest():
    assert oracle.bins([1, 9, 9]) == [(1, 1, Fraction(1, 3)), (2, 4, 0), (5, 9, Fraction(2, 3))]
    assert oracle.bins([0, 1]) == [(0, 0, Fraction(1, 2)), (1, 1, Fraction(1, 2))]


def test_a_changed_record_has_no_row_of_its_own_though_it_has_candidates():
    changed = [record((0, 0), A, (A, B)), record((0, 0), B)]
    assert oracle.candidates(changed, [0, 1]) == [2, 2]
    assert oracle.marketer(changed, [0, 1]) == Fraction(1, 2)
    assert oracle.rightly_picked(changed, [0, 1]) == Fraction(1, 4)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 10), Fraction(9, 10)])
def test_journalist_of_one_and_two_candidates_in_closed_form(share):
    # Benedetti and Franconi: f = 1: p/(1-p) (-log p); f = 2: p/(1-p)^2 (p log p + 1 - p)
    p, q = float(share), float(1 - share)
    assert float(oracle.journalist(1, share)) == pytest.approx(-p / q * log(p), rel=1e-10)
    assert float(oracle.journalist(2, share)) == pytest.approx(p / q**2 * (p * log(p) + q), rel=1e-10)


def test_journalist_where_all_are_sampled_is_the_prosecutor():
    assert oracle.journalist(7, Fraction(1)) * 7 == pytest.approx(1)


def test_membership_by_hand_adds_up_over_the_choices_of_ecs():
    assert oracle.membership(TABLE) == [Fraction(n, 13) for n in (3, 4, 3, 4, 4)]
    assert oracle.membership([record((0, 0), A, (A, B))]) == [None]


def test_posterior_by_hand():
    # shares (2/3, 1/3) and (1/2, 1/2), prior (2/5, 3/5): (2/3)(1/2)/(2/5) = 5/6, (1/3)(1/2)/(3/5) = 5/18
    found = oracle.posteriors(TABLE, [0, 1])
    assert found[0] == {A: Fraction(3, 4), B: Fraction(1, 4)}
    assert found[3] == {B: 1}
    assert oracle.share_certain(found) == Fraction(2, 5)
    # (2/3)(1/3)/(2/5) = 5/9 and (1/3)(2/3)/(3/5) = 10/27: a is likelier, as it is for (0, 0)
    assert found[1] == {A: Fraction(3, 5), B: Fraction(2, 5)}
    assert oracle.share_right(TABLE, found, oracle.prior(TABLE)) == Fraction(4, 5)
    assert oracle.share_above(found, Fraction(3, 4)) == Fraction(2, 5)


def test_posterior_from_sets_by_hand():
    # {a, b} and {b}: b for certain; {a, b} twice: (1/4)/(2/5) against (1/4)/(3/5)
    sets = [{0: {A, B}, 1: {B}}, {0: {A, B}, 1: {A, B}}]
    found = oracle.posteriors(TABLE, [0, 1], sets)
    assert found[0] == {A: Fraction(3, 5), B: Fraction(2, 5)}
    assert found[3] == {B: 1}


def test_the_published_prior_is_the_mean_of_the_fragments():
    changed = [record((0, 0), A, (A, B)), record((0, 0), A)]
    assert oracle.published_prior(changed) == {A: Fraction(3, 4), B: Fraction(1, 4)}


def test_a_guess_among_equals_is_the_more_frequent_then_the_first():
    half = {A: Fraction(1, 2), B: Fraction(1, 2)}
    assert oracle.guess(half, oracle.prior(TABLE)) == B
    assert oracle.guess(half, half) == A


def test_a_posterior_that_nothing_supports_is_none():
    assert oracle.posterior([{A: Fraction(1)}, {B: Fraction(1)}], oracle.prior(TABLE)) is None


@settings(max_examples=40, deadline=None)
@given(oracle.tables(changed=False))
def test_the_formula_is_what_drawing_rows_gives(records):
    everything = range(len(records[0].ecs))
    found = oracle.posteriors(records, everything)
    assert found == [oracle.posterior_by_rows(records, r.ecs) for r in records]
