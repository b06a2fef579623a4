"""The rows of chunks, and what is asked of their classes: read from the store, or from files beside it.

Workers on other machines cannot open the store. The files are private as the store is: domains hold values.
"""

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb

from tasks.config import Config
from tasks.domain import Domain
from tasks.durable import flush
from tasks.partitions.protection import Protection, read_protection
from tasks.store import literal, quoted
from tasks.tables import (
    read_class_domain,
    read_fragment_domains,
    read_sensitive,
    read_sensitive_domains,
)
from tasks.worker_processes import available_cores


class Asked(NamedTuple):
    """What the chunks of a fragment have in common.

    Attributes
    ----------
    domains
        Of its features.
    protection
        Of its records.
    """

    domains: Sequence[Domain]
    protection: Protection


def read_asked(connection: duckdb.DuckDBPyConnection, config: Config, fragment: int) -> Asked:
    """Read from the store what the chunks of a fragment have in common."""
    beside = set(read_sensitive(connection)[fragment - 1])
    sensitive = [domain for domain in read_sensitive_domains(connection) if domain.name in beside]
    protection, _ = read_protection(connection, config, [read_class_domain(connection), *sensitive])
    return Asked(read_fragment_domains(connection)[fragment - 1], protection)


def rows_of_segments(first: int, last: int, asked: Asked) -> str:
    """Return the query for the rows of some segments of the store, segment after segment.

    It yields `segment`, the number of the `record`, the codes of the features as f0, f1, ... and of what is
    protected as c0, c1, ..., and where persons count `person`.
    """
    features = [f"codes.{quoted(domain.name)} AS f{place}" for place, domain in enumerate(asked.domains)]
    attributes = enumerate(asked.protection.attributes)
    protected = [f"codes.{quoted(attribute.name)} AS c{place}" for place, attribute in attributes]
    persons = asked.protection.persons
    return f"""
        SELECT segments.segment AS segment, segments.rowid AS record, {", ".join([*features, *protected])}
               {", persons.person AS person" if persons else ""}
        FROM codes POSITIONAL JOIN segments {"POSITIONAL JOIN persons" if persons else ""}
        WHERE segments.segment BETWEEN {first} AND {last}
        {"ORDER BY segments.segment, segments.rowid" if first < last else ""}
    """


def written_rows(folder: Path, fragment: int, first: int, last: int) -> str:
    """Return the query for the rows of some segments that were written."""
    path = literal(str(_rows_path(folder, fragment)))
    return f"FROM read_parquet({path}) WHERE segment BETWEEN {first} AND {last}"


def write_rows(connection: duckdb.DuckDBPyConnection, folder: Path, fragment: int, query: str) -> None:
    """Write the rows of a fragment as Parquet, segment after segment: who reads some skips the others."""
    path = _rows_path(folder, fragment)
    connection.execute(f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet)")
    flush(path)


def _rows_path(folder: Path, fragment: int) -> Path:
    return folder / f"chunks_{fragment}.parquet"


def write_asked(folder: Path, fragment: int, asked: Asked) -> None:
    """Write what the chunks of a fragment have in common."""
    path = _asked_path(folder, fragment)
    path.touch(mode=0o600)
    path.write_bytes(pickle.dumps(asked))
    flush(path)


def written_asked(folder: Path, fragment: int) -> Asked:
    """Return what the chunks of a fragment have in common, as it was written."""
    content = _asked_path(folder, fragment).read_bytes()
    return pickle.loads(content)  # type: ignore[no-any-return]  # noqa: S301 - private, this run's own


def _asked_path(folder: Path, fragment: int) -> Path:
    return folder / f"chunks_{fragment}.pickle"


@contextmanager
def reader_of_files() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB that holds nothing, and puts nothing on the disk of this machine."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": available_cores(),
        "temp_directory": "",
        "autoinstall_known_extensions": "false",
    }
    with duckdb.connect(config=settings) as connection:
        yield connection
