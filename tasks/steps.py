"""How a step runs: as a Prefect task inside a Prefect flow run, as a plain call anywhere else.

This is the one place that knows of both. Whoever wants to show progress listens here.
"""

import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from functools import cached_property, partial, update_wrapper
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, TypeVar, cast

import duckdb

from tasks.errors import StepError, UnjoinError
from tasks.failures import private_failure
from tasks.store import open_store
from tasks.worker_processes import Outcome, call_in_workers

P = ParamSpec("P")
R = TypeVar("R")


EventKind = Literal["started", "progress", "counted", "finished", "failed", "remark"]


class Event(NamedTuple):
    """What a listener hears of a step.

    Attributes
    ----------
    step
        The step's name.
    kind
        Whether it started, went on, counted something, finished or failed, or has something to tell.
    share
        How much of it is done, 0 to 1.
    seconds
        Since it started.
    items
        Of how many items it is run for each; 0 if it is run once.
    text
        What it tells; no value of the data.
    counts
        What it counted, each under its name.
    """

    step: str
    kind: EventKind
    share: float
    seconds: float
    items: int = 0
    text: str = ""
    counts: Mapping[str, int] = MappingProxyType({})


class _Running(NamedTuple):
    """A step that runs, since when by the clock, and for how many items."""

    step: str
    started: float
    items: int


