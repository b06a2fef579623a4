"""A Dask scheduler and workers of one's own, each a process, as long as they are needed."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from servers import free_port, running, wait_for

DASK = Path(sys.executable).with_name("dask")


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
    port, own = str(free_port()), ["--host", "127.0.0.1", "--no-dashboard"]
    address = f"tcp://127.0.0.1:{port}"
    worker = _dask("worker", address, *own, "--nthreads", "1", "--no-nanny")
    commands = [("scheduler", _dask("scheduler", *own, "--port", port))]
    commands += [(f"worker_{number}", worker) for number in range(1, workers + 1)]
    with ExitStack() as stack:
        scheduler, *others = (
            stack.enter_context(running(command, environment, folder, folder / f"{name}.log"))
            for name, command in commands
        )
        wait_for(lambda: _listens(int(port)), "the scheduler has started")
        yield Cluster(address, scheduler, others)


def _dask(part: str, *options: str) -> list[str]:
    return [str(DASK), part, *options]


def _listens(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0
