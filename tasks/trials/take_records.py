"""A private store of some of the records, as if the table held no others."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.domain import Domain
from tasks.store import create_workspace, literal, open_store, quoted, write_table
from tasks.tables import read_domains, read_sensitive_domains, write_domains

ROWS = "chosen"


def take_records(store: Path, rows: npt.NDArray[np.intp], folder: Path) -> Path:
    """Make a store in a new private folder, with some records as the loading step leaves all of them.

    Parameters
    ----------
    store
        With the loaded table; it is not changed.
    rows
        Row numbers from 0, ascending.
    folder
        To be made.

    Returns
    -------
    Path
        Of the new store. Domains and codes are those of its own records.
    """
    with open_store(store) as connection:
        domains = _read_domains(connection)
    taken = create_workspace(folder)
    with open_store(taken) as connection:
        connection.execute(f"ATTACH {literal(str(store))} AS whole (READ_ONLY)")
        _choose(connection, rows)
        _take(connection, "source")
        _take(connection, "codes")
        if connection.execute("FROM duckdb_tables() WHERE table_name = 'persons'").fetchall():
            _take(connection, "persons")
        connection.execute("CREATE TABLE columns AS SELECT * FROM whole.columns")
        connection.execute("CREATE TABLE hierarchies AS SELECT * FROM whole.hierarchies")
        connection.execute("DETACH whole")
        connection.execute(f"DROP TABLE {ROWS}")
        own = _rank(connection, domains)
        _describe(connection, own)
        write_domains(connection, own)
        _forget_hierarchies(connection)
    return taken


def _choose(connection: duckdb.DuckDBPyConnection, rows: npt.NDArray[np.intp]) -> None:
    ((records,),) = connection.execute("SELECT count(*) FROM whole.codes").fetchall()
    kept = np.zeros(records, dtype=bool)
    kept[rows] = True
    write_table(connection, ROWS, {"kept": kept})


def _take(connection: duckdb.DuckDBPyConnection, table: str) -> None:
    connection.execute(
        f"CREATE TABLE {table} AS SELECT {table}.* FROM whole.{table} "
        f"POSITIONAL JOIN {ROWS} WHERE {ROWS}.kept"
    )


def _read_domains(connection: duckdb.DuckDBPyConnection) -> tuple[Domain, ...]:
    features, class_domain = read_domains(connection)
    return (*features, *read_sensitive_domains(connection), class_domain)


def _rank(connection: duckdb.DuckDBPyConnection, domains: Sequence[Domain]) -> list[Domain]:
    """Make each code the rank among the values here; return the domains."""
    codes = connection.execute("SELECT * FROM codes").fetchnumpy()
    ranks: dict[str, npt.NDArray[Any] | list[Any]] = {}
    own = []
    for domain in domains:
        occurs = np.zeros(domain.size, dtype=bool)
        occurs[codes[domain.name]] = True
        ranks[domain.name] = (np.cumsum(occurs, dtype=np.int32) - 1)[codes[domain.name]]
        kept = occurs[domain.missing :]
        tree = domain.tree.take(kept) if domain.tree is not None and kept.any() else None
        missing = domain.missing and bool(occurs[0])
        own.append(replace(domain, values=domain.values[kept], missing=missing, tree=tree))
    write_table(connection, "codes", ranks)
    return own


def _describe(connection: duckdb.DuckDBPyConnection, domains: Sequence[Domain]) -> None:
    sizes = [len(domain.values) for domain in domains]
    missing = [domain.missing for domain in domains]
    write_table(connection, "own", {"distinct_values": sizes, "missing": missing})
    connection.execute("""
        CREATE OR REPLACE TABLE columns AS
        SELECT columns.* REPLACE (own.distinct_values AS distinct_values, own.missing AS missing)
        FROM columns POSITIONAL JOIN own
    """)
    connection.execute("DROP TABLE own")


def _forget_hierarchies(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop the ancestors of values that do not occur here."""
    for (name,) in connection.execute('SELECT DISTINCT "column" FROM hierarchies').fetchall():
        connection.execute(
            f'DELETE FROM hierarchies WHERE "column" = ? AND value NOT IN '
            f"(SELECT {quoted(name)} FROM source WHERE {quoted(name)} IS NOT NULL)",
            [name],
        )
