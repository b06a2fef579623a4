"""Whom an attack aims at: records of the original table, of which the attacker knows the features."""

from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.errors import InputError
from tasks.store import quoted, write_table
from validations.promises import Promises

DRAWN = "drawn_targets"


class Targets(NamedTuple):
    """Records of the original table.

    Attributes
    ----------
    values
        Of every feature, the class and every sensitive attribute: masked array of shape (targets,), missing
        values masked; numbers or texts.
    number
        How many there are.
    """

    values: dict[str, "np.ma.MaskedArray[Any, Any]"]
    number: int


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
    columns = {
        name: kind if role == "feature" else role
        for name, kind, role in connection.execute("SELECT name, kind, role FROM columns").fetchall()
    }
    expected = dict.fromkeys(columns) | promises.kinds
    faults = [
        f"column {name!r}: {_said(columns.get(name))} in the configuration, {_said(kind)} in the release"
        for name, kind in expected.items()
        if columns.get(name) != kind
    ]
    if records != promises.records:
        faults.insert(0, f"it has {records} records, the release {promises.records}")
    if faults:
        listed = "\n".join(faults)
        raise InputError(f"the table that the configuration names is not the one that was released\n{listed}")


def _said(kind: str | None) -> str:
    return {"sensitive": "a sensitive attribute", "class": "the class", None: "not used"}.get(
        kind, f"a feature ({kind})"
    )


def draw_targets(connection: duckdb.DuckDBPyConnection, count: int, seed: int) -> Targets:
    """Draw records of the loaded table, each at most once.

    Parameters
    ----------
    connection
        To a store with the loaded table.
    count
        How many, if there are as many.
    seed
        Chooses them.
    """
    ((records,),) = connection.execute("SELECT count(*) FROM source").fetchall()
    rows = np.random.default_rng(seed).choice(records, min(count, records), replace=False)
    names = [name for (name,) in connection.execute("SELECT name FROM columns").fetchall()]
    write_table(connection, DRAWN, {"record": np.sort(rows)})
    selected = ", ".join(f"source.{quoted(name)} AS c{place}" for place, name in enumerate(names))
    drawn = connection.execute(
        f"SELECT {selected} FROM source JOIN {DRAWN} ON source.rowid = record ORDER BY record"
    ).fetchnumpy()
    connection.execute(f"DROP TABLE {DRAWN}")
    values = {name: np.ma.asarray(drawn[f"c{place}"]) for place, name in enumerate(names)}
    return Targets(values, len(rows))


def present(values: "np.ma.MaskedArray[Any, Any]") -> npt.NDArray[np.bool_]:
    """Return which values are not missing."""
    return ~np.ma.getmaskarray(values)
