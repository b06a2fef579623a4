"""Which equivalence classes (ECs) have records in which segment, from the run's private store.

The ECs of a fragment's CSV file are found in the store by the cells that they release.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from validations.groups import VALUES, Groups
from validations.promises import Promises

STORE = "private_store"


class UntiedError(Exception):
    """The files and the private store do not belong together; the message says why, without any value."""


@contextmanager
def attached(connection: duckdb.DuckDBPyConnection, store: Path) -> Iterator[None]:
    """Have the private store at hand, to read from it only."""
    path = "'" + str(store).replace("'", "''") + "'"
    connection.execute(f"ATTACH {path} AS {STORE} (READ_ONLY)")
    try:
        yield
    finally:
        connection.execute(f"DETACH {STORE}")


def write_held(connection: duckdb.DuckDBPyConnection, csv: Sequence[Groups], promises: Promises) -> None:
    """Write the table `held`: a row for every `segment`, `fragment` and `ec` that have `records` in common.

    Parameters
    ----------
    connection
        Has the store attached; gets the table.
    csv
        The groups of each fragment's CSV file.
    promises
        Name the columns and the number of records.

    Raises
    ------
    UntiedError
        If an EC of a file is not in the store, or one of the store not in the file, or their records differ.
    """
    for table in ("members", "segments"):
        if count_rows(connection, f"{STORE}.{table}") != promises.records:
            raise UntiedError("the private store has another number of records")
    for number, groups in enumerate(csv, 1):
        write_tied(connection, groups, promises, number)
    held = " UNION ALL ".join(
        f"""
        SELECT segment, {number} AS fragment, ec, count(*) AS records
        FROM (SELECT segment, fragment_{number} AS member
              FROM {STORE}.segments POSITIONAL JOIN {STORE}.members)
        JOIN tied_{number} USING (member) GROUP BY segment, ec"""
        for number in range(1, len(csv) + 1)
    )
    connection.execute(f"CREATE OR REPLACE TEMP TABLE held AS {held}")
    if count_rows(connection, "held WHERE segment IS NULL"):
        raise UntiedError("the private store has records without a segment")
    for number, groups in enumerate(csv, 1):
        _refuse_other_records(connection, groups, number)


def write_tied(
    connection: duckdb.DuckDBPyConnection, groups: Groups, promises: Promises, number: int
) -> None:
    """Write the table `tied_<fragment>`: the EC in the file, `ec`, for every one in the store, `member`.

    Parameters
    ----------
    connection
        Has the store attached; gets the table.
    groups
        Of the fragment's CSV file.
    promises
        Name the columns.
    number
        The fragment's number, from 1.

    Raises
    ------
    UntiedError
        If an EC of the store is not in the file, or its columns are others.
    """
    promise = promises.fragments[number - 1]
    if groups.names != (*promise.features, *promise.sensitive, promises.class_attribute):
        raise UntiedError(f"{promise.csv} has other columns than were promised")
    cells = [place for place, kind in enumerate(groups.kinds, 1) if kind not in VALUES]
    regions = f"{STORE}.regions_{number}"
    columns = [name for name, *_ in connection.execute(f"DESCRIBE {regions}").fetchall()]
    if columns != [f"f{place}" for place in cells]:
        raise UntiedError(f"the private store has other columns than {promise.csv}")
    equal = " AND ".join(f"coalesce(f{place}, '') = c{place}" for place in cells) or "true"
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE tied_{number} AS
        SELECT region.rowid AS member, ec
        FROM {regions} AS region JOIN {groups.classes} ON {equal}""")
    if count_rows(connection, f"tied_{number}") != count_rows(connection, regions):
        raise UntiedError(f"the private store has equivalence classes that {promise.csv} has not")


def _refuse_other_records(connection: duckdb.DuckDBPyConnection, groups: Groups, number: int) -> None:
    differing = count_rows(
        connection,
        f"""(SELECT ec, sum(n) AS records FROM {groups.table} GROUP BY ec) AS file
        FULL JOIN (SELECT ec, sum(records) AS records FROM held WHERE fragment = {number} GROUP BY ec) AS kept
        USING (ec) WHERE file.records IS DISTINCT FROM kept.records""",
    )
    if differing:
        raise UntiedError(
            f"fragment {number}: {differing:,} equivalence classes have other records in the private store"
        )


def count_rows(connection: duckdb.DuckDBPyConnection, source: str) -> int:
    """Return the number of rows of a table, or of what else can stand behind FROM."""
    return int(connection.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0])
