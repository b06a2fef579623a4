"""The experiments flow: what was found is kept, whatever happens, and found again where it still holds."""

import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
import small_experiments
from small_experiments import end_at_100, experiments, made_up, pretend
from test_steps_map import gone, until

import flows.evaluate
import tasks.experiments.results
from flows.cli import app
from tasks.errors import ConfigurationError, InputError, StepError
from tasks.experiments.data_tables import WORK
from tasks.experiments.experiment_page import FIGURES, PAGE
from tasks.experiments.results import RESULTS
from tasks.failures import ERROR_LOG
from tasks.program import source_digest
from tasks.steps import step

POINTS = 2 * 7  # seeds x (10 features, then 6 k with all 12)
FIGURES_EACH = 7 * 2 * 10


def counted(stop_after=None):
    """Return a step that runs points, and the list of those that it ran."""
    points = []

    @step("run the points")
    def run(store, point, tables):
        assert stat.S_IMODE((store.parent / WORK).stat().st_mode) == 0o700
        assert (store.parent / WORK / f"{point.data}.parquet").exists()
        if len(points) == stop_after:
            raise KeyboardInterrupt
        points.append(point)
        return pretend.function(store, point, tables)

    return run, points


def rows(folder, query):
    with duckdb.connect(folder / RESULTS, read_only=True) as connection:
        return connection.execute(query).fetchall()


def contents(folder):
    """Return all that was found, in an order of its own."""
    figures = rows(folder, "SELECT * FROM figures ORDER BY ALL")
    return figures, rows(folder, "SELECT * FROM levels ORDER BY ALL"), rows(folder, PLACES)


PLACES = "SELECT data, seed, features, k, settings FROM runs ORDER BY ALL"


def test_every_point_is_run_once_and_kept(tmp_path):
    run, points = counted()
    (overview,) = experiments(tmp_path, run=run)
    assert (overview.data, overview.points, overview.features) == ("made_up", POINTS, (10, 12))
    figures, levels, runs = contents(tmp_path)
    assert (len(figures), len(levels), len(runs)) == (POINTS * FIGURES_EACH, POINTS, POINTS)
    assert len(set(points)) == POINTS
    assert {(*point,) for point in points} == {row[:4] for row in runs}
    assert not (tmp_path / WORK).exists()


def test_what_was_found_is_not_run_again_and_more_is_added(tmp_path):
    experiments(tmp_path, seeds=1)
    run, points = counted()
    experiments(tmp_path, seeds=2, run=run)
    assert {point.seed for point in points} == {2}
    again, points = counted()
    experiments(tmp_path, seeds=2, run=again)
    assert points == []


def test_an_interruption_loses_the_running_point_alone(tmp_path):
    stopped, _ = counted(stop_after=5)
    with pytest.raises(KeyboardInterrupt):
        experiments(tmp_path / "stopped", run=stopped)
    assert not (tmp_path / "stopped" / WORK).exists()
    resumed, points = counted()
    experiments(tmp_path / "stopped", run=resumed)
    assert len(points) == POINTS - 5
    experiments(tmp_path / "whole")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


def test_a_kill_loses_the_running_points_alone_and_leaves_no_process(tmp_path):
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    killed = subprocess.Popen([sys.executable, small_experiments.__file__, str(folder)])
    until(lambda: len(list(folder.glob("works-*"))) == 2)
    workers = [int(path.name.partition("-")[2]) for path in folder.glob("works-*")]
    log = folder / f"{RESULTS}.wal"
    until(lambda: log.stat().st_size > FIGURES_EACH * 50)  # bytes: a point is kept
    killed.kill()
    killed.wait()
    until(lambda: all(map(gone, workers)))
    assert (folder / WORK / "made_up.parquet").exists()
    (folder / WORK / "point-left").mkdir()
    resumed, points = counted()
    experiments(folder, run=resumed)
    assert POINTS // 2 <= len(points) < POINTS
    experiments(whole)
    assert contents(folder) == contents(whole)
    assert not (folder / WORK).exists()


@pytest.mark.parametrize("changed", ["data", "classes", "version", "program", "library", "learners"])
def test_other_data_or_settings_are_run_again_and_replace_what_was_found(tmp_path, monkeypatch, changed):
    experiments(tmp_path, seeds=1)
    old = contents(tmp_path)
    data = made_up()
    if changed == "data":
        data.values[0, 0] += 1
    elif changed == "classes":
        data.classes[0] = {"one": "two"}.get(data.classes[0], "one")
    elif changed == "version":
        monkeypatch.setattr(tasks.experiments.results, "__version__", "0.0.0")
    elif changed == "program":
        monkeypatch.setattr(tasks.experiments.results, "program_digest", lambda: "other")
    elif changed == "library":
        monkeypatch.setattr(tasks.experiments.results, "version", lambda _: "0.0.0")
    else:
        monkeypatch.setattr(tasks.experiments.results, "LEARNERS", ("forest",))
    run, points = counted()
    experiments(tmp_path, seeds=1, run=run, load=lambda *_: data)
    assert len(points) == POINTS // 2
    figures, levels, runs = contents(tmp_path)
    assert (figures, levels) == old[:2]
    assert {row[-1] for row in runs}.isdisjoint(row[-1] for row in old[2])


