"""Chunks on a Dask cluster: the bytes of a plain release, and nothing of the data on its way."""

import os
import pickle
import stat
from pathlib import Path

import distributed
import numpy as np
import pandas as pd
import pytest
from mapped_steps import CANARY, double, refuse
from shared_chunks import anonymized, asked, asks_for, assert_same_classes, started

from flows.release_steps import release_table
from tasks import segment
from tasks.chunks import batches
from tasks.cluster import calls, connect
from tasks.cluster.calls import CALL, fault_of_worker
from tasks.cluster.connect import on_cluster
from tasks.errors import ConfigurationError, InfeasibleError, StepError
from tasks.events import listening
from tasks.failures import ERROR_LOG
from tasks.pieces import first_cuts
from tasks.program import installed
from tasks.store import STORE, create_workspace
from tasks.worker_processes import available_cores, limited_cores
from tasks.workspace import private_store


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    with started(tmp_path_factory.mktemp("dask"), 2) as running:
        yield running


@pytest.fixture
def store(tmp_path):
    return create_workspace(tmp_path / "run")


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
    two_workers, tmp_path, small_table, monkeypatch, sections
):
    monkeypatch.setattr(segment, "batches", lambda sizes, widths: batches(sizes, widths, 300))
    patients = small_table.assign(patient=[f"P{number // 2:05d}" for number in range(len(small_table))])
    table = patients if "entity" in sections.get("columns", {}) else small_table
    assert_same_classes(tmp_path, table, two_workers.address, **sections)


def test_workers_cut_the_pieces_that_large_fragments_are_cut_into(two_workers, tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({f"x{place}": rng.integers(0, 300, 70_000) for place in range(18)})
    table["patient"], table["group"] = range(len(table)), rng.choice(["a", "b"], len(table))
    monkeypatch.setattr("tasks.chunks.CELLS", first_cuts.RANKED_CELLS)
    planned = assert_same_classes(
        tmp_path, table, two_workers.address, fragmentation={"fragments": 1}, privacy={"k": 100}
    )
    assert len(planned) > 1
    assert all(batch.piece is not None for batch in planned)


def test_a_release_has_the_same_bytes_on_a_cluster(two_workers, tmp_path):
    rng = np.random.default_rng(9)
    table = pd.DataFrame({name: rng.integers(0, 90, 600) for name in ("age", "size", "visits", "weight")})
    table["patient"], table["group"] = range(600), rng.choice(list("abc"), 600)
    plain = release_table(asked(tmp_path / "plain", table))
    shared = release_table(asked(tmp_path / "dask", table, engine="dask", scheduler=two_workers.address))
    names = sorted(path.name for path in plain.glob("fragment_*"))
    assert len(names) == 6
    for name in names:
        assert (shared / name).read_bytes() == (plain / name).read_bytes()


def test_what_workers_of_this_machine_read_and_write_is_the_users_alone(tmp_path, small_table):
    before = os.umask(0o022)
    try:
        with private_store(asked(tmp_path, small_table), "trial") as store:
            anonymized(store, asked(tmp_path, small_table, engine="dask"))
            chunks = {path.name for path in store.parent.glob("chunks_*")}
            modes = {path: stat.S_IMODE(path.stat().st_mode) for path in store.parent.rglob("*")}
    finally:
        os.umask(before)
    assert {"chunks_1.pickle", "chunks_1.parquet", "chunks_1_0.npz", CALL} <= chunks
    assert [path for path, mode in modes.items() if mode & 0o077] == []


def test_the_scheduler_sees_neither_columns_nor_values(two_workers, tmp_path, small_table, monkeypatch):
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


def test_a_step_is_heard_of_as_anywhere(two_workers, store):
    heard, arrived = [], []
    with on_cluster(asks_for(two_workers.address), store.parent), listening(heard.append):
        results = double.map(store, [1, 2, 3, 4], 3, arrived=arrived.append)
    assert [number for _, number in results] == [3, 6, 9, 12]
    assert sorted(arrived) == sorted(results)
    assert {pid for pid, _ in results} <= {worker.pid for worker in two_workers.workers}
    assert [event.kind for event in heard] == ["started", *["progress"] * 4, "finished"]
    assert (store.parent / CALL).stat().st_mode & 0o077 == 0


def test_errors_keep_their_kind_and_nobody_logs_what_was_given(two_workers, store):
    with on_cluster(asks_for(two_workers.address), store.parent):
        with pytest.raises(InfeasibleError, match="2 cannot be had"):
            refuse.map(store, [1, 2])
        with pytest.raises(StepError, match="refuse: failed \\(ValueError\\)") as failed:
            refuse.map(store, [3])
    assert CANARY not in str(failed.value)
    assert CANARY in (store.parent / ERROR_LOG).read_text()
    for log in Path(two_workers.workers[0].args[-1]).parent.glob("*.log"):
        assert CANARY not in log.read_text()


def test_a_relative_store_is_found_from_elsewhere(two_workers, store, monkeypatch):
    monkeypatch.chdir(store.parent)
    with on_cluster(asks_for(two_workers.address), Path()):
        assert [number for _, number in double.map(Path(STORE), [1, 2])] == [2, 4]


@pytest.mark.parametrize(
    "elsewhere, who",
    [
        (lambda: [str(os.getpid())], "the scheduler"),
        (lambda: ["other"], r"the worker tcp://127\.0\.0\.1:\d+"),
    ],
    ids=["scheduler", "worker"],
)
def test_another_version_is_refused(two_workers, store, monkeypatch, elsewhere, who):
    monkeypatch.setattr(connect, "installed", elsewhere)
    with (
        pytest.raises(ConfigurationError, match=f"run.scheduler: {who} has another version"),
        on_cluster(asks_for(two_workers.address), store.parent),
    ):
        pass


def test_workers_that_do_not_see_the_workspace_are_refused(two_workers, store):
    with (
        pytest.raises(ConfigurationError, match="does not see /nowhere, or may not use it: put run"),
        on_cluster(asks_for(two_workers.address), Path("/nowhere")),
    ):
        pass
    assert fault_of_worker(installed(), str(store.parent)) is None


def test_a_worker_that_comes_later_and_is_unfit_makes_no_chunk(two_workers, store, monkeypatch):
    monkeypatch.setattr(calls, "installed", lambda: ["other"])
    with (
        on_cluster(asks_for(two_workers.address), store.parent),
        pytest.raises(StepError, match=r"the worker tcp://127\.0\.0\.1:\d+ has another version"),
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
