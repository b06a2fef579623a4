"""The store's table `steps`: what was done, how long it took, by what it went and what came of it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb

from tasks.resuming.bases import BASES, CHOOSE
from tasks.store import open_store, quoted


class Kept(NamedTuple):
    """A step that need not be done again.

    Attributes
    ----------
    result
        What it returned, as JSON.
    remarks
        What it told of the table.
    """

    result: str
    remarks: tuple[str, ...]


class Finished(NamedTuple):
    """A step that is done.

    Attributes
    ----------
    step
        Its name.
    seconds
        How long it took.
    remarks
        What it told of the table.
    fingerprint
        Of all that its result depends on; None for a step that is run every time.
    result
        What it returned, as JSON; None for a step that is run every time.
    """

    step: str
    seconds: float
    remarks: Sequence[str]
    fingerprint: str | None = None
    result: str | None = None


def keep_record(store: Path, finished: Finished) -> None:
    """Add a step to the table `steps`."""
    with open_store(store) as connection:
        _make_table(connection)
        connection.execute("INSERT INTO steps VALUES (?, ?, ?::VARCHAR[], ?, ?, false)", [*finished])


def mark_replaced(store: Path, step: str) -> None:
    """Note that some tables of a step are about to be overwritten by another one."""
    with open_store(store) as connection:
        _make_table(connection)
        connection.execute("UPDATE steps SET replaced = true WHERE step = ?", [step])


def _make_table(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("""
        CREATE TABLE IF NOT EXISTS steps (
            step VARCHAR, seconds DOUBLE, remarks VARCHAR[], fingerprint VARCHAR, result VARCHAR,
            replaced BOOLEAN
        )
    """)


def kept_steps(store: Path, fingerprints: Mapping[str, str], *, persons: bool) -> dict[str, Kept]:
    """Return the steps whose results in a store are what they would be if they were run again.

    Parameters
    ----------
    store
        Of a run that died.
    fingerprints
        What each step would go by now.
    persons
        Whether persons are counted: segmenting numbers them anew, so choosing cannot be repeated after it.

    Raises
    ------
    duckdb.Error
        If the store cannot be read.
    """
    if not store.exists():
        return {}
    with open_store(store) as connection:
        rows = connection.execute(
            "SELECT step, fingerprint, result, remarks, replaced FROM steps WHERE fingerprint IS NOT NULL"
        ).fetchall()
    replaced = {step for step, *_, overwritten in rows if overwritten}
    same = {
        step: Kept(result, tuple(remarks))
        for step, fingerprint, result, remarks, _ in rows
        if fingerprints.get(step) == fingerprint
    }
    kept = {step: same[step] for step in _usable(same, replaced)}
    return {} if persons and CHOOSE not in kept else kept


def _usable(same: Mapping[str, Kept], replaced: set[str]) -> list[str]:
    """Return the steps that are the same, as are all before them, and whose tables are still their own."""
    lost = {basis.replaces for step, basis in BASES.items() if step not in same} & replaced
    usable: list[str] = []
    for step, basis in BASES.items():
        if step in same and step not in lost and all(before in usable for before in basis.after):
            usable.append(step)
    return usable


def forget_others(store: Path, kept: Mapping[str, Kept]) -> None:
    """Remove from a store the records of steps that are run again, and tables that they may not replace."""
    with open_store(store) as connection:
        connection.execute("DELETE FROM steps WHERE NOT list_contains(?::VARCHAR[], step)", [list(kept)])
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        patterns = [basis.tables for step, basis in BASES.items() if step not in kept and basis.tables]
        for (table,) in tables:
            if any(re.fullmatch(pattern, table) for pattern in patterns):
                connection.execute(f"DROP TABLE {quoted(table)}")
