"""Joins within segments: the files show the equivalence classes (ECs), the private store their segments.

An EC is within a segment if it has records in it. Let S be the class values that all ECs within a segment
hold, in all fragments. If each has at least k records with a class in S, every join of them, of any set of
fragments, holds at least k rows, rests on k records of each EC, and has all values in S: a product of
counts is at least each of them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb

from validations.class_counts import ClassCounts, TooCostlyError, count_classes, write_distinct
from validations.class_joins import smallest_join
from validations.groups import Groups
from validations.promises import Promises
from validations.protection import WithinSegments
from validations.record_counts import smallest_records
from validations.record_joins import joins_of_records, write_tuples
from validations.segment_store import UntiedError, attached, write_held

LARGEST_SEGMENTS = 10_000
"""Most segments whose joins are gone through one by one."""


class SegmentEvidence(NamedTuple):
    """What files and private store together show of joins within segments.

    Attributes
    ----------
    figures
        What joins hold; None if not found.
    problem
        Why they could not be found.
    """

    figures: WithinSegments | None
    problem: str | None = None


def within_segments(
    connection: duckdb.DuckDBPyConnection, csv: Sequence[Groups], promises: Promises, store: Path
) -> SegmentEvidence:
    """Return what joins of ECs within a segment hold; how many segments there are stays out of it.

    Parameters
    ----------
    connection
        Where the groups are.
    csv
        The groups of each fragment's CSV file; each has a class column.
    promises
        Give k, and the names of columns.
    store
        The private store of the run that made the files; it is only read.
    """
    try:
        with attached(connection, store):
            write_held(connection, csv, promises)
            write_tuples(connection, len(csv))
        _write_shared(connection, csv)
        counts = count_classes(connection, csv)
        figures = WithinSegments(
            at_least=_fewest_rows(counts, promises.k),
            records=_fewest_records(counts, promises.k) if promises.guarantee == "records" else None,
            l=_fewest_class_values(connection),
            sensitive=_fewest_values(connection, csv, promises),
            of_records=joins_of_records(counts, promises),
        )
    except UntiedError as error:
        return SegmentEvidence(None, str(error))
    except TooCostlyError as error:
        return SegmentEvidence(None, f"too costly to check: {error}")
    except duckdb.Error:
        return SegmentEvidence(None, "the private store could not be read")
    return SegmentEvidence(figures)


def _write_shared(connection: duckdb.DuckDBPyConnection, csv: Sequence[Groups]) -> None:
    """Write the tables `shared`, each segment's S, and `kept`: the records of an EC with a class in it."""
    counts = " UNION ALL ".join(
        f"SELECT {number} AS fragment, ec, {groups.class_column} AS class, sum(n) AS n "
        f"FROM {groups.table} WHERE {groups.class_column} <> '' GROUP BY ec, class"
        for number, groups in enumerate(csv, 1)
    )
    connection.execute(f"CREATE OR REPLACE TEMP TABLE of_classes AS {counts}")
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE shared AS
        SELECT segment, class
        FROM held JOIN of_classes USING (fragment, ec)
             JOIN (SELECT segment, count(*) AS within FROM held GROUP BY segment) USING (segment)
        GROUP BY segment, class HAVING count(*) = any_value(within)""")
    connection.execute("""
        CREATE OR REPLACE TEMP TABLE kept AS
        SELECT segment, fragment, ec, coalesce(sum(n) FILTER (shared.class IS NOT NULL), 0) AS kept
        FROM held LEFT JOIN of_classes USING (fragment, ec) LEFT JOIN shared USING (segment, class)
        GROUP BY segment, fragment, ec""")


def _fewest_class_values(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the size of the smallest S."""
    rows = connection.execute("""
        SELECT min(coalesce(size, 0))
        FROM (SELECT DISTINCT segment FROM held)
             LEFT JOIN (SELECT segment, count(*) AS size FROM shared GROUP BY segment) USING (segment)
    """).fetchall()
    return int(rows[0][0])


def _fewest_values(
    connection: duckdb.DuckDBPyConnection, csv: Sequence[Groups], promises: Promises
) -> tuple[tuple[str, int | None], ...]:
    """Return for each sensitive attribute the fewest values of an EC among its records with a class in S."""
    found: dict[str, int | None] = dict.fromkeys(promises.sensitive)
    for number, groups in enumerate(csv, 1):
        for name in promises.fragments[number - 1].sensitive:
            rows = connection.execute(f"""
                SELECT min(held_values)
                FROM (SELECT count(DISTINCT value) FILTER (shared.class IS NOT NULL) AS held_values
                      FROM held
                      JOIN (SELECT DISTINCT ec, {groups.class_column} AS class, {groups.value(name)} AS value
                            FROM {groups.table}) USING (ec)
                      LEFT JOIN shared USING (segment, class)
                      WHERE fragment = {number} GROUP BY segment, ec)""").fetchall()
            found[name] = int(rows[0][0])
    return tuple(found.items())


def _fewest_rows(counts: ClassCounts, k: int) -> int | None:
    """Return what every join within a segment that has rows holds at least; None if none has."""
    return _fewest(counts, k, lambda: smallest_join(counts, k).at_least)


def _fewest_records(counts: ClassCounts, k: int) -> int | None:
    """Return how many records of an EC every join within a segment rests on at least; None likewise."""
    return _fewest(counts, k, lambda: smallest_records(counts))


def _fewest(counts: ClassCounts, k: int, within: Callable[[], int | None]) -> int | None:
    """Return the least figure of a segment; it is k where the records in S prove it to be no less."""
    connection = counts.connection
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE unproven AS
        SELECT segment, bool_or(kept < {k}) AS unproven FROM kept GROUP BY segment""")
    proven = connection.execute("SELECT count(*) FROM unproven WHERE NOT unproven").fetchall()[0][0]
    found = [k] if proven else []
    for segment in _different_segments(connection, counts):
        for fragment in range(1, counts.fragments + 1):
            write_distinct(connection, fragment, _within(segment, fragment))
        least = within()
        found += [] if least is None else [least]
    return min(found, default=None)


def _within(segment: int, fragment: int) -> str:
    held = f"(SELECT ec FROM held WHERE segment = {segment} AND fragment = {fragment})"
    return f"class_counts_{fragment} SEMI JOIN {held} USING (ec)"


def _different_segments(connection: duckdb.DuckDBPyConnection, counts: ClassCounts) -> list[int]:
    """Return segments that are not proven safe; of those whose ECs have the same class counts, one.

    Raises
    ------
    TooCostlyError
        If there are more than `LARGEST_SEGMENTS`.
    """
    entries = ", ".join(f"v{value}" for value in range(counts.values)) or "none"
    alike = " UNION ALL ".join(
        f"SELECT {fragment} AS fragment, ec, dense_rank() OVER (ORDER BY {entries}) AS alike "
        f"FROM class_counts_{fragment}"
        for fragment in range(1, counts.fragments + 1)
    )
    rows = connection.execute(f"""
        SELECT min(segment)
        FROM (SELECT segment, list_sort(list(DISTINCT (fragment, alike))) AS within
              FROM held JOIN unproven USING (segment) JOIN ({alike}) USING (fragment, ec)
              WHERE unproven GROUP BY segment)
        GROUP BY within""").fetchall()
    if len(rows) > LARGEST_SEGMENTS:
        raise TooCostlyError("the bound on segments whose joins are gone through one by one is exceeded")
    return [segment for (segment,) in rows]
