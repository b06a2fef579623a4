"""What a file shows of the class and its sensitive attributes: how diverse and how close their values are."""

from typing import NamedTuple

import duckdb

from validations.distances import largest_hierarchical, largest_ordered, write_nodes, write_ranks
from validations.diversity_levels import smallest_level
from validations.groups import Groups
from validations.promises import Promises
from validations.protection import ProtectedPromise
from validations.stated import DistanceName


class ValuesEvidence(NamedTuple):
    """What a file shows of one protected attribute; None where not asked or not found.

    Attributes
    ----------
    column
        The attribute.
    level
        The smallest diversity of an EC; 0 if an EC has no value at all.
    distance
        The largest distance of an EC that has values.
    bare
        ECs without any value.
    problem
        Why a figure could not be found.
    different
        Different values in the whole file.
    """

    column: str
    level: float | None = None
    distance: float | None = None
    bare: int | None = None
    problem: str | None = None
    different: int | None = None


def protected_values(groups: Groups, promises: Promises, number: int) -> tuple[ValuesEvidence, ...]:
    """Return what a file shows of the protected attributes that its fragment publishes.

    Parameters
    ----------
    groups
        Of the file.
    promises
        Say what is asked of which attribute.
    number
        The fragment's number, from 1.
    """
    return tuple(_values(groups, promises, protected) for protected in promises.protected_in(number))


def _values(groups: Groups, promises: Promises, protected: ProtectedPromise) -> ValuesEvidence:
    value = groups.value(protected.column)
    if value is None:
        return ValuesEvidence(protected.column, problem="the column is not there exactly once")
    connection = groups.connection
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE value_counts AS
        SELECT ec, {value} AS value, sum(n)::BIGINT AS n FROM {groups.table} GROUP BY ALL""")
    level = distance = problem = None
    if promises.diversity is not None:
        level = smallest_level(connection, promises.diversity)
    if promises.closeness is not None:
        distance, problem = _distance(connection, promises.closeness.distance, protected)
    bare, different = _bare(connection), _different(connection)
    return ValuesEvidence(protected.column, level, distance, bare, problem, different)


def _bare(connection: duckdb.DuckDBPyConnection) -> int:
    query = "SELECT count(DISTINCT ec) - count(DISTINCT ec) FILTER (value IS NOT NULL) FROM value_counts"
    return int(connection.execute(query).fetchall()[0][0])


def _different(connection: duckdb.DuckDBPyConnection) -> int:
    return int(connection.execute("SELECT count(DISTINCT value) FROM value_counts").fetchall()[0][0])


def _distance(
    connection: duckdb.DuckDBPyConnection, name: DistanceName, protected: ProtectedPromise
) -> tuple[float | None, str | None]:
    if name == "hierarchical" and protected.hierarchy is None:
        return None, "there is no hierarchy"
    if name == "ordered":
        values, absent = write_ranks(connection, protected.order)
        fault = "are not numbers" if protected.order is None else "have no place in the order"
        largest = largest_ordered(connection, values)
    else:
        hierarchy = protected.hierarchy if name == "hierarchical" else None
        levels, absent = write_nodes(connection, hierarchy)
        fault = "have no place in the hierarchy"
        largest = largest_hierarchical(connection, levels)
    return (None, f"{absent:,} of its values {fault}") if absent else (largest, None)
