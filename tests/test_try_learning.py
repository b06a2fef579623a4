"""What can be learnt from a release is tried with records that are kept out of it."""

import duckdb
import pytest
from test_release import settings
from test_trial import loaded

from flows.release import release
from tasks.read_config import parse_config
from tasks.reports.report_trials import best_form, read_learning
from tasks.try_learning import try_learning


@pytest.fixture
def tried(tmp_path, small_table):
    def run(**sections):
        store, config = loaded(tmp_path, small_table, **sections)
        number = try_learning.function(store, config)
        assert [path.name for path in store.parent.iterdir()] == [store.name]
        with duckdb.connect(store, read_only=True) as connection:
            return number, read_learning(connection)

    return run


def test_learners_are_compared_with_one_table_the_table_itself_and_the_majority(tried):
    number, learning = tried(evaluation={"learners": ["tree", "neighbours"], "test_share": 0.25})
    assert number == 2 * (3 + 3 + 1) + 1
    assert (learning.trained, learning.tested) == (300, 100)
    assert [result.learner for result in learning.results] == ["tree", "neighbours"]
    for result in learning.results:
        measures = (*result.fragmented, *result.unfragmented, result.raw, learning.majority)
        assert all(0 < measure < 1 for measure in measures)


def test_one_fragment_is_not_compared_with_itself(tried):
    number, learning = tried(evaluation={"learners": ["tree"]}, fragmentation={"fragments": 1})
    assert number == 3 + 1 + 1
    assert learning.results[0].unfragmented == (None,) * 3


def test_nothing_is_tried_where_no_learner_is_asked_for(tried):
    assert tried() == (0, None)


def test_a_trial_that_is_not_feasible_does_not_stop_the_release(tried):
    evaluation = {"learners": ["tree"], "test_share": 0.9}
    _, learning = tried(evaluation=evaluation, privacy={"k": 50})
    assert (learning.trained, learning.tested) == (40, 360)
    assert learning.results[0].fragmented == learning.results[0].unfragmented == (None,) * 3
    assert best_form(learning.results[0].fragmented) is None
    assert learning.results[0].raw > 0


def test_a_failure_does_not_stop_the_release_and_is_not_hidden(tried, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("value Zanzibar4711")

    monkeypatch.setattr("tasks.try_learning.learnt_exactly", fail)
    number, learning = tried(evaluation={"learners": ["tree", "forest"]}, fragmentation={"fragments": 1})
    assert (number, learning.failure) == (2, "ZeroDivisionError")
    assert (learning.majority, learning.results) == (None, ())


def test_a_release_whose_learning_failed_is_published_and_says_so(tmp_path, small_table, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("value Zanzibar4711")

    monkeypatch.setattr("tasks.try_learning.learnt_exactly", fail)
    asked = settings(tmp_path, small_table)
    asked["fragmentation"] = {"fragments": 1}
    folder = release.fn(parse_config({**asked, "evaluation": {"learners": ["tree"]}}))
    page = (folder / "report.html").read_text()
    assert "could not be tried: learning failed (ZeroDivisionError)" in page
    assert "Zanzibar4711" not in page
    assert "f_measure" not in (folder / "release.json").read_text()


def test_f_measures_have_three_digits(tried):
    _, learning = tried(evaluation={"learners": ["tree"]}, fragmentation={"fragments": 1})
    (result,) = learning.results
    for f in (*result.fragmented, result.raw, learning.majority):
        assert f == round(f, 3)


def test_a_large_table_is_sampled(tried, monkeypatch):
    monkeypatch.setattr("tasks.trials.trial.RECORDS", 200)
    _, learning = tried(evaluation={"learners": ["tree"]})
    assert (learning.trained, learning.tested) == (140, 60)


def test_the_best_form_counts():
    assert best_form((0.5, 0.7, 0.6)) == 0.7
    assert best_form((0.5, None)) == 0.5
    assert best_form((None, None)) is None
