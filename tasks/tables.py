"""The store's tables that several steps share, and how they are read."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, get_args

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.domain import Domain, Kind
from tasks.hierarchies import read_trees
from tasks.partitions.regions import (
    CategoricalRegions,
    NumericRegions,
    Regions,
    named_groups,
    regions_of_pairs,
)
from tasks.store import add_rows, quoted, write_table
from tasks.typed_values import as_stored, first_day

Role = Literal["feature", "sensitive", "class"]
Matrix = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


def read_domains(connection: duckdb.DuckDBPyConnection) -> tuple[tuple[Domain, ...], Domain]:
    """Return the domains of the features, in input order, and of the class."""
    return _domains(connection, "feature"), read_class_domain(connection)


def read_sensitive_domains(connection: duckdb.DuckDBPyConnection) -> tuple[Domain, ...]:
    """Return the domains of the sensitive attributes beside the class, in input order."""
    return _domains(connection, "sensitive")


def read_class_domain(connection: duckdb.DuckDBPyConnection) -> Domain:
    """Return the domain of the class."""
    (domain,) = _domains(connection, "class")
    return domain


def _domains(connection: duckdb.DuckDBPyConnection, role: Role) -> tuple[Domain, ...]:
    columns = connection.execute(
        """
        SELECT position, distinct_values, name, kind, missing, scale, coalesce(precision, 'day')
        FROM columns WHERE role = ? ORDER BY position
        """,
        [role],
    ).fetchall()
    values: dict[int, npt.NDArray[Any]] = {}
    for kind in get_args(Kind):
        sizes = {position: size for position, size, _, of, *_ in columns if of == kind}
        if sizes:
            values |= _distinct(connection, kind, sizes)
    trees = read_trees(connection, [name for _, _, name, *_ in columns]) if role == "feature" else {}
    return tuple(
        Domain(name, kind, values[position], missing, scale, precision, trees.get(name))
        for position, _, name, kind, missing, scale, precision in columns
    )


def _distinct(
    connection: duckdb.DuckDBPyConnection, kind: Kind, sizes: dict[int, int]
) -> dict[int, npt.NDArray[Any]]:
    """Return the distinct values of all columns of a kind and a role, whose positions are adjacent."""
    query = f"SELECT value FROM domain_{kind} WHERE position BETWEEN {min(sizes)} AND {max(sizes)}"
    values = np.ma.getdata(connection.execute(query).fetchnumpy()["value"])
    return dict(zip(sizes, np.split(values, np.cumsum(list(sizes.values()))[:-1]), strict=True))


def write_domains(connection: duckdb.DuckDBPyConnection, domains: Sequence[Domain]) -> None:
    """Store the distinct values of all columns, in input order, each kind in a table `domain_<kind>`."""
    for kind in get_args(Kind):
        values = {place: domain.values for place, domain in enumerate(domains, 1) if domain.kind == kind}
        if values:
            places = np.array(list(values), dtype=np.int32)
            sizes = [len(held) for held in values.values()]
            write_table(
                connection,
                f"domain_{kind}",
                {"position": np.repeat(places, sizes), "value": np.concatenate(list(values.values()))},
            )


def write_matrix(connection: duckdb.DuckDBPyConnection, names: Sequence[str], matrix: Matrix) -> None:
    """Store a matrix, a row per pair of columns, in the order of the names."""
    write_table(
        connection,
        "mutual_information",
        {
            "x": np.repeat(np.array(names, dtype=object), len(names)),
            "y": np.tile(np.array(names, dtype=object), len(names)),
            "nats": matrix.ravel(),
        },
    )


def read_matrix(connection: duckdb.DuckDBPyConnection) -> Matrix:
    """Return the stored matrix: features, sensitive attributes, the class."""
    nats = connection.execute("SELECT nats FROM mutual_information ORDER BY rowid").fetchnumpy()["nats"]
    columns = round(len(nats) ** 0.5)
    return np.asarray(nats.reshape(columns, columns))


def read_fragments(connection: duckdb.DuckDBPyConnection) -> list[list[str]]:
    """Return the features of each fragment, in input order."""
    return _members(connection, "feature")


def read_fragment_domains(connection: duckdb.DuckDBPyConnection) -> list[list[Domain]]:
    """Return the domains of the features of each fragment, in input order."""
    domains = {domain.name: domain for domain in _domains(connection, "feature")}
    return [[domains[name] for name in names] for names in read_fragments(connection)]


def read_sensitive(connection: duckdb.DuckDBPyConnection) -> list[list[str]]:
    """Return the sensitive attributes of each fragment beside the class, in input order."""
    return _members(connection, "sensitive")


def _members(connection: duckdb.DuckDBPyConnection, role: Role) -> list[list[str]]:
    rows = connection.execute(
        """
        SELECT coalesce(list(feature ORDER BY position) FILTER (role = ?), [])
        FROM fragments JOIN columns ON feature = name GROUP BY fragment ORDER BY fragment
        """,
        [role],
    ).fetchall()
    return [members for (members,) in rows]


def read_class_counts(
    connection: duckdb.DuckDBPyConnection, when: Literal["before", "after"]
) -> tuple[Counts, ...]:
    """Return the class counts of each fragment, before or after enforcement.

    Returns
    -------
    tuple of ndarray of shape (E, class values)
        One per fragment; class values in their order.
    """
    return read_counts(connection, "class_counts", when, read_class_domain(connection))


def read_counts(
    connection: duckdb.DuckDBPyConnection, table: str, column: str, class_domain: Domain
) -> tuple[Counts, ...]:
    """Return a column of counts by class value, shape (E, class values), for each fragment."""
    sizes = connection.execute(
        "SELECT count(*) FROM equivalence_classes GROUP BY fragment ORDER BY fragment"
    ).fetchall()
    fragments = []
    for number, (classes,) in enumerate(sizes, 1):
        held = connection.execute(
            f"SELECT ec, class_value, {quoted(column)} AS n FROM {table} WHERE fragment = {number}"
        ).fetchnumpy()
        counts = np.zeros((classes, class_domain.size), dtype=np.int64)
        value = np.searchsorted(class_domain.values, np.ma.getdata(held["class_value"]))
        counts[held["ec"], value] = held["n"]
        fragments.append(counts)
    return tuple(fragments)


def write_class_counts(
    connection: duckdb.DuckDBPyConnection,
    class_domain: Domain,
    before: Sequence[Counts],
    after: Sequence[Counts],
) -> None:
    """Store how often each class value occurs in each equivalence class, before and after enforcement."""
    held = [np.nonzero(old | new) for old, new in zip(before, after, strict=True)]
    write_table(
        connection,
        "class_counts",
        {
            "fragment": np.repeat(np.arange(1, len(held) + 1), [len(ec) for ec, _ in held]),
            "ec": np.concatenate([ec for ec, _ in held]),
            "class_value": class_domain.values[np.concatenate([value for _, value in held])],
            "before": np.concatenate([old[where] for old, where in zip(before, held, strict=True)]),
            "after": np.concatenate([new[where] for new, where in zip(after, held, strict=True)]),
        },
    )


def read_members(connection: duckdb.DuckDBPyConnection) -> list[npt.NDArray[np.int32]]:
    """Return the equivalence class of every record, for each fragment."""
    columns = connection.execute("SELECT * FROM members").fetchnumpy()
    return [np.asarray(classes, dtype=np.int32) for classes in columns.values()]


def read_regions(
    connection: duckdb.DuckDBPyConnection, number: int, domains: Sequence[Domain]
) -> tuple[Regions, ...]:
    """Return what the equivalence classes of a fragment release.

    Parameters
    ----------
    connection
    number
        Of the fragment, from 1.
    domains
        Of the fragment's features, in input order.
    """
    return tuple(
        (_read_ranges if domain.numeric else _read_sets)(connection, f"typed_regions_{number}", place, domain)
        for place, domain in enumerate(domains, 1)
    )


def _read_ranges(
    connection: duckdb.DuckDBPyConnection, table: str, place: int, domain: Domain
) -> NumericRegions:
    feature = f"f{place}"
    lower, upper = f"{feature}.lower", f"{feature}.upper"
    if domain.kind == "date":
        upper = first_day(upper, domain.precision)
    lower, upper = (as_stored(bound, domain.kind, domain.scale) for bound in (lower, upper))
    cells = connection.execute(f"""
        SELECT {lower} AS lower, {upper} AS upper, {feature}.missing AS missing,
               {feature}.lower IS NOT NULL AS present
        FROM {table} ORDER BY rowid
    """).fetchnumpy()
    present, missing = (np.ma.getdata(cells[part]).astype(np.bool_) for part in ("present", "missing"))
    lowest, highest = (
        np.searchsorted(domain.values, np.ma.getdata(cells[bound])) + int(domain.missing)
        for bound in ("lower", "upper")
    )
    return NumericRegions(
        domain,
        np.where(present, lowest, 0).astype(np.int32),
        np.where(present, highest, 0).astype(np.int32),
        present,
        missing,
    )


def _read_sets(
    connection: duckdb.DuckDBPyConnection, table: str, place: int, domain: Domain
) -> CategoricalRegions:
    import pandas as pd  # noqa: PLC0415 - costs a third of a second, which --help must not pay

    if domain.tree is not None:
        rows = connection.execute(f"SELECT f{place} FROM {table} ORDER BY rowid").fetchall()
        return named_groups(domain, domain.tree, [names for (names,) in rows])
    cells = connection.execute(f"SELECT rowid AS ec, unnest(f{place}) AS name FROM {table}").fetchnumpy()
    names = np.ma.asanyarray(cells["name"])
    codes = pd.Index(domain.values).get_indexer(np.ma.getdata(names)) + int(domain.missing)
    codes[np.ma.getmaskarray(names)] = 0
    pairs = np.sort(np.ma.getdata(cells["ec"]) * domain.size + codes)
    return regions_of_pairs(domain, *np.divmod(pairs, domain.size))


def read_codes(connection: duckdb.DuckDBPyConnection, domains: Sequence[Domain]) -> npt.NDArray[np.int32]:
    """Return the codes of some columns, shape (n, columns)."""
    selected = ", ".join(f"{quoted(domain.name)} AS f{place}" for place, domain in enumerate(domains))
    return side_by_side(connection.execute(f"SELECT {selected} FROM codes").fetchnumpy(), len(domains))


def read_columns(
    connection: duckdb.DuckDBPyConnection, domains: Iterable[Domain]
) -> Iterator[npt.NDArray[np.int32]]:
    """Read the codes of some columns one by one, each of shape (n,)."""
    for domain in domains:
        held = connection.execute(f"SELECT {quoted(domain.name)} AS code FROM codes").fetchnumpy()
        yield np.asarray(held["code"])


def side_by_side(columns: dict[str, Any], number: int) -> npt.NDArray[np.int32]:
    """Take the columns f0, f1, ... out of what was read; return them as one array, shape (n, number).

    It is in column order: to put each value into its row takes ten times as long.
    """
    codes = np.empty((number, len(columns["f0"])), dtype=np.int32)
    for place in range(number):
        codes[place] = columns.pop(f"f{place}")
    return codes.T


def write_feature_loss(
    connection: duckdb.DuckDBPyConnection,
    release: Literal["fragmented", "unfragmented"],
    losses: dict[str, float],
) -> None:
    """Store the information loss of each feature."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS feature_loss (release VARCHAR, feature VARCHAR, information_loss DOUBLE)"
    )
    connection.execute("DELETE FROM feature_loss WHERE release = ?", [release])
    add_rows(connection, "feature_loss", [(release, *loss) for loss in losses.items()])
