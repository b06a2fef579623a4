"""How much memory a run may take: half of it DuckDB's, the other half for the arrays beside it."""

import os

from tasks.config import RunSettings

SHARE = 0.75  # of the machine's memory, where nobody says
CELL_BYTES = 16  # of a cell while it is cut: read, put into rows, and moved


def memory_of(settings: RunSettings) -> float:
    """Return the memory that a run may take, in gigabytes of 10^9 bytes."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return SHARE * machine if settings.memory is None else settings.memory


def memory_of_duckdb(settings: RunSettings) -> float:
    """Return the half that DuckDB may take, in gigabytes."""
    return memory_of(settings) / 2


def cells_at_once(settings: RunSettings) -> int:
    """Return how many cells of the table may be cut in memory at once."""
    return int(memory_of(settings) / 2 * 1e9 / CELL_BYTES)
