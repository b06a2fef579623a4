"""The partner test: what the files alone can tell of joins that hold what was promised only within segments.

A record's equivalence classes (ECs) of two fragments are of one segment. Both hold its class, unless that was
changed in one of them, so their join has rows and must hold at least k, or rest on k records of both. The
files do not tell which EC of the other fragment is the record's, but some EC must be fit for it: one that
holds the class and joins in that way. Large ECs are the likely ones, and are tried first.
"""

from collections.abc import Callable, Sequence
from itertools import permutations

from validations.class_counts import LARGEST_WORK, ClassCounts, TooCostlyError, balanced_sum

Fit = Callable[[ClassCounts, int], str]
"""Gives the SQL text of whether the join of a row of table `a` and one of table `b` is fit."""


def holds_rows(counts: ClassCounts, k: int) -> str:
    """Return the SQL text of whether a join holds at least k rows."""
    return f"{counts.product} >= {k}"


def rests_on_records(counts: ClassCounts, k: int) -> str:
    """Return the SQL text of whether a join rests on at least k records of both its ECs."""
    values = range(counts.values)
    held = (
        balanced_sum([f"CASE WHEN {other}.v{value} > 0 THEN {own}.v{value} ELSE 0 END" for value in values])
        for own, other in ("ab", "ba")
    )
    return " AND ".join(f"{records} >= {k}" for records in held)


def records_without_partner(counts: ClassCounts, fit: Fit, k: int, changed: Sequence[int]) -> int:
    """Return how many records have no fit EC in another fragment, beyond those whose class was changed.

    Parameters
    ----------
    counts
        The class counts.
    fit
        What makes an EC fit.
    k
        The rows that the join with a fit EC holds, or the records that it rests on.
    changed
        Records whose class was changed, per fragment.

    Returns
    -------
    int
        Summed over all pairs of fragments; 0 if all joins within segments can be fit.

    Raises
    ------
    TooCostlyError
        If too many joins must be looked at.
    """
    fragments = range(1, counts.fragments + 1)
    return sum(
        max(0, _without_fit(counts, first, second, fit(counts, k)) - changed[first - 1] - changed[second - 1])
        for first, second in permutations(fragments, 2)
    )


def _without_fit(counts: ClassCounts, first: int, second: int, fit: str) -> int:
    """Return how many records of one fragment have no fit EC in another one."""
    counts.connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE firsts AS
        SELECT row_number() OVER () AS id, *
        FROM (SELECT * EXCLUDE (ec), count(*) AS ecs FROM class_counts_{first} GROUP BY ALL)""")
    return sum(_without_fit_of(counts, f"v{value}", second, fit) for value in range(counts.values))


def _without_fit_of(counts: ClassCounts, value: str, second: int, fit: str) -> int:
    """Return how many records with one class value have no fit EC in another fragment."""
    connection = counts.connection
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE alone AS
        FROM firsts WHERE {value} > 0""")
    for tried in ("LIMIT 4", "LIMIT 64", ""):
        if counts.size("alone") == 0:
            return 0
        connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE tried AS
            FROM counts_{second} WHERE {value} > 0 ORDER BY {_records(counts)} DESC, id {tried}""")
        work = counts.size("alone") * counts.size("tried") * counts.values
        if work > LARGEST_WORK:
            raise TooCostlyError(f"{work:.1e} multiplications of class counts exceed {LARGEST_WORK:.0e}")
        connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE alone AS
            FROM alone ANTI JOIN (
                SELECT DISTINCT a.id FROM alone AS a, tried AS b WHERE {fit}) USING (id)""")
    return counts.smallest(f"SELECT sum({value} * ecs) FROM alone") or 0


def _records(counts: ClassCounts) -> str:
    return balanced_sum([f"v{value}" for value in range(counts.values)])
