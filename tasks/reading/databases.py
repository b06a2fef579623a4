"""Databases of DuckDB and SQLite, opened to be read only: the table that a SELECT gives."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tasks.errors import ConfigurationError, InputError
from tasks.reading.missing_cells import cast_to, write_raw
from tasks.reading.private_copies import private_folder, write_raw_from
from tasks.reading.python_values import write_values
from tasks.store import literal, quoted
from tasks.table_settings import Input

NO_SELECT = "input.query: must be a single SELECT"
TOLD = (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException)  # words of the query alone
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)


def duckdb_names(table: Input) -> list[str]:
    """Return the names of what the query gives, or of the only table."""
    with TemporaryDirectory(prefix="unjoin-") as folder, _opened(table, Path(folder) / "copy") as connection:
        query = _query(connection, table)
        described = _told(connection, f"DESCRIBE ({query}\n)").fetchall()
    return [name for name, *_ in described]


def read_duckdb(
    connection: duckdb.DuckDBPyConnection, table: Input, names: Sequence[str], wanted: Sequence[int]
) -> None:
    """Make the table `raw` of the wanted columns; the rows come by way of a file in a private folder."""
    aliases = ", ".join(f"c{number}" for number in range(len(names)))
    cells = ", ".join(f"c{number}" for number in wanted)
    with private_folder(connection) as folder:
        copy = folder / "copy"
        with _opened(table, copy) as source:
            query = _query(source, table)
            _told(source, f"CREATE TABLE copy.cells AS SELECT {cells} FROM ({query}\n) AS t({aliases})")
        write_raw_from(connection, copy, table, names)


@contextmanager
def _opened(table: Input, copy: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database where a query can read it, write an empty one beside it, and do nothing else."""
    with duckdb.connect(copy, config={"autoinstall_known_extensions": "false"}) as connection:
        copy.chmod(0o600)
        connection.execute("SET enable_progress_bar = false")
        try:
            connection.execute(f"ATTACH {literal(str(table.path))} AS given (READ_ONLY)")
        except duckdb.Error:
            raise InputError(
                f"input.path: {table.path.name} cannot be read as a database of DuckDB: it is none, in use, "
                "or of a newer version"
            ) from None
        connection.execute("SET enable_external_access = false; SET lock_configuration = true; USE given")
        yield connection


def _query(connection: duckdb.DuckDBPyConnection, table: Input) -> str:
    if table.query is None:
        found = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'given' UNION ALL "
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'given' AND NOT internal"
        ).fetchall()
        _require_one(table, len(found))
        ((schema, name),) = found
        return f"SELECT * FROM given.{quoted(schema)}.{quoted(name)}"
    try:
        statements = duckdb.extract_statements(table.query)
    except duckdb.Error as error:
        raise ConfigurationError(f"input.query: {_first_line(error)}") from None
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise ConfigurationError(NO_SELECT)
    return str(statements[0].query).strip().removesuffix(";")


def _require_one(table: Input, tables: int) -> None:
    if tables == 0:
        raise InputError(f"input.path: {table.path.name} holds no table")
    if tables > 1:
        raise ConfigurationError(
            f"input.query: {table.path.name} holds {tables} tables and views: set the SELECT that gives one"
        )


def _told(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.DuckDBPyConnection:
    """Run a query; what went wrong is told in DuckDB's words only where they are about the query."""
    try:
        return connection.execute(query)
    except TOLD as error:
        raise ConfigurationError(f"input.query: {_first_line(error)}") from None
    except duckdb.PermissionException:
        raise ConfigurationError("input.query: may read nothing but the database") from None
    except duckdb.Error as error:
        raise InputError(f"input.query: failed while it ran ({type(error).__name__})") from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def sqlite_names(table: Input) -> list[str]:
    """Return the names of what the query gives, or of the only table."""
    with _selected(table) as cursor:
        return [str(name) for name, *_ in cursor.description]


def read_sqlite(
    connection: duckdb.DuckDBPyConnection, table: Input, names: Sequence[str], wanted: Sequence[int]
) -> None:
    """Make the table `raw` of the wanted columns, typed; text where values are of several types."""
    with _selected(table) as cursor:
        rows = ([row[number] for number in wanted] for row in cursor)
        types = write_values(connection, "cells", [f"c{number}" for number in wanted], rows)
    write_raw(connection, cast_to("cells", types), types, table, names)
    connection.execute("DROP TABLE cells")


@contextmanager
def _selected(table: Input) -> Iterator[sqlite3.Cursor]:
    """Run the query in a database that nothing can be written to; it may read, and do nothing else."""
    try:
        database = sqlite3.connect(f"{table.path.absolute().as_uri()}?mode=ro", uri=True)
        with closing(database):
            query = _sqlite_query(database, table)
            database.set_authorizer(
                lambda action, *_: sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY
            )
            yield _prepared(database, query)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise InputError(
            f"input.path: {table.path.name} cannot be read as a database of SQLite ({type(error).__name__})"
        ) from None


def _sqlite_query(database: sqlite3.Connection, table: Input) -> str:
    found = database.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'"
    ).fetchall()
    if table.query is not None:
        return table.query
    _require_one(table, len(found))
    ((name,),) = found
    return f"SELECT * FROM {quoted(name)}"


def _prepared(database: sqlite3.Connection, query: str) -> sqlite3.Cursor:
    """Run a query; what went wrong is told in SQLite's words only where rows were not read yet."""
    try:
        database.execute(f"EXPLAIN {query}")
    except sqlite3.ProgrammingError:
        raise ConfigurationError(NO_SELECT) from None
    except sqlite3.DatabaseError as error:
        if "not authorized" in str(error):
            raise ConfigurationError(f"{NO_SELECT}, which does nothing but read") from None
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR:
            raise
        raise ConfigurationError(f"input.query: {_first_line(error)}") from None
    cursor = database.execute(query)
    if cursor.description is None:
        raise ConfigurationError(NO_SELECT)
    return cursor
