"""How a step runs: as a Prefect task inside a Prefect flow run, as a plain call anywhere else.

This is the one place that knows of both. Whoever wants to show progress listens here.
"""

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cached_property, update_wrapper
from pathlib import Path
from typing import Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, TypeVar, cast

import duckdb

from tasks.errors import StepError, UnjoinError
from tasks.store import open_store

P = ParamSpec("P")
R = TypeVar("R")

ERROR_LOG = "error.log"


class Event(NamedTuple):
    """What a listener hears of a step.

    Attributes
    ----------
    step
        The step's name.
    kind
        Whether it started, went on, finished or failed.
    share
        How much of it is done, 0 to 1.
    seconds
        Since it started.
    """

    step: str
    kind: Literal["started", "progress", "finished", "failed"]
    share: float
    seconds: float


Listener = Callable[[Event], None]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())
_current: ContextVar[tuple[str, float]] = ContextVar("current step")


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


def _announce(kind: Literal["started", "progress", "finished", "failed"], share: float) -> None:
    step, started = _current.get(("", time.perf_counter()))
    for listener in _listeners.get():
        listener(Event(step, kind, share, time.perf_counter() - started))


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

    def map(self, store: Path, items: Sequence[Any], *args: Any) -> list[R]:  # noqa: ANN401 - as the function
        """Run the step once for each item, side by side where the engine can; heard of as one step.

        Parameters
        ----------
        store
            The run's store.
        items
            Each is the first argument after the store; small values or paths, as is what comes back.
        args
            What follows, the same for every item.
        """
        with self._heard(store):
            results = []
            for result in self._results(store, items, args):
                results.append(result)
                progress(len(results) / len(items))
        return results

    def _results(self, store: Path, items: Sequence[Any], args: tuple[Any, ...]) -> Iterator[R]:
        if len(items) == 1 or not in_prefect_run():
            yield from (self.guarded(store, item, *args) for item in items)
            return
        from prefect import unmapped  # noqa: PLC0415 - a plain run does without it

        def one(store: Path, item: Any, args: tuple[Any, ...]) -> R:  # noqa: ANN401 - as the function
            return self.guarded(store, item, *args)

        futures = self._as_task(one).map(unmapped(store), list(items), unmapped(args))
        yield from (future.result() for future in futures)

    def _run(self, store: Path, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._heard(store):
            return self.guarded(store, *args, **kwargs)

    @contextmanager
    def _heard(self, store: Path) -> Iterator[None]:
        """Let listeners know of the step, and the store how long it took."""
        token = _current.set((self.name, time.perf_counter()))
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
            failure = _private(self.name, store, error)
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


def _record(store: Path, name: str) -> None:
    """Keep in the store how long a step took; a step that is done is not undone for want of this line."""
    _, started = _current.get()
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


def _private(name: str, store: Path, error: Exception) -> StepError:
    """Keep the details of an unforeseen failure in the workspace; return what may be told."""
    log = store.parent / ERROR_LOG
    log.touch(mode=0o600)
    with log.open("a", encoding="utf-8") as file:
        file.write("".join(traceback.format_exception(error)))
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return StepError(f"{name}: failed ({reason}); details, which may hold data, are in {log}")