def test_the_digest_of_the_program_is_of_every_name_and_every_byte(tmp_path):
    (tmp_path / "part").mkdir()
    first, second = tmp_path / "one.py", tmp_path / "part" / "two.py"
    first.write_text("x = 1")
    second.write_text("y = 2")
    found = [source_digest(tmp_path)]
    (tmp_path / "notes.txt").write_text("no source")
    assert source_digest(tmp_path) == found[0]
    second.write_text("y = 3")
    found.append(source_digest(tmp_path))
    second.rename(tmp_path / "part" / "three.py")
    found.append(source_digest(tmp_path))
    first.unlink()
    found.append(source_digest(tmp_path))
    assert len(set(found)) == 4


def test_figures_of_other_points_are_kept_but_not_shown(tmp_path):
    shown = []
    experiments(tmp_path, ("made_up", "other"), seeds=1)
    run, points = counted()
    experiments(tmp_path, ("other",), seeds=1, run=run, quick=True, page=lambda *found: shown.append(found))
    ((figures, levels, folder, missing),) = shown
    assert points == []
    assert {point[:1] + point[2:] for point, _ in levels} == {("other", 10, 40)} | {
        ("other", 12, k) for k in (20, 40, 100)
    }
    assert len(figures) == 4 * FIGURES_EACH
    assert (folder, missing) == (tmp_path, 0)
    assert len(rows(tmp_path, "FROM runs")) == 2 * POINTS // 2


@step("run the points")
def fail_at_60(store, point, tables):
    if point.k == 60:
        raise ZeroDivisionError("value 4711")
    return pretend.function(store, point, tables)


def test_a_point_that_fails_costs_no_other_one_and_is_tried_again(tmp_path):
    shown = []
    with pytest.raises(StepError, match=f"2 of {POINTS} points failed") as failed:
        experiments(tmp_path, run=fail_at_60, page=lambda *found: shown.append(found))
    assert "4711" not in str(failed.value)
    assert "in the page: run the points: failed (ZeroDivisionError) (2). Details" in str(failed.value)
    assert str(tmp_path / ERROR_LOG) in str(failed.value)
    log = (tmp_path / ERROR_LOG).read_text()
    assert "4711" in log
    assert "made_up, seed 2, 12 features, k = 60: run the points: failed (ZeroDivisionError)" in log
    ((_, levels, _, missing),) = shown
    assert (len(levels), missing) == (POINTS - 2, 2)
    assert not (tmp_path / WORK).exists()
    again, points = counted()
    (overview,) = experiments(tmp_path, run=again)
    assert {point.k for point in points} == {60}
    assert overview.points == POINTS


def test_what_an_earlier_program_found_stands_in_for_no_point_that_failed(tmp_path, monkeypatch):
    shown = []
    with monkeypatch.context() as patched:
        patched.setattr(tasks.experiments.results, "program_digest", lambda: "earlier")
        experiments(tmp_path)
    with pytest.raises(StepError):
        experiments(tmp_path, run=fail_at_60, page=lambda *found: shown.append(found))
    ((figures, levels, _, _),) = shown
    assert {60} & {found.point.k for found in (*figures, *levels)} == set()


def test_a_point_that_ends_its_process_costs_no_other_one(tmp_path):
    with pytest.raises(StepError, match="1 of 4 points failed"):
        experiments(tmp_path, seeds=1, run=end_at_100, cores=2, quick=True)
    log = (tmp_path / ERROR_LOG).read_text()
    assert log.startswith("made_up, seed 1, 12 features, k = 100: run the points: a worker process died")
    assert len(rows(tmp_path, "FROM runs")) == 3


def test_no_point_at_all_still_ends_with_a_page(tmp_path):
    @step("run the points")
    def fail(store, point, tables):
        raise ZeroDivisionError

    shown = []
    with pytest.raises(StepError, match=f"{POINTS} of {POINTS} points failed"):
        experiments(tmp_path, run=fail, page=lambda *found: shown.append(found))
    assert shown == [([], [], tmp_path, POINTS)]


FULL = "No space left on device"


