"""Step 5: bring each fragment's equivalence classes together as the lines to publish.

A line stands for the records that are alike in all published cells. Lines are sorted by those
cells, so the place of a record tells nothing that its cells do not.
"""

from pathlib import Path

import duckdb

from tasks.config import Config
from tasks.steps import step
from tasks.store import open_store
from tasks.tables import read_fragments

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


@step("merge the classes of each fragment")
def merge_fragments(store: Path, config: Config) -> list[int]:
    """Store the lines of each fragment in their published order; return how many there are."""
    per_class = config.privacy.enforcement == "delta_selectivity"
    with open_store(store) as connection:
        return [
            _write_lines(connection, number, len(features), per_class=per_class)
            for number, features in enumerate(read_fragments(connection), 1)
        ]


def _write_lines(
    connection: duckdb.DuckDBPyConnection, number: int, features: int, *, per_class: bool
) -> int:
    """Make the table `published_<fragment>`: each line's equivalence class, class value and records."""
    held = (PER_CLASS if per_class else PER_RECORD).format(fragment=number)
    cells = ", ".join(f"nullif(f{index}, '') NULLS FIRST" for index in range(1, features + 1))
    connection.execute(f"""
        CREATE OR REPLACE TABLE published_{number} AS
        SELECT row_number() OVER (ORDER BY {cells}, class_value NULLS FIRST) AS line, ec, class_value, records
        FROM ({held}) AS held JOIN regions_{number} AS cells ON cells.rowid = ec
        ORDER BY line
    """)
    ((lines,),) = connection.execute(f"SELECT count(*) FROM published_{number}").fetchall()
    return int(lines)
