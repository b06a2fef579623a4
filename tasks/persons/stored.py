"""Persons in the store: whom records are of, and how each is counted and published."""

from collections.abc import Iterable, Sequence

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.domain import Domain
from tasks.persons.credit import Codes, Credits
from tasks.store import quoted, write_table
from tasks.tables import Counts, read_counts

Words = npt.NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
BLOCK = 1 << 13  # words that are mixed at once: they stay in the cache


def read_persons(connection: duckdb.DuckDBPyConnection, config: Config) -> Codes | None:
    """Return whom each record is of, by number; None where records count, not persons."""
    return None if config.columns.entity is None else stored_persons(connection)


def stored_persons(connection: duckdb.DuckDBPyConnection) -> Codes:
    """Return whom each record is of, by number, of a table whose persons count."""
    return np.asarray(connection.execute("SELECT person FROM persons").fetchnumpy()["person"])


def renumber_persons(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    """Give persons numbers that tell nothing of the order of records: by what these hold, mixed up."""
    content = record_words(connection, seed)
    write_table(connection, "persons", {"person": numbered_by_content(stored_persons(connection), content)})


def record_words(connection: duckdb.DuckDBPyConnection, seed: int) -> Words:
    """Return a word for every record, the same for records that hold the same."""
    content = np.array([], dtype=np.uint64)
    for (name,) in connection.execute("SELECT name FROM columns ORDER BY position").fetchall():
        codes = np.asarray(connection.execute(f"SELECT {quoted(name)} FROM codes").fetchnumpy()[name])
        if not len(content):
            content = np.full(len(codes), seed, dtype=np.uint64)
        for first in range(0, len(codes), BLOCK):
            block = slice(first, first + BLOCK)
            content[block] = _mixed(content[block] + codes[block].astype(np.uint64))
    return content


def numbered_by_content(persons: Codes, content: Words) -> Codes:
    """Return persons numbered from 0 by what their records hold, in whatever order.

    Parameters
    ----------
    persons : ndarray of shape (n,)
        Whom each record is of.
    content : ndarray of shape (n,)
        The same for records that hold the same.
    """
    order = np.argsort(persons, kind="stable")
    starts = np.flatnonzero(np.diff(persons[order], prepend=-1))
    sums = np.add.reduceat(mixed(content)[order], starts)
    rank = np.empty(len(starts), dtype=np.int32)
    rank[np.argsort(sums, kind="stable")] = np.arange(len(starts))
    return rank[np.unique(persons, return_inverse=True)[1]]


def mixed(words: Words) -> Words:
    """Return words that look drawn at random (Steele, Lea, Flood, SplitMix64, OOPSLA 2014)."""
    found = np.empty_like(words)
    for first in range(0, len(words), BLOCK):
        found[first : first + BLOCK] = _mixed(words[first : first + BLOCK])
    return found


def _mixed(words: Words) -> Words:
    mixed = words + GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def write_counted(
    connection: duckdb.DuckDBPyConnection, class_domain: Domain, fragments: Sequence[Credits]
) -> None:
    """Store under which class value each person counts in each equivalence class, and how many do."""
    connection.execute("""
        CREATE OR REPLACE TABLE counted (fragment INTEGER, ec INTEGER, person INTEGER, class_value VARCHAR)
    """)
    for number, counted in enumerate(fragments, 1):
        _append(connection, "counted", number, counted, class_domain)
    connection.execute("""
        CREATE OR REPLACE TABLE person_counts AS
        SELECT fragment, ec, class_value, count(*) AS persons FROM counted GROUP BY ALL ORDER BY ALL
    """)


def write_counted_sensitive(
    connection: duckdb.DuckDBPyConnection, counted: Iterable[tuple[int, Domain, Credits]]
) -> None:
    """Store under which value of sensitive attributes each person counts in each equivalence class."""
    connection.execute("""
        CREATE OR REPLACE TABLE counted_sensitive (
            fragment INTEGER, ec INTEGER, person INTEGER, attribute VARCHAR, value VARCHAR
        )
    """)
    for number, domain, credited in counted:
        _append(connection, "counted_sensitive", number, credited, domain, [domain.name])


def _append(  # noqa: PLR0917 - a table, and what it gets
    connection: duckdb.DuckDBPyConnection,
    table: str,
    number: int,
    counted: Credits,
    domain: Domain,
    between: Sequence[str] = (),
) -> None:
    ecs, persons, codes, _ = counted
    write_table(connection, "credits", {"ec": ecs, "person": persons, "code": codes})
    value = "(?::VARCHAR[])[code + 1]"
    connection.execute(
        f"INSERT INTO {table} SELECT ?, ec, person, {'?, ' * len(between)}{value} FROM credits",
        [number, *between, domain.values.tolist()],
    )
    connection.execute("DROP TABLE credits")


def write_published_classes(connection: duckdb.DuckDBPyConnection, published: Sequence[Codes]) -> None:
    """Store the class code with which each record is published in each fragment."""
    write_table(
        connection,
        "published_classes",
        {f"fragment_{number}": codes for number, codes in enumerate(published, 1)},
    )


def read_person_counts(connection: duckdb.DuckDBPyConnection, class_domain: Domain) -> tuple[Counts, ...]:
    """Return how many persons count under each class value, shape (E, class values), for each fragment."""
    return read_counts(connection, "person_counts", "persons", class_domain)
