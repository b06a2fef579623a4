"""Runs a contender in a process of its own, and reads what it cost."""

import json
import subprocess
from pathlib import Path
from typing import Any

CONTENDERS = Path(__file__).with_name("contenders")


class Failed(Exception):
    """A contender that did not come to its end; the message says why, in a few words."""


def contend(python: Path, name: str, *arguments: object, limit: float | None = None) -> dict[str, Any]:
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
        Seconds after which it is stopped.

    Raises
    ------
    Failed
        If it is stopped, or ends in an error.
    """
    command = [str(python), str(CONTENDERS / f"{name}.py"), *map(str, arguments)]
    try:
        ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failed(f"over {limit:g} s") from None
    if ended.returncode:
        raise Failed(ended.stderr.strip().splitlines()[-1])
    told: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return told
