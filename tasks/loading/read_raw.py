"""The records of the input, in the store: of the columns that take part, and whom each record is of."""

from collections.abc import Sequence

import duckdb
import numpy as np

from tasks.config import Config
from tasks.errors import ConfigurationError, InfeasibleError, InputError
from tasks.loading.column_texts import plainly
from tasks.loading.roles import Column
from tasks.reading.read_input import read_rows
from tasks.repeats.person_keys import write_person_keys
from tasks.store import write_table
from tasks.table_settings import Input


def read_raw(
    connection: duckdb.DuckDBPyConnection,
    config: Config,
    table: Input,
    names: Sequence[str],
    columns: Sequence[Column],
) -> int:
    """Make the table `raw` of some columns and, where records are of persons, the table `persons`.

    Where persons are followed from version to version, the table `person_keys` tells who is who.

    Parameters
    ----------
    connection
        To the store.
    config
        Of the run.
    table
        The input, recognised.
    names
        Of all its columns.
    columns
        Which to read.

    Returns
    -------
    int
        The number of records.

    Raises
    ------
    InputError
        If the table cannot be read, has no records, or does not tell whose a record is.
    InfeasibleError
        If there are fewer than k records or persons.
    """
    places = [column.place for column in columns]
    of_persons = [place for place, name in enumerate(names) if name == config.columns.entity]
    followed = [place for place, name in enumerate(names) if name == config.followed]
    records = read_rows(connection, table, names, [*places, *dict.fromkeys([*of_persons, *followed])])
    _check_size(records, config)
    for place in followed:
        write_person_keys(connection, config, f"c{place}")
    for place in of_persons:
        _write_persons(connection, config, f"c{place}")
    for place in {*of_persons, *followed}:
        connection.execute(f"ALTER TABLE raw DROP COLUMN c{place}")
    return records


def _check_size(records: int, config: Config) -> None:
    k, population = config.privacy.k, config.evaluation.population
    if records == 0:
        raise InputError("input.path: the table has no records")
    if population is not None and population < records and config.columns.entity is None:
        raise ConfigurationError(
            f"evaluation.population: must be at least the number of records, {records:,}, which are drawn "
            f"from it; got {population:,}"
        )
    if records < k:
        raise InfeasibleError(
            f"the table has {records} records, fewer than k = {k}: no release can hold k = {k}"
        )


def _check_population(persons: int, config: Config) -> None:
    population = config.evaluation.population
    if population is not None and population < persons:
        raise ConfigurationError(
            f"evaluation.population: must be at least the number of persons, {persons:,}, who are drawn from "
            f"it; got {population:,}"
        )


def _write_persons(connection: duckdb.DuckDBPyConnection, config: Config, raw: str) -> None:
    """Make the table `persons`: whom each record is of, by number; what told it is forgotten."""
    import pandas as pd  # noqa: PLC0415 - as in tasks.load

    entity = np.ma.asanyarray(
        connection.execute(f"SELECT CAST({raw} AS VARCHAR) AS whose FROM raw").fetchnumpy()["whose"]
    )
    missing = np.count_nonzero(np.ma.getmaskarray(entity))
    if missing:
        raise InputError(
            f"column {config.columns.entity!r}: the entity is missing in {missing} of {len(entity)} records: "
            "fill it in, or remove them"
        )
    persons, different = pd.factorize(np.ma.getdata(entity))
    alike = len(set(map(plainly, different)))
    if alike < len(different):
        raise InputError(
            f"column {config.columns.entity!r}: {len(different) - alike} of its {len(different)} values "
            "differ from another only in case, surrounding blanks or the encoding of letters, and would be "
            "other persons: write them alike"
        )
    _check_population(len(different), config)
    if len(different) < config.privacy.k:
        raise InfeasibleError(
            f"the table has {len(entity)} records of {len(different)} persons, fewer than "
            f"k = {config.privacy.k}: no release can hold k = {config.privacy.k}"
        )
    write_table(connection, "persons", {"person": persons.astype(np.int32)})
