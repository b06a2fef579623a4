"""The run's private store: every intermediate, as a table that a person can query."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

STORE = "store.duckdb"

_gigabytes: ContextVar[float | None] = ContextVar("gigabytes of each DuckDB", default=None)


def create_workspace(folder: Path) -> Path:
    """Make a folder that only its owner can enter, and return the path of the store in it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700)
    return folder / STORE


@contextmanager
def limited_memory(gigabytes: float) -> Iterator[None]:
    """Let every DuckDB that is opened within take so much memory, and no more."""
    token = _gigabytes.set(gigabytes)
    try:
        yield
    finally:
        _gigabytes.reset(token)


def memory_limit() -> dict[str, str | bool | int | float | list[str]]:
    """Return the setting with which DuckDB keeps to its limit; none where there is no limit."""
    gigabytes = _gigabytes.get()
    return {} if gigabytes is None else {"memory_limit": f"{gigabytes:.3f}GB"}


@contextmanager
def open_store(store: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the store for one step; what does not fit in memory spills beside it."""
    connection = duckdb.connect(
        store,
        config={
            "temp_directory": str(store.parent / "spill"),
            "autoinstall_known_extensions": "false",
            **memory_limit(),
        },
    )
    try:
        store.chmod(0o600)
        connection.execute("SET enable_progress_bar = false")
        yield connection
    finally:
        connection.close()


def is_in_use(error: Exception) -> bool:
    """Return whether a store could not be opened because another process has it open."""
    return isinstance(error, duckdb.Error) and "Could not set lock" in str(error)


def quoted(name: str) -> str:
    """Return a column or table name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def add_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add rows to a table in one statement: one for each row takes a hundred times as long."""
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        unnested = ", ".join(["unnest(?)"] * len(columns))
        connection.execute(f"INSERT INTO {quoted(table)} SELECT {unnested}", columns)


def write_table(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    columns: Mapping[str, npt.NDArray[Any] | list[Any]],
    selected: str = "*",
    *,
    add: bool = False,
) -> None:
    """Replace a table by what is selected of columns of equal length, or add that to it."""
    connection.register("incoming", columns if _are_plain(columns) else _as_frame(columns))
    into = f"INSERT INTO {quoted(name)}" if add else f"CREATE OR REPLACE TABLE {quoted(name)} AS"
    connection.execute(f"{into} SELECT {selected} FROM incoming")
    connection.unregister("incoming")


def _are_plain(columns: Mapping[str, npt.NDArray[Any] | list[Any]]) -> bool:
    """Whether DuckDB reads the columns where they are, none of them masked; a frame copies them first."""
    return all(type(column) is np.ndarray and column.dtype.kind in "biuf" for column in columns.values())


def _as_frame(columns: Mapping[str, npt.NDArray[Any] | list[Any]]) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415 - costs a third of a second, which --help must not pay

    return pd.DataFrame(columns)
