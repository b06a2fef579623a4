"""The data dictionary: what each published column is and how much its cells say, in aggregates."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import duckdb

from tasks.domain import Precision
from tasks.store import literal
from tasks.typed_values import first_day

Role = Literal["feature", "sensitive", "class"]
Kind = Literal["integer", "decimal", "fixed", "date", "categorical", "text"]

HOLDS = {"integer": "whole numbers", "decimal": "numbers", "categorical": "categories", "text": "text"}
ABSENT = "list_contains(list_transform(f{place}, lambda c: c IS NULL), true)"
AT_ONCE = 50  # columns of a query; DuckDB takes time and memory by the square of them
VALUES = 'SELECT value FROM hierarchies WHERE "column" = {name}'
FORMULA = "regexp_matches({text}, '^[=+@-]')"


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
    scale
        Digits after the point, where the kind is "fixed".
    precision
        What dates are told by, where the kind is "date".
    label
        What the column is called at length, if the input says so.
    constant
        Whether all its cells are one and the same value.
    formula
        Whether the files hold categories or texts that spreadsheets take for formulas.
    grouped
        Whether cells can name groups of categories.
    """

    name: str
    role: Role
    kind: Kind
    fragment: int | None
    different: int
    exact: float
    width: float | None
    missing: bool
    scale: int = 0
    precision: Precision | None = None
    label: str | None = None
    constant: bool = False
    formula: bool = False
    grouped: bool = False

    @property
    def holds(self) -> str:
        """What the column holds, in words."""
        if self.grouped:
            return "categories, or groups of them"
        if self.kind == "fixed":
            return f"numbers with {self.scale} decimal{'s' if self.scale > 1 else ''}"
        return f"{self.precision}s" if self.kind == "date" else HOLDS[self.kind]


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
    columns = {column["name"]: column for column in manifest["columns"]}
    loss = manifest["measures"]["information_loss"]["features"]
    asked = [_figures(place, columns[name]) for place, name in enumerate(names, 1)]
    found = [
        figures
        for first in range(0, len(asked), AT_ONCE)
        for figures in connection.execute(f"""
            SELECT {", ".join(asked[first : first + AT_ONCE])}
            FROM (SELECT ec, sum(records) AS records FROM published_{number} GROUP BY ec)
            JOIN typed_regions_{number} AS cells ON cells.rowid = ec
        """).fetchall()[0]
    ]
    return [
        ColumnEntry(
            name,
            "feature",
            columns[name]["kind"],
            number,
            different,
            exact,
            loss[name],
            missing,
            columns[name].get("scale", 0),
            columns[name].get("precision"),
            columns[name].get("label"),
            constant=different == 1 and exact == 1 and not missing,
            formula=formula,
            grouped="hierarchy" in columns[name],
        )
        for name, (different, exact, missing, formula) in zip(names, found, strict=True)
    ]


def _figures(place: int, column: Mapping[str, Any]) -> str:
    kind, cell = column["kind"], f"f{place}"
    upper = f"{cell}.upper"
    if kind == "date":
        upper = first_day(upper, column["precision"])
    if kind == "categorical":
        exact, missing = f"len({cell}) = 1", ABSENT.format(place=place)
        if "hierarchy" in column:
            values = VALUES.format(name=literal(column["name"]))
            exact += f" AND ({cell}[1] IS NULL OR {cell}[1] IN ({values}))"
        formula = f"bool_or(len(list_filter({cell}, lambda c: {FORMULA.format(text='c')})) > 0)"
    else:
        exact = f"{cell}.lower IS NULL OR ({cell}.lower = {upper} AND NOT {cell}.missing)"
        missing, formula = f"{cell}.missing", "false"
    return (
        f"row(count(DISTINCT {cell}), coalesce(sum(records) FILTER ({exact}), 0) / sum(records), "
        f"bool_or({missing}), {formula})"
    )


def _sensitive(connection: duckdb.DuckDBPyConnection, number: int, names: list[str]) -> list[ColumnEntry]:
    return [
        ColumnEntry(
            name,
            "sensitive",
            "text",
            number,
            different,
            1.0,
            None,
            given < 1,
            constant=different == given == 1,
            formula=formula,
        )
        for place, name in enumerate(names, 1)
        for different, given, formula in [_values(connection, [number], f"s{place}")]
    ]


def _class(connection: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any]) -> ColumnEntry:
    numbers = list(range(1, len(manifest["fragments"]) + 1))
    different, given, formula = _values(connection, numbers, "class_value")
    return ColumnEntry(
        manifest["class"],
        "class",
        "text",
        None,
        different,
        given,
        None,
        given < 1,
        constant=different == given == 1,
        formula=formula,
    )


def _values(
    connection: duckdb.DuckDBPyConnection, numbers: list[int], column: str
) -> tuple[int, float, bool]:
    """Return the different values of a column in some fragments, the share of records with one, formulas."""
    lines = " UNION ALL ".join(f"SELECT {column} AS value, records FROM published_{n}" for n in numbers)
    found = connection.execute(f"""
        SELECT count(DISTINCT value), coalesce(sum(records) FILTER (value IS NOT NULL), 0) / sum(records),
            coalesce(bool_or({FORMULA.format(text="value")}), false)
        FROM ({lines})
    """).fetchall()
    different, given, formula = found[0]
    return int(different), float(given), bool(formula)
