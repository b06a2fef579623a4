"""How much memory a run may take: a part of it DuckDB's, as large a part for the cells that are cut."""

import os

from tasks.config import RunSettings
from tasks.worker_processes import available_cores

SHARE = 0.75  # of the machine's memory, where nobody says
CELL_BYTES = 16  # of a cell while it is cut: read, put into rows, and moved
CELLS_OF_A_RECORD = 4  # take as much memory as a record does while its fragment is merged or measured


def memory_of(settings: RunSettings) -> float:
    """Return the memory that a run may take, in gigabytes of 10^9 bytes."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return SHARE * machine if settings.memory is None else settings.memory


def memory_of_duckdb(settings: RunSettings) -> float:
    """Return what DuckDB may take, in gigabytes: half, or a third where a limit is to be kept.

    The last third is for arrays with a few numbers for each record, and for Python itself.
    """
    return memory_of(settings) / (2 if settings.memory is None else 3)


def memory_of_gate(settings: RunSettings) -> float:
    """Return what DuckDB may take while the gate reads files, in gigabytes: nobody else needs much then."""
    return memory_of(settings) * 2 / 3


def cells_at_once(settings: RunSettings) -> int:
    """Return how many cells of the table may be cut in memory at once: as much as DuckDB may take."""
    return int(memory_of_duckdb(settings) * 1e9 / CELL_BYTES)


def fragments_at_once(settings: RunSettings, records: int) -> int:
    """Return how many fragments to work on at once: as many as there are cores, if they fit in memory."""
    return max(1, min(available_cores(), cells_at_once(settings) // (CELLS_OF_A_RECORD * records)))