@pytest.mark.parametrize(
    "error, reason",
    [
        (duckdb.IOException(f'IO Error: Could not write file "value 4711": {FULL}'), FULL),
        (OSError(28, FULL, "value 4711"), FULL),
        (duckdb.FatalException("value 4711"), "FatalException"),
    ],
)
@pytest.mark.parametrize("log_kept", [True, False])
def test_results_that_cannot_be_kept_are_told_in_one_line(tmp_path, monkeypatch, error, reason, log_kept):
    def fail(*_):
        raise error

    monkeypatch.setattr(flows.evaluate, "keep_run", fail)
    (tmp_path / ERROR_LOG).touch() if log_kept else (tmp_path / ERROR_LOG).mkdir()
    run, points = counted()
    with pytest.raises(StepError) as failed:
        experiments(tmp_path, run=run)
    log = tmp_path / ERROR_LOG
    details = "details, which may hold data, are in" if log_kept else "details could not be kept in"
    assert str(failed.value).startswith(f"keep the results: failed ({reason}); {details} {log}")
    assert failed.value.__cause__ is None
    assert len(points) == 1
    assert not log_kept or "4711" in log.read_text()
    assert not (tmp_path / WORK).exists()


def test_data_that_cannot_be_had_stops_before_any_work(tmp_path):
    def absent(name, files):
        raise InputError(f"{name}: not in {files}")

    run, points = counted()
    with pytest.raises(InputError, match="made_up: not in downloads"):
        experiments(tmp_path, run=run, load=absent, files=Path("downloads"))
    assert points == []


def test_a_folder_in_use_or_of_something_else_is_refused(tmp_path):
    busy = tmp_path / "busy"
    experiments(busy, seeds=1)
    hold = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print(1, flush=True); input()"
    arguments = [sys.executable, "-c", hold, str(busy / RESULTS)]
    holder = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    with pytest.raises(ConfigurationError, match="in use by another program"):
        experiments(busy, seeds=1)
    holder.communicate()
    other = tmp_path / "other"
    other.mkdir()
    (other / RESULTS).write_text("no store at all")
    with pytest.raises(ConfigurationError, match="holds no results"):
        experiments(other)
    assert (other / RESULTS).read_text() == "no store at all"
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"cannot be made or written \(File exists\)"):
        experiments(tmp_path / "file")


@pytest.mark.parametrize("reason", ["Permission denied", "Read-only file system", FULL])
def test_a_folder_that_cannot_be_written_is_not_called_in_use(tmp_path, monkeypatch, reason):
    def refuse(store):
        raise duckdb.IOException(f'IO Error: Cannot open file "{store}": {reason}')

    monkeypatch.setattr(tasks.experiments.results, "open_store", refuse)
    with pytest.raises(ConfigurationError) as refused:
        experiments(tmp_path)
    assert str(refused.value) == f"{tmp_path / RESULTS}: cannot be made or written ({reason})"


def test_the_command_says_what_was_found_and_where_it_is(tmp_path, monkeypatch, capsys):
    asked, flow = [], flows.evaluate.experiments.fn

    def ask(*arguments, **options):
        asked.append((*arguments, *options.values()))
        return experiments(tmp_path, ("musk",), 1, flow=flow)

    monkeypatch.setattr(flows.evaluate.experiments, "fn", ask)
    app(["experiments", "--quick", "--out", str(tmp_path)], result_action="return_value")
    app(["experiments", "--data", "musk", "--data", "musk", "--files", "here"], result_action="return_value")
    assert asked[0] == (("musk", "texture"), 1, tmp_path, None, True)
    assert asked[1] == (("musk",), 5, Path("experiments"), Path("here"), False)
    told = capsys.readouterr().out
    assert "Musk" in told
    assert "features, fewest and most\t10 to 12" in told
    assert "F on the test part, best of 12: fragments, naive\t" in told
    assert str(tmp_path / PAGE) in told
    assert str(tmp_path / FIGURES) in told


def test_an_unknown_data_set_is_refused_before_a_folder_is_made(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ConfigurationError, match="iris: no such data set; there are musk, texture"):
        app(
            ["experiments", "--data", "musk", "--data", "iris", "--out", str(out)],
            result_action="return_value",
        )
    assert not out.exists()


def test_prefect_and_plain_find_the_same(tmp_path, prefect_engine):
    flow = flows.evaluate.experiments
    experiments(tmp_path / "prefect", seeds=1, flow=flow)
    assert len(list((tmp_path / "prefect").glob("works-*"))) == 1  # threads, as many as there are cores
    experiments(tmp_path / "plain", seeds=1)
    assert contents(tmp_path / "prefect") == contents(tmp_path / "plain")


def test_under_prefect_a_point_that_fails_costs_no_other_one(tmp_path, prefect_engine):
    with pytest.raises(StepError, match="1 of 7 points failed"):
        experiments(tmp_path, seeds=1, run=fail_at_60, flow=flows.evaluate.experiments)
    assert len(rows(tmp_path, "FROM runs")) == 6
