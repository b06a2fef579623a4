"""Step: how surely people can be picked out of the release, and what it gives away."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.learning.learn import equal_shares
from tasks.persons.stored import read_person_counts, read_persons
from tasks.risks.combination import class_revealed
from tasks.risks.figures import Membership, Risks, Spread
from tasks.risks.membership import likelihoods
from tasks.risks.per_person import largest
from tasks.risks.reidentification import reidentification
from tasks.risks.spread import spread
from tasks.steps import step
from tasks.store import open_store
from tasks.tables import read_class_counts, read_class_domain, read_codes, read_members

Counts = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int32]

SPREAD = f"STRUCT({', '.join(f'{quantile} DOUBLE' for quantile in Spread._fields)})"


class Persons(NamedTuple):
    """Persons of whom several records can be.

    Attributes
    ----------
    of_records : ndarray of shape (records,)
        Whom each record is of, numbered from 0.
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment in persons: each counts once in an equivalence class.
    """

    of_records: Labels
    counts: Sequence[Counts]


def risks(
    counts: Sequence[Counts],
    members: Sequence[Labels],
    classes: Labels,
    *,
    per_class: bool = False,
    population: int | None = None,
    persons: Persons | None = None,
) -> Risks:
    """Return the disclosure risks of a release.

    Where persons are counted, candidates are persons, and joins are those of their class counts. What is told
    of the class is what the files show, in records. Each person counts once in every figure, with the
    record that is worst off.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment, as they are after enforcement.
    members : sequence of ndarrays of shape (records,)
        The equivalence class (EC) of every record, for each fragment.
    classes : ndarray of shape (records,)
        The class of every record in the input.
    per_class
        Whether ECs publish each of their class values once. What that tells of the class is taken from these
        sets, each value being equally likely; joins and membership are those of the counts behind them.
    population
        People that the table's are drawn from; None if the table is the population.
    persons
        None where each record is taken for a person.
    """
    joined, of = (counts, None) if persons is None else (persons.counts, persons.of_records)
    return Risks(
        population=population,
        reidentification=tuple(reidentification(joined, members, population, of)),
        membership=_membership(joined, members, of) if len(members) > 1 else None,
        revealed=class_revealed(_told(counts, members) if per_class else counts, members, classes, of),
    )


def _membership(counts: Sequence[Counts], members: Sequence[Labels], persons: Labels | None) -> Membership:
    likelihood = largest(likelihoods(counts, members), persons)
    return Membership(len(likelihood), spread(likelihood))


def _told(counts: Sequence[Counts], members: Sequence[Labels]) -> list[npt.NDArray[np.float64]]:
    return [equal_shares(held, np.bincount(ecs)) for held, ecs in zip(counts, members, strict=True)]


@step("measure the risks")
def measure_risks(store: Path, config: Config) -> float:
    """Store the risks of the release; return the highest chance to pick a record out of one fragment."""
    with open_store(store) as connection:
        class_domain = read_class_domain(connection)
        classes = read_codes(connection, [class_domain])[:, 0]
        counts = read_class_counts(connection, "after")
        members = read_members(connection)
        per_class = config.privacy.enforcement == "delta_selectivity"
        population = config.evaluation.population
        of_records = read_persons(connection, config)
        persons = (
            of_records
            if of_records is None
            else Persons(of_records, read_person_counts(connection, class_domain))
        )
        measured = risks(
            counts, members, classes, per_class=per_class, population=population, persons=persons
        )
        write_risks(connection, measured)
    return max(part.prosecutor.largest for part in measured.reidentification[: len(members)])


def write_risks(connection: duckdb.DuckDBPyConnection, risks: Risks) -> None:
    """Store the risks as the tables `reidentification`, `candidates`, `membership` and `class_revealed`."""
    parts = list(enumerate(risks.reidentification, 1))
    _write(
        connection,
        "reidentification",
        f"part INTEGER, fragments INTEGER[], population BIGINT, prosecutor {SPREAD}, journalist {SPREAD}, "
        'marketer DOUBLE, "unique" BIGINT',
        (
            (
                number,
                list(part.fragments),
                risks.population,
                part.prosecutor._asdict(),
                part.journalist._asdict(),
                part.marketer,
                part.unique,
            )
            for number, part in parts
        ),
    )
    _write(
        connection,
        "candidates",
        "part INTEGER, lower BIGINT, upper BIGINT, share DOUBLE",
        ((number, *group) for number, part in parts for group in part.candidates),
    )
    member = risks.membership
    _write(
        connection,
        "membership",
        f"records BIGINT, likelihood {SPREAD}",
        [] if member is None else [(member.records, member.likelihood._asdict())],
    )
    _write(
        connection,
        "class_revealed",
        f"knowledge VARCHAR, fragment INTEGER, largest {SPREAD}, above_half DOUBLE, "
        'above_nine_tenths DOUBLE, certain DOUBLE, "right" DOUBLE',
        ((known.knowledge, known.fragment, known.largest._asdict(), *known[3:]) for known in risks.revealed),
    )


def _write(
    connection: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Iterable[tuple[Any, ...]]
) -> None:
    connection.execute(f"CREATE OR REPLACE TABLE {table} ({columns})")
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
