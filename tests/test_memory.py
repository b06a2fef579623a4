"""A run keeps to the memory it may take, and want of memory is told as what it is."""

import duckdb
import pytest
from published_folder import ClassOf, Fragment, Range, build

from tasks.config import RunSettings
from tasks.memory import cells_at_once, fragments_at_once, memory_of, memory_of_duckdb
from tasks.store import STORE, limited_memory, open_store
from tasks.worker_processes import limited_cores
from validations import gather
from validations.gate import check_folder
from validations.promises import read_promises


def limit_of(connection):
    ((limit,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    return limit


def test_a_third_of_a_limit_is_for_duckdb_a_third_for_cells_and_one_is_left():
    settings = RunSettings(memory=3)
    assert memory_of_duckdb(settings) == 1
    assert cells_at_once(settings) == 62_500_000


def test_fragments_that_do_not_fit_together_are_worked_on_one_by_one():
    with limited_cores(2):
        assert fragments_at_once(RunSettings(memory=6), 15_000_000) == 2
        assert fragments_at_once(RunSettings(memory=6), 30_000_000) == 1
        assert fragments_at_once(RunSettings(memory=6), 10**9) == 1


def test_half_of_a_share_of_the_machine_is_taken_where_nobody_says():
    assert memory_of_duckdb(RunSettings()) == memory_of(RunSettings()) / 2 > 0


def test_every_store_opened_within_is_limited(tmp_path):
    with limited_memory(1.0), open_store(tmp_path / STORE) as connection:
        assert limit_of(connection) == "953.6 MiB"
    with open_store(tmp_path / STORE) as connection:
        assert limit_of(connection) != "953.6 MiB"


def test_the_gate_does_not_take_want_of_memory_for_a_fault_of_the_files(tmp_path):
    fragment = Fragment(
        {"age": "integer"}, [ClassOf((Range(1, 1),), {"a": 4}), ClassOf((Range(2, 3),), {"b": 4})]
    )
    build([fragment], k=4).write(tmp_path)
    assert check_folder(tmp_path, read_promises(tmp_path)).success
    with limited_memory(0.001), pytest.raises(duckdb.OutOfMemoryException):
        check_folder(tmp_path, read_promises(tmp_path))


def test_fragments_that_do_not_fit_in_memory_together_are_read_again_one_by_one(tmp_path, monkeypatch):
    fragments = [
        Fragment({name: "integer"}, [ClassOf((Range(1, 1),), {"a": 4}), ClassOf((Range(2, 3),), {"b": 4})])
        for name in ("age", "size")
    ]
    build(fragments, k=4).write(tmp_path)
    threads, read = [], gather.read_groups

    def too_large_at_first(connection, *args, **kwargs):
        ((number,),) = connection.execute("SELECT current_setting('threads')").fetchall()
        threads.append(number)
        if len(threads) <= len(fragments):
            raise duckdb.OutOfMemoryException("no room")
        return read(connection, *args, **kwargs)

    monkeypatch.setattr(gather, "read_groups", too_large_at_first)
    assert check_folder(tmp_path, read_promises(tmp_path)).success
    assert threads[-4:] == [1] * 4  # two files each
