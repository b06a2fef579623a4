"""Runs a contender in a process of its own, and reads what it cost."""

import json
import resource
import signal
import subprocess
from pathlib import Path
from typing import Any

CONTENDERS = Path(__file__).with_name("contenders")


class StoppedError(Exception):
    """A contender that did not come to its end; the message says why, in a few words."""


def contend(python: Path, name: str, *arguments: object, limit: int | None = None) -> dict[str, Any]:
    """Run a contender; return what it tells: see `contenders/costs.py`.

    Parameters
    ----------
    python
        The interpreter of the environment that holds its packages.
    name
        Of a file in the folder `contenders`, without its ending.
    arguments
        As that file asks for.
    limit
        Seconds of CPU after which it is stopped, imports included.

    Raises
    ------
    StoppedError
        If it is stopped, or ends in an error.
    """
    command = [str(python), str(CONTENDERS / f"{name}.py"), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        if limit is not None:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit, limit + 1))
        told, complaints = process.communicate()
    if process.returncode in {-signal.SIGXCPU, -signal.SIGKILL} and limit is not None:
        raise StoppedError(f"stopped at {limit} s")
    if process.returncode:
        raise StoppedError((complaints.strip().splitlines() or ["no message"])[-1])
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    return found
