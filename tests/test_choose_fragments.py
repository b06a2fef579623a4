"""How many fragments: the best of what was tried, as much of it as there was time for."""

import json
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_release import settings
from test_trial import loaded

from flows.audit import audit
from flows.release import release
from tasks import choose_fragments as module
from tasks.choose_fragments import FOLDS, choose_fragments, score_of
from tasks.errors import InfeasibleError
from tasks.events import listening
from tasks.read_config import parse_config
from tasks.trials.number_trials import Attempt, Candidate, best_number, order_of_trials, try_numbers
from tasks.trials.trial import Trial


class Clock:
    """Time that passes only while something is tried."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def attempts(clock, scores, seconds=lambda _number, _fold: 1.0):
    """Return what tries a number, by its scores per fold, and the list of what it tried."""
    tried = []

    def attempt(number, fold):
        tried.append((number, fold))
        clock.now += seconds(number, fold)
        score = scores(number, fold)
        return Attempt(None, reason="too few") if score is None else Attempt(score, 0.5, 0.1)

    return attempt, tried


def trial(fragments, loss=0.2, changed=0.1, **f_measures):
    reached = {("tree", form): f for form, f in f_measures.items()}
    return Trial(fragments, loss, changed, 4, reached, {})


def stored(store):
    with duckdb.connect(store, read_only=True) as connection:
        names = [name for name, *_ in connection.execute("DESCRIBE fragment_trials").fetchall()]
        rows = connection.execute("SELECT * FROM fragment_trials ORDER BY fragments").fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("most", range(1, 20))
def test_every_number_is_tried_once_and_the_telling_ones_first(most):
    order = order_of_trials(most)
    assert sorted(order) == list(range(1, most + 1))
    assert order[:4] == [number for number in (1, 2, 4, 3) if number <= most]


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=9))
def test_with_time_enough_the_best_of_all_folds_is_chosen(scores):
    clock = Clock()
    attempt, tried = attempts(clock, lambda number, fold: scores[number - 1][fold])
    candidates = try_numbers(len(scores), 3, attempt, 1e9, clock)
    assert sorted(tried) == [(number, fold) for number in range(1, len(scores) + 1) for fold in range(3)]
    means = [sum(of) / 3 for of in scores]
    assert [each.score for each in candidates] == pytest.approx(means)
    best = max(range(len(scores)), key=lambda place: candidates[place].score)
    error = (sum((score - means[best]) ** 2 for score in scores[best]) / 2 / 3) ** 0.5
    assert candidates[best].error == pytest.approx(error)
    near = [
        each.fragments for each in candidates if each.score >= candidates[best].score - candidates[best].error
    ]
    assert best_number(candidates) == min(near)


@given(
    st.lists(st.floats(0.1, 5), min_size=1, max_size=9),
    st.floats(0, 100),
    st.lists(st.booleans(), min_size=9, max_size=9),
)
def test_no_trial_starts_that_is_predicted_to_end_too_late(seconds, budget, feasible):
    clock = Clock()
    longest = [0.0]

    def lasting(number, fold):
        left = 1000.0 + budget - clock.now
        predicted = max(longest) if fold == 0 else seconds[number - 1]
        assert predicted <= left + 1e-9 or clock.now == 1000.0
        longest.append(seconds[number - 1])
        return seconds[number - 1]

    attempt, tried = attempts(clock, lambda number, _fold: 0.5 if feasible[number - 1] else None, lasting)
    candidates = try_numbers(len(seconds), 3, attempt, clock.now + budget, clock)
    assert tried[0] == (1, 0)
    assert [each.fragments for each in candidates] == list(range(1, len(seconds) + 1))
    first = [number for number, fold in tried if fold == 0]
    assert first == order_of_trials(len(seconds))[: len(first)]
    for each in candidates:
        assert (each.folds > 0) == (each.fragments in first)
        assert (each.reason is None) == (feasible[each.fragments - 1] or not each.folds)
        assert each.reason is None or tried.count((each.fragments, 1)) == 0
    assert len({each.folds for each in candidates if each.folds and each.reason is None}) <= 1


def test_a_fold_counts_only_when_all_candidates_were_tried_on_it():
    clock = Clock()
    scores = {1: (0.5, 0.9), 2: (0.6, 0.1)}
    attempt, tried = attempts(
        clock, lambda number, fold: scores[number][fold], lambda number, fold: 1 + 4 * fold * number
    )
    candidates = try_numbers(2, 3, attempt, clock.now + 7.5, clock)
    assert tried == [
        (1, 0),
        (2, 0),
        (1, 1),
    ]  # which lasted 5 instead of 1, and the rest would end at 8 seconds
    assert [each.folds for each in candidates] == [1, 1]
    assert best_number(candidates) == 2


def test_a_tie_within_the_error_goes_to_fewer_fragments():
    def candidate(fragments, score, error=None, reason=None):
        return Candidate(fragments, 3, score, error, 0.2, 0.1, 1.0, reason)

    assert best_number([candidate(1, 0.70, 0.1), candidate(2, 0.80, 0.11)]) == 1
    assert best_number([candidate(1, 0.70, 0.2), candidate(2, 0.80, 0.09)]) == 2
    assert best_number([candidate(1, 0.80), candidate(2, 0.80)]) == 1
    assert best_number([candidate(1, 0.9, reason="no"), candidate(2, 0.8)]) == 2
    assert best_number([candidate(1, None, reason="no")]) is None


@pytest.mark.parametrize("folds", [1, 2, 3])
def test_the_error_is_at_least_that_of_a_share_of_the_tested_records(folds):
    def found(*scores, tested):
        clock = Clock()
        (candidate,) = try_numbers(
            1, folds, lambda _number, fold: Attempt(scores[fold], tested=tested), 1e9, clock
        )
        return candidate.error

    assert found(*[0.8] * 3, tested=100) == pytest.approx((0.8 * 0.2 / (100 * folds)) ** 0.5)
    assert found(*[1.0] * 3, tested=100) == 0
    assert found(*[0.8] * 3, tested=0) == (None if folds == 1 else pytest.approx(0))
    if folds > 1:
        assert found(0.5, 0.9, 0.7, tested=1000) > 0.1


def test_of_numbers_that_differ_by_noise_the_lowest_is_chosen_on_one_fold():
    clock = Clock()

    def attempt(number, _fold):
        return Attempt([0.78, 0.80, 0.75][number - 1], tested=400)  # one error is 0.02

    assert best_number(try_numbers(3, 1, attempt, 1e9, clock)) == 1
    assert best_number(try_numbers(3, 1, lambda *by: attempt(*by)._replace(tested=450), 1e9, clock)) == 2


def test_a_trial_is_judged_by_what_is_learnt_else_by_what_is_lost():
    learnt = trial(2, bounds=0.6, midpoints=0.7, spread=0.65)
    learnt.f_measures["neighbours", "bounds"] = 0.9
    assert score_of(learnt) == pytest.approx(0.8)
    assert score_of(trial(2, loss=0.25, changed=0.125)) == -0.375


@pytest.fixture
def automatic(tmp_path, small_table):
    def load(**fragmentation):
        asked = {"fragments": "auto", "max_fragments": 4, **fragmentation}
        return loaded(tmp_path, small_table, fragmentation=asked)

    return load


def scripted(monkeypatch, outcome, holds=lambda _number: True):
    """Replace trials and the check of joins; return each one's number, store, tested records and learners."""
    heard = []

    def try_release(_store, prepared, config, held, learners):
        heard.append((config.fragments, prepared.parent.name, len(held.test), tuple(learners)))
        return outcome(config.fragments)

    monkeypatch.setattr(module, "try_release", try_release)
    monkeypatch.setattr(module, "promise_holds", lambda _store, config: holds(config.fragments))
    return heard


