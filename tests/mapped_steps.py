"""Steps that worker processes can find by name; as a script, one that runs until it is killed."""

import os
import sys
import time
from pathlib import Path

from tasks.errors import InfeasibleError
from tasks.events import progress
from tasks.steps import step

CANARY = "value 4711"


@step("double")
def double(store, number, factor=2):
    progress(0.5)
    return os.getpid(), number * factor


@step("refuse")
def refuse(store, number):
    if number == 2:
        raise InfeasibleError(f"{number} cannot be had")
    if number == 3:
        raise ValueError(CANARY)
    if number == 4:
        os._exit(9)
    return number


@step("stumble")
def stumble(store, number):
    """Die the first time; the second time, say whether no other one is at it."""
    fell, runs = (store.parent / f"{name}-{number}" for name in ("fell", "runs"))
    if not fell.exists():
        fell.touch()
        os._exit(9)
    runs.touch()
    time.sleep(0.2)
    alone = list(store.parent.glob("runs-*")) == [runs]
    runs.unlink()
    return alone


@step("wait")
def wait(store, seconds):
    (store.parent / f"waits-{os.getpid()}").touch()
    time.sleep(seconds)
    return seconds


if __name__ == "__main__":
    wait.map(Path(sys.argv[1]), [600, 600], workers=2)
