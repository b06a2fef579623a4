"""A run that goes on where one that died stopped: what its steps return without being run."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from pydantic import TypeAdapter

from tasks.resuming.bases import BASES
from tasks.resuming.records import Finished, Kept, keep_record, mark_replaced


class GoingOn(NamedTuple):
    """What each step goes by, and the steps that need not be run again."""

    fingerprints: Mapping[str, str]
    kept: Mapping[str, Kept]


NOTHING = GoingOn({}, {})

_current: ContextVar[GoingOn] = ContextVar("going on", default=NOTHING)


@contextmanager
def going_on(what: GoingOn) -> Iterator[None]:
    """Keep what steps within return, and let those that were kept return it again."""
    token = _current.set(what)
    try:
        yield
    finally:
        _current.reset(token)


def kept_step(name: str) -> Kept | None:
    """Return what a step has left, where it need not be run again."""
    return _current.get().kept.get(name)


def result_of(kept: Kept, of_type: Any) -> Any:  # noqa: ANN401 - as the step returns
    """Return what a step returned in the run that died."""
    return TypeAdapter(of_type).validate_json(kept.result)


def begin(store: Path, name: str) -> None:
    """Note which results will not be what they were once the step has begun."""
    replaces = BASES[name].replaces if name in _current.get().fingerprints else None
    if replaces is not None:
        mark_replaced(store, replaces)


def keep(store: Path, finished: Finished, result: object, of_type: Callable[[], Any]) -> None:
    """Keep in the store what a step did; a step that is done is not undone for want of this line."""
    fingerprint = _current.get().fingerprints.get(finished.step)
    if fingerprint is not None:
        returned = TypeAdapter(of_type()).dump_json(result).decode()
        finished = finished._replace(fingerprint=fingerprint, result=returned)
    with suppress(OSError, duckdb.Error):
        keep_record(store, finished)