def test_the_best_number_goes_on_and_the_curve_is_kept(automatic, monkeypatch):
    store, config = automatic()
    heard = scripted(monkeypatch, lambda number: trial(number, bounds=[0.5, 0.7, 0.9, 0.6][number - 1]))
    assert choose_fragments.function(store, config) == 3
    rows = stored(store)
    assert [row["score"] for row in rows] == pytest.approx([0.5, 0.7, 0.9, 0.6])
    assert [row["chosen"] for row in rows] == [False, False, True, False]
    assert {(row["folds"], row["objective"], row["records"]) for row in rows} == {(FOLDS, "f_measure", 400)}
    assert [call[:2] for call in heard[:5]] == [
        (1, "fold_0"),
        (2, "fold_0"),
        (4, "fold_0"),
        (3, "fold_0"),
        (1, "fold_1"),
    ]
    assert all(130 < tested < 137 for *_, tested, _ in heard)
    assert {learners for *_, learners in heard} == {("tree", "neighbours")}
    assert [path.name for path in store.parent.iterdir()] == [store.name]


def test_a_number_that_is_given_is_not_tried(automatic, monkeypatch):
    store, config = automatic(fragments=2)
    heard = scripted(monkeypatch, trial)
    assert choose_fragments.function(store, config) == config.fragments
    assert (heard, stored(store)) == ([], [])


