"""The data dictionary: what each published column is and how much its cells say, in aggregates."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import duckdb

Role = Literal["feature", "sensitive", "class"]
Kind = Literal["integer", "decimal", "categorical", "text"]

EXACT = {
    "categorical": "len(f{place}) = 1",
    "integer": "f{place}.lower IS NULL OR (f{place}.lower = f{place}.upper AND NOT f{place}.missing)",
}
EXACT["decimal"] = EXACT["integer"]
MISSING = {"categorical": "list_contains(list_transform(f{place}, lambda c: c IS NULL), true)"}
MISSING["integer"] = MISSING["decimal"] = "f{place}.missing"


class ColumnEntry(NamedTuple):
    """A published column.

    Attributes
    ----------
    name
        Its name.
    role
        "feature", "sensitive" or "class".
    kind
        What it holds; "text" for columns that are published as they are.
    fragment
        Number of its fragment, from 1; None for the class, which is in all.
    different
        How many different cells are in the files; empty ones do not count where the column is text.
    exact
        Share of records whose cell says one thing: one value, or that it is missing. Of the class: the share
        of records whose cell is not blank.
    width
        Information loss, the mean width of its cells as a share of all that occurs; None for text.
    missing
        Whether cells are in the files that are empty or end in "or missing".
    """

    name: str
    role: Role
    kind: Kind
    fragment: int | None
    different: int
    exact: float
    width: float | None
    missing: bool


def read_dictionary(
    connection: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any]
) -> tuple[ColumnEntry, ...]:
    """Return all columns: the features and sensitive attributes of each fragment in turn, the class last.

    Parameters
    ----------
    connection
        To a run's store, after the lines to publish were arranged.
    manifest
        The content of release.json.
    """
    columns = [
        entry
        for number, fragment in enumerate(manifest["fragments"], 1)
        for entry in (
            *_features(connection, number, fragment["features"], manifest),
            *_sensitive(connection, number, fragment["sensitive"]),
        )
    ]
    return (*columns, _class(connection, manifest))


def _features(
    connection: duckdb.DuckDBPyConnection, number: int, names: list[str], manifest: Mapping[str, Any]
) -> list[ColumnEntry]:
    kinds = {column["name"]: column["kind"] for column in manifest["columns"]}
    loss = manifest["measures"]["information_loss"]["features"]
    found = connection.execute(f"""
        SELECT {", ".join(_figures(place, kinds[name]) for place, name in enumerate(names, 1))}
        FROM (SELECT ec, sum(records) AS records FROM published_{number} GROUP BY ec)
        JOIN typed_regions_{number} AS cells ON cells.rowid = ec
    """).fetchall()[0]
    return [
        ColumnEntry(name, "feature", kinds[name], number, different, exact, loss[name], missing)
        for name, (different, exact, missing) in zip(names, found, strict=True)
    ]


def _figures(place: int, kind: str) -> str:
    exact, missing = (forms[kind].format(place=place) for forms in (EXACT, MISSING))
    return (
        f"row(count(DISTINCT f{place}), coalesce(sum(records) FILTER ({exact}), 0) / sum(records), "
        f"bool_or({missing}))"
    )


def _sensitive(connection: duckdb.DuckDBPyConnection, number: int, names: list[str]) -> list[ColumnEntry]:
    return [
        ColumnEntry(name, "sensitive", "text", number, different, 1.0, None, given < 1)
        for place, name in enumerate(names, 1)
        for different, given in [_values(connection, [number], f"s{place}")]
    ]


def _class(connection: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any]) -> ColumnEntry:
    numbers = list(range(1, len(manifest["fragments"]) + 1))
    different, given = _values(connection, numbers, "class_value")
    return ColumnEntry(manifest["class"], "class", "text", None, different, given, None, given < 1)


def _values(connection: duckdb.DuckDBPyConnection, numbers: list[int], column: str) -> tuple[int, float]:
    """Return how many different values a column has in some fragments, and the share of records with one."""
    lines = " UNION ALL ".join(f"SELECT {column} AS value, records FROM published_{n}" for n in numbers)
    found = connection.execute(f"""
        SELECT count(DISTINCT value), coalesce(sum(records) FILTER (value IS NOT NULL), 0) / sum(records)
        FROM ({lines})
    """).fetchall()
    different, given = found[0]
    return int(different), float(given)
