"""What is kept privately of each version of a release, for later versions to be held against."""

import os
import secrets
from collections.abc import Collection
from pathlib import Path

import duckdb

from tasks.config import Config
from tasks.durable import flush
from tasks.errors import ConfigurationError
from tasks.store import literal

KEPT = ".kept"
KEY = "key"
KEY_BYTES = 32
SUFFIX, UNPUBLISHED, MADE = ".duckdb", ".unpublished", ".new"
TABLES = ("about", "followed", "followed_counts")


def kept_folder(config: Config) -> Path:
    """Return where the private files of all versions of the release are."""
    return config.run.workspace / KEPT / config.output.name


def secret_key(connection: duckdb.DuckDBPyConnection, config: Config) -> bytes:
    """Return the key by which digests of this release are made; the run's store has it from then on.

    Raises
    ------
    ConfigurationError
        If the key that was kept cannot be read, is not one, or is another.
    """
    connection.execute("CREATE TABLE IF NOT EXISTS secret_key (key BLOB)")
    held = connection.execute("SELECT key FROM secret_key").fetchall()
    kept = _kept_key(config)
    if not held:
        held = [(kept or secrets.token_bytes(KEY_BYTES),)]
        connection.execute("INSERT INTO secret_key VALUES (?)", held[0])
    key = bytes(held[0][0])
    if kept not in {None, key}:
        raise ConfigurationError(
            f"repeats: {kept_folder(config) / KEY} is not the key that this run started with: start it anew"
        )
    return key


def _kept_key(config: Config) -> bytes | None:
    path = kept_folder(config) / KEY
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"repeats: {path} cannot be read ({error.strerror})") from None
    if len(key) != KEY_BYTES:
        raise ConfigurationError(
            f"repeats: {path} is not a key: bring back the one that was there, or delete its folder, after "
            "which earlier versions are compared by their published files only"
        )
    return key


def keep(connection: duckdb.DuckDBPyConnection, config: Config, version: str) -> None:
    """Keep what later versions need of this one, which is not published yet."""
    folder = kept_folder(config)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    _keep_key(folder, secret_key(connection, config))
    made, place = folder / f"{version}{MADE}", folder / f"{version}{UNPUBLISHED}"
    made.unlink(missing_ok=True)
    _copy_tables(connection, made)
    flush(made)
    made.replace(place)
    flush(folder)


def _copy_tables(connection: duckdb.DuckDBPyConnection, place: Path) -> None:
    held = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    connection.execute(f"ATTACH {literal(str(place))} AS kept")
    place.chmod(0o600)
    for table in TABLES:
        if table in held:
            connection.execute(f"CREATE TABLE kept.{table} AS SELECT * FROM {table}")
    connection.execute("DETACH kept")


def _keep_key(folder: Path, key: bytes) -> None:
    path = folder / KEY
    if path.exists():
        return
    made = folder / f"{KEY}{MADE}"
    made.unlink(missing_ok=True)
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(descriptor)
    made.replace(path)


def settle_kept(config: Config, published: Collection[str]) -> None:
    """Hold on to what was kept of published versions; remove what runs kept that did not get that far."""
    folder = kept_folder(config)
    for path in folder.glob(f"*{MADE}*"):
        path.unlink()
    for path in folder.glob(f"*{UNPUBLISHED}"):
        if path.stem in published:
            path.replace(path.with_suffix(SUFFIX))
        else:
            path.unlink()


def kept_versions(config: Config) -> dict[str, Path]:
    """Return the private file of each published version that has one, in their order."""
    return {path.stem: path for path in sorted(kept_folder(config).glob(f"*{SUFFIX}"))}