def test_there_are_no_more_fragments_than_features(automatic, monkeypatch):
    store, config = automatic(max_fragments=30, objective="information_loss")
    heard = scripted(monkeypatch, lambda number: trial(number, loss=1 / number))
    assert choose_fragments.function(store, config) == 6
    assert {number for number, *_ in heard} == set(range(1, 7))
    assert {learners for *_, learners in heard} == {()}


def test_of_large_folds_a_sample_is_tested(automatic, monkeypatch):
    store, config = automatic(max_fragments=1)
    monkeypatch.setattr(module, "TESTED", 50)
    heard = scripted(monkeypatch, trial)
    choose_fragments.function(store, config)
    assert [tested for *_, tested, _ in heard] == [50] * FOLDS


def test_infeasible_numbers_are_skipped_and_shown(automatic, monkeypatch):
    store, config = automatic()

    def outcome(number):
        if number != 2:
            raise InfeasibleError(f"{number} is not feasible")
        return trial(number)

    heard = scripted(monkeypatch, outcome)
    assert choose_fragments.function(store, config) == 2
    assert len(heard) == 4 + 1 + 1
    assert [row["reason"] for row in stored(store)] == [
        "1 is not feasible",
        None,
        "3 is not feasible",
        "4 is not feasible",
    ]


@pytest.mark.parametrize("limit", ["max_information_loss", "max_changed_class_values"])
def test_numbers_beyond_the_limits_are_not_chosen(tmp_path, small_table, monkeypatch, limit):
    fragmentation = {"fragments": "auto", "max_fragments": 3}
    store, config = loaded(tmp_path, small_table, fragmentation=fragmentation, limits={limit: 0.5})
    field = {"max_information_loss": "loss", "max_changed_class_values": "changed"}[limit]

    def outcome(number):
        cost = {field: {1: 0.500001, 2: 0.5, 3: 0.6}[number]}
        return trial(number, **cost, bounds=0.9 if number != 2 else 0.1)

    scripted(monkeypatch, outcome)
    assert choose_fragments.function(store, config) == 2
    assert [limit in str(row["reason"]) for row in stored(store)] == [True, False, True]


@pytest.mark.parametrize("answer, words", [(False, "does not hold"), (None, "too many joins")])
def test_numbers_whose_joins_do_not_keep_the_promise_are_not_chosen(automatic, monkeypatch, answer, words):
    store, config = automatic(max_fragments=2)
    scripted(
        monkeypatch,
        lambda number: trial(number, bounds=number / 4),
        lambda number: True if number == 1 else answer,
    )
    assert choose_fragments.function(store, config) == 1
    assert words in stored(store)[1]["reason"]


