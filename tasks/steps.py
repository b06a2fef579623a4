"""How a step runs: as a Prefect task inside a Prefect flow run, as a plain call anywhere else.

This is the one place that knows of both. Whoever wants to show progress listens here.
"""

import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property, partial, update_wrapper
from operator import itemgetter
from pathlib import Path
from types import GenericAlias
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, get_type_hints

import duckdb

from tasks.cluster.calls import call_on_cluster, cluster_in_use
from tasks.errors import StepError, UnjoinError
from tasks.events import Running, announce, as_current, progress, remark
from tasks.failures import private_failure
from tasks.resuming.going_on import begin, keep, kept_step, result_of
from tasks.resuming.records import Finished, Kept
from tasks.store import open_store
from tasks.worker_processes import Outcome, call_in_workers

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Step(Generic[P, R]):
    """A named step of a flow; its first argument is the path of the run's store.

    An exception that is not of the project's own family may hold a value of the data: its text
    goes into the private workspace, and nobody else sees more than its kind.
    """

    def __init__(
        self, name: str, function: Callable[Concatenate[Path, P], R], *, closed: bool = False
    ) -> None:
        self.name = name
        self.function = function
        self.closed = closed
        update_wrapper(self, function)

    def __call__(self, store: Path, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the step, or return what it returned before in a run that died."""
        kept = kept_step(self.name)
        if kept is not None:
            return cast("R", self._again(kept, self._returned(many=False)))
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
            How many processes share the items; 1 is this one. Prefect's own runner shares them instead, or
            the workers of the Dask cluster in use: to them the step must be one that leaves the store closed.
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
        kept = kept_step(self.name)
        if kept is not None:
            return cast("list[R]", self._again(kept, self._returned(many=True)))
        if cluster_in_use() is not None and in_prefect_run():

            def whole() -> list[R]:
                return self._mapped(store, items, args, workers, arrived, failed)

            return cast("list[R]", self._as_task(whole)())
        return self._mapped(store, items, args, workers, arrived, failed)

    def _mapped(  # noqa: PLR0917 - as `map`
        self,
        store: Path,
        items: Sequence[Any],
        args: tuple[Any, ...],
        workers: int,
        arrived: Callable[[R], None] | None,
        failed: Callable[[Any, UnjoinError], None] | None,
    ) -> list[R]:
        results: dict[int, R] = {}
        with (
            self._heard(store, len(items)) as done,
            closing(self._outcomes(store, items, args, workers)) as ended,
        ):
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
            return done([result for _, result in sorted(results.items(), key=itemgetter(0))])

    def _result(self, outcome: Outcome[R]) -> R:
        try:
            return outcome()
        except BrokenProcessPool:
            raise StepError(f"{self.name}: a worker process died: there may be too little memory") from None

    def _outcomes(
        self, store: Path, items: Sequence[Any], args: tuple[Any, ...], workers: int
    ) -> Generator[tuple[int, Outcome[R]]]:
        """Yield the place of each item, and what returns its result or raises why there is none."""
        cluster = cluster_in_use()
        if cluster is not None:
            path = store.absolute()
            yield from call_on_cluster(cluster, _in_worker, items, (self, path, args), path.parent)
        elif len(items) > 1 and in_prefect_run():
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
        with self._heard(store, held_open=not self.closed) as done:
            return done(self.guarded(store, *args, **kwargs))

    @contextmanager
    def _heard(self, store: Path, items: int = 0, *, held_open: bool = False) -> Iterator[Callable[[T], T]]:
        """Let listeners know of the step, and the store how long it took and what came of it.

        Opening a store costs DuckDB more than what most steps do with a small one, so it may be held open.
        """
        results: list[Any] = []

        def done(result: T) -> T:
            results.append(result)
            return result

        with (
            as_current(Running(self.name, time.perf_counter(), items, [])) as running,
            ExitStack() as held,
        ):
            announce("started", 0.0)
            try:
                self._begin(store, held if held_open else None)
                yield done
            except BaseException:
                announce("failed", 1.0)
                raise
            announce("finished", 1.0)
            finished = Finished(self.name, running.seconds, running.remarks)
            keep(store, finished, results[0], partial(self._returned, many=items > 0))

    def _begin(self, store: Path, held: ExitStack | None) -> None:
        try:
            if held is not None:
                held.enter_context(open_store(store))
            begin(store, self.name)
        except (OSError, duckdb.Error) as error:
            failure = private_failure(self.name, store, error)
        else:
            return
        raise failure  # out here it does not carry the exception that it stands for

    def _returned(self, *, many: bool) -> Any:  # noqa: ANN401 - a type
        one = get_type_hints(self.function)["return"]
        return GenericAlias(list, (one,)) if many else one

    def _again(self, kept: Kept, of_type: Any) -> Any:  # noqa: ANN401 - as the function
        """Return what the step returned before, and tell again what it told."""
        with as_current(Running(self.name, time.perf_counter(), 0, [])):
            for text in kept.remarks:
                remark(text)
            announce("kept", 1.0)
        return result_of(kept, of_type)

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

    def _as_task(self, function: Callable[..., Any]) -> Any:  # noqa: ANN401 - Prefect's own class
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


def step(name: str, *, closed: bool = False) -> Callable[[Callable[Concatenate[Path, P], R]], Step[P, R]]:
    """Make a function a step of that name; `closed` if it needs a store that is not open yet."""
    return lambda function: Step(name, function, closed=closed)


def in_prefect_run() -> bool:
    """Whether this code runs within a Prefect flow run."""
    if "prefect" not in sys.modules:
        return False
    from prefect.context import FlowRunContext  # noqa: PLC0415 - a plain run does without it

    return FlowRunContext.get() is not None
