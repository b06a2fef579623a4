"""Step 0: read the table into the store, each column in its role, each value as its rank."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.domain import Domain, Kind
from tasks.errors import ConfigurationError, InfeasibleError, InputError
from tasks.kinds import column_types, kind_of, like_identifier
from tasks.read_input import column_names, read_rows
from tasks.steps import step
from tasks.store import open_store, quoted, write_table

SQL_TYPES: dict[Kind, str] = {"integer": "BIGINT", "decimal": "DOUBLE", "categorical": "VARCHAR"}


class Shape(NamedTuple):
    """How large the loaded table is, in records, features and class values."""

    records: int
    features: int
    class_values: int


class Column(NamedTuple):
    """A column that takes part in the release, and its place in the input."""

    name: str
    place: int
    is_class: bool

    @property
    def raw(self) -> str:
        """Its name in the raw table."""
        return f"c{self.place}"


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
    columns = _roles(config, names)
    with open_store(store) as connection:
        records = read_rows(connection, config.input, len(names), [column.place for column in columns])
        _check_size(records, config.privacy.k)
        kinds = _kinds(connection, config, columns)
        _write_source(connection, columns, kinds)
        domains = _write_codes(connection, columns, kinds)
        _check_columns(connection, config, records, domains)
        _write_columns(connection, domains)
    return Shape(records, len(columns) - 1, len(domains[-1].values))


def _roles(config: Config, names: Sequence[str]) -> list[Column]:
    """Return the features in input order, then the class; every column must have one role."""
    columns = config.columns
    given = {"class": (columns.class_attribute,), "identifiers": columns.identifiers, "drop": columns.drop}
    if columns.features != "rest":
        given["features"] = columns.features
    roles: dict[str, list[str]] = defaultdict(list)
    for role, members in given.items():
        for name in members:
            roles[name].append(role)
    faults = [*_unknown_columns(config, names, roles), *_wrong_roles(config, names, roles)]
    if faults:
        raise ConfigurationError("\n".join(faults))
    features = [name for name in names if roles.get(name, ["features"]) == ["features"]]
    _check_features(config, features)
    places = {name: place for place, name in enumerate(names)}
    chosen = [Column(name, places[name], is_class=False) for name in features]
    return [*chosen, Column(columns.class_attribute, places[columns.class_attribute], is_class=True)]


def _check_features(config: Config, features: Sequence[str]) -> None:
    """Refuse settings that do not fit the features, before any work."""
    if not features:
        raise ConfigurationError("columns.features: no column is left to be a feature")
    if config.fragmentation.fragments > len(features):
        raise ConfigurationError(
            f"fragmentation.fragments asks for {config.fragmentation.fragments} fragments of "
            f"{len(features)} features: set it to at most {len(features)}"
        )
    idle = [repr(name) for name in config.columns.types if name not in features]
    if idle:
        raise ConfigurationError(f"columns.types: only features have a type, not {', '.join(idle)}")


def _unknown_columns(config: Config, names: Sequence[str], roles: dict[str, list[str]]) -> Iterator[str]:
    places = [(used[0], name) for name, used in roles.items()]
    places += [("types", name) for name in config.columns.types]
    for place, name in places:
        if name not in names:
            yield f"columns.{place}: the table has no column {name!r}"


def _wrong_roles(config: Config, names: Sequence[str], roles: dict[str, list[str]]) -> Iterator[str]:
    for name, used in roles.items():
        if len(used) > 1:
            yield f"column {name!r}: has more than one role ({', '.join(used)})"
    for name in names:
        if name not in roles and config.columns.features != "rest":
            yield f"column {name!r}: has no role: add it to features, identifiers or drop"


def _check_size(records: int, k: int) -> None:
    if records == 0:
        raise InputError("input.path: the table has no records")
    if records < k:
        raise InfeasibleError(
            f"the table has {records} records, fewer than k = {k}: no release can hold k = {k}"
        )


def _kinds(connection: duckdb.DuckDBPyConnection, config: Config, columns: Sequence[Column]) -> list[Kind]:
    """Return what each column holds; class values are categories, whatever they look like."""
    types, declared = column_types(connection), config.columns.types
    return [
        "categorical"
        if column.is_class
        else kind_of(connection, column.name, column.raw, types[column.raw], declared.get(column.name))
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


def _check_columns(
    connection: duckdb.DuckDBPyConnection, config: Config, records: int, domains: Sequence[Domain]
) -> None:
    """Refuse columns that no release should hold in their role."""
    *features, class_domain = domains
    faults = [
        *_class_faults(connection, class_domain, records, config.privacy.k),
        *_infinite_numbers(connection, features),
    ]
    if config.columns.features == "rest":
        faults += _identifiers(features, records)
    if faults:
        raise InputError("\n".join(faults))


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
            f"more than one per k = {k} records: group them into fewer"
        )


def _infinite_numbers(connection: duckdb.DuckDBPyConnection, features: Sequence[Domain]) -> Iterator[str]:
    for domain in features:
        if domain.kind == "decimal" and not np.isfinite(domain.values).all():
            infinite = _count(connection, f"isinf({quoted(domain.name)})")
            yield (
                f"column {domain.name!r}: {infinite} numbers are infinite, or too large: "
                "replace them, or drop the column"
            )


def _identifiers(features: Sequence[Domain], records: int) -> Iterator[str]:
    for domain in features:
        if like_identifier(domain.kind, len(domain.values), records):
            yield (
                f"column {domain.name!r}: holds {len(domain.values)} values in {records} records, as an "
                "identifier does: add it to identifiers, or name all features to keep it"
            )


def _count(connection: duckdb.DuckDBPyConnection, condition: str) -> int:
    ((records,),) = connection.execute(f"SELECT count(*) FROM source WHERE {condition}").fetchall()
    return int(records)


def _write_columns(connection: duckdb.DuckDBPyConnection, domains: Sequence[Domain]) -> None:
    write_table(
        connection,
        "columns",
        {
            "position": list(range(1, len(domains) + 1)),
            "name": [domain.name for domain in domains],
            "role": ["feature"] * (len(domains) - 1) + ["class"],
            "kind": [domain.kind for domain in domains],
            "distinct_values": [len(domain.values) for domain in domains],
            "missing": [domain.missing for domain in domains],
        },
    )
