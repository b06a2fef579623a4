"""A Dask scheduler and workers of one's own, each a process, as long as they are needed."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from servers import running, wait_for


class Cluster(NamedTuple):
    """A cluster on this machine.

    Attributes
    ----------
    address
        Of its scheduler.
    scheduler, workers
        The processes; each writes a log, `scheduler.log` or `worker_1.log` and so on, into its folder.
    """

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def cluster(folder: Path, workers: int, environment: Mapping[str, str]) -> Iterator[Cluster]:
    """Run a scheduler and workers of one thread each, in a folder that is empty at first."""
    told = folder / "scheduler.json"
    address = ["--host", "127.0.0.1", "--no-dashboard"]
    scheduler = _dask("scheduler", *address, "--port", "0", "--scheduler-file", str(told))
    worker = _dask("worker", *address, "--nthreads", "1", "--no-nanny", "--scheduler-file", str(told))
    with ExitStack() as stack:
        first = stack.enter_context(running(scheduler, environment, folder, folder / "scheduler.log"))
        wait_for(told.exists, "the scheduler has started")
        others = [
            stack.enter_context(running(worker, environment, folder, folder / f"worker_{number}.log"))
            for number in range(1, workers + 1)
        ]
        yield Cluster(_address(told), first, others)


def _dask(part: str, *options: str) -> list[str]:
    return [sys.executable, "-m", f"distributed.cli.dask_{part}", *options]


def _address(told: Path) -> str:
    found: list[str] = []

    def is_written() -> bool:
        try:
            found.append(json.loads(told.read_text(encoding="utf-8"))["address"])
        except json.JSONDecodeError:
            return False
        return True

    wait_for(is_written, "the scheduler has told its address")
    return found[0]
