"""Files of SPSS and Stata, read by a process of its own: what reads them can crash where they are damaged."""

from collections.abc import Sequence
from functools import lru_cache

import duckdb

from tasks.reading.apart import read_apart, require_extra
from tasks.reading.private_copies import private_folder, write_raw_from
from tasks.reading.statistics_rows import copy_rows, damaged, described
from tasks.table_settings import Input

EXTRA = ("pyreadstat", "SPSS and Stata", "statistics")


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
        variables = {names[number]: f"c{number}" for number in wanted}
        require_extra(*EXTRA)
        read_apart(copy_rows, table, variables, copy, damaged=damaged(table))
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
    table = Input.model_validate({"path": path, "format": written_as})
    require_extra(*EXTRA)
    return read_apart(described, table, damaged=damaged(table))
