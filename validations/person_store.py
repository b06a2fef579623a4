"""Which persons have records in which equivalence class (EC), from the run's private store.

The store's records are tied to the files: per EC of a file, its class and sensitive values occur as often as
in the store. Who a record is of cannot be read from the files.
"""

from collections.abc import Sequence

import duckdb

from validations.groups import Groups
from validations.promises import Promises
from validations.published_files import identifier
from validations.segment_store import STORE, UntiedError, count_rows, write_tied


def write_persons(connection: duckdb.DuckDBPyConnection, csv: Sequence[Groups], promises: Promises) -> int:
    """Write the tables `borne_1`, ... and `credited_1`, ...; return how many persons there are.

    `borne_<fragment>` has a row for every `ec`, `person`, `class` and sensitive values `s1`, `s2`, ... that
    occur together, and how many `records` do; `credited_<fragment>` the `class` that a `person` is credited
    with in an `ec`.

    Parameters
    ----------
    connection
        Has the store attached; gets the tables.
    csv
        The groups of each fragment's CSV file.
    promises
        Name the columns and the number of records.

    Raises
    ------
    UntiedError
        If the store's records are not those of the files.
    """
    for table in ("source", "codes", "members", "persons", "published_classes"):
        if count_rows(connection, f"{STORE}.{table}") != promises.records:
            raise UntiedError("the private store has another number of records")
    if count_rows(connection, f"{STORE}.persons WHERE person IS NULL"):
        raise UntiedError("the private store has records of nobody")
    _write_class_names(connection, promises)
    for number, groups in enumerate(csv, 1):
        write_tied(connection, groups, promises, number)
        _refuse_shared_classes(connection, number)
        _write_borne(connection, promises, number)
        _refuse_other_values(connection, groups, promises, number)
        connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE credited_{number} AS
            SELECT tied.ec, person, class_value AS class
            FROM {STORE}.counted AS counted JOIN tied_{number} AS tied ON member = counted.ec
            WHERE fragment = {number}""")
    ((persons,),) = connection.execute(f"SELECT count(DISTINCT person) FROM {STORE}.persons").fetchall()
    return int(persons)


def _write_class_names(connection: duckdb.DuckDBPyConnection, promises: Promises) -> None:
    """Write the table `class_names`: the class value behind every code."""
    column = identifier(promises.class_attribute)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE class_names AS
        SELECT DISTINCT codes.{column} AS code, source.{column}::VARCHAR AS class
        FROM {STORE}.codes AS codes POSITIONAL JOIN {STORE}.source AS source""")
    if count_rows(connection, "(SELECT code FROM class_names GROUP BY code HAVING count(*) > 1)"):
        raise UntiedError("the private store has several class values for one code")


def _refuse_shared_classes(connection: duckdb.DuckDBPyConnection, number: int) -> None:
    """Refuse classes of the store that the file shows as one: persons are credited in each by itself."""
    if count_rows(connection, f"(SELECT ec FROM tied_{number} GROUP BY ec HAVING count(*) > 1)"):
        raise UntiedError(f"fragment {number}: equivalence classes of the private store are one in the file")