Listener = Callable[[Event], None]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())
_current: ContextVar[_Running] = ContextVar("current step")


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener hear of every step that runs within."""
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


def progress(share: float) -> None:
    """Tell listeners how much of the running step is done."""
    _announce("progress", share)


def remark(text: str) -> None:
    """Tell listeners something of the table that a person should know, without any value of it."""
    _announce("remark", 0.0, text)


def counted(**counts: int) -> None:
    """Tell listeners how much the running step had to do with: how many records, classes, files."""
    _announce("counted", 0.0, counts=counts)


def _announce(
    kind: EventKind, share: float, text: str = "", counts: Mapping[str, int] = MappingProxyType({})
) -> None:
    step, started, items = _current.get(_Running("", time.perf_counter(), 0))
    for listener in _listeners.get():
        listener(Event(step, kind, share, time.perf_counter() - started, items, text, counts))


class Step(Generic[P, R]):
    """A named step of a flow; its first argument is the path of the run's store.

    An exception that is not of the project's own family may hold a value of the data: its text
    goes into the private workspace, and nobody else sees more than its kind.
    """

    def __init__(self, name: str, function: Callable[Concatenate[Path, P], R]) -> None:
        self.name = name
        self.function = function
        update_wrapper(self, function)

    def __call__(self, store: Path, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the step."""
        run = self._task if in_prefect_run() else self._run
        return run(store, *args, **kwargs)

    def __reduce__(self) -> str:
        """Go to another process by name: where that is the step's own, as `step` makes it."""
        return str(self.function.__qualname__)

    def map(
        self,
        store: Path,
        items: Sequence[Any],
        *args: Any,  # noqa: ANN401 - as the function
        workers: int = 1,
        arrived: Callable[[R], None] | None = None,
        failed: Callable[[Any, UnjoinError], None] | None = None,
    ) -> list[R]:
        """Run the step once for each item, side by side where the engine can; heard of as one step.

        Parameters
        ----------
        store
            The run's store.
        items
            Each is the first argument after the store; small values or paths, as is what comes back.
        args
            What follows, the same for every item.
        workers
            How many processes share the items; 1 is this one. Prefect's own runner shares them instead.
        arrived
            Is given each result, in this process, as soon as it is there; results come in any order.
        failed
            Is given each item that failed, and why; the others go on. Unless given, the first failure
            ends all.

        Returns
        -------
        list
            The results in the order of the items, without those that failed.

        Raises
        ------
        StepError
            If an item ends its worker twice, or fails in a way nobody foresaw.
        """
        results: dict[int, R] = {}
        with self._heard(store, len(items)), closing(self._outcomes(store, items, args, workers)) as ended:
            for number, (place, outcome) in enumerate(ended, 1):
                try:
                    results[place] = self._result(outcome)
                except UnjoinError as error:
                    if failed is None:
                        raise
                    failed(items[place], error)
                else:
                    if arrived is not None:
                        arrived(results[place])
                progress(number / len(items))
        return [result for _, result in sorted(results.items(), key=itemgetter(0))]

    def _result(self, outcome: Outcome[R]) -> R:
        try:
            return outcome()
        except BrokenProcessPool:
            raise StepError(f"{self.name}: a worker process died: there may be too little memory") from None

    def _outcomes(
        self, store: Path, items: Sequence[Any], args: tuple[Any, ...], workers: int
    ) -> Generator[tuple[int, Outcome[R]]]:
        """Yield the place of each item, and what returns its result or raises why there is none."""
        if len(items) > 1 and in_prefect_run():
            yield from self._from_prefect(store, items, args)
        elif len(items) > 1 and workers > 1:
            yield from call_in_workers(_in_worker, items, (self, store, args), min(workers, len(items)))
        else:
            yield from (
                (place, partial(self.guarded, store, item, *args)) for place, item in enumerate(items)
            )

    def _from_prefect(
        self, store: Path, items: Sequence[Any], args: tuple[Any, ...]
    ) -> Iterator[tuple[int, Outcome[R]]]:
        from prefect import unmapped  # noqa: PLC0415 - a plain run does without it
        from prefect.futures import as_completed  # noqa: PLC0415

        def one(store: Path, item: Any, args: tuple[Any, ...]) -> R:  # noqa: ANN401 - as the function
            return self.guarded(store, item, *args)

        futures = self._as_task(one).map(unmapped(store), list(items), unmapped(args))
        places = {future: place for place, future in enumerate(futures)}
        yield from ((places[future], future.result) for future in as_completed(futures))

    def _run(self, store: Path, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._heard(store):
            return self.guarded(store, *args, **kwargs)

    @contextmanager
    def _heard(self, store: Path, items: int = 0) -> Iterator[None]:
        """Let listeners know of the step, and the store how long it took."""
        token = _current.set(_Running(self.name, time.perf_counter(), items))
        _announce("started", 0.0)
        try:
            yield
        except BaseException:
            _announce("failed", 1.0)
            raise
        else:
            _announce("finished", 1.0)
            _record(store, self.name)
        finally:
            _current.reset(token)

    def guarded(self, store: Path, *args: Any, **kwargs: Any) -> R:  # noqa: ANN401 - as the function
        """Run the function; an unforeseen failure leaves its text in the workspace."""
        try:
            return self.function(store, *args, **kwargs)
        except UnjoinError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, its text must not leave the workspace
            failure = private_failure(self.name, store, error)
        raise failure  # out here it does not carry the exception that it stands for

    @cached_property
    def _task(self) -> Callable[Concatenate[Path, P], R]:
        return cast("Callable[Concatenate[Path, P], R]", self._as_task(self._run))

    def _as_task(self, function: Callable[..., R]) -> Any:  # noqa: ANN401 - Prefect's own class
        from prefect import task  # noqa: PLC0415 - a plain run does without it
        from prefect.cache_policies import NO_CACHE  # noqa: PLC0415

        return task(
            name=self.name,
            task_run_name=self.name,
            description=self.__doc__,
            cache_policy=NO_CACHE,
            persist_result=False,
        )(function)


def _in_worker(item: Any, step: Step[Any, R], store: Path, args: tuple[Any, ...]) -> R:  # noqa: ANN401 - as the step
    return step.guarded(store, item, *args)


def _record(store: Path, name: str) -> None:
    """Keep in the store how long a step took; a step that is done is not undone for want of this line."""
    started = _current.get().started
    with suppress(OSError, duckdb.Error), open_store(store) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS steps (step VARCHAR, seconds DOUBLE)")
        connection.execute("INSERT INTO steps VALUES (?, ?)", [name, time.perf_counter() - started])


def step(name: str) -> Callable[[Callable[Concatenate[Path, P], R]], Step[P, R]]:
    """Make a function a step of that name."""
    return lambda function: Step(name, function)


def in_prefect_run() -> bool:
    """Whether this code runs within a Prefect flow run."""
    if "prefect" not in sys.modules:
        return False
    from prefect.context import FlowRunContext  # noqa: PLC0415 - a plain run does without it

    return FlowRunContext.get() is not None
