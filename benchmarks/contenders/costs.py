"""What a piece of work costs its process: seconds, CPU, memory. Needs nothing but Python on Linux."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Cost(NamedTuple):
    """What some work cost.

    Attributes
    ----------
    seconds, cpu
        Of the clock, and of all threads.
    megabytes
        The most memory while it ran, beyond what was held before it: without imports.
    peak
        The most memory of the process while it ran, imports included, in megabytes.
    """

    seconds: float
    cpu: float
    megabytes: float
    peak: float


def timed(run: Callable[[], T]) -> tuple[T, float, float]:
    """Do some work; return what came of it, its seconds, and those of all threads' CPU."""
    start, cpu = time.perf_counter(), time.process_time()
    found = run()
    return found, time.perf_counter() - start, time.process_time() - cpu


def measured(run: Callable[[], T]) -> tuple[T, Cost]:
    """Do some work; return what came of it, and what it cost."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak so far is forgotten
    before = _megabytes("VmRSS")
    found, seconds, cpu = timed(run)
    peak = _megabytes("VmHWM")
    return found, Cost(seconds, cpu, peak - before, peak)


def tell(cost: Cost, **more: object) -> None:
    """Print a cost for whoever started this process, as its last line."""
    print(json.dumps(cost._asdict() | more))


def _megabytes(field: str) -> float:
    """Return a figure of this process; `resource` would count the memory of the one that started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (kilobytes,) = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
    return int(kilobytes) / 1024
