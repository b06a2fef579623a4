"""Workers and schedulers of a Dask cluster that are lost, or not there: survived, or told in one line."""

import os
import signal
import subprocess
import sys
import threading
import time

import distributed
import pytest
from mapped_steps import CANARY, refuse, stumble, wait
from servers import wait_for
from shared_chunks import HERE, asked, asks_for, assert_same_classes, started
from test_steps_map import gone, waiting

from flows.release_steps import release_table
from tasks import segment
from tasks.chunks import batches
from tasks.cluster import calls, connect
from tasks.cluster.calls import CALL
from tasks.cluster.connect import on_cluster
from tasks.config import RunSettings
from tasks.errors import ConfigurationError, StepError
from tasks.events import listening
from tasks.private_folders import private_folders
from tasks.resuming.bases import LOAD, SEGMENT, fingerprints
from tasks.resuming.records import kept_steps
from tasks.store import STORE, create_workspace
from tasks.worker_processes import available_cores


@pytest.fixture
def store(tmp_path):
    return create_workspace(tmp_path / "run")


def test_chunks_of_a_worker_that_is_killed_are_made_by_another(tmp_path, small_table, monkeypatch):
    monkeypatch.setattr(segment, "batches", lambda sizes, widths: batches(sizes, widths, 200))
    sections = {"privacy": {"k": 5, "l": 2}, "segmentation": {"min_segment": 20}}
    with started(tmp_path, 2) as running:
        stuck = running.workers[0]
        folder = tmp_path / "dask"

        def kill_when_the_other_has_nothing_left():
            wait_for((folder / CALL).exists, "calls are made")
            os.kill(stuck.pid, signal.SIGSTOP)
            done = [-1]
            while done[-1] != len(list(folder.glob("*.npz"))):
                done.append(len(list(folder.glob("*.npz"))))
                time.sleep(0.5)
            stuck.kill()

        killer = threading.Thread(target=kill_when_the_other_has_nothing_left)
        killer.start()
        planned = assert_same_classes(tmp_path, small_table, running.address, **sections)
        killer.join()
        assert len(planned) > 6
        assert stuck.wait() == -signal.SIGKILL


def test_a_call_that_ends_its_worker_is_made_again_by_another(store):
    with started(store.parent, 3) as running, on_cluster(asks_for(running.address), store.parent):
        assert len(stumble.map(store, [1, 2])) == 2


def test_calls_that_end_every_worker_are_told_in_one_line(store, monkeypatch):
    monkeypatch.setattr(calls, "WAIT", 1)
    monkeypatch.setattr(calls, "GLANCE", 0.2)
    with (
        started(store.parent, 1) as running,
        on_cluster(asks_for(running.address), store.parent),
        pytest.raises(StepError, match="has had no worker for 1 seconds: start some"),
    ):
        refuse.map(store, [4])


@pytest.mark.parametrize(
    "error, told",
    [
        (distributed.KilledWorker("task", None, 3), "died again and again: they may have too little memory"),
        (RuntimeError(CANARY), "Dask failed \\(RuntimeError\\): its logs say why"),
    ],
)
def test_what_dask_gives_up_is_told_in_one_line(error, told):
    class Future:
        def result(self, **_):
            raise error

    with pytest.raises(StepError, match=told) as failed:
        calls._outcome(Future())  # noqa: SLF001 - workers cannot be made to die so often in a test
    assert CANARY not in str(failed.value)


def test_a_scheduler_that_is_lost_leaves_all_for_the_next_run_and_publishes_nothing(tmp_path, small_table):
    with started(tmp_path, 1) as running:

        def kill(event):
            if (event.step, event.kind) == ("anonymize the chunks", "started"):
                running.scheduler.kill()
                running.scheduler.wait()

        config = asked(tmp_path, small_table, engine="dask", scheduler=running.address)
        with listening(kill), pytest.raises(StepError, match="the Dask scheduler was lost: start it"):
            release_table(config)
    assert not list((tmp_path / "releases").glob("people/*"))
    (left,) = private_folders(tmp_path / "workspace")
    here, there = (fingerprints(each) for each in (asked(tmp_path, small_table), config))
    assert SEGMENT in kept_steps(left.path / STORE, there, persons=False)
    kept = kept_steps(left.path / STORE, here, persons=False)
    assert LOAD in kept
    assert SEGMENT not in kept  # its rows are files, which another engine does not read


def test_a_scheduler_that_is_lost_in_the_midst_of_a_step_is_told(store):
    with started(store.parent, 1) as running, on_cluster(asks_for(running.address), store.parent):

        def kill():
            wait_for(lambda: bool(waiting(store.parent)), "a worker works")
            running.scheduler.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(StepError, match="the Dask scheduler was lost"):
            wait.map(store, [5, 5])
        killer.join()


def test_workers_of_a_local_cluster_die_with_a_run_that_is_killed(tmp_path):
    store = create_workspace(tmp_path / "run")
    program = (
        "from pathlib import Path\n"
        "from mapped_steps import wait\n"
        "from tasks.cluster.connect import on_cluster\n"
        "from tasks.config import RunSettings\n"
        "if __name__ == '__main__':\n"
        f"    store = Path({str(store)!r})\n"
        "    with on_cluster(RunSettings(engine='dask'), store.parent):\n"
        "        wait.map(store, [600] * 4)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(program)
    paths = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    parent = subprocess.Popen([sys.executable, str(script)], env=os.environ | {"PYTHONPATH": paths})
    try:
        wait_for(lambda: len(waiting(store.parent)) == available_cores(), "all workers wait")
    finally:
        parent.kill()
        parent.wait()
    wait_for(lambda: all(map(gone, waiting(store.parent))), "all workers are gone")


def test_without_the_extra_the_engine_is_refused(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ConfigurationError, match=r'run.engine: "dask" needs what comes with unjoin\[dask\]'),
        on_cluster(RunSettings(engine="dask"), store.parent),
    ):
        pass


@pytest.mark.parametrize("scheme", ["tcp", "tls"])
def test_a_scheduler_that_does_not_answer_is_refused(store, monkeypatch, scheme):
    monkeypatch.setattr(connect, "ANSWER", 1)
    with (
        pytest.raises(ConfigurationError, match=f"no Dask scheduler answers at {scheme}://127.0.0.1:9:"),
        on_cluster(asks_for(f"{scheme}://127.0.0.1:9"), store.parent),
    ):
        pass


def test_a_cluster_without_workers_is_refused(store, monkeypatch):
    monkeypatch.setattr(connect, "WORKERS", 1)
    with (
        started(store.parent, 0) as running,
        pytest.raises(ConfigurationError, match="the Dask scheduler has no worker: start some"),
        on_cluster(asks_for(running.address), store.parent),
    ):
        pass
