"""Chunks on a Dask cluster: the bytes of a plain release, whoever dies, and nothing of the data on its way."""

import os
import pickle
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import distributed
import duckdb
import numpy as np
import pandas as pd
import pytest
from clusters import cluster
from mapped_steps import CANARY, double, refuse, stumble, wait
from test_release import settings
from test_steps_map import gone, until, waiting

from flows.release_steps import release_table
from tasks import segment
from tasks.chunks import anonymize_chunks, batches, fragment_partition
from tasks.cluster import calls, connect
from tasks.cluster.calls import CALL, fault_of_worker
from tasks.cluster.connect import on_cluster
from tasks.config import RunSettings
from tasks.errors import ConfigurationError, InfeasibleError, StepError
from tasks.events import listening
from tasks.failures import ERROR_LOG
from tasks.fragment import fragment_features
from tasks.load import load_table
from tasks.mutual_information import measure_mutual_information
from tasks.pieces import first_cuts
from tasks.private_folders import private_folders
from tasks.program import installed
from tasks.read_config import parse_config
from tasks.resuming.bases import LOAD, SEGMENT, fingerprints
from tasks.resuming.records import kept_steps
from tasks.segment import segment_records
from tasks.store import STORE, create_workspace
from tasks.worker_processes import available_cores, limited_cores
from tasks.workspace import private_store

HERE = Path(__file__).parent


@pytest.fixture
def no_server(monkeypatch):
    """Let nobody take what a test has imported of Prefect for a run in it."""
    monkeypatch.setattr("tasks.steps.in_prefect_run", lambda: False)


def started(folder, workers):
    """Start a cluster in an empty folder, whose workers know the steps that tests map."""
    (folder / "cluster").mkdir(parents=True)
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return cluster(folder / "cluster", workers, os.environ | {"PYTHONPATH": os.pathsep.join(paths)})


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    with started(tmp_path_factory.mktemp("dask"), 2) as running:
        yield running


@pytest.fixture
def store(tmp_path):
    return create_workspace(tmp_path / "run")


def asks_for(address):
    return RunSettings(engine="dask", scheduler=address)


def asked(folder, table, *, engine="plain", scheduler=None, **sections):
    merged = settings(folder, table)
    for section, values in sections.items():
        merged[section] = {**merged.get(section, {}), **values}
    merged["evaluation"] = {"attacks": 0}
    merged["run"] |= {"engine": engine} | ({} if scheduler is None else {"scheduler": scheduler})
    return parse_config(merged)


def anonymized(store, config):
    """Return the batches of a table, and the classes of each fragment, once its chunks are anonymized."""
    folder = store.parent
    load_table.function(store, config)
    measure_mutual_information.function(store, config)
    fragment_features.function(store, config)
    planned = segment_records.function(store, config)
    with on_cluster(config.run, folder):
        paths = anonymize_chunks.map(store, planned, config)
    with duckdb.connect(store, read_only=True) as connection:
        ((records,),) = connection.execute("SELECT count(*) FROM codes").fetchall()
    numbers = sorted({batch.fragment for batch in planned})
    chosen = {
        number: [
            folder / path for batch, path in zip(planned, paths, strict=True) if batch.fragment == number
        ]
        for number in numbers
    }
    return planned, [fragment_partition(chosen[number], records) for number in numbers]


def assert_same_classes(folder, table, address, **sections):
    """Anonymize a table here and on a cluster; return the batches of the cluster."""
    _, expected = anonymized(create_workspace(folder / "plain"), asked(folder, table, **sections))
    config = asked(folder, table, engine="dask", scheduler=address, **sections)
    planned, found = anonymized(create_workspace(folder / "dask"), config)
    for one, other in zip(found, expected, strict=True):
        for array, wanted in zip(one, other, strict=True):
            assert array.dtype == wanted.dtype
            np.testing.assert_array_equal(array, wanted)
    return planned


