"""Parquet files: the names of the columns, and their cells as they are typed."""

import glob
from collections.abc import Iterable, Iterator, Sequence

import duckdb

from tasks.reading.missing_cells import write_raw
from tasks.store import literal
from tasks.table_settings import Input


def parquet_names(table: Input) -> list[str]:
    """Return the names as the file has them: DuckDB renames twins."""
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)", [glob.escape(str(table.path))]
        ).fetchall()
    return [name for name, depth in _with_depths(rows) if depth == 1]


def _with_depths(rows: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Yield each element of a schema, which its children follow, and how deep in it it is."""
    open_children: list[int] = []
    for name, children in rows:
        while open_children and open_children[-1] == 0:
            open_children.pop()
        yield name, len(open_children)
        if open_children:
            open_children[-1] -= 1
        open_children.append(children)


def read_parquet(
    connection: duckdb.DuckDBPyConnection, table: Input, names: Sequence[str], wanted: Sequence[int]
) -> None:
    """Make the table `raw` of the wanted columns."""
    source = f"read_parquet({literal(glob.escape(str(table.path)))}, hive_partitioning = false)"
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    types = {f"c{number}": str(described[number][1]) for number in wanted}
    aliases = ", ".join(f"c{number}" for number in range(len(names)))
    write_raw(connection, f"{source} AS t({aliases})", types, table, names)
