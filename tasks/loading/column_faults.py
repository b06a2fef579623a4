"""What no column of a release should hold in its role."""

import re
from collections.abc import Iterator, Mapping, Sequence

import duckdb
import numpy as np

from tasks.config import Config
from tasks.domain import Domain
from tasks.loading.column_texts import NUMBER, plainly
from tasks.loading.hierarchy import Taxonomy
from tasks.loading.kinds import like_identifier
from tasks.store import quoted
from tasks.tables import Role

NUMERIC_CLASSES = 100  # different numbers that may well be names of classes
MEASURED_CLASSES = 20  # likewise, where some are no whole numbers


def column_faults(
    connection: duckdb.DuckDBPyConnection,
    config: Config,
    domains: Mapping[Role, Sequence[Domain]],
    taxonomies: Mapping[str, Taxonomy],
) -> list[str]:
    """Return what is wrong with the columns of the table `source`, a line each; no value is told.

    Parameters
    ----------
    connection
        To the store.
    config
        Of the run.
    domains
        Of the columns in each role, in input order.
    taxonomies
        Of the class and the sensitive attributes, by name, where they have one.
    """
    records = _count(connection, "true")
    faults: list[str] = []
    for domain in domains["class"]:
        faults += _class_faults(connection, domain, records, config.privacy.k)
    for domain in domains["sensitive"]:
        faults += _sensitive_faults(connection, config, domain)
    for domain in (*domains["class"], *domains["sensitive"]):
        if config.privacy.protects_values:
            faults += _spelling_faults(domain)
        if config.privacy.t_distance == "ordered":
            faults += _order_faults(domain, config.columns.orders.get(domain.name))
        if domain.name in taxonomies:
            faults += _hierarchy_faults(domain, taxonomies[domain.name])
    for domain in (*domains["feature"], *domains["sensitive"], *domains["class"]):
        faults += _unseen_ends(domain)
    faults += _infinite_numbers(connection, domains["feature"])
    if config.columns.features == "rest":
        unasked = [each for each in domains["feature"] if each.name not in config.columns.hierarchies]
        faults += _identifiers(connection, config, unasked, records)
    return faults


def _class_faults(
    connection: duckdb.DuckDBPyConnection, domain: Domain, records: int, k: int
) -> Iterator[str]:
    values = len(domain.values)
    if domain.missing:
        missing = _count(connection, f"{quoted(domain.name)} IS NULL")
        yield (
            f"column {domain.name!r}: the class is missing in {missing} of {records} records: "
            "fill it in, or remove them"
        )
    if "" in domain.values:
        yield (
            f"column {domain.name!r}: the class is an empty text in some records, which reads as missing: "
            "fill it in, or remove them"
        )
    if values * k > max(records, k):
        yield (
            f"column {domain.name!r}: has {values} class values for {records} records, "
            f"more than one per k = {k} records: group them into fewer, numbers into ranges"
        )
    elif _measured(domain.values.tolist()):
        yield (
            f"column {domain.name!r}: is made of {values} different numbers, as what is measured or counted, "
            "and a class has few values: group them into ranges, or write codes as text"
        )


def _measured(values: Sequence[str]) -> bool:
    """Whether all values are numbers, and too many to be classes."""
    if len(values) <= MEASURED_CLASSES or not all(re.fullmatch(NUMBER, value) for value in values):
        return False
    return len(values) > NUMERIC_CLASSES or any("." in value for value in values)


def _sensitive_faults(connection: duckdb.DuckDBPyConnection, config: Config, domain: Domain) -> Iterator[str]:
    values, present = len(domain.values), _count(connection, f"{quoted(domain.name)} IS NOT NULL")
    if not present:
        yield f"column {domain.name!r}: is missing in every record: drop it"
    if "" in domain.values:
        empty = _count(connection, f"{quoted(domain.name)} = ''")
        yield (
            f"column {domain.name!r}: is an empty text in {empty} records, which reads as missing: "
            'fill it in, or declare "" under input.missing'
        )
    if like_identifier("categorical", values, _bearers(connection, config, domain, present)):
        yield (
            f"column {domain.name!r}: holds {values} values in {present} records, as an identifier does, "
            "and sensitive attributes are published as they are: group its values into fewer"
        )