@pytest.mark.parametrize(
    "sections",
    [
        {"privacy": {"k": 5, "l": 2}, "segmentation": {"min_segment": 40}},
        {"privacy": {"k": 5, "l": 2, "t": 0.4}, "columns": {"sensitive": ["city"]}},
        {"privacy": {"k": 4}, "columns": {"identifiers": [], "entity": "patient"}},
        {"anonymization": {"mode": "relaxed"}, "run": {"seed": 3}},
        {"anonymization": {"split": "infogain"}},
        {"columns": {"hierarchies": {"city": {"prefix": [1]}}}},
    ],
    ids=["segments", "sensitive", "persons", "relaxed", "infogain", "hierarchy"],
)
def test_workers_find_the_classes_that_one_process_finds(
    no_server, two_workers, tmp_path, small_table, monkeypatch, sections
):
    monkeypatch.setattr(segment, "batches", lambda sizes, widths: batches(sizes, widths, 300))
    patients = small_table.assign(patient=[f"P{number // 2:05d}" for number in range(len(small_table))])
    table = patients if "entity" in sections.get("columns", {}) else small_table
    assert_same_classes(tmp_path, table, two_workers.address, **sections)


def test_workers_cut_the_pieces_that_large_fragments_are_cut_into(
    no_server, two_workers, tmp_path, monkeypatch
):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({f"x{place}": rng.integers(0, 300, 70_000) for place in range(18)})
    table["patient"], table["group"] = range(len(table)), rng.choice(["a", "b"], len(table))
    monkeypatch.setattr("tasks.chunks.CELLS_OF_A_CALL", first_cuts.RANKED_CELLS)
    planned = assert_same_classes(
        tmp_path, table, two_workers.address, fragmentation={"fragments": 1}, privacy={"k": 100}
    )
    assert len(planned) > 1
    assert all(batch.piece is not None for batch in planned)


def test_a_release_has_the_same_bytes_on_a_cluster(no_server, two_workers, tmp_path):
    rng = np.random.default_rng(9)
    table = pd.DataFrame({name: rng.integers(0, 90, 600) for name in ("age", "size", "visits", "weight")})
    table["patient"], table["group"] = range(600), rng.choice(list("abc"), 600)
    plain = release_table(asked(tmp_path / "plain", table))
    shared = release_table(asked(tmp_path / "dask", table, engine="dask", scheduler=two_workers.address))
    names = sorted(path.name for path in plain.glob("fragment_*"))
    assert len(names) == 6
    for name in names:
        assert (shared / name).read_bytes() == (plain / name).read_bytes()


def test_what_workers_of_this_machine_read_and_write_is_the_users_alone(no_server, tmp_path, small_table):
    before = os.umask(0o022)
    try:
        with private_store(asked(tmp_path, small_table), "trial") as store:
            anonymized(store, asked(tmp_path, small_table, engine="dask"))
            chunks = {path.name for path in store.parent.glob("chunks_*")}
            modes = {path: stat.S_IMODE(path.stat().st_mode) for path in store.parent.rglob("*")}
    finally:
        os.umask(before)
    assert {"chunks_1.pickle", "chunks_1_0.parquet", "chunks_1_0.npz", CALL} <= chunks
    assert [path for path, mode in modes.items() if mode & 0o077] == []


def test_the_scheduler_sees_neither_columns_nor_values(
    no_server, two_workers, tmp_path, small_table, monkeypatch
):
    sent, submit = [], distributed.Client.submit

    def submitted(client, *args, **kwargs):
        sent.append(pickle.dumps((args, kwargs)))
        return submit(client, *args, **kwargs)

    monkeypatch.setattr(distributed.Client, "submit", submitted)
    table = small_table.assign(age=small_table["age"].replace(small_table["age"].max(), 987_654_321))
    config = asked(tmp_path, table, engine="dask", scheduler=two_workers.address)
    planned, _ = anonymized(create_workspace(tmp_path / "run"), config)
    assert len(sent) == len(planned) == 3
    for message in sent:
        for secret in (b"987654321", np.int64(987_654_321).tobytes(), b"Bonn", b"colour", b"weight"):
            assert secret not in message


def test_a_step_is_heard_of_as_anywhere(two_workers, no_server, store):
    heard, arrived = [], []
    with on_cluster(asks_for(two_workers.address), store.parent), listening(heard.append):
        results = double.map(store, [1, 2, 3, 4], 3, arrived=arrived.append)
    assert [number for _, number in results] == [3, 6, 9, 12]
    assert sorted(arrived) == sorted(results)
    assert {pid for pid, _ in results} <= {worker.pid for worker in two_workers.workers}
    assert [event.kind for event in heard] == ["started", *["progress"] * 4, "finished"]
    assert (store.parent / CALL).stat().st_mode & 0o077 == 0


