"""Gathers the evidence of persons: files and private store together, for the files do not name persons."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from tasks.errors import InputError
from validations.class_counts import ClassCounts, count_values
from validations.evidence import FragmentEvidence, JoinEvidence
from validations.gather_joins import join_problem, joins_of_counts
from validations.groups import Groups
from validations.person_figures import PersonEvidence, PersonFigures
from validations.person_store import (
    credit_sensitive,
    fewest_class_values,
    fewest_persons,
    miscredited,
    write_persons,
)
from validations.promises import Promises
from validations.segment_store import STORE, UntiedError, attached


def gather_persons(
    connection: duckdb.DuckDBPyConnection,
    csv_groups: Sequence[Groups | None],
    fragments: Sequence[FragmentEvidence],
    promises: Promises,
    store: Path | None,
) -> PersonEvidence | None:
    """Return what is behind the files in persons; None without a private store, or where none are counted.

    Parameters
    ----------
    connection
        Where the groups are.
    csv_groups
        The groups of each fragment's CSV file; None if it could not be read.
    fragments
        What the files show.
    promises
        Say whether persons are counted, and what is promised of them.
    store
        The private store of the run that made the files; it is only read.

    Raises
    ------
    InputError
        If the store counts persons and the release does not say so.
    """
    if store is None:
        return None
    if not promises.counts_persons:
        _refuse_persons(connection, store)
        return None
    problem = join_problem(csv_groups, fragments)
    if problem is not None:
        return PersonEvidence(None, problem=problem)
    try:
        with attached(connection, store):
            return _found(connection, [each for each in csv_groups if each], promises)
    except UntiedError as error:
        return PersonEvidence(None, problem=str(error))
    except duckdb.Error:
        return PersonEvidence(None, problem="the private store could not be read")


def _refuse_persons(connection: duckdb.DuckDBPyConnection, store: Path) -> None:
    tables = (
        f"SELECT count(*) FROM duckdb_tables() WHERE database_name = '{STORE}' AND table_name = 'persons'"
    )
    try:
        with attached(connection, store):
            ((found,),) = connection.execute(tables).fetchall()
    except duckdb.Error:
        return
    if found:
        raise InputError(
            "release.json cannot be used: it says nothing of persons, whom the private store counts."
        )


def _found(
    connection: duckdb.DuckDBPyConnection, csv: Sequence[Groups], promises: Promises
) -> PersonEvidence:
    number = write_persons(connection, csv, promises)
    wrong = miscredited(connection, len(csv))
    values: tuple[tuple[str, int], ...] = ()
    if promises.diversity is not None:
        sensitive, wrong_values = credit_sensitive(connection, promises)
        values = (promises.class_attribute, fewest_class_values(connection, len(csv))), *sensitive
        wrong += wrong_values
    joins = _joins(_count_credits(connection, len(csv)), promises)
    join = joins.smallest_join
    return PersonEvidence(
        figures=PersonFigures(
            number=number,
            smallest_class=fewest_persons(connection, len(csv)),
            smallest_join=join.rows if join and join.exact else None,
            smallest_records=joins.smallest_records,
            l=min((held for _, held in values), default=None),
        ),
        miscredited=wrong,
        join_at_least=join.at_least if join else None,
        values=values,
        problem=joins.problem,
        records_problem=joins.records_problem,
    )


def _count_credits(connection: duckdb.DuckDBPyConnection, fragments: int) -> ClassCounts:
    """Write the class counts of every EC in persons, each under the class value it is credited with."""
    numbers = range(1, fragments + 1)
    return count_values(
        connection, [f"SELECT ec, class, 1 AS n FROM credited_{number}" for number in numbers]
    )


def _joins(counts: ClassCounts, promises: Promises) -> JoinEvidence:
    """Return what joins hold in persons, over all choices: records of a person are in one segment only."""
    sizes = [counts.size(f"class_counts_{fragment}") for fragment in range(1, counts.fragments + 1)]
    choices = math.prod(1 + size for size in sizes) - 1 - sum(sizes)
    return joins_of_counts(counts, replace(promises, join_scope="all"), choices)
