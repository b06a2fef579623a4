"""Reading by a process of its own, of files whose reader can crash where they are damaged."""

from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from importlib.util import find_spec
from typing import Any, TypeVar

from tasks.errors import ConfigurationError, InputError
from tasks.table_settings import Input
from tasks.worker_processes import call_in_workers

R = TypeVar("R")


def require_extra(module: str, files: str, extra: str) -> None:
    """Refuse files of a kind for which an extra is needed that is not installed."""
    if find_spec(module) is None:
        raise ConfigurationError(
            f"input.path: reading {files} needs the extra {extra}: install unjoin as '.[{extra}]'"
        )


def read_apart(
    function: Callable[..., R],
    table: Input,
    *args: Any,  # noqa: ANN401 - as the function
    damaged: str,
) -> R:
    """Return what a function makes of a table and more in another process.

    Raises
    ------
    InputError
        In the words given, if the process dies of it.
    """
    with closing(call_in_workers(function, [table], args, 1)) as ended:
        ((_, outcome),) = ended
    try:
        return outcome()
    except BrokenProcessPool:
        raise InputError(damaged) from None
