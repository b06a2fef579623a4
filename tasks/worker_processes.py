"""Calls in worker processes that live no longer than whoever waits for them."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

R = TypeVar("R")

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def available_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def call_in_workers(
    function: Callable[..., R], items: Sequence[Any], args: tuple[Any, ...], workers: int
) -> Iterator[tuple[int, R]]:
    """Call a function once for each item; yield the item's place and the result as soon as it is there.

    The workers end at once when one call fails, when the iterator is closed, and when this process
    dies, however it dies.

    Parameters
    ----------
    function
        Known by its name in a module, as everything that goes to a worker or comes back must be.
    items
        Each is a first argument.
    args
        What follows, the same for every item.
    workers
        How many processes; each computes with one thread of BLAS.
    """
    context = get_context("spawn")
    listened, held = context.Pipe(duplex=False)
    with held, ProcessPoolExecutor(workers, context, _end_with, (listened,)) as pool:
        try:
            with _as_workers_start():
                places = {pool.submit(function, item, *args): place for place, item in enumerate(items)}
            listened.close()
            for future in as_completed(places):
                yield places[future], future.result()
        except BaseException:
            held.close()
            raise


@contextmanager
def _as_workers_start() -> Iterator[None]:
    """Hand down one thread of BLAS, and that Ctrl-C is for the parent to answer."""
    before = {name: os.environ.get(name) for name in THREADS}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _end_with(listened: Connection) -> None:
    """End this worker when the other end of a connection is closed, in the midst of whatever it does."""

    def wait() -> None:
        listened.poll(None)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
