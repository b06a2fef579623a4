"""Whether a store's class counts keep what a configuration promises of joins; whatever made them."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from tasks.config import Config, Guarantee
from tasks.enforcement.eta import records_share
from tasks.enforcement.selectivity import smallest_eta
from tasks.errors import InfeasibleError
from tasks.joins.class_join import Booleans, Counts, Distinct, intersections, smallest_records
from tasks.joins.violating_joins import witnesses
from tasks.persons.stored import read_person_counts
from tasks.store import open_store
from tasks.tables import read_class_counts, read_class_domain


def joins_are_safe(counts: Sequence[Counts], k: int, guarantee: Guarantee) -> bool:
    """Tell whether every choice keeps the join condition, or the record condition.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment.
    k
        In rows, or in records.
    guarantee
        Which condition.

    Raises
    ------
    InfeasibleError
        If there are too many distinct joins to be checked.

    Examples
    --------
    >>> counts = [np.array([[1, 4]]), np.array([[5, 0]])]
    >>> joins_are_safe(counts, 5, "join"), joins_are_safe(counts, 5, "records")
    (True, False)
    """
    if guarantee == "records":
        records = smallest_records(counts)
        return records is None or records >= k
    return next(iter(witnesses([Distinct.of(fragment) for fragment in counts], k)), None) is None


def promise_holds(store: Path, config: Config) -> bool | None:
    """Tell whether joins are as safe as was asked; None if there are too many to be checked.

    Parameters
    ----------
    store
        In which joins were made safe.
    config
        Of the release.
    """
    with open_store(store) as connection:
        after = _counted(connection, config)
        try:
            if config.fragments == 1:
                return True
            if config.privacy.enforcement == "delta_selectivity":
                return _selective(connection, config, after)
            parts = [after] if config.join_scope == "all" else _segments(connection, after)
            return all(joins_are_safe(part, config.privacy.k, config.privacy.guarantee) for part in parts)
        except InfeasibleError:
            return None


def _counted(connection: duckdb.DuckDBPyConnection, config: Config) -> tuple[Counts, ...]:
    if config.columns.entity is None:
        return read_class_counts(connection, "after")
    return read_person_counts(connection, read_class_domain(connection))


def _segments(
    connection: duckdb.DuckDBPyConnection, counts: Sequence[Counts]
) -> Iterator[tuple[Counts, ...]]:
    """Yield the class counts of the ECs that have records in each segment."""
    present = []
    for number in range(1, len(counts) + 1):
        pairs = connection.execute(f"""
            SELECT DISTINCT segment, fragment_{number} AS ec
            FROM segments JOIN members ON segments.rowid = members.rowid ORDER BY ALL
        """).fetchnumpy()
        segments, starts = np.unique(pairs["segment"], return_index=True)
        present.append(dict(zip(segments.tolist(), np.split(pairs["ec"], starts[1:]), strict=True)))
    for segment in present[0]:
        yield tuple(fragment[ecs[segment]] for fragment, ecs in zip(counts, present, strict=True))


def _selective(connection: duckdb.DuckDBPyConnection, config: Config, after: Sequence[Counts]) -> bool:
    """Tell whether enough of the class counts that there can be are safe (method of delta-selectivity)."""
    supports = [fragment > 0 for fragment in after]
    sizes = [_sizes(connection, number) for number in range(1, len(after) + 1)]
    least = Fraction(repr(config.privacy.delta))
    share = smallest_eta(supports, sizes, config.privacy.k)
    if share is not None and share < least:
        return False
    return config.privacy.guarantee == "join" or records_are_shared(supports, sizes, config.privacy.k, least)


def _sizes(connection: duckdb.DuckDBPyConnection, fragment: int) -> Counts:
    classes = connection.execute(
        f"SELECT records FROM equivalence_classes WHERE fragment = {fragment} ORDER BY ec"
    ).fetchnumpy()
    return np.asarray(classes["records"], dtype=np.int64)


def records_are_shared(
    supports: Sequence[Booleans], sizes: Sequence[Counts], k: int, least: Fraction
) -> bool:
    """Tell whether, in every choice, each EC keeps k records in common values in enough of its versions.

    Parameters
    ----------
    supports : sequence of boolean ndarrays of shape (E_i, class values)
        The published class values of each EC of each fragment.
    sizes : sequence of int64 ndarrays of shape (E_i,)
        Records of each EC.
    k
        The fewest records.
    least
        The smallest share of versions allowed.
    """
    for i, (support, records) in enumerate(zip(supports, sizes, strict=True)):
        others = [other for j, other in enumerate(supports) if j != i]
        common = support.astype(np.int64) @ intersections(others, support.shape[1]).T.astype(np.int64)
        fewest = np.where(common > 0, common, support.shape[1] + 1).min(axis=1, initial=support.shape[1] + 1)
        meets = fewest <= support.shape[1]
        kinds = np.column_stack([records, support.sum(axis=1), fewest])[meets]
        if any(records_share(*kind, k) < least for kind in np.unique(kinds, axis=0).tolist()):
            return False
    return True
