"""How far the values of equivalence classes (ECs) are from those of the whole file, in SQL.

Earth mover's distances: Li, Li, Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity"
(ICDE 2007). Only values that an EC holds cost work: nowhere are ECs crossed with all values.
"""

from collections.abc import Mapping, Sequence

import duckdb

NODE_SHARES = """
    WITH held AS (
        SELECT ec, level, node, sum(n)::BIGINT AS n
        FROM value_counts JOIN nodes USING (value) GROUP BY ec, level, node),
    of_classes AS (SELECT ec, level, sum(n) AS n FROM held GROUP BY ec, level),
    of_nodes AS (SELECT level, node, sum(n) AS n FROM held GROUP BY level, node),
    of_levels AS (SELECT level, sum(n) AS n FROM of_nodes GROUP BY level)
    SELECT ec, held.n / of_classes.n AS p, of_nodes.n / of_levels.n AS q
    FROM held JOIN of_classes USING (ec, level) JOIN of_nodes USING (level, node) JOIN of_levels USING (level)
"""
"""Shares p in each EC and q in the file of every node, on every level, that an EC has records below."""

STEPS = """
    WITH held AS (
        SELECT ec, rank, n FROM value_counts JOIN ranks USING (value)
        UNION ALL SELECT DISTINCT ec, 0, 0 FROM value_counts WHERE value IS NOT NULL)
    SELECT ec, rank AS start, lead(rank, 1, $values) OVER by_rank AS stop,
           sum(n) OVER by_rank / sum(n) OVER (PARTITION BY ec) AS p
    FROM held WINDOW by_rank AS (PARTITION BY ec ORDER BY rank)
"""
"""The cumulative share p of every EC, which is constant from the rank `start` to just before `stop`."""

CUMULATIVE = """
    WITH counts AS (
        SELECT rank, sum(n) AS n FROM value_counts JOIN ranks USING (value) GROUP BY rank
        UNION ALL SELECT 0, 0),
    shares AS (SELECT rank, sum(n) OVER (ORDER BY rank) / (SELECT sum(n) FROM counts) AS q FROM counts)
    SELECT rank, q, coalesce(sum(q) OVER (
        ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS below
    FROM shares
"""
"""The file's cumulative share q up to every rank, from 0, and `below`, the sum of q over all lower ranks."""

LARGEST_ORDERED = f"""
    WITH cumulative AS ({CUMULATIVE}), steps AS ({STEPS}),
    crossed AS (
        SELECT ec, start, stop, p, least(greatest(cumulative.rank + 1, start), stop) AS crossing
        FROM steps ASOF JOIN cumulative ON steps.p >= cumulative.q)
    SELECT max(distance) FROM (
        SELECT sum(p * (2 * crossing - start - stop) + first.below + last.below - 2 * middle.below)
                   / greatest($values - 1, 1) AS distance
        FROM crossed
        JOIN cumulative AS first ON first.rank = start
        JOIN cumulative AS middle ON middle.rank = crossing
        JOIN cumulative AS last ON last.rank = stop
        GROUP BY ec)
"""
"""The sum of |p - q| over all ranks but the last, step by step: q exceeds p from `crossing` on."""


def largest_hierarchical(connection: duckdb.DuckDBPyConnection, levels: int) -> float | None:
    """Return the largest distance over ECs, where values are as far apart as their lowest common ancestor.

    With one level, where each value is a node of its own, all values are equally far apart.

    Parameters
    ----------
    connection
        Has the tables `value_counts`, and `nodes`: for every value its `node` on each `level` from 0.
    levels
        How many levels there are without the root's.

    Returns
    -------
    float or None
        None if no EC has any value.
    """
    query = f"""
        SELECT max(moved)
        FROM (SELECT sum(abs(p - q) - q) + $levels AS moved FROM ({NODE_SHARES}) GROUP BY ec)"""
    moved = connection.execute(query, {"levels": levels}).fetchall()[0][0]
    return None if moved is None else max(0.0, float(moved) / (2 * levels))


def largest_ordered(connection: duckdb.DuckDBPyConnection, values: int) -> float | None:
    """Return the largest distance over ECs, where values are as far apart as there are steps between them.

    Parameters
    ----------
    connection
        Has the tables `value_counts`, and `ranks`: the `rank` of each of the file's values, from 1.
    values
        How many values there are.

    Returns
    -------
    float or None
        None if no EC has any value.
    """
    moved = connection.execute(LARGEST_ORDERED, {"values": values}).fetchall()[0][0]
    return None if moved is None else max(0.0, float(moved))


def write_nodes(
    connection: duckdb.DuckDBPyConnection, hierarchy: Mapping[str, Sequence[str]] | None
) -> tuple[int, int]:
    """Write the table `nodes`; return its number of levels, and how many values have no place in it.

    Parameters
    ----------
    connection
        Has the table `value_counts`.
    hierarchy
        The ancestors of each value, the root last; None: the root is the only one.
    """
    if hierarchy is None:
        connection.execute("""
            CREATE OR REPLACE TEMP TABLE nodes AS
            SELECT DISTINCT value, 0 AS level, value AS node FROM value_counts WHERE value IS NOT NULL""")
        return 1, 0
    levels = max(map(len, hierarchy.values()), default=1)
    nodes = [
        (value, level, node)
        for value, ancestors in hierarchy.items()
        for level, node in enumerate((value, *ancestors[:-1]))
    ]
    columns = [list(column) for column in zip(*nodes, strict=True)] or [[], [], []]
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE nodes AS SELECT unnest(?::VARCHAR[]) AS value, "
        "unnest(?::INTEGER[]) AS level, unnest(?::VARCHAR[]) AS node",
        columns,
    )
    return levels, _absent(connection, "nodes")


def write_ranks(connection: duckdb.DuckDBPyConnection, order: Sequence[str] | None) -> tuple[int, int]:
    """Write the table `ranks`; return its number of values, and how many have no place in the order.

    Parameters
    ----------
    connection
        Has the table `value_counts`.
    order
        Values, lowest first; None: values are numbers, in their order, and by their text where equal.
    """
    places = "SELECT DISTINCT value, TRY_CAST(value AS DOUBLE) AS place FROM value_counts"
    if order is not None:
        places = "SELECT unnest($order::VARCHAR[]) AS value, generate_subscripts($order, 1)::DOUBLE AS place"
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE ranks AS
        SELECT value, row_number() OVER (ORDER BY place, value) AS rank
        FROM ({places}) SEMI JOIN value_counts USING (value) WHERE isfinite(place)""",
        {} if order is None else {"order": list(order)},
    )
    ((values,),) = connection.execute("SELECT count(*) FROM ranks").fetchall()
    return int(values), _absent(connection, "ranks")


def _absent(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    """Return how many of the file's values a table lacks."""
    query = f"SELECT count(DISTINCT value) FROM value_counts WHERE value NOT IN (SELECT value FROM {table})"
    return int(connection.execute(query).fetchall()[0][0])
