"""Step: read the table into the store, each column in its role, each value as its rank."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.domain import Domain, Kind
from tasks.errors import ConfigurationError, InfeasibleError, InputError
from tasks.loading.column_faults import Domains, column_faults
from tasks.loading.hierarchy import Taxonomy, read_hierarchy
from tasks.loading.kinds import column_types, kind_of
from tasks.loading.read_input import column_names, read_rows
from tasks.loading.roles import Column, columns_of_release
from tasks.steps import step
from tasks.store import open_store, quoted, write_table
from tasks.tables import write_domains

SQL_TYPES: dict[Kind, str] = {
    "integer": "BIGINT",
    "decimal": "DOUBLE",
    "fixed": "BIGINT",
    "date": "BIGINT",
    "categorical": "VARCHAR",
}


class Shape(NamedTuple):
    """How large the loaded table is, in records, features and class values."""

    records: int
    features: int
    class_values: int


def encode(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any], bool]:
    """Return the ranks of values, the distinct values in order, and whether some are missing.

    Parameters
    ----------
    values : ndarray or masked array of shape (n,)
        Numbers or texts; masked entries are missing.

    Returns
    -------
    codes : ndarray of shape (n,)
        Code 0 is missing, if some are; the values follow in order.
    distinct : ndarray of shape (distinct non-missing values,)
    missing : bool
    """
    import pandas as pd  # noqa: PLC0415 - costs a third of a second, which --help must not pay

    absent = np.ma.getmaskarray(values)
    missing = bool(absent.any())
    present = np.ma.getdata(values)[~absent] if missing else np.ma.getdata(values)
    ranks, distinct = pd.factorize(present, sort=True)
    codes = np.zeros(len(values), dtype=np.int32)
    codes[~absent] = ranks + missing
    return codes, np.asarray(distinct), missing


@step("load the table")
def load_table(store: Path, config: Config) -> Shape:
    """Read the input, give each column its role and kind, and store records and codes."""
    names = column_names(config.input)
    columns = columns_of_release(config, names)
    taxonomies = {
        name: read_hierarchy(made)
        for name, made in config.columns.hierarchies.items()
        if isinstance(made, Path)
    }
    with open_store(store) as connection:
        places = [column.place for column in columns]
        of_persons = [] if config.columns.entity is None else [names.index(config.columns.entity)]
        records = read_rows(connection, config.input, len(names), [*places, *of_persons])
        _check_size(records, config)
        for place in of_persons:
            _write_persons(connection, config, f"c{place}")
        kinds = _kinds(connection, config, columns)
        _write_source(connection, columns, kinds)
        domains = _write_codes(connection, columns, kinds)
        by_role = _by_role(columns, domains)
        faults = column_faults(connection, config, by_role, taxonomies)
        if faults:
            raise InputError("\n".join(faults))
        _write_columns(connection, columns, domains)
        write_domains(connection, domains)
        _write_hierarchies(connection, by_role, taxonomies)
    return Shape(records, len(by_role.features), len(by_role.of_class.values))


def _check_size(records: int, config: Config) -> None:
    k, population = config.privacy.k, config.evaluation.population
    if records == 0:
        raise InputError("input.path: the table has no records")
    if population is not None and population < records:
        raise ConfigurationError(
            f"evaluation.population: must be at least the number of records, {records:,}, which are drawn "
            f"from it; got {population:,}"
        )
    if records < k:
        raise InfeasibleError(
            f"the table has {records} records, fewer than k = {k}: no release can hold k = {k}"
        )


def _write_persons(connection: duckdb.DuckDBPyConnection, config: Config, raw: str) -> None:
    """Make the table `persons`: whom each record is of, by number; what told it is forgotten."""
    import pandas as pd  # noqa: PLC0415 - as in encode

    entity = np.ma.asanyarray(connection.execute(f"SELECT {raw} FROM raw").fetchnumpy()[raw])
    missing = np.count_nonzero(np.ma.getmaskarray(entity))
    if missing:
        raise InputError(
            f"column {config.columns.entity!r}: the entity is missing in {missing} of {len(entity)} records: "
            "fill it in, or remove them"
        )
    persons, different = pd.factorize(np.ma.getdata(entity))
    if len(different) < config.privacy.k:
        raise InfeasibleError(
            f"the table has {len(entity)} records of {len(different)} persons, fewer than "
            f"k = {config.privacy.k}: no release can hold k = {config.privacy.k}"
        )
    write_table(connection, "persons", {"person": persons.astype(np.int32)})
    connection.execute(f"ALTER TABLE raw DROP COLUMN {raw}")


def _kinds(connection: duckdb.DuckDBPyConnection, config: Config, columns: Sequence[Column]) -> list[Kind]:
    """Return what each column holds; protected values are categories, whatever they look like."""
    types, declared = column_types(connection), config.columns.types
    return [
        kind_of(connection, column.name, column.raw, types[column.raw], declared.get(column.name))
        if column.role == "feature"
        else "categorical"
        for column in columns
    ]


def _write_source(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[Column], kinds: Sequence[Kind]
) -> None:
    """Make the table `source`: the columns of the release under their names, typed."""
    selected = ", ".join(
        f"CAST({column.raw} AS {SQL_TYPES[kind]}) AS {quoted(column.name)}"
        for column, kind in zip(columns, kinds, strict=True)
    )
    connection.execute(f"CREATE OR REPLACE TABLE source AS SELECT {selected} FROM raw")
    connection.execute("DROP TABLE raw")


def _write_codes(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[Column], kinds: Sequence[Kind]
) -> list[Domain]:
    """Make the table `codes`: every value as its rank."""
    codes: dict[str, npt.NDArray[Any] | list[Any]] = {}
    domains = []
    for column, kind in zip(columns, kinds, strict=True):
        values = connection.execute(f"SELECT {quoted(column.name)} FROM source").fetchnumpy()[column.name]
        codes[column.name], distinct, missing = encode(np.ma.asanyarray(values))
        domains.append(Domain(column.name, kind, distinct, missing))
    write_table(connection, "codes", codes)
    return domains


def _by_role(columns: Sequence[Column], domains: Sequence[Domain]) -> Domains:
    features, sensitive, (of_class,) = (
        [domain for column, domain in zip(columns, domains, strict=True) if column.role == role]
        for role in ("feature", "sensitive", "class")
    )
    return Domains(features, sensitive, of_class)


def _write_columns(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[Column], domains: Sequence[Domain]
) -> None:
    write_table(
        connection,
        "columns",
        {
            "position": list(range(1, len(domains) + 1)),
            "name": [domain.name for domain in domains],
            "role": [column.role for column in columns],
            "kind": [domain.kind for domain in domains],
            "distinct_values": [len(domain.values) for domain in domains],
            "missing": [domain.missing for domain in domains],
        },
    )


def _write_hierarchies(
    connection: duckdb.DuckDBPyConnection, domains: Domains, taxonomies: Mapping[str, Taxonomy]
) -> None:
    """Make the table `hierarchies`: the ancestors of each protected value, from the parent to the root."""
    rows = [
        (domain.name, value, path)
        for domain in (domains.of_class, *domains.sensitive)
        if domain.name in taxonomies
        for value, path in zip(domain.values, taxonomies[domain.name].paths(domain.values), strict=True)
    ]
    connection.execute(
        'CREATE OR REPLACE TABLE hierarchies ("column" VARCHAR, value VARCHAR, ancestors VARCHAR[])'
    )
    if rows:
        connection.executemany("INSERT INTO hierarchies VALUES (?, ?, ?)", rows)
