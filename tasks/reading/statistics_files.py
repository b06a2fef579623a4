"""Files of SPSS and Stata, read by a process of its own: what reads them can crash where they are damaged."""

from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, TypeVar

import duckdb

from tasks.errors import ConfigurationError, InputError
from tasks.reading.private_copies import private_folder, write_raw_from
from tasks.reading.statistics_rows import copy_rows, damaged, described
from tasks.table_settings import Input
from tasks.worker_processes import call_in_workers

R = TypeVar("R")

EXTRA = "input.path: reading SPSS and Stata needs the extra: pip install 'unjoin[statistics]'"


def statistics_names(table: Input) -> list[str]:
    """Return the names of the variables."""
    names, _ = _described(table)
    return names


def statistics_labels(table: Input) -> dict[str, str]:
    """Return what variables are called in words, where they are."""
    _, labels = _described(table)
    return labels


def read_statistics(
    connection: duckdb.DuckDBPyConnection, table: Input, names: Sequence[str], wanted: Sequence[int]
) -> None:
    """Make the table `raw` of the wanted variables; codes become labels if the configuration says so."""
    with private_folder(connection) as folder:
        copy = folder / "copy"
        _apart(copy_rows, table, {names[number]: f"c{number}" for number in wanted}, copy)
        write_raw_from(connection, copy, table, names)


def _described(table: Input) -> tuple[list[str], dict[str, str]]:
    version = table.path.stat()
    return _described_once(str(table.path), (version.st_mtime_ns, version.st_size), table.written_as)


@lru_cache(maxsize=8)
def _described_once(
    path: str,
    version: tuple[int, int],  # noqa: ARG001 - for the cache
    written_as: str,
) -> tuple[list[str], dict[str, str]]:
    return _apart(described, Input.model_validate({"path": path, "format": written_as}))


def _apart(function: Callable[..., R], table: Input, *args: Any) -> R:  # noqa: ANN401 - as the function
    if find_spec("pyreadstat") is None:
        raise ConfigurationError(EXTRA)
    with closing(call_in_workers(function, [table], args, 1)) as ended:
        ((_, outcome),) = ended
    try:
        return outcome()
    except BrokenProcessPool:
        raise InputError(damaged(table)) from None
