"""Step: arrange what each fragment publishes as lines.

A line stands for the records that are alike in all published cells. Lines are sorted by those
cells, so the place of a record tells nothing that its cells do not.
"""

from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.steps import step
from tasks.store import open_store, quoted
from tasks.tables import read_class_domain, read_fragments, read_sensitive

Counts = npt.NDArray[np.int64]

PER_RECORD = """
    SELECT ec, class_value, after AS records FROM class_counts WHERE fragment = {fragment} AND after > 0
"""

PER_CLASS = """
    SELECT ec, class_value, 1 AS records FROM class_counts WHERE fragment = {fragment} AND after > 0
    UNION ALL
    SELECT ec, NULL, any_value(size.records) - count(*)
    FROM class_counts JOIN equivalence_classes AS size USING (fragment, ec)
    WHERE fragment = {fragment} AND after > 0
    GROUP BY ec HAVING any_value(size.records) > count(*)
"""


@step("arrange the lines to publish")
def arrange_lines(store: Path, config: Config) -> list[int]:
    """Store the lines of each fragment in their published order; return how many there are."""
    per_class = config.privacy.enforcement == "delta_selectivity"
    with open_store(store) as connection:
        fragments = zip(read_fragments(connection), read_sensitive(connection), strict=True)
        persons = config.columns.entity is not None
        return [
            _write_lines(connection, number, len(features), sensitive, per_class=per_class, persons=persons)
            for number, (features, sensitive) in enumerate(fragments, 1)
        ]


def _write_lines(
    connection: duckdb.DuckDBPyConnection,
    number: int,
    features: int,
    sensitive: list[str],
    *,
    per_class: bool,
    persons: bool,
) -> int:
    """Make the table `published_<fragment>`: each line's equivalence class, values and records."""
    held = (PER_CLASS if per_class else PER_RECORD).format(fragment=number)
    if persons:
        _count_published(connection, number, sensitive)
    elif sensitive:
        _count_together(connection, number, sensitive)
    if persons or sensitive:
        held = f"FROM together_{number}"
    cells = ", ".join(f"nullif(f{index}, '') NULLS FIRST" for index in range(1, features + 1))
    values = [*_values(sensitive), "class_value"]
    order = ", ".join(f"{value} NULLS FIRST" for value in values)
    connection.execute(f"""
        CREATE OR REPLACE TABLE published_{number} AS
        SELECT row_number() OVER (ORDER BY place, {order}) AS line, ec, {", ".join(values)}, records
        FROM ({held}) AS held JOIN (
            SELECT rowid AS ec, dense_rank() OVER (ORDER BY {cells}) AS place FROM regions_{number}
        ) USING (ec)
        ORDER BY line
    """)
    ((lines,),) = connection.execute(f"SELECT count(*) FROM published_{number}").fetchall()
    return int(lines)


def _values(sensitive: list[str]) -> list[str]:
    """Return what sensitive attributes are called in the store, whatever their own names are."""
    return [f"s{index}" for index in range(1, len(sensitive) + 1)]


def _count_together(connection: duckdb.DuckDBPyConnection, number: int, sensitive: list[str]) -> None:
    """Make the table `together_<fragment>`: how often sensitive values and class values occur together."""
    class_name = read_class_domain(connection).name
    names = ", ".join(
        f"source.{quoted(name)} AS {value}" for name, value in zip(sensitive, _values(sensitive), strict=True)
    )
    connection.execute(f"""
        CREATE OR REPLACE TABLE together_{number} AS
        SELECT members.fragment_{number} AS ec, {names}, source.{quoted(class_name)} AS class_value,
               count(*) AS records
        FROM source POSITIONAL JOIN members GROUP BY ALL
    """)
    changed = connection.execute(
        f"SELECT DISTINCT ec FROM class_counts WHERE fragment = {number} AND before <> after ORDER BY ec"
    ).fetchall()
    for (ec,) in changed:
        _change_class(connection, number, int(ec), _values(sensitive))


def _count_published(connection: duckdb.DuckDBPyConnection, number: int, sensitive: list[str]) -> None:
    """Make the table `together_<fragment>` of records whose published class values are stored."""
    names = "".join(
        f"source.{quoted(name)} AS {value}, "
        for name, value in zip(sensitive, _values(sensitive), strict=True)
    )
    connection.execute(
        f"""
        CREATE OR REPLACE TABLE together_{number} AS
        SELECT members.fragment_{number} AS ec, {names}
               (?::VARCHAR[])[published.fragment_{number} + 1] AS class_value, count(*) AS records
        FROM source POSITIONAL JOIN members POSITIONAL JOIN published_classes AS published GROUP BY ALL
        """,
        [read_class_domain(connection).values.tolist()],
    )


def _change_class(connection: duckdb.DuckDBPyConnection, number: int, ec: int, values: list[str]) -> None:
    """Give the records of one equivalence class the class values that enforcement left it."""
    names = ", ".join(values)
    held = connection.execute(
        f"SELECT {names}, class_value, records FROM together_{number} WHERE ec = {ec} ORDER BY ALL"
    ).fetchall()
    left = connection.execute(
        f"SELECT class_value, after FROM class_counts WHERE fragment = {number} AND ec = {ec} ORDER BY ALL"
    ).fetchall()
    class_values = [value for value, _ in left]
    kept = list(dict.fromkeys(row[:-2] for row in held))
    together = np.zeros((len(kept), len(class_values)), dtype=np.int64)
    for *sensitive, class_value, records in held:
        together[kept.index(tuple(sensitive)), class_values.index(class_value)] = records
    changed = change_class_values(together, np.array([after for _, after in left]))
    rows = [
        (ec, *kept[place], class_values[value], int(changed[place, value]))
        for place, value in np.argwhere(changed).tolist()
    ]
    connection.execute(f"DELETE FROM together_{number} WHERE ec = {ec}")
    connection.executemany(
        f"INSERT INTO together_{number} VALUES ({', '.join('?' * (len(values) + 3))})", rows
    )


def change_class_values(together: Counts, after: Counts) -> Counts:
    """Return counts in which each class value occurs as often as wanted, and all else as before.

    Parameters
    ----------
    together : ndarray of shape (combinations of sensitive values, class values)
        How often they occur together.
    after : ndarray of shape (class values,)
        How often each class value shall occur; the sum stays the same.
    """
    changed = together.copy()
    surplus = together.sum(axis=0) - after
    for given in np.flatnonzero(surplus > 0):
        for taken in np.flatnonzero(surplus < 0):
            moved = min(surplus[given], -surplus[taken])
            order = np.argsort(-changed[:, given], kind="stable")
            before = np.cumsum(changed[order, given]) - changed[order, given]
            moves = np.clip(moved - before, 0, changed[order, given])
            changed[order, given] -= moves
            changed[order, taken] += moves
            surplus[given] -= moved
            surplus[taken] += moved
    return changed