def test_errors_keep_their_kind_and_nobody_logs_what_was_given(two_workers, no_server, store):
    with on_cluster(asks_for(two_workers.address), store.parent):
        with pytest.raises(InfeasibleError, match="2 cannot be had"):
            refuse.map(store, [1, 2])
        with pytest.raises(StepError, match="refuse: failed \\(ValueError\\)") as failed:
            refuse.map(store, [3])
    assert CANARY not in str(failed.value)
    assert CANARY in (store.parent / ERROR_LOG).read_text()
    for log in Path(two_workers.workers[0].args[-1]).parent.glob("*.log"):
        assert CANARY not in log.read_text()


def test_a_relative_store_is_found_from_elsewhere(two_workers, no_server, store, monkeypatch):
    monkeypatch.chdir(store.parent)
    with on_cluster(asks_for(two_workers.address), Path()):
        assert [number for _, number in double.map(Path(STORE), [1, 2])] == [2, 4]


def test_chunks_of_a_worker_that_is_killed_are_made_by_another(no_server, tmp_path, small_table, monkeypatch):
    monkeypatch.setattr(segment, "batches", lambda sizes, widths: batches(sizes, widths, 200))
    sections = {"privacy": {"k": 5, "l": 2}, "segmentation": {"min_segment": 20}}
    with started(tmp_path, 2) as running:
        stuck = running.workers[0]
        folder = tmp_path / "dask"

        def kill_when_the_other_has_nothing_left():
            until(lambda: (folder / CALL).exists())
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


def test_a_call_that_ends_its_worker_is_made_again_by_another(no_server, store):
    with started(store.parent, 3) as running, on_cluster(asks_for(running.address), store.parent):
        assert len(stumble.map(store, [1, 2])) == 2


def test_calls_that_end_every_worker_are_told_in_one_line(no_server, store, monkeypatch):
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
        def result(self):
            raise error

    with pytest.raises(StepError, match=told) as failed:
        calls._outcome(Future())  # noqa: SLF001 - workers cannot be made to die so often in a test
    assert CANARY not in str(failed.value)


def test_a_scheduler_that_is_lost_leaves_all_for_the_next_run_and_publishes_nothing(
    no_server, tmp_path, small_table
):
    with started(tmp_path, 1) as running:

        def kill(event):
            if (event.step, event.kind) == ("segment the records", "started"):
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


def test_a_scheduler_that_is_lost_in_the_midst_of_a_step_is_told(no_server, store):
    with started(store.parent, 1) as running, on_cluster(asks_for(running.address), store.parent):

        def kill():
            until(lambda: waiting(store.parent))
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
    until(lambda: len(waiting(store.parent)) == available_cores())
    parent.kill()
    parent.wait()
    until(lambda: all(map(gone, waiting(store.parent))))


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
    monkeypatch.setattr(connect, "ANSWER", 1)
    with (
        started(store.parent, 0) as running,
        pytest.raises(ConfigurationError, match="the Dask scheduler has no worker: start some"),
        on_cluster(asks_for(running.address), store.parent),
    ):
        pass


def test_workers_of_another_version_are_refused(two_workers, store, monkeypatch):
    monkeypatch.setattr(connect, "installed", lambda: ["other"])
    with (
        pytest.raises(ConfigurationError, match="the worker tcp://127.0.0.1:[0-9]+ has another version"),
        on_cluster(asks_for(two_workers.address), store.parent),
    ):
        pass


def test_workers_that_do_not_see_the_workspace_are_refused(two_workers, store):
    with (
        pytest.raises(
            ConfigurationError, match="does not see /nowhere, or may not use it: put run.workspace"
        ),
        on_cluster(asks_for(two_workers.address), Path("/nowhere")),
    ):
        pass
    assert fault_of_worker(installed(), str(store.parent)) is None


def test_a_worker_that_comes_later_and_is_unfit_makes_no_chunk(two_workers, no_server, store, monkeypatch):
    monkeypatch.setattr(calls, "installed", lambda: ["other"])
    with (
        on_cluster(asks_for(two_workers.address), store.parent),
        pytest.raises(StepError, match="the worker tcp://127.0.0.1:[0-9]+ has another version"),
    ):
        double.map(store, [1])


def test_a_scheduler_without_tls_is_remarked_upon(two_workers, store):
    heard = []
    with listening(heard.append), on_cluster(asks_for(two_workers.address), store.parent):
        pass
    assert ["whoever reaches it" in event.text for event in heard if event.kind == "remark"] == [True]


def test_calls_take_no_more_cores_than_they_are_given():
    with limited_cores(3):
        assert available_cores() == 3
    assert available_cores() <= (os.cpu_count() or 1)
