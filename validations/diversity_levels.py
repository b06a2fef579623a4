"""How diverse the values of equivalence classes (ECs) are, in SQL, by the model that was asked for.

Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity" (TKDD 2007).
"""

import duckdb

from validations.protection import Diversity

LEVELS = {
    "distinct": "SELECT count(value) AS level FROM value_counts GROUP BY ec",
    "entropy": """
        SELECT coalesce(exp(ln(sum(n)) - sum(n * ln(n)) / sum(n)), 0) AS level
        FROM (SELECT ec, CASE WHEN value IS NOT NULL THEN n END AS n FROM value_counts) GROUP BY ec""",
    "recursive": """
        SELECT count(*) FILTER (largest / from_here_on < $c) AS level
        FROM (SELECT ec, max(held) OVER (PARTITION BY ec) AS largest, nullif(sum(held) OVER (
                  PARTITION BY ec ORDER BY held DESC
                  ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), 0)::DOUBLE AS from_here_on
              FROM (SELECT ec, CASE WHEN value IS NULL THEN 0 ELSE n END AS held FROM value_counts))
        GROUP BY ec""",
}
"""The level of every EC by its value counts; 0 for an EC without any value.

A sum from the l-th most frequent value on never grows with l, so the recursive level, the largest l that
holds, is the number of l that hold. A quotient of records that is c, is c as rounded too: it is not below.
"""


def smallest_level(connection: duckdb.DuckDBPyConnection, asked: Diversity) -> float | None:
    """Return the smallest level over all ECs.

    Parameters
    ----------
    connection
        Has the table `value_counts`: for every EC, `ec`, its values, or one NULL, and their records `n`.
    asked
        The model.

    Returns
    -------
    float or None
        None if there is no EC. "distinct": the number of values. "entropy": the exponential of the entropy,
        in nats. "recursive": the largest l for which the EC is (c, l)-diverse.
    """
    parameters = {"c": asked.c} if asked.model == "recursive" else {}
    query = f"SELECT min(level)::DOUBLE FROM ({LEVELS[asked.model]})"
    ((level,),) = connection.execute(query, parameters).fetchall()
    return None if level is None else float(level)