def _spelling_faults(domain: Domain) -> Iterator[str]:
    """Yield that values differ in spelling only: they would count as different ones for l and t."""
    values = len(domain.values)
    alike = len(set(map(plainly, domain.values)))
    if alike < values:
        yield (
            f"column {domain.name!r}: {values - alike} of its {values} values differ from another only in "
            "case, surrounding blanks or the encoding of letters, and l and t would count them apart: "
            "write them alike"
        )


def _order_faults(domain: Domain, order: Sequence[str] | None) -> Iterator[str]:
    """Yield why the values have no order; numbers must differ, or two values would have no order."""
    values = len(domain.values)
    if order is not None:
        outside = len(set(domain.values) - set(order))
        if outside:
            yield (
                f"column {domain.name!r}: {outside} of its {values} values are not in its order: "
                "add them to columns.orders"
            )
        return
    numbers = np.array([float(value) for value in domain.values if re.fullmatch(NUMBER, value)])
    others = values - np.count_nonzero(np.isfinite(numbers))
    twins = values - len(np.unique(numbers))
    if others:
        yield (
            f"column {domain.name!r}: {others} of its {values} values are not numbers, so "
            't_distance = "ordered" needs their order: list all values in columns.orders'
        )
    elif twins:
        yield (
            f"column {domain.name!r}: {twins} of its {values} values are the same number as another: "
            "write them alike, or list all values in columns.orders"
        )


def _hierarchy_faults(domain: Domain, taxonomy: Taxonomy) -> Iterator[str]:
    lacking = taxonomy.lacking(domain.values)
    if lacking:
        yield (
            f"column {domain.name!r}: {lacking} of its {len(domain.values)} values have no row in "
            "its hierarchy: add them"
        )


def _unseen_ends(domain: Domain) -> Iterator[str]:
    """Yield that values hold a NUL, which other programs take for the end of a text."""
    ended = 0 if domain.numeric else sum("\0" in value for value in domain.values)
    if ended:
        yield f"column {domain.name!r}: {ended} of its {len(domain.values)} values hold a NUL: remove it"


def _infinite_numbers(connection: duckdb.DuckDBPyConnection, features: Sequence[Domain]) -> Iterator[str]:
    for domain in features:
        if domain.kind == "decimal" and not np.isfinite(domain.values).all():
            infinite = _count(connection, f"isinf({quoted(domain.name)})")
            yield (
                f"column {domain.name!r}: {infinite} numbers are infinite, or too large: "
                "replace them, or drop the column"
            )


def _identifiers(
    connection: duckdb.DuckDBPyConnection, config: Config, features: Sequence[Domain], records: int
) -> Iterator[str]:
    for domain in features:
        bearers = _bearers(connection, config, domain, records)
        if domain.tree is None and like_identifier(domain.kind, len(domain.values), bearers):
            yield (
                f"column {domain.name!r}: holds {len(domain.values)} values in {records} records, as an "
                "identifier does: add it to identifiers, or name all features to keep it"
            )


def _bearers(connection: duckdb.DuckDBPyConnection, config: Config, domain: Domain, records: int) -> int:
    """Return how many records tell a value, a person's records with one value being one.

    A name tells who is meant although every visit repeats it.
    """
    if config.columns.entity is None:
        return records
    ((persons,),) = connection.execute("SELECT count(DISTINCT person) FROM persons").fetchall()
    if not like_identifier(domain.kind, len(domain.values), persons):
        return records
    name = quoted(domain.name)
    ((bearers,),) = connection.execute(f"""
        SELECT count(*) FROM (
            SELECT DISTINCT person, {name} FROM source POSITIONAL JOIN persons WHERE {name} IS NOT NULL
        )
    """).fetchall()
    return int(bearers)


def _count(connection: duckdb.DuckDBPyConnection, condition: str) -> int:
    ((records,),) = connection.execute(f"SELECT count(*) FROM source WHERE {condition}").fetchall()
    return int(records)
