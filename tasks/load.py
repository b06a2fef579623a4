"""Step: read the table into the store, each column in its role, each value as its rank."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.domain import Domain
from tasks.errors import InputError
from tasks.events import counted
from tasks.hierarchies import write_hierarchies
from tasks.loading.column_faults import column_faults
from tasks.loading.encode import encoded_columns
from tasks.loading.faults import Faults
from tasks.loading.feature_trees import built_taxonomy, in_order_of_leaves
from tasks.loading.held import Asked, Held
from tasks.loading.hierarchy import Taxonomy, read_hierarchy
from tasks.loading.kinds import columns_held
from tasks.loading.read_raw import read_raw
from tasks.loading.remarks import remarks_of, tell_remarks
from tasks.loading.roles import Column, columns_of_release
from tasks.memory import cells_at_once
from tasks.reading.read_input import column_labels, column_names, recognised
from tasks.steps import step
from tasks.store import open_store, quoted, write_table
from tasks.table_settings import Builder
from tasks.tables import Role, write_domains


class Shape(NamedTuple):
    """How large the loaded table is, in records, features and class values."""

    records: int
    features: int
    class_values: int


class Loaded(NamedTuple):
    """A column of the release, how it was read, and what it holds."""

    column: Column
    held: Held
    domain: Domain


@step("load the table", closed=True)
def load_table(store: Path, config: Config) -> Shape:
    """Read the input, give each column its role and kind, and store records and codes."""
    faults = Faults()
    table = recognised(config.input)
    names = column_names(table)
    columns = columns_of_release(config, names, faults)
    if config.columns.entity not in {None, *names}:
        faults.tell()
    taxonomies = _taxonomies(config, faults)
    with open_store(store) as connection:
        with faults.told_with():
            records = read_raw(connection, config, table, names, columns)
        readable = _readable(connection, config, columns, faults)
        _write_source(connection, readable)
        loaded = _write_codes(connection, config, readable, taxonomies, faults)
        faults.note(InputError, column_faults(connection, config, _by_role(loaded), taxonomies))
        faults.tell()
        _write_columns(connection, loaded, column_labels(table))
        write_domains(connection, [each.domain for each in loaded])
        write_hierarchies(connection, _hierarchies(loaded, taxonomies))
        tell_remarks(connection, _remarks(loaded, records))
    by_role = _by_role(loaded)
    shape = Shape(records, len(by_role["feature"]), len(by_role["class"][0].values))
    counted(**shape._asdict())
    return shape


def _taxonomies(config: Config, faults: Faults) -> dict[str, Taxonomy]:
    """Return the hierarchies that are in files and have no fault."""
    taxonomies, protected = {}, {config.columns.class_attribute, *config.columns.sensitive}
    for name, made in config.columns.hierarchies.items():
        if isinstance(made, Path):
            with faults.noted():
                taxonomies[name] = read_hierarchy(made, of_feature=name not in protected)
    if len(taxonomies) < sum(isinstance(made, Path) for made in config.columns.hierarchies.values()):
        faults.tell()
    return taxonomies


def _readable(
    connection: duckdb.DuckDBPyConnection, config: Config, columns: Sequence[Column], faults: Faults
) -> list[tuple[Column, Held]]:
    """Return what columns hold that can be released; why others cannot is noted."""
    found = list(
        zip(columns, columns_held(connection, [_asked(config, each) for each in columns]), strict=True)
    )
    faults.note(
        InputError, [f"column {column.name!r}: {held}" for column, held in found if isinstance(held, str)]
    )
    readable = [(column, held) for column, held in found if isinstance(held, Held)]
    if not readable:
        faults.tell()
    return readable


def _asked(config: Config, column: Column) -> Asked:
    """Return what is asked of a column; protected values are categories, whatever they look like."""
    if column.role != "feature":
        return Asked(column.name, column.raw, "categorical")
    columns, name = config.columns, column.name
    return Asked(
        name,
        column.raw,
        columns.types.get(name),
        config.input.dates.get(name),
        columns.precision.get(name),
        texts=name in columns.hierarchies,
    )


def _write_source(connection: duckdb.DuckDBPyConnection, readable: Sequence[tuple[Column, Held]]) -> None:
    """Make the table `source`: the columns of the release under their names, typed."""
    selected = ", ".join(f"{held.reading} AS {quoted(column.name)}" for column, held in readable)
    connection.execute(f"CREATE OR REPLACE TABLE source AS SELECT {selected} FROM raw")
    connection.execute("DROP TABLE raw")


def _write_codes(
    connection: duckdb.DuckDBPyConnection,
    config: Config,
    readable: Sequence[tuple[Column, Held]],
    taxonomies: dict[str, Taxonomy],
    faults: Faults,
) -> list[Loaded]:
    """Make the table `codes`: every value as its rank, or its place in its column's hierarchy.

    Hierarchies that are made, not read, are added to the others.
    """
    loaded: list[Loaded] = []
    parts: list[list[str]] = []
    codes: dict[str, npt.NDArray[np.int32]] = {}
    for (column, held), (ranks, distinct, missing) in zip(
        readable, encoded_columns(connection, readable), strict=True
    ):
        codes[column.name] = ranks
        domain = Domain(column.name, held.kind, distinct, missing, held.scale, held.precision)
        with faults.noted():
            _make_hierarchy(connection, config, Loaded(column, held, domain), codes[column.name], taxonomies)
            if column.role == "feature" and column.name in taxonomies:
                domain, codes[column.name] = in_order_of_leaves(
                    domain, codes[column.name], taxonomies[column.name]
                )
        loaded.append(Loaded(column, held, domain))
        if len(codes) * len(ranks) > cells_at_once(config.run) or len(loaded) == len(readable):
            write_table(connection, f"codes_{len(parts)}", dict(codes))
            parts.append(list(codes))
            codes.clear()
    _join_codes(connection, parts)
    return loaded


def _join_codes(connection: duckdb.DuckDBPyConnection, parts: Sequence[Sequence[str]]) -> None:
    """Make the table `codes` of the tables that hold some of its columns each, if there is more than one."""
    connection.execute("DROP TABLE IF EXISTS codes")
    if len(parts) == 1:
        connection.execute("ALTER TABLE codes_0 RENAME TO codes")
        return
    tables = [f"codes_{place}" for place in range(len(parts))]
    joined = " POSITIONAL JOIN ".join(tables)
    connection.execute(f"CREATE TABLE codes AS SELECT * FROM {joined}")
    for table in tables:
        connection.execute(f"DROP TABLE {table}")


def _make_hierarchy(
    connection: duckdb.DuckDBPyConnection,
    config: Config,
    loaded: Loaded,
    codes: npt.NDArray[np.int32],
    taxonomies: dict[str, Taxonomy],
) -> None:
    """Make the hierarchy of a column that has one made of its values."""
    builder, persons = config.columns.hierarchies.get(loaded.column.name), None
    if isinstance(builder, Builder):
        if config.columns.entity is not None:
            persons = np.asarray(connection.execute("SELECT person FROM persons").fetchnumpy()["person"])
        taxonomies[loaded.column.name] = built_taxonomy(builder, loaded.domain, loaded.held, codes, persons)


def _by_role(loaded: Sequence[Loaded]) -> dict[Role, list[Domain]]:
    """Return the domains of the columns in each role, in input order."""
    return {role: [each.domain for each in loaded if each.column.role == role] for role in get_args(Role)}


def _write_columns(
    connection: duckdb.DuckDBPyConnection, loaded: Sequence[Loaded], labels: Mapping[str, str]
) -> None:
    domains = [each.domain for each in loaded]
    write_table(
        connection,
        "columns",
        {
            "position": list(range(1, len(loaded) + 1)),
            "name": [domain.name for domain in domains],
            "role": [each.column.role for each in loaded],
            "kind": [domain.kind for domain in domains],
            "distinct_values": [len(domain.values) for domain in domains],
            "missing": [domain.missing for domain in domains],
            "scale": [domain.scale for domain in domains],
            "precision": [domain.precision if domain.kind == "date" else None for domain in domains],
            "label": [labels.get(domain.name) for domain in domains],
        },
    )
    for name in ("precision", "label"):
        connection.execute(f"ALTER TABLE columns ALTER {name} SET DATA TYPE VARCHAR")


def _remarks(loaded: Sequence[Loaded], records: int) -> list[tuple[str, str]]:
    """Return what is to be said of the columns, each remark with its column."""
    return [
        (each.domain.name, text)
        for each in loaded
        for text in (*each.held.remarks, *remarks_of(each.domain, records))
    ]


def _hierarchies(
    loaded: Sequence[Loaded], taxonomies: Mapping[str, Taxonomy]
) -> dict[str, tuple[list[str], list[tuple[str, ...]]]]:
    """Return the values of columns with a hierarchy, in the order of codes, and their ancestors by level."""
    values = {each.domain.name: each.domain.values.tolist() for each in loaded}
    return {
        name: (held, list(zip(*taxonomies[name].paths(held), strict=True)))
        for name, held in values.items()
        if held and name in taxonomies
    }
