"""A flow under Prefect: what came of it counts, whatever becomes of Prefect's server."""

from contextlib import suppress
from copy import copy
from functools import wraps
from queue import Empty
from typing import ParamSpec, TypeVar

from prefect import Flow
from prefect.events.worker import EventsWorker

from tasks.errors import StepError, UnjoinError
from tasks.events import remark

P = ParamSpec("P")
R = TypeVar("R")


def run_in_prefect(flow: Flow[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a flow under Prefect.

    Returns
    -------
    object
        What the flow returned, even where Prefect could not be told so: whoever listens hears of it then.

    Raises
    ------
    UnjoinError
        That the flow raised.
    StepError
        If Prefect fails before the flow is at its end.
    """
    results: list[R] = []
    errors: list[UnjoinError] = []

    @wraps(flow.fn)
    def recording(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            results.append(flow.fn(*args, **kwargs))
        except UnjoinError as error:
            errors.append(error)
            raise
        return results[0]

    recorded = copy(flow)
    recorded.fn = recording
    try:
        return recorded(*args, **kwargs)
    except UnjoinError:
        raise
    except Exception as error:
        kind = type(error).__name__
        if not results and not errors:
            raise StepError(
                f"Prefect failed ({kind}): see that its server answers, or add --engine plain"
            ) from error
    _forget_events()
    remark(f"Prefect's server was lost ({kind}): its pages do not show how this run ended")
    if errors:
        raise errors[0]
    return results[0]


def _forget_events() -> None:
    """Drop what a lost server has not been told: each event would be tried for more than a minute."""
    waiting = EventsWorker.instance()._queue  # noqa: SLF001 - Prefect only offers to wait for all of them
    with suppress(Empty):
        while True:
            waiting.get_nowait()
