"""Whether a table and its settings are those of another version: a digest that only its key can make."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.persons.stored import mixed, record_words


def content_digest(connection: duckdb.DuckDBPyConnection, config: Config, key: bytes) -> str:
    """Return a digest of the loaded table, whatever the order of its records, and of the settings.

    The seed and whatever does not shape a release stay out of it; whether it is signed counts. Without the
    key nobody can tell by trying which table it is of.

    Parameters
    ----------
    connection
        To the store of a loaded table.
    config
        As it was asked for.
    key
        Stays private.
    """
    settings = f"{config.sha256} {config.signing.signs}"
    digest = hmac.new(key, settings.encode(), hashlib.sha256)
    for table in _described_by(connection):
        columns = connection.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchnumpy()
        for name, values in columns.items():
            digest.update(f"{table} {name} {len(values)} ".encode())
            digest.update(_as_bytes(np.ma.asanyarray(values)))
    digest.update(np.sort(_records(connection)).tobytes())
    return digest.hexdigest()


def _described_by(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Yield the tables that say what the codes of the records mean."""
    rows = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY table_name").fetchall()
    for (name,) in rows:
        if name in {"columns", "hierarchies"} or name.startswith("domain_"):
            yield name


def _records(connection: duckdb.DuckDBPyConnection) -> npt.NDArray[np.uint64]:
    """Return a word for each record: of what it holds, and of whom it is where persons are followed."""
    words = record_words(connection, seed=0)
    if not has_persons(connection):
        return words
    keys = connection.execute("SELECT key FROM person_keys").fetchnumpy()["key"]
    return mixed(words + np.ma.getdata(keys))


def _as_bytes(values: npt.NDArray[Any]) -> bytes:
    if values.dtype == object:
        return json.dumps(values.tolist(), default=list).encode()
    return np.ma.filled(values).tobytes()


def has_persons(connection: duckdb.DuckDBPyConnection) -> bool:
    """Tell whether persons are followed."""
    found = connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'person_keys'").fetchall()
    return bool(found)
