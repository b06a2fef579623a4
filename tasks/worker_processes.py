"""Calls in worker processes that live no longer than whoever waits for them."""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

R = TypeVar("R")

Outcome = Callable[[], R]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


_cores: ContextVar[int | None] = ContextVar("cores of a call", default=None)


def available_cores() -> int:
    """Return how many cores this process, or this call, may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return _cores.get() or (len(affinity(0)) if affinity else os.cpu_count() or 1)


@contextmanager
def limited_cores(cores: int) -> Iterator[None]:
    """Let what is called within use so many cores: the others are somebody else's."""
    token = _cores.set(cores)
    try:
        yield
    finally:
        _cores.reset(token)


def call_in_workers(
    function: Callable[..., R], items: Sequence[Any], args: tuple[Any, ...], workers: int
) -> Generator[tuple[int, Outcome[R]]]:
    """Call a function once for each item; yield the item's place and its outcome as soon as it is there.

    A call whose worker died, as for want of memory, is made once more after all others, with no call
    beside it. The workers end at once when the iterator is closed, and when this process dies, however
    it dies.

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

    Yields
    ------
    int
        Place of an item.
    callable
        Returns the result, or raises what the call raised; BrokenProcessPool where both workers died.
    """
    calls = [partial(function, item, *args) for item in items]
    again = []
    with closing(_ended(calls, range(len(calls)), workers)) as ended:
        for place, future in ended:
            if _worker_died(future):
                again.append(place)
            else:
                yield place, future.result
    with closing(_ended(calls, again, 1)) as ended:
        for place, future in ended:
            yield place, future.result


def _ended(
    calls: Sequence[Callable[[], R]], places: Sequence[int], workers: int
) -> Generator[tuple[int, Future[R]]]:
    """Make the calls at some places, each worker in a pool of its own, so that its death is no other's."""
    left = list(reversed(places))
    running: dict[Future[R], tuple[int, ProcessPoolExecutor]] = {}
    with _worker_pools() as new_pool:
        idle = [new_pool() for _ in range(workers)]

        def start() -> None:
            while left and idle:
                place, pool = left.pop(), idle.pop()
                running[_submitted(pool, calls[place])] = place, pool

        start()
        while running:
            ended = [(future, *running.pop(future)) for future in wait(running, None, FIRST_COMPLETED).done]
            idle += [new_pool() if _worker_died(future) else pool for future, _, pool in ended]
            start()  # before a result is dealt with, which may take a while
            yield from ((place, future) for future, place, _ in ended)


def _worker_died(future: Future[R]) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)


@contextmanager
def _worker_pools() -> Iterator[Callable[[], ProcessPoolExecutor]]:
    """Yield what makes a pool of one worker; all end with this, at once if it is left by an exception."""
    context = get_context("spawn")
    listened, held = context.Pipe(duplex=False)
    with listened, held, ExitStack() as pools:
        try:
            yield lambda: pools.enter_context(ProcessPoolExecutor(1, context, _end_with, (listened,)))
        except BaseException:
            held.close()
            raise


def _submitted(pool: ProcessPoolExecutor, call: Callable[[], R]) -> Future[R]:
    """Return the future of a call; one that failed already if the worker died with nothing to do."""
    try:
        with _as_workers_start():
            return pool.submit(call)
    except BrokenProcessPool as error:
        failed: Future[R] = Future()
        failed.set_exception(error)
        return failed


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
