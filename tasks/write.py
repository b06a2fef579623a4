"""Step: write each fragment's files into a staging folder, beside where they will be published."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import duckdb

from tasks.config import Config
from tasks.events import counted, progress
from tasks.reports.manifest import FragmentFiles, draft_manifest, write_manifest
from tasks.steps import step
from tasks.store import literal, open_store, quoted
from tasks.tables import read_fragments, read_sensitive

WRITERS = 2
"""Fragments that are written at once: the rows of a file stand in order, which keeps one core busy."""


class Names(NamedTuple):
    """The columns of a fragment's files, in their order."""

    features: list[str]
    sensitive: list[str]
    class_attribute: str

    @property
    def values(self) -> list[str]:
        """What is published as it is, selected from the table of lines."""
        sensitive = [f"s{index} AS {quoted(name)}" for index, name in enumerate(self.sensitive, 1)]
        return [*sensitive, f"class_value AS {quoted(self.class_attribute)}"]


@step("write the fragments")
def write_fragments(store: Path, config: Config, staging: Path, release_version: str) -> list[str]:
    """Write the CSV and Parquet files and a first manifest; return the names of the files."""
    with open_store(store) as connection, ThreadPoolExecutor(max_workers=WRITERS) as writers:
        connection.execute("SET threads = 1")  # of each writer: more would put off what they write, in memory
        names = [
            Names(features, sensitive, config.columns.class_attribute)
            for features, sensitive in zip(
                read_fragments(connection), read_sensitive(connection), strict=True
            )
        ]
        files = []
        for written in writers.map(
            lambda number: _write_fragment(connection.cursor(), number, names[number - 1], staging),
            range(1, len(names) + 1),
        ):
            files.append(written)
            progress(len(files) / len(names))
        write_manifest(draft_manifest(connection, config, release_version, files), staging)
    counted(files=2 * len(files))
    return [name for written in files for name in (written.csv, written.parquet)]


def _write_fragment(
    connection: duckdb.DuckDBPyConnection, number: int, names: Names, staging: Path
) -> FragmentFiles:
    csv, parquet = staging / f"fragment_{number}.csv", staging / f"fragment_{number}.parquet"
    _write_csv(connection, number, names, csv)
    _write_parquet(connection, number, names, parquet)
    return FragmentFiles(csv.name, parquet.name, _sha256(csv), _sha256(parquet))


def _write_csv(connection: duckdb.DuckDBPyConnection, number: int, names: Names, path: Path) -> None:
    """Repeat each line as often as it has records; the order of lines is kept."""
    cells = [f"nullif(f{index}, '') AS {quoted(name)}" for index, name in enumerate(names.features, 1)]
    connection.execute(f"""
        COPY (
            SELECT {", ".join([*cells, *names.values])} FROM (
                SELECT *, unnest(range(records)) FROM (
                    SELECT cells.*, published.*
                    FROM published_{number} AS published JOIN regions_{number} AS cells ON cells.rowid = ec
                    ORDER BY line
                )
            )
        ) TO {literal(str(path))} (FORMAT csv, HEADER true, DELIMITER ',', QUOTE '"', ESCAPE '"', NULLSTR '')
    """)


def _write_parquet(connection: duckdb.DuckDBPyConnection, number: int, names: Names, path: Path) -> None:
    cells = [f"f{index} AS {quoted(name)}" for index, name in enumerate(names.features, 1)]
    connection.execute(f"""
        COPY (
            SELECT {", ".join([*cells, *names.values])} FROM (
                SELECT *, unnest(range(records)) FROM (
                    SELECT cells.*, published.*
                    FROM published_{number} AS published
                    JOIN typed_regions_{number} AS cells ON cells.rowid = ec
                    ORDER BY line
                )
            )
        ) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)
    """)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
