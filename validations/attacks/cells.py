"""What the equivalence classes (ECs) of a file release of a feature, beside what the targets have."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from validations.attacks.targets import as_number, present

Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

LARGEST = float(np.finfo(np.float64).max)


class Numbers(NamedTuple):
    """A numeric feature.

    Attributes
    ----------
    lower, upper, ranged, missing : ndarray of shape (ECs,)
        Bounds where `ranged`; whether missing is covered. Numbers with a fixed number of digits after the
        point are held without it, dates as days.
    values, known : ndarray of shape (targets,)
        The targets' values where `known`; elsewhere they are missing.
    span
        The largest less the least of all bounds.
    """

    lower: npt.NDArray[Any]
    upper: npt.NDArray[Any]
    ranged: Flags
    missing: Flags
    values: npt.NDArray[Any]
    known: Flags
    span: float

    def covers(self, targets: Places, ecs: Places) -> Flags:
        """Return whether ECs cover targets; the shapes are broadcast."""
        value = self.values[targets]
        inside = (self.lower[ecs] <= value) & (value <= self.upper[ecs]) & self.ranged[ecs]
        return np.where(self.known[targets], inside, self.missing[ecs])

    def distance(self, targets: Places, ecs: Places) -> Floats:
        """Return 0 where an EC covers a target, else the way to the nearer bound as a share of the span.

        It is 1 where one of the two is missing.
        """
        value = self.values[targets].astype(np.float64) / 2  # halves of numbers never differ by infinity
        beyond = np.maximum(self.lower[ecs] / 2 - value, value - self.upper[ecs] / 2)
        apart = np.where(self.known[targets] & self.ranged[ecs], beyond / (self.span / 2 or 1.0), 1.0)
        return np.where(self.covers(targets, ecs), 0.0, apart)


class Texts(NamedTuple):
    """A categorical feature.

    Attributes
    ----------
    sets : ndarray of shape (ECs,)
        The number of each EC's set of categories.
    holds : ndarray of shape (sets, different values of targets)
        Whether a set holds a value; missing is a value.
    values : ndarray of shape (targets,)
        The column of `holds` that is the target's.
    """

    sets: Places
    holds: Flags
    values: Places

    def covers(self, targets: Places, ecs: Places) -> Flags:
        """Return whether ECs cover targets; the shapes are broadcast."""
        return np.asarray(self.holds[self.sets[ecs], self.values[targets]])

    def distance(self, targets: Places, ecs: Places) -> Floats:
        """Return 0 where an EC covers a target, else 1."""
        return np.where(self.covers(targets, ecs), 0.0, 1.0)


Feature = Numbers | Texts


def read_numbers(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    column: str,
    kind: str,
    own: "np.ma.MaskedArray[Any, Any]",
) -> Numbers:
    """Read the cells of a numeric feature.

    Parameters
    ----------
    connection
        Has the table.
    table
        A row per EC, numbered from 0 by the column `ec`.
    column
        Of the feature.
    kind
        Of its cells.
    own : masked array of shape (targets,)
        The values of the targets.
    """
    bounds = [f"coalesce({as_number(f'{column}.{end}', kind)}, 0) AS {end}" for end in ("lower", "upper")]
    parts = connection.execute(
        f"SELECT {', '.join(bounds)}, "
        f"{column}.lower IS NOT NULL AS ranged, coalesce({column}.missing, true) AS missing "
        f"FROM {table} ORDER BY ec"
    ).fetchnumpy()
    lower, upper, ranged, missing = (np.ma.getdata(part) for part in parts.values())
    ends = np.concatenate([lower[ranged], upper[ranged]]).astype(np.float64)
    span = min(float(ends.max()) - float(ends.min()), LARGEST) if len(ends) else 0.0
    return Numbers(lower, upper, ranged, missing, np.ma.filled(own, 0), present(own), span)


def read_texts(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    column: str,
    groups: Mapping[str, Sequence[str]],
    own: "np.ma.MaskedArray[Any, Any]",
) -> Texts:
    """Read the cells of a categorical feature.

    Parameters
    ----------
    connection, table, column, own
        See `read_numbers`.
    groups
        What the groups are called that hold a value, where the feature has a hierarchy: a set with the name
        of one holds the value.
    """
    texts = [value if known else None for value, known in zip(own.data, present(own), strict=True)]
    different = list(dict.fromkeys(texts))
    names = [[text, *(() if text is None else groups.get(text, ()))] for text in different]
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE wanted AS SELECT place - 1 AS value, unnest(names) AS name "
        "FROM (SELECT unnest($1::VARCHAR[][]) AS names, generate_subscripts($1, 1) AS place)",
        [names],
    )
    connection.execute(f"CREATE OR REPLACE TEMP TABLE sets AS SELECT DISTINCT {column} AS held FROM {table}")
    sets = connection.execute(
        f"SELECT sets.rowid AS held FROM {table} JOIN sets ON {column} IS NOT DISTINCT FROM held ORDER BY ec"
    ).fetchnumpy()["held"]
    found = connection.execute("""
        SELECT one.held, wanted.value
        FROM (SELECT rowid AS held, unnest(held) AS category FROM sets) AS one
        JOIN wanted ON category IS NOT DISTINCT FROM name
    """).fetchnumpy()
    ((count,),) = connection.execute("SELECT count(*) FROM sets").fetchall()
    holds = np.zeros((count, len(different)), dtype=np.bool_)
    holds[found["held"], found["value"]] = True
    places = {value: place for place, value in enumerate(different)}
    return Texts(np.asarray(sets, dtype=np.intp), holds, _codes(texts, places))


def _codes(texts: Sequence[str | None], places: dict[str | None, int]) -> Places:
    return np.array([places[text] for text in texts], dtype=np.intp)
