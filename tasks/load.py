"""Step 0: read the table into the store, each column in its role, each value as its rank."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.domain import Domain, Kind
from tasks.errors import ConfigurationError, InfeasibleError, InputError
from tasks.read_input import column_names, read_rows
from tasks.steps import step
from tasks.store import literal, open_store, quoted, write_table

INTEGER = "-?(0|[1-9][0-9]*)"
NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
LEADING_ZERO = "[+-]?0[0-9].*"

INTEGER_TYPES = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
DECIMAL_TYPES = {"FLOAT", "DOUBLE"}
TEXT_TYPES = {"VARCHAR", "BOOLEAN", "UUID"}
EXACT_DIGITS = 15


class Shape(NamedTuple):
    """How large the loaded table is, in records, features and class values."""

    records: int
    features: int
    class_values: int


class Column(NamedTuple):
    """A column that takes part in the release, under its name in the raw table."""

    name: str
    raw: str
    is_class: bool


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
        records = read_rows(connection, config.input, len(names))
        _check_size(records, config.privacy.k)
        kinds = _kinds(connection, config, columns)
        _write_source(connection, config.input.missing, columns, kinds)
        domains = _write_codes(connection, columns, kinds)
        _check_columns(config, records, domains)
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
    faults = [
        f"columns.{used[0]}: the table has no column {name!r}"
        for name, used in roles.items()
        if name not in names
    ]
    faults += [
        f"columns.types: the table has no column {name!r}" for name in columns.types if name not in names
    ]
    faults += [
        f"column {name!r}: has more than one role ({', '.join(used)})"
        for name, used in roles.items()
        if len(used) > 1
    ]
    if columns.features != "rest":
        faults += [
            f"column {name!r}: has no role: add it to features, identifiers or drop"
            for name in names
            if name not in roles
        ]
    if faults:
        raise ConfigurationError("\n".join(faults))
    features = [name for name in names if roles.get(name, ["features"]) == ["features"]]
    if not features:
        raise ConfigurationError("columns.features: no column is left to be a feature")
    raw = {name: f"c{number}" for number, name in enumerate(names)}
    chosen = [Column(name, raw[name], is_class=False) for name in features]
    return [*chosen, Column(columns.class_attribute, raw[columns.class_attribute], is_class=True)]


def _check_size(records: int, k: int) -> None:
    if records == 0:
        raise InputError("input.path: the table has no records")
    if records < k:
        raise InfeasibleError(
            f"the table has {records} records, fewer than k = {k}: no release can hold k = {k}"
        )


def _kinds(connection: duckdb.DuckDBPyConnection, config: Config, columns: Sequence[Column]) -> list[Kind]:
    """Return what each column holds: as declared, else as its values look."""
    described = connection.execute("DESCRIBE raw").fetchall()
    types = {raw: str(sql_type) for raw, sql_type, *_ in described}
    kinds: list[Kind] = []
    for column in columns:
        declared = config.columns.types.get(column.name)
        if column.is_class or declared == "categorical":
            kinds.append("categorical")
        elif types[column.raw] == "VARCHAR":
            kinds.append(_kind_of_text(connection, column, config.input.missing, declared))
        else:
            kinds.append(_kind_of_type(column.name, types[column.raw], declared))
    return kinds


def _kind_of_type(name: str, sql_type: str, declared: str | None) -> Kind:
    """Return the kind of a typed column."""
    if sql_type in INTEGER_TYPES:
        return "integer"
    if sql_type in DECIMAL_TYPES or (sql_type.startswith("DECIMAL") and _digits(sql_type) <= EXACT_DIGITS):
        return "decimal"
    if (sql_type in TEXT_TYPES or sql_type.startswith("ENUM")) and declared is None:
        return "categorical"
    found = sql_type.partition("(")[0]
    raise InputError(
        f"column {name!r}: holds values of type {found}, which cannot be released as numbers: "
        f'drop it, or set columns.types to "categorical" for it'
    )


def _digits(sql_type: str) -> int:
    return int(sql_type.removeprefix("DECIMAL(").partition(",")[0])


def _kind_of_text(
    connection: duckdb.DuckDBPyConnection, column: Column, tokens: Sequence[str], declared: str | None
) -> Kind:
    """Return what texts look like; codes such as 007 are no numbers."""
    value = _present(column.raw, tokens)
    ((values, integers, fitting, numbers, zeros, first_other),) = connection.execute(f"""
        SELECT count(v), count_if(regexp_full_match(v, '{INTEGER}')),
            count_if(regexp_full_match(v, '{INTEGER}') AND try_cast(v AS BIGINT) IS NOT NULL),
            count_if(regexp_full_match(v, '{NUMBER}')), count_if(regexp_full_match(v, '{LEADING_ZERO}')),
            min(row) FILTER (NOT regexp_full_match(v, '{NUMBER}'))
        FROM (SELECT {value} AS v, rowid + 1 AS row FROM raw)
    """).fetchall()
    if declared == "numeric" and numbers < values:
        raise InputError(
            f"column {column.name!r}: is declared numeric, but {values - numbers} values are not numbers "
            f"(the first in row {first_other}): mend them, or declare them under input.missing"
        )
    looks_numeric = values > 0 and numbers == values and (declared == "numeric" or not zeros)
    if looks_numeric and integers == values and fitting < integers:
        raise InputError(
            f"column {column.name!r}: {integers - fitting} whole numbers need more than 64 bits: "
            f'set columns.types to "categorical" for it, or drop it'
        )
    if not looks_numeric:
        return "categorical"
    return "integer" if integers == values else "decimal"


def _present(raw: str, tokens: Sequence[str]) -> str:
    """Return an SQL expression for the text of a column, NULL where it stands for missing."""
    if not tokens:
        return raw
    return f"CASE WHEN {raw} NOT IN ({', '.join(literal(token) for token in tokens)}) THEN {raw} END"


def _write_source(
    connection: duckdb.DuckDBPyConnection,
    tokens: Sequence[str],
    columns: Sequence[Column],
    kinds: Sequence[Kind],
) -> None:
    """Make the table `source`: the columns of the release under their names, typed."""
    selected = ", ".join(
        f"{_typed(column.raw, kind, tokens)} AS {quoted(column.name)}"
        for column, kind in zip(columns, kinds, strict=True)
    )
    connection.execute(f"CREATE OR REPLACE TABLE source AS SELECT {selected} FROM raw")
    ((kind,),) = connection.execute(
        "SELECT table_type FROM information_schema.tables WHERE table_name = 'raw'"
    ).fetchall()
    connection.execute("DROP VIEW raw" if kind == "VIEW" else "DROP TABLE raw")


def _typed(raw: str, kind: Kind, tokens: Sequence[str]) -> str:
    present = _present(f"CAST({raw} AS VARCHAR)", tokens)
    if kind == "categorical":
        return present
    if kind == "integer":
        return f"TRY_CAST({raw} AS BIGINT)"
    return f"CASE WHEN NOT isnan(TRY_CAST({raw} AS DOUBLE)) THEN TRY_CAST({raw} AS DOUBLE) END"


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


def _check_columns(config: Config, records: int, domains: Sequence[Domain]) -> None:
    """Refuse columns that no release should hold in their role."""
    *features, class_domain = domains
    faults = []
    if class_domain.missing:
        faults.append(
            f"column {class_domain.name!r}: the class is missing in some rows: fill it in, or remove the rows"
        )
    if len(class_domain.values) * config.privacy.k > max(records, config.privacy.k):
        faults.append(
            f"column {class_domain.name!r}: has {len(class_domain.values)} class values for {records} records, "
            f"more than one per k = {config.privacy.k} records: group them into fewer"
        )
    faults += [
        f"column {domain.name!r}: holds infinite numbers: replace them, or set it to drop"
        for domain in features
        if domain.kind == "decimal" and not np.isfinite(domain.values).all()
    ]
    if config.columns.features == "rest":
        faults += [
            f"column {domain.name!r}: nearly every record has its own value, as an identifier has: "
            "add it to identifiers, or name all features to keep it"
            for domain in features
            if _like_identifier(domain, records)
        ]
    if faults:
        raise InputError("\n".join(faults))


def _like_identifier(domain: Domain, records: int) -> bool:
    """Whether a column of text or whole numbers is almost unique."""
    if domain.kind == "decimal":
        return False
    return len(domain.values) > 0.9 * records


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
