"""How persons count in the equivalence classes of a store, once joins are safe."""

from collections.abc import Iterator, Sequence

import duckdb
import numpy as np

from tasks.config import Config
from tasks.domain import Domain
from tasks.persons.change_classes import Records, Shown, change_classes, shown_as_they_are
from tasks.persons.credit import Codes, Credits, credit
from tasks.persons.stored import (
    stored_persons,
    write_counted,
    write_counted_sensitive,
    write_published_classes,
)
from tasks.tables import (
    Counts,
    read_class_counts,
    read_class_domain,
    read_codes,
    read_members,
    read_sensitive,
    read_sensitive_domains,
    write_class_counts,
)


def change_for_persons(connection: duckdb.DuckDBPyConnection, config: Config) -> list[int]:
    """Store changed class values and how persons count; return how many values changed per fragment.

    Where l is asked every equivalence class has all class values, so none has to change, and what is
    asked stays true.
    """
    records = read_records(connection)
    shown = change_classes(records, config.privacy, config.run.seed)
    after = [
        _class_counts(ecs, codes, records.values)
        for ecs, (_, codes) in zip(records.members, shown, strict=True)
    ]
    before = read_class_counts(connection, "before")
    write_class_counts(connection, read_class_domain(connection), before, after)
    _write(connection, config, shown)
    return [int(np.count_nonzero(codes != records.classes)) for _, codes in shown]


def count_persons(connection: duckdb.DuckDBPyConnection, config: Config) -> None:
    """Store how persons count where records keep their class values."""
    _write(connection, config, shown_as_they_are(read_records(connection)))


def read_records(connection: duckdb.DuckDBPyConnection) -> Records:
    """Return the records of a store whose persons count."""
    class_domain = read_class_domain(connection)
    classes = read_codes(connection, [class_domain])[:, 0]
    return Records(read_members(connection), stored_persons(connection), classes, class_domain.size)


def _class_counts(ecs: Codes, codes: Codes, values: int) -> Counts:
    """Count the records with each class value, shape (ECs, values)."""
    cells = np.bincount(ecs.astype(np.int64) * values + codes, minlength=(int(ecs.max()) + 1) * values)
    return cells.reshape(-1, values).astype(np.int64)


def _write(connection: duckdb.DuckDBPyConnection, config: Config, shown: Sequence[Shown]) -> None:
    write_published_classes(connection, [codes for _, codes in shown])
    write_counted(connection, read_class_domain(connection), [counted for counted, _ in shown])
    protected = config.privacy.protects_values
    write_counted_sensitive(connection, _credit_sensitive(connection) if protected else ())


def _credit_sensitive(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[int, Domain, Credits]]:
    """Yield how each fragment counts persons under each sensitive attribute; missing is no value."""
    persons, members = stored_persons(connection), read_members(connection)
    domains = {domain.name: domain for domain in read_sensitive_domains(connection)}
    for number, (names, ecs) in enumerate(zip(read_sensitive(connection), members, strict=True), 1):
        for name in names:
            codes = read_codes(connection, [domains[name]])[:, 0] - int(domains[name].missing)
            has = codes >= 0
            size = len(domains[name].values)
            yield number, domains[name], credit(ecs[has], persons[has], codes[has], size)
