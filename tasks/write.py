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

SIGNS_TO_QUOTE = ',"\r\n#'
"""A field of a CSV file that holds one of these stands in quotes."""

AT_ONCE = 1000
"""Lines that are in memory at once."""

BUFFER = 1 << 20
"""Bytes of a CSV file that are written at once; as few as Python does takes twice as long."""


class Names(NamedTuple):
    """The columns of a fragment's files, in their order."""

    features: list[str]
    sensitive: list[str]
    class_attribute: str

    @property
    def all(self) -> list[str]:
        """Their names."""
        return [*self.features, *self.sensitive, self.class_attribute]

    @property
    def stored(self) -> list[str]:
        """What the values that are published as they are are called in the table of lines."""
        return [*(f"s{index}" for index in range(1, len(self.sensitive) + 1)), "class_value"]

    @property
    def values(self) -> list[str]:
        """What is published as it is, selected from the table of lines."""
        names = [*self.sensitive, self.class_attribute]
        return [f"{value} AS {quoted(name)}" for value, name in zip(self.stored, names, strict=True)]


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
    """Repeat each line as often as it has records; the text of its cells is made once for each class."""
    cells = ", ".join(_field(f"f{index}") for index in range(1, len(names.features) + 1))
    values = ", ".join(_field(value) for value in names.stored)
    lines = connection.execute(f"""
        WITH cells AS MATERIALIZED (SELECT rowid AS ec, concat_ws(',', {cells}) AS text FROM regions_{number})
        SELECT concat_ws(',', text, {values}), records FROM published_{number} JOIN cells USING (ec)
        ORDER BY line
    """)
    with path.open("wb", buffering=BUFFER) as file:
        file.write(f"{','.join(map(_quoted, names.all))}\n".encode())
        while some := lines.fetchmany(AT_ONCE):
            for text, records in some:
                line = f"{text}\n".encode()
                for written in range(0, records, AT_ONCE):
                    file.write(line * min(records - written, AT_ONCE))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(sign in name for sign in SIGNS_TO_QUOTE) else name


def _field(value: str) -> str:
    """Return SQL for a value as it stands in a CSV file; nothing where it is missing."""
    signs = " OR ".join(f"contains({value}, chr({ord(sign)}))" for sign in SIGNS_TO_QUOTE)
    doubled = f"""'"' || replace({value}, '"', '""') || '"'"""
    return f"CASE WHEN {signs} THEN {doubled} ELSE coalesce({value}, '') END"


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
