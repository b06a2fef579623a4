"""Calls on the workers of a Dask cluster, which see the same files as this process.

What is the same for all calls stands in a private file beside the store, of which the scheduler knows the
path. Errors come back as values: Dask would log what the call that raised them was given.
"""

import os
import pickle
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tasks.errors import StepError, UnjoinError
from tasks.program import installed
from tasks.worker_processes import Outcome, available_cores, limited_cores

if TYPE_CHECKING:
    from distributed import Client, Future

R = TypeVar("R")

CALL = "chunks_call.pickle"  # named like what a run that goes on from here needs
GLANCE = 5  # seconds between looks at whether anybody works
OTHER_VERSION = "has another version of unjoin, or of a library that computes: install the same everywhere"
WAIT = 300  # seconds without a worker until none is waited for

_current: ContextVar["Client | None"] = ContextVar("Dask client", default=None)


class _Told(NamedTuple):
    """What a worker tells of a call."""

    result: Any
    error: UnjoinError | None


@contextmanager
def using(client: "Client") -> Iterator[None]:
    """Let mapped steps within run where a client of Dask sends them."""
    token = _current.set(client)
    try:
        yield
    finally:
        _current.reset(token)


def cluster_in_use() -> "Client | None":
    """Return the client of the cluster on which mapped steps run; None where they run here."""
    return _current.get()


def threads_in_use() -> int:
    """Return how many threads the workers of the cluster in use have, or this machine where there is none.

    Raises
    ------
    StepError
        If the scheduler is lost.
    """
    client = _current.get()
    return available_cores() if client is None else max(_threads(client), 1)


def call_on_cluster(
    client: "Client", function: Callable[..., R], items: Sequence[Any], args: tuple[Any, ...], folder: Path
) -> Generator[tuple[int, Outcome[R]]]:
    """Call a function once for each item; yield the item's place and its outcome as soon as it is there.

    A call whose worker died is made again by another one, three times at most. No more calls begin when the
    iterator is closed; those that run do so to their end.

    Parameters
    ----------
    client
        Of the cluster.
    function
        Known by its name in a module, and may raise what is of the project's own family only.
    items
        Each is a first argument: a small value that may be seen by whoever sees the cluster.
    args
        What follows, the same for every item; only the function sees it.
    folder
        Private, and seen by the workers under the same path.

    Yields
    ------
    int
        Place of an item.
    callable
        Returns the result, or raises what the call raised; StepError where there is no result.
    """
    if client.status != "running":
        raise _lost()
    _write_private(folder / CALL, pickle.dumps((function, args)))
    run, ended = token_hex(8), SimpleQueue["Future"]()
    call = partial(_call, installed(), str(folder))
    futures = {
        client.submit(call, item, key=f"unjoin-{run}-{place}", pure=False): place
        for place, item in enumerate(items)
    }
    for future in futures:
        future.add_done_callback(ended.put)
    try:
        for _ in items:
            future = _next(client, ended)
            yield futures[future], partial(_outcome, future)
    finally:
        with suppress(Exception):  # a scheduler that is lost has nothing to cancel
            client.cancel(list(futures))


def fault_of_worker(program: Sequence[str], folder: str) -> str | None:
    """Say what keeps this process from working for a run; None if nothing does.

    Parameters
    ----------
    program
        What the run computes with, as `tasks.program.installed` returns it.
    folder
        The private folder of the run.
    """
    if installed() != program:
        return OTHER_VERSION
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return (
            f"does not see {folder}, or may not use it: put run.workspace on storage that all share, and "
            "start workers as the user who releases"
        )
    return None


def _call(program: Sequence[str], folder: str, item: Any) -> _Told:  # noqa: ANN401 - as the function
    """Make a call, in a worker."""
    from distributed import get_worker  # noqa: PLC0415 - an extra, which other engines do without

    worker = get_worker()
    fault = fault_of_worker(program, folder)
    if fault is not None:
        return _Told(None, StepError(f"the worker {worker.address} {fault}"))
    function, args = pickle.loads((Path(folder) / CALL).read_bytes())  # noqa: S301 - private, this run's own
    with limited_cores(worker.state.nthreads):
        try:
            return _Told(function(item, *args), None)
        except UnjoinError as error:
            return _Told(None, error)


def _next(client: "Client", ended: "SimpleQueue[Future]") -> "Future":
    """Wait for a call to end, as long as anybody works."""
    seen = time.monotonic()
    while True:
        with suppress(Empty):
            return ended.get(timeout=GLANCE)
        if _threads(client):
            seen = time.monotonic()
        elif time.monotonic() - seen > WAIT:
            raise StepError(
                f"the Dask cluster has had no worker for {WAIT} seconds: start some, and run again"
            )


def _threads(client: "Client") -> int:
    try:
        return sum(client.nthreads().values())
    except OSError:
        raise _lost() from None


def _outcome(future: "Future") -> Any:  # noqa: ANN401 - as the function
    from distributed import CancelledError, KilledWorker  # noqa: PLC0415 - see above

    try:
        told = future.result(timeout=WAIT)
    except CancelledError:
        raise _lost() from None
    except KilledWorker:
        raise StepError("worker processes died again and again: they may have too little memory") from None
    except Exception as error:  # noqa: BLE001 - Dask's own, whatever it is
        raise StepError(f"Dask failed ({type(error).__name__}): its logs say why") from None
    if told.error is not None:
        raise told.error
    return told.result


def _lost() -> StepError:
    return StepError("the Dask scheduler was lost: start it and its workers, and run again")


def _write_private(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
