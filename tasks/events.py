"""What a running step tells, and who hears of it."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Literal, NamedTuple

EventKind = Literal["started", "progress", "finished", "failed", "counted", "remark", "kept"]


class Event(NamedTuple):
    """What a listener hears of a step.

    Attributes
    ----------
    step
        The step's name.
    kind
        Whether it started, went on, counted something, finished or failed, or has something to tell, or
        need not be run since a run that died had finished it.
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


class Running(NamedTuple):
    """A step that runs, since when by the clock, for how many items, and what it has told."""

    step: str
    started: float
    items: int
    remarks: list[str]

    @property
    def seconds(self) -> float:
        """Since it started."""
        return time.perf_counter() - self.started


Listener = Callable[[Event], None]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())
_current: ContextVar[Running] = ContextVar("current step")


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
    announce("progress", share)


def remark(text: str) -> None:
    """Tell listeners something that a person should know, without any value of the table."""
    announce("remark", 0.0, text)


def counted(**counts: int) -> None:
    """Tell listeners how much the running step had to do with: how many records, classes, files."""
    announce("counted", 0.0, counts=counts)


@contextmanager
def as_current(running: Running) -> Iterator[Running]:
    """Let what is told within be of a step."""
    token = _current.set(running)
    try:
        yield running
    finally:
        _current.reset(token)


def announce(
    kind: EventKind, share: float, text: str = "", counts: Mapping[str, int] = MappingProxyType({})
) -> None:
    """Tell listeners of the running step; what is told outside of any has no name."""
    running = _current.get(Running("", time.perf_counter(), 0, []))
    if kind == "remark":
        running.remarks.append(text)
    for listener in _listeners.get():
        listener(Event(running.step, kind, share, running.seconds, running.items, text, counts))
