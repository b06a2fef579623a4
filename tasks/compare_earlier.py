"""Step: hold the table against an earlier release; tell what is different, or refuse it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from tasks.config import Config
from tasks.domain import Domain
from tasks.drift.earlier import find_release, read_earlier
from tasks.drift.findings import Finding, Held, findings
from tasks.errors import ConfigurationError, DriftError
from tasks.events import remark
from tasks.publish import LATEST
from tasks.reports.manifest import hierarchy_made
from tasks.steps import step
from tasks.store import open_store, quoted
from tasks.tables import Role, read_class_domain, read_domains, read_sensitive_domains

MOST_LINES = 20


@step("compare with the earlier release")
def compare_earlier(store: Path, config: Config) -> None:
    """Tell where the table is not like the earlier release, if one is named, or refuse the table."""
    if config.drift.earlier is None:
        return
    folder = find_release(config.drift.earlier)
    if folder is None:
        _refuse_a_wrong_place(config)
        remark(f"there is no earlier release in {config.drift.earlier} yet")
        return
    earlier = read_earlier(folder)
    with open_store(store) as connection:
        found = list(findings(earlier, list(_held(connection, config)), _aside(config)))
        _write_drift(connection, found)
    if found and config.drift.refuse:
        raise DriftError("\n".join([*_lines(found), f"drift.refuse: nothing was published; {_where(store)}"]))
    for line in _lines(found):
        remark(line)


def _refuse_a_wrong_place(config: Config) -> None:
    """Refuse a place without releases where there are some of this name, and the table must be like one."""
    published = config.output.directory / config.output.name
    if config.drift.refuse and (published / LATEST).exists():
        raise ConfigurationError(
            f"drift.earlier: {config.drift.earlier} holds no release, but {published} does: name that one"
        )


def _held(connection: duckdb.DuckDBPyConnection, config: Config) -> Iterator[Held]:
    features, _ = read_domains(connection)
    roles: list[tuple[Role, Sequence[Domain]]] = [
        ("feature", features),
        ("sensitive", read_sensitive_domains(connection)),
        ("class", [read_class_domain(connection)]),
    ]
    for role, domains in roles:
        for domain in domains:
            held = connection.execute(f"SELECT {quoted(domain.name)} AS code FROM codes").fetchnumpy()
            yield Held(role, domain, np.bincount(held["code"], minlength=domain.size), _made(config, domain))


def _made(config: Config, domain: Domain) -> dict[str, Any] | None:
    """Return how the groups of a feature are made, as release.json states it."""
    made = config.columns.hierarchies.get(domain.name)
    return None if made is None or domain.tree is None else hierarchy_made(made)


def _aside(config: Config) -> dict[str, str]:
    """Return the columns that are not released, and the setting that says so."""
    columns = config.columns
    entity = () if columns.entity is None else (columns.entity,)
    given = {"identifiers": columns.identifiers, "entity": entity, "drop": columns.drop}
    return {name: setting for setting, names in given.items() for name in names}


def _write_drift(connection: duckdb.DuckDBPyConnection, found: Sequence[Finding]) -> None:
    """Make the table `drift`: every finding, with a row for each value that it is of."""
    rows = [(each.column, each.told, value) for each in found for value in each.values or (None,)]
    connection.execute('CREATE OR REPLACE TABLE drift ("column" VARCHAR, finding VARCHAR, value VARCHAR)')
    connection.execute(
        "INSERT INTO drift SELECT unnest($1::VARCHAR[]), unnest($2::VARCHAR[]), unnest($3::VARCHAR[])",
        [[row[part] for row in rows] for part in range(3)],
    )


def _lines(found: Sequence[Finding]) -> list[str]:
    lines = [each.line for each in found[:MOST_LINES]]
    more = len(found) - len(lines)
    return [*lines, f"and {more:,} more"] if more else lines


def _where(store: Path) -> str:
    return f"{store}, which holds the table, tells in its table drift which values are meant"
