"""Whom an attack aims at: records of the original table, of which the attacker knows the features."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.errors import InputError
from tasks.store import quoted, write_table
from validations.cell_grammar import cell_kind
from validations.promises import Promises

DRAWN = "drawn_targets"

Groups = Mapping[str, Sequence[str]]


class Targets(NamedTuple):
    """Records of the original table.

    Attributes
    ----------
    values
        Of every feature, the class and every sensitive attribute: masked array of shape (targets,), missing
        values masked; numbers or texts. Numbers with a fixed number of digits after the point are held
        without it, dates as days since 1970-01-01, see `as_number`.
    number
        How many there are.
    groups
        Of every feature with a hierarchy, by the targets' values: what the groups that hold a value are
        called.
    """

    values: dict[str, "np.ma.MaskedArray[Any, Any]"]
    number: int
    groups: Mapping[str, Groups] = MappingProxyType({})


def require_fit(connection: duckdb.DuckDBPyConnection, promises: Promises) -> None:
    """Refuse an original table that a release cannot be of.

    Parameters
    ----------
    connection
        To a store with the loaded table.
    promises
        Of the release.

    Raises
    ------
    InputError
        Naming all that does not fit.
    """
    ((records,),) = connection.execute("SELECT count(*) FROM source").fetchall()
    persons = _number_of_persons(connection)
    columns = _cell_kinds(connection)
    expected = dict.fromkeys(columns) | promises.kinds
    faults = [
        f"column {name!r}: {_said(columns.get(name))} in the configuration, {_said(kind)} in the release"
        for name, kind in expected.items()
        if columns.get(name) != kind
    ]
    if records != promises.records:
        faults.insert(0, f"it has {records} records, the release {promises.records}")
    stated = promises.stated_persons
    if (None if stated is None else stated.number) != persons:
        faults.insert(0, f"it is of {_people(persons)}, the release of {_people(stated and stated.number)}")
    if faults:
        listed = "\n".join(faults)
        raise InputError(f"the table that the configuration names is not the one that was released\n{listed}")


def _number_of_persons(connection: duckdb.DuckDBPyConnection) -> int | None:
    """Return how many persons the records are of; None where records are counted alone."""
    persons = _whom(connection)
    return None if persons is None else len(np.unique(persons))


def _whom(connection: duckdb.DuckDBPyConnection) -> npt.NDArray[np.int32] | None:
    """Return whom each record is of, shape (records,); None where records are counted alone."""
    if not connection.execute("FROM duckdb_tables() WHERE table_name = 'persons'").fetchall():
        return None
    return np.asarray(connection.execute("SELECT person FROM persons").fetchnumpy()["person"])


def _people(number: int | None) -> str:
    return "records alone" if number is None else f"{number} persons"


def _cell_kinds(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the kind of every loaded column's cells: those of its feature, "sensitive" or "class"."""
    found = connection.execute("""
        SELECT name, role, kind, scale, precision, name IN (SELECT "column" FROM hierarchies)
        FROM columns ORDER BY position
    """).fetchall()
    return {
        name: cell_kind(kind, scale, precision, hierarchy=hierarchy) if role == "feature" else role
        for name, role, kind, scale, precision, hierarchy in found
    }


def _said(kind: str | None) -> str:
    others = {
        None: "not used",
        "sensitive": "a sensitive attribute",
        "class": "the class",
        "grouped": "a feature (categorical, with a hierarchy)",
    }
    if kind in others:
        return others[kind]
    family, _, detail = str(kind).partition("_")
    exactly = {"fixed": f", scale {detail}", "date": f", precision {detail}"}
    return f"a feature ({family}{exactly.get(family, '')})"


def as_number(column: str, kind: str) -> str:
    """Return the SQL text of a number or date as the attacks compare it: exactly.

    Parameters
    ----------
    column
        SQL text of what it is read from.
    kind
        Of the column's cells.

    Examples
    --------
    >>> as_number("c1", "fixed_2"), as_number("c1", "date_month"), as_number("c1", "integer")
    ('(c1::DECIMAL(38, 2) * 100)::BIGINT', "(c1 - DATE '1970-01-01')", 'c1')
    """
    family, _, scale = kind.partition("_")
    if family == "fixed":
        return f"({column}::DECIMAL(38, {scale}) * {10 ** int(scale)})::BIGINT"
    return f"({column} - DATE '1970-01-01')" if family == "date" else column


def number_of_targets(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many can be aimed at in the loaded table: persons where these are counted, else records."""
    ((records,),) = connection.execute("SELECT count(*) FROM source").fetchall()
    persons = _number_of_persons(connection)
    return int(records) if persons is None else persons


def draw_targets(connection: duckdb.DuckDBPyConnection, count: int, seed: int) -> Targets:
    """Draw records of the loaded table, each at most once; where persons are counted, one of each person.

    Parameters
    ----------
    connection
        To a store with the loaded table.
    count
        How many, if there are as many.
    seed
        Chooses them.
    """
    rows = _draw(connection, count, np.random.default_rng(seed))
    kinds = _cell_kinds(connection)
    write_table(connection, DRAWN, {"record": np.sort(rows)})
    selected = ", ".join(
        f"{as_number(f'source.{quoted(name)}', kind)} AS c{place}"
        for place, (name, kind) in enumerate(kinds.items())
    )
    drawn = connection.execute(
        f"SELECT {selected} FROM source JOIN {DRAWN} ON source.rowid = record ORDER BY record"
    ).fetchnumpy()
    connection.execute(f"DROP TABLE {DRAWN}")
    values = {name: np.ma.asarray(drawn[f"c{place}"]) for place, name in enumerate(kinds)}
    groups = {
        name: _groups(connection, name, values[name]) for name, kind in kinds.items() if kind == "grouped"
    }
    return Targets(values, len(rows), groups)


def _draw(
    connection: duckdb.DuckDBPyConnection, count: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return the rows of the records drawn; where persons are counted, one of each person drawn."""
    ((records,),) = connection.execute("SELECT count(*) FROM source").fetchall()
    persons, rows = _whom(connection), np.arange(records)
    if persons is not None:
        order = rng.permutation(records)
        rows = order[np.unique(persons[order], return_index=True)[1]]
    return rng.choice(rows, min(count, len(rows)), replace=False)


def _groups(
    connection: duckdb.DuckDBPyConnection, name: str, values: "np.ma.MaskedArray[Any, Any]"
) -> Groups:
    """Return what the groups that hold each value of a column are called."""
    known = sorted(set(values.data[present(values)].tolist()))
    found = connection.execute(
        'SELECT value, ancestors FROM hierarchies WHERE "column" = ? AND value IN (SELECT unnest(?))',
        [name, known],
    ).fetchall()
    return dict(found)


def present(values: "np.ma.MaskedArray[Any, Any]") -> npt.NDArray[np.bool_]:
    """Return which values are not missing."""
    return ~np.ma.getmaskarray(values)
