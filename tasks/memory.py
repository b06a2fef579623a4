"""How much memory a run may take: half of it DuckDB's, the other half for the arrays beside it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tasks.config import RunSettings

SHARE = 0.75  # of the machine's memory, where nobody says
CELL_BYTES = 16  # of a cell while it is cut: read, put into rows, and moved

_limited_to: ContextVar[float | None] = ContextVar("gigabytes for DuckDB", default=None)


def memory_of(settings: RunSettings) -> float:
    """Return the memory that a run may take, in gigabytes of 10^9 bytes."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return SHARE * machine if settings.memory is None else settings.memory


def cells_at_once(settings: RunSettings) -> int:
    """Return how many cells of the table may be cut in memory at once."""
    return int(memory_of(settings) / 2 * 1e9 / CELL_BYTES)


@contextmanager
def limited_memory(settings: RunSettings) -> Iterator[None]:
    """Let every DuckDB that is opened within take its half, and no more."""
    token = _limited_to.set(memory_of(settings) / 2)
    try:
        yield
    finally:
        _limited_to.reset(token)


def duckdb_limit() -> dict[str, str | bool | int | float | list[str]]:
    """Return the setting of DuckDB that bounds its memory; none where no run bounds it."""
    gigabytes = _limited_to.get()
    return {} if gigabytes is None else {"memory_limit": f"{gigabytes:.3f}GB"}
