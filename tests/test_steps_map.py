"""A step that is run for many items, here or in workers, which never outlive who started them."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import mapped_steps
import pytest
from mapped_steps import double, refuse, stumble, wait

from tasks.errors import InfeasibleError, StepError
from tasks.events import listening
from tasks.failures import ERROR_LOG
from tasks.steps import Step
from tasks.store import STORE
from tasks.worker_processes import THREADS, available_cores, call_in_workers

PATIENCE = 60  # seconds until a test gives up


@pytest.fixture
def store(tmp_path):
    return tmp_path / STORE


def until(condition):
    """Wait for what other processes do."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def waiting(folder):
    """Return the processes that are in the midst of the step `wait`."""
    return [int(path.name.partition("-")[2]) for path in folder.glob("waits-*")]


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_it_is_heard_of_once_with_its_items(store):
    heard, arrived = [], []
    with listening(heard.append):
        assert double.map(store, [1, 2, 3, 4], 3, arrived=arrived.append) == arrived
    assert arrived == [(os.getpid(), number) for number in (3, 6, 9, 12)]
    assert {(event.step, event.items) for event in heard} == {("double", 4)}
    assert [event.kind for event in heard] == ["started", *["progress"] * 8, "finished"]
    assert [event.share for event in heard[2::2]][:4] == [0.25, 0.5, 0.75, 1.0]


def test_no_items_are_no_work(store):
    assert double.map(store, [], workers=2) == []


def test_workers_share_the_items_and_results_keep_their_order(store):
    heard, arrived = [], []
    with listening(heard.append):
        results = double.map(store, list(range(8)), workers=2, arrived=arrived.append)
    assert [number for _, number in results] == list(range(0, 16, 2))
    assert sorted(arrived) == sorted(results)
    assert os.getpid() not in {pid for pid, _ in results}
    assert [event.share for event in heard if event.kind == "progress"] == [
        place / 8 for place in range(1, 9)
    ]


def test_one_item_or_one_worker_needs_no_process(store):
    assert double.map(store, [5], workers=2) == [(os.getpid(), 10)]
    assert {pid for pid, _ in double.map(store, [5, 6], workers=1)} == {os.getpid()}


@pytest.mark.parametrize(
    "number, kind, message",
    [
        (2, InfeasibleError, "2 cannot be had"),
        (3, StepError, "refuse: failed \\(ValueError\\)"),
        (4, StepError, "refuse: a worker process died"),
    ],
)
def test_errors_keep_their_kind_and_their_privacy(store, number, kind, message):
    with pytest.raises(kind, match=message) as failed:
        refuse.map(store, [1, number], workers=2)
    told = "".join(map(str, (failed.value, failed.value.__cause__, failed.value.__context__)))
    assert mapped_steps.CANARY not in told
    log = store.parent / ERROR_LOG
    assert log.exists() == (number == 3)
    assert number != 3 or mapped_steps.CANARY in log.read_text()


@pytest.mark.parametrize("workers", [1, 2])
def test_what_fails_is_left_out_where_asked(store, workers):
    heard, arrived, left_out = [], [], []
    numbers = [1, 2, 3, 4, 5] if workers > 1 else [1, 2, 3, 5]
    with listening(heard.append):
        results = refuse.map(
            store,
            numbers,
            workers=workers,
            arrived=arrived.append,
            failed=lambda number, error: left_out.append((number, type(error), str(error).partition(";")[0])),
        )
    assert results == sorted(arrived) == [1, 5]
    died = (4, StepError, "refuse: a worker process died: there may be too little memory")
    expected = [
        (2, InfeasibleError, "2 cannot be had"),
        (3, StepError, "refuse: failed (ValueError)"),
        *([died] if workers > 1 else []),
    ]
    assert sorted(left_out, key=lambda one: one[0]) == expected
    assert [event.kind for event in heard] == ["started", *["progress"] * len(numbers), "finished"]
    assert heard[-2].share == 1


def test_who_lost_a_worker_is_tried_again_alone(store):
    assert stumble.map(store, [1, 2, 3], workers=2) == [True] * 3


def test_a_worker_that_died_with_nothing_to_do_costs_no_result(store, monkeypatch):
    died, submit = [], ProcessPoolExecutor.submit

    def submit_to_the_living(pool, call):
        if not died:
            died.append(pool)
            raise BrokenProcessPool
        return submit(pool, call)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", submit_to_the_living)
    assert [number for _, number in double.map(store, [1, 2, 3], workers=2)] == [2, 4, 6]


def test_what_fails_here_ends_the_workers_in_the_midst_of_their_work(store):
    def fail(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wait.map(store, [0, 600, 600], workers=2, arrived=fail)
    assert all(map(gone, waiting(store.parent)))


@pytest.fixture
def interruptible():
    """Let Ctrl-C interrupt, as it does not where the tests were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("failed", [None, print])
def test_ctrl_c_ends_the_workers_in_the_midst_of_their_work(store, failed):
    def interrupt():
        until(lambda: len(waiting(store.parent)) == 2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        wait.map(store, [600, 600], workers=2, failed=failed)
    thread.join()
    assert all(map(gone, waiting(store.parent)))


def test_workers_die_with_a_parent_that_is_killed(store):
    parent = subprocess.Popen([sys.executable, mapped_steps.__file__, str(store)])
    until(lambda: len(waiting(store.parent)) == 2)
    parent.kill()
    parent.wait()
    until(lambda: all(map(gone, waiting(store.parent))))


def test_a_step_under_another_name_than_its_function_cannot_go_to_a_worker(store):
    other = Step("other", double.function)
    with pytest.raises(Exception, match="not the same object"):
        other.map(store, [1, 2], workers=2)


def test_workers_compute_with_one_thread_and_leave_the_environment_as_it_was(monkeypatch):
    monkeypatch.setenv(THREADS[0], "7")
    monkeypatch.delenv(THREADS[1], raising=False)
    seen = [outcome() for _, outcome in sorted(call_in_workers(os.getenv, THREADS[:2], (), 1))]
    assert seen == ["1", "1"]
    assert (os.environ[THREADS[0]], os.environ.get(THREADS[1])) == ("7", None)


def test_there_is_a_core():
    assert 1 <= available_cores() <= os.cpu_count()
