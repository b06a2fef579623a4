"""The worker: Prefect's own, freed of what refers to nothing but itself."""

import gc
import sys
import threading
import weakref

import prefect.cli
import pytest

from flows import worker


class Kept:
    """An object that refers to itself."""

    def __init__(self):
        self.itself = self


def test_what_refers_to_itself_alone_is_freed(monkeypatch):
    waits = iter([worker.INTERVAL])
    monkeypatch.setattr(worker.time, "sleep", lambda seconds: next(waits) == seconds)
    gc.disable()
    try:
        left = weakref.ref(Kept())
        assert left() is not None
        with pytest.raises(StopIteration):
            worker.free_forever()
        assert left() is None
    finally:
        gc.enable()


def test_it_is_the_worker_of_prefect_with_the_same_options(monkeypatch):
    begun, told = threading.Event(), []
    monkeypatch.setattr(worker, "free_forever", begun.set)
    monkeypatch.setattr(prefect.cli, "app", lambda: told.extend(sys.argv))
    monkeypatch.setattr(sys, "argv", ["worker.py", "--pool", "releases", "--type", "process"])
    worker.main()
    assert told == ["prefect", "worker", "start", "--pool", "releases", "--type", "process"]
    assert begun.wait(60)
