"""What came of holding a release against earlier versions: stored, told, stated."""

from typing import Any, Literal, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Privacy
from tasks.reports.wording import figure
from tasks.store import write_table

Condition = Literal["values", "records", "differences"]


class Compared(NamedTuple):
    """How many earlier versions there are, and by what they could be compared.

    Attributes
    ----------
    earlier
        All of them.
    by_stores
        Of which it is known who was in which equivalence class.
    by_files
        Of which the published files alone are there.
    """

    earlier: int
    by_stores: int
    by_files: int


class Concerned(NamedTuple):
    """Who is concerned by what.

    Attributes
    ----------
    values, records, differences
        How many persons, by each condition.
    persons
        How many persons in all.
    in_files
        How many records the totals and equivalence classes of published files tell of.
    of_records : mapping to ndarrays of shape (concerned records,)
        The records of this version by each condition, from 0.
    """

    values: int
    records: int
    differences: int
    persons: int
    in_files: int
    of_records: dict[Condition, npt.NDArray[np.intp]]

    @property
    def nobody(self) -> bool:
        """Whether all conditions hold."""
        return not (self.persons or self.in_files)


def write_outcome(
    connection: duckdb.DuckDBPyConnection, check: str, compared: Compared, concerned: Concerned
) -> None:
    """Make the tables `repeats`, of one row, and `repeats_concerned`: which records are meant."""
    write_table(
        connection,
        "repeats",
        {
            "check": [check],
            **{name: [number] for name, number in compared._asdict().items()},
            **{name: [getattr(concerned, name)] for name in Concerned._fields if name != "of_records"},
        },
    )
    held = concerned.of_records
    write_table(
        connection,
        "repeats_concerned",
        {
            "condition": np.repeat(list(held), [len(records) for records in held.values()]),
            "record": np.concatenate([*held.values(), np.zeros(0, dtype=np.intp)]),
        },
    )


def stated_repeats(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return what release.json states: not how many persons are concerned, who could be looked for."""
    ((check, earlier, by_stores, by_files, nobody),) = connection.execute("""
        SELECT "check", earlier, by_stores, by_files, persons = 0 AND in_files = 0 FROM repeats
    """).fetchall()
    return {
        "check": check,
        "earlier": earlier,
        "by_stores": by_stores,
        "by_files": by_files,
        "kept": bool(nobody) if by_stores + by_files else None,
    }


def lines_of(concerned: Concerned, privacy: Privacy) -> list[str]:
    """Return a line for each condition that does not hold: how many persons are concerned, and by what."""
    k, least = privacy.k, "" if privacy.l is None else figure(privacy.l)
    values, records, differences = map(_persons, (concerned.values, concerned.records, concerned.differences))
    lines = [
        f"values: of {values} fewer than l = {least} class values occur in every equivalence class",
        f"records: of {records} an equivalence class has fewer than k = {k} records of such values",
        f"differences: {differences} are told by subtracting counts, fewer than k = {k} at a time",
        f"differences: {concerned.in_files:,} records are told by files, fewer than k = {k} at a time",
    ]
    numbers = (concerned.values, concerned.records, concerned.differences, concerned.in_files)
    return [line for line, number in zip(lines, numbers, strict=True) if number]


def _persons(number: int) -> str:
    return f"{number:,} person{'' if number == 1 else 's'}"