def _write_borne(connection: duckdb.DuckDBPyConnection, promises: Promises, number: int) -> None:
    sensitive = promises.fragments[number - 1].sensitive
    values = "".join(
        f", source.{identifier(name)}::VARCHAR AS s{place}" for place, name in enumerate(sensitive, 1)
    )
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE borne_{number} AS
        SELECT tied.ec, persons.person, class_names.class{values}, count(*) AS records
        FROM {STORE}.persons AS persons POSITIONAL JOIN {STORE}.members AS members
             POSITIONAL JOIN {STORE}.published_classes AS published POSITIONAL JOIN {STORE}.source AS source
             JOIN tied_{number} AS tied ON tied.member = members.fragment_{number}
             LEFT JOIN class_names ON class_names.code = published.fragment_{number}
        GROUP BY ALL""")


def _refuse_other_values(
    connection: duckdb.DuckDBPyConnection, groups: Groups, promises: Promises, number: int
) -> None:
    """Refuse a store whose records do not have the values that the file has, in every EC."""
    names = (promises.class_attribute, *promises.fragments[number - 1].sensitive)
    shown = ", ".join(str(groups.value(name)) for name in names)
    held = ", ".join(["class", *(f"s{place}" for place in range(1, len(names)))])
    file = f"SELECT ec, {shown}, sum(n)::BIGINT FROM {groups.table} GROUP BY ALL"
    kept = f"SELECT ec, {held}, sum(records)::BIGINT FROM borne_{number} GROUP BY ALL"
    differing = count_rows(
        connection, f"(({file} EXCEPT {kept}) UNION ALL (({kept}) EXCEPT ({file}))) AS differing"
    )
    if differing:
        raise UntiedError(f"fragment {number}: records have other values in the private store")


def miscredited(connection: duckdb.DuckDBPyConnection, fragments: int) -> int:
    """Return how many credits are wrong or missing; see `PersonEvidence.miscredited`.

    Parameters
    ----------
    connection
        Has the store attached, and the tables of `write_persons`.
    fragments
        How many there are.
    """
    numbers = range(1, fragments + 1)
    found = sum(_miscredited_in(connection, number, joined=fragments > 1) for number in numbers)
    placed = sum(count_rows(connection, f"credited_{number}") for number in numbers)
    return found + count_rows(connection, f"{STORE}.counted") - placed


def _miscredited_in(connection: duckdb.DuckDBPyConnection, number: int, *, joined: bool) -> int:
    """Return the same of one fragment; that nobody is credited with a class value matters for joins only."""
    borne, credited = f"borne_{number}", f"credited_{number}"
    twice = f"(SELECT ec, person FROM {credited} GROUP BY ec, person HAVING count(*) > 1)"
    strange = f"(SELECT ec, person, class FROM {credited} EXCEPT SELECT ec, person, class FROM {borne})"
    forgotten = f"(SELECT ec, person FROM {borne} EXCEPT SELECT ec, person FROM {credited})"
    uncovered = f"(SELECT ec, class FROM {borne} EXCEPT SELECT ec, class FROM {credited})"
    wrong = (twice, strange, forgotten, uncovered) if joined else (twice, strange, forgotten)
    return sum(count_rows(connection, each) for each in wrong)


def fewest_persons(connection: duckdb.DuckDBPyConnection, fragments: int) -> int:
    """Return the fewest persons with records in an EC, over all fragments."""
    return min(
        _smallest(connection, f"SELECT count(DISTINCT person) AS n FROM borne_{number} GROUP BY ec")
        for number in range(1, fragments + 1)
    )


def fewest_class_values(connection: duckdb.DuckDBPyConnection, fragments: int) -> int:
    """Return the fewest class values of an EC that a person is credited with, over all fragments."""
    return min(
        _smallest(
            connection,
            f"SELECT count(DISTINCT credited.class) AS n FROM (SELECT DISTINCT ec FROM borne_{number}) "
            f"LEFT JOIN credited_{number} AS credited USING (ec) GROUP BY ec",
        )
        for number in range(1, fragments + 1)
    )


def credit_sensitive(
    connection: duckdb.DuckDBPyConnection, promises: Promises
) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return the fewest values of each sensitive attribute that persons bear in an EC, and wrong credits.

    A person is credited with at most one value of an attribute in an EC, which its records must have there.

    Parameters
    ----------
    connection
        Has the store attached, and the tables of `write_persons`.
    promises
        Name the sensitive attributes.
    """
    found, wrong, placed = [], 0, 0
    for number, promise in enumerate(promises.fragments, 1):
        for place, name in enumerate(promise.sensitive, 1):
            _write_credited_values(connection, number, name)
            placed += count_rows(connection, "credited_values")
            wrong += _wrong_values(connection, number, place)
            query = (
                f"SELECT count(DISTINCT value) AS n FROM (SELECT DISTINCT ec FROM borne_{number}) "
                "LEFT JOIN credited_values USING (ec) GROUP BY ec"
            )
            found.append((name, _smallest(connection, query)))
    strange = count_rows(connection, f"{STORE}.counted_sensitive") - placed
    return tuple(sorted(found, key=lambda each: promises.sensitive.index(each[0]))), wrong + strange


def _write_credited_values(connection: duckdb.DuckDBPyConnection, number: int, name: str) -> None:
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE credited_values AS
        SELECT tied.ec, person, value
        FROM {STORE}.counted_sensitive AS counted JOIN tied_{number} AS tied ON member = counted.ec
        WHERE fragment = {number} AND attribute = $name""",
        {"name": name},
    )


def _wrong_values(connection: duckdb.DuckDBPyConnection, number: int, place: int) -> int:
    twice = "(SELECT ec, person FROM credited_values GROUP BY ec, person HAVING count(*) > 1)"
    strange = (
        "(SELECT ec, person, value FROM credited_values "
        f"EXCEPT SELECT ec, person, s{place} FROM borne_{number} WHERE s{place} IS NOT NULL)"
    )
    return count_rows(connection, twice) + count_rows(connection, strange)


def _smallest(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(connection.execute(f"SELECT coalesce(min(n), 0) FROM ({query})").fetchall()[0][0])
