"""Copies of the input while it is read: where they are kept, and how rows come from one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tasks.reading.missing_cells import write_raw
from tasks.store import literal
from tasks.table_settings import Input


@contextmanager
def private_folder(connection: duckdb.DuckDBPyConnection) -> Iterator[Path]:
    """Make a folder that only its owner can enter, beside what the store spills, and delete it."""
    ((spill,),) = connection.execute("SELECT current_setting('temp_directory')").fetchall()
    with TemporaryDirectory(prefix="input-", dir=Path(spill).parent) as folder:
        yield Path(folder)


def write_raw_from(
    connection: duckdb.DuckDBPyConnection, copy: Path, table: Input, names: Sequence[str]
) -> None:
    """Make the table `raw` of the table `cells` of another database, whose columns are c0, c1, ..."""
    connection.execute(f"ATTACH {literal(str(copy))} AS copy (READ_ONLY)")
    try:
        described = connection.execute("DESCRIBE copy.cells").fetchall()
        types = {raw: str(sql_type) for raw, sql_type, *_ in described}
        write_raw(connection, "copy.cells", types, table, names)
    finally:
        connection.execute("DETACH copy")
