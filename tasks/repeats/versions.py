"""The versions of a release as the private files tell them: who was in which equivalence class (EC)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tasks.config import Config
from tasks.repeats.conditions import Flags, Ints, Version
from tasks.repeats.content import has_persons

Keys = npt.NDArray[np.uint64]


def write_followed(connection: duckdb.DuckDBPyConnection, config: Config) -> None:
    """Make the tables that later versions need: `followed`, and `followed_counts` as it is published.

    Nothing is made where persons are not followed.
    """
    if not has_persons(connection):
        return
    connection.execute("""
        CREATE OR REPLACE TABLE followed AS
        SELECT * FROM (SELECT key, members.* FROM person_keys POSITIONAL JOIN members) ORDER BY ALL
    """)
    held, counted = "after", ""
    if config.columns.entity is not None:
        held, counted = "coalesce(persons, 0)", "LEFT JOIN person_counts USING (fragment, ec, class_value)"
    connection.execute(f"""
        CREATE OR REPLACE TABLE followed_counts AS
        SELECT fragment, ec, class_value, CAST({held} AS BIGINT) AS held
        FROM class_counts {counted} WHERE after > 0 ORDER BY ALL
    """)


class Known(NamedTuple):
    """Whom and which class values several versions have, in order: their places are their numbers."""

    keys: Keys
    values: list[str]


class Earlier:
    """Earlier versions, read from their files one after the other, as often as they are gone through."""

    def __init__(self, files: Sequence[Path], known: Known) -> None:
        self.files = files
        self.known = known

    def __iter__(self) -> Iterator[Version]:
        """Yield each version."""
        for file in self.files:
            with opened(file) as connection:
                version = read_version(connection, self.known)
            yield version


class OfSome:
    """A version and earlier ones, of some of their persons only, as often as they are gone through."""

    def __init__(self, new: Version, earlier: Earlier, chosen: Flags) -> None:
        self.new = new.of(chosen)
        self.earlier = earlier
        self.chosen = chosen

    def __iter__(self) -> Iterator[Version]:
        """Yield each version, the newest first."""
        yield self.new
        for version in self.earlier:
            yield version.of(self.chosen)


@contextmanager
def opened(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the private file of a version to read it."""
    with duckdb.connect(file, read_only=True) as connection:
        connection.execute("SET enable_progress_bar = false")
        yield connection


def known_to(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> Known:
    """Return whom and which class values this version and earlier ones have."""
    keys, values = _known(connection)
    for file in files:
        with opened(file) as earlier:
            more_keys, more_values = _known(earlier)
        keys, values = np.union1d(keys, more_keys), values | more_values
    return Known(keys, sorted(values))


def _known(connection: duckdb.DuckDBPyConnection) -> tuple[Keys, set[str]]:
    keys = _fetched(connection, "SELECT DISTINCT key FROM followed ORDER BY key")["key"]
    values = connection.execute("SELECT DISTINCT class_value FROM followed_counts").fetchall()
    return keys, {value for (value,) in values}


def read_version(connection: duckdb.DuckDBPyConnection, known: Known) -> Version:
    """Return who is in which EC of a version, and what these show."""
    columns = _fetched(connection, "SELECT * FROM followed ORDER BY key")
    persons = np.searchsorted(known.keys, columns.pop("key"))
    counts = _fetched(connection, "SELECT fragment, ec, class_value, held FROM followed_counts")
    offsets = _offsets(counts["fragment"], counts["ec"])
    ecs = np.column_stack([ecs + offset for ecs, offset in zip(columns.values(), offsets, strict=False)])
    places = np.searchsorted(np.array(known.values, dtype=object), counts["class_value"])
    rows = counts["ec"] + offsets[counts["fragment"] - 1]
    shape = (int(offsets[-1]), len(known.values))
    return Version(*_memberships(persons, ecs), csr_array((counts["held"], (rows, places)), shape=shape))


def _offsets(fragments: Ints, ecs: Ints) -> Ints:
    """Return the number of the first EC of each fragment, and, last, how many there are."""
    sizes = np.zeros(int(fragments.max()), dtype=np.int64)
    np.maximum.at(sizes, fragments - 1, ecs.astype(np.int64) + 1)
    return np.concatenate([[0], np.cumsum(sizes)])


def _memberships(persons: Ints, ecs: Ints) -> tuple[Ints, Ints]:
    """Return each person with each of its ECs once; persons are in order."""
    whom, where = np.repeat(persons, ecs.shape[1]), ecs.ravel().astype(np.int64)
    if (np.diff(persons) > 0).all():
        return whom, where
    classes = int(where.max()) + 1
    return np.divmod(np.unique(whom * classes + where), classes)


def _fetched(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any]:
    return {name: np.ma.getdata(column) for name, column in connection.execute(query).fetchnumpy().items()}