def test_without_enforcement_only_a_number_that_the_gate_lets_pass_is_chosen(tmp_path, small_table):
    fragmentation = {"fragments": "auto", "max_fragments": 2, "objective": "information_loss"}
    privacy = {"enforcement": "none"}
    store, config = loaded(tmp_path, small_table, fragmentation=fragmentation, privacy=privacy)
    assert choose_fragments.function(store, config) == 1
    assert "does not hold" in stored(store)[1]["reason"]


def test_preparing_a_fold_does_not_count_as_a_slow_trial(automatic, monkeypatch):
    store, config = automatic(time_budget=20)
    clock = Clock()
    prepare = module.prepare_trial

    def slowly(*by):
        clock.now += 10
        return prepare(*by)

    def outcome(number):
        clock.now += 1
        return trial(number, bounds=0.5)

    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=clock))
    monkeypatch.setattr(module, "prepare_trial", slowly)
    scripted(monkeypatch, outcome)
    choose_fragments.function(store, config)
    rows = stored(store)
    assert [row["seconds"] for row in rows[1:]] == [1, 1, 1]
    assert [row["folds"] for row in rows] == [1] * 4


def test_refusals_speak_of_the_training_records(automatic):
    store, config = automatic()
    config = config.model_copy(update={"privacy": config.privacy.model_copy(update={"k": 300})})
    with pytest.raises(InfeasibleError, match=r"the table of training records has 26\d records"):
        choose_fragments.function(store, config)


def test_if_nothing_is_feasible_the_reason_of_one_fragment_is_told(automatic, monkeypatch):
    store, config = automatic()

    def outcome(number):
        raise InfeasibleError(f"{number} is not feasible")

    scripted(monkeypatch, outcome)
    with pytest.raises(InfeasibleError, match=r"no number that was tried .* testing: 1 is not feasible"):
        choose_fragments.function(store, config)
    assert [path.name for path in store.parent.iterdir()] == [store.name]


def test_listeners_hear_how_far_the_trials_are(automatic, monkeypatch):
    store, config = automatic(max_fragments=2)
    scripted(monkeypatch, trial)
    shares = []
    with listening(lambda event: shares.append(event.share) if event.kind == "progress" else None):
        choose_fragments(store, config)
    assert shares == pytest.approx(np.arange(1, 7) / 6)


def test_a_release_chooses_its_number_and_tells_what_can_be_learnt(tmp_path, small_table):
    asked = settings(tmp_path, small_table)
    asked["fragmentation"] = {"fragments": "auto", "max_fragments": 2}
    asked["evaluation"] = {"learners": ["tree", "neighbours"]}
    asked["run"]["keep_workspace"] = True
    folder = release.fn(parse_config(asked))
    assert audit(folder).success
    manifest = json.loads((folder / "release.json").read_text())
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    rows = stored(store)
    (chosen,) = (row["fragments"] for row in rows if row["chosen"])
    assert len(manifest["fragments"]) == chosen
    with duckdb.connect(store, read_only=True) as connection:
        learnt = connection.execute(
            "SELECT learner, max(f_measure) FROM evaluation WHERE release = 'fragmented' GROUP BY learner"
        ).fetchall()
    for learner, f_measure in learnt:
        assert manifest["measures"][f"f_measure_{learner}"] == f_measure == round(f_measure, 3)
    assert len(learnt) == 2
    assert manifest["trials_of_fragments"] == {"chosen": chosen, "up_to": 2, "untried": []}
    page = (folder / "report.html").read_text()
    assert "also helped to choose the number of fragments" in page
    assert f"{rows[0]['score']:.3f}" in page
    assert "120 of 400" in page
    assert not [path.name for path in store.parent.iterdir() if path.is_dir()]
