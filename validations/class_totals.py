"""Class totals: how often fragments have each class value, and where they must have been changed.

Every fragment holds the same records. Where the totals of two fragments differ, class values were changed in
one of them or in both.
"""

from collections.abc import Sequence

import duckdb

from validations.groups import Groups


def fewest_changes(
    connection: duckdb.DuckDBPyConnection, csv: Sequence[Groups]
) -> dict[tuple[int, int], int]:
    """Return the fewest class values that must have been changed in each two fragments together.

    Parameters
    ----------
    connection
        Where the groups are.
    csv
        The groups of each fragment's CSV file; each has a class column.

    Returns
    -------
    dict
        Per pair of fragment numbers, from 1: half the L1 distance of their class totals. Rows that one
        fragment lacks are no changes.
    """
    totals = " UNION ALL ".join(
        f"SELECT {number} AS fragment, {groups.class_column} AS value, sum(n)::BIGINT AS n "
        f"FROM {groups.table} GROUP BY value"
        for number, groups in enumerate(csv, 1)
    )
    rows = connection.execute(f"""
        WITH totals AS ({totals}),
        every AS (
            SELECT fragment, value, coalesce(n, 0) AS n
            FROM (SELECT unnest(range(1, {len(csv) + 1})) AS fragment)
                 CROSS JOIN (SELECT DISTINCT value FROM totals) LEFT JOIN totals USING (fragment, value))
        SELECT a.fragment, b.fragment,
               least(sum(greatest(a.n - b.n, 0)), sum(greatest(b.n - a.n, 0)))::BIGINT
        FROM every AS a JOIN every AS b ON a.value = b.value AND a.fragment < b.fragment
        GROUP BY ALL""").fetchall()
    return {(first, second): changes for first, second, changes in rows}
