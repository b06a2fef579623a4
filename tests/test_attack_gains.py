"""Whether attacks gained: facts where nothing was drawn, else judged by who differs, all together."""

import numpy as np
import pytest
import rate_oracles
from hypothesis import given
from hypothesis import strategies as st

from validations.attacks.gains import holm, sign_test, verdicts
from validations.attacks.success import attack

CLASS, POSITION = ("inference", "class"), ("position", "all fragments")
LINKED, ISOLATED = ("linkage", "fragments 1 and 2"), ("class_join", "isolated")


def made_up(about, only_with, only_without, attempts=569):
    """Return an attack that both ways succeed for 100 others."""
    place = np.arange(attempts)
    alone = place < only_with
    otherwise = (place >= only_with) & (place < only_with + only_without)
    return attack(*about, alone | (place >= attempts - 100), otherwise | (place >= attempts - 100))


def gained(*attacks, every_record=False):
    return [verdict.gained for verdict in verdicts(attacks, every_record=every_record)]


@given(st.integers(0, 6), st.integers(0, 6))
def test_the_sign_test_counts_the_ways_that_coins_can_fall(more, fewer):
    assert sign_test(more, fewer) == pytest.approx(float(rate_oracles.sign_test(more, fewer)))


def test_the_sign_test_of_many_targets_stays_within_its_bounds():
    assert 0 <= sign_test(90_000, 10_000) < 1e-300
    assert sign_test(10_000, 90_000) == pytest.approx(1)
    assert sign_test(18, 0) == pytest.approx(2**-18)


@given(st.lists(st.sampled_from([0.0, 0.004, 0.01, 0.0125, 0.02, 0.025, 0.05, 0.06, 1.0]), max_size=7))
def test_holms_tests_are_the_closed_tests(chances):
    assert holm(chances, 0.05) == rate_oracles.closed_tests(chances, 0.05)


def test_a_gain_for_few_targets_is_not_hidden_by_those_for_whom_both_ways_succeed():
    place = np.arange(569)
    guessed = attack("inference", "class", place < 508, place < 490)
    assert guessed.excess_low == 0  # of independent rates the gain could be chance
    assert gained(guessed) == gained(guessed, every_record=True) == [True]


@pytest.mark.parametrize(("only_with", "expected"), [(0, False), (4, False), (5, True), (6, True)])
def test_of_drawn_targets_five_are_enough_if_no_other_attack_is_tried(only_with, expected):
    assert gained(made_up(CLASS, only_with, 0)) == [expected]


@pytest.mark.parametrize(("others", "expected"), [(0, True), (1, False), (5, False)])
def test_more_attacks_ask_for_more(others, expected):
    found = gained(made_up(CLASS, 5, 0), *[made_up(LINKED, 30, 30)] * others)
    assert found == [expected, *[False] * others]


@pytest.mark.parametrize(
    ("only_with", "only_without", "expected"), [(0, 0, False), (1, 0, True), (2, 2, False), (1, 2, False)]
)
def test_where_every_record_is_aimed_at_any_difference_is_a_fact(only_with, only_without, expected):
    found = verdicts([made_up(CLASS, only_with, only_without)], every_record=True)
    assert found == ((None, expected),)


@pytest.mark.parametrize("about", [POSITION, LINKED])
def test_attacks_that_draw_lines_leave_something_to_chance_all_the_same(about):
    (slight,) = verdicts([made_up(about, 33, 25)], every_record=True)
    assert slight.by_chance == pytest.approx(0.179, abs=0.001)
    assert not slight.gained
    assert gained(made_up(about, 60, 25), every_record=True) == [True]


def test_facts_do_not_ask_more_of_what_is_left_to_chance():
    facts = [made_up(CLASS, 1, 0)] * 9
    assert gained(*facts, made_up(POSITION, 5, 0), every_record=True) == [True] * 10


def isolated(count):
    return attack(*ISOLATED, np.arange(40) < count, np.zeros(40, dtype=np.bool_))


@pytest.mark.parametrize("every_record", [False, True])
def test_one_who_is_isolated_is_enough(every_record):
    assert gained(isolated(1), isolated(0), every_record=every_record) == [True, False]


def test_a_sensitive_attribute_may_have_any_name():
    assert gained(made_up(("inference", "isolated"), 1, 0)) == [False]


def test_sound_releases_are_seldom_said_to_lose_anything():
    """Of 400 releases with 12 attacks that gain nothing one in twenty may be said to, and no more."""
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(400):
        attacks = [attack(*LINKED, *(rng.random((2, 200)) < 0.3)) for _ in range(12)]
        wrong += any(gained(*attacks, every_record=True))
    assert wrong <= 20
