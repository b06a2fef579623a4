"""Step: make joins safe, and see that equivalence classes are as diverse as before (paper, section 4)."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np

from tasks.coarsening.coarsen import coarsen, merged_counts, merged_regions, released_apart
from tasks.coarsening.coarsen_segments import coarsen_within_segments
from tasks.config import Config
from tasks.enforcement.strategies import Enforced, enforce
from tasks.enforcement.within_segments import Present, enforce_within_segments
from tasks.errors import InfeasibleError
from tasks.events import counted
from tasks.partitions.anonymize import Anonymized
from tasks.partitions.protection import Protection, read_protection
from tasks.persons.coarsen_persons import coarsen_persons
from tasks.persons.count_persons import change_for_persons, count_persons, read_records
from tasks.released import write_released
from tasks.steps import step
from tasks.store import open_store, write_table
from tasks.tables import (
    Counts,
    read_class_counts,
    read_class_domain,
    read_domains,
    read_fragments,
    read_members,
    read_regions,
    write_class_counts,
)


@step("make joins safe")
def enforce_non_reconstructibility(store: Path, config: Config) -> list[int]:
    """Store what makes joins safe: other class counts, or coarser equivalence classes.

    Returns how many class values changed per fragment.
    """
    with open_store(store) as connection:
        if config.privacy.enforcement == "coarsen":
            _coarsen(connection, config)
            changed = [0] * config.fragments
        else:
            change = _change if config.columns.entity is None else change_for_persons
            changed = change(connection, config)
        write_table(
            connection,
            "changes",
            {"fragment": list(range(1, len(changed) + 1)), "class_values": changed},
        )
    counted(changed_class_values=sum(changed))
    return changed


def _coarsen(connection: duckdb.DuckDBPyConnection, config: Config) -> None:
    """Store merged equivalence classes in place of those there were."""
    domains, class_domain = read_domains(connection)
    counts = read_class_counts(connection, "before")
    regions = [
        read_regions(connection, number, [domain for domain in domains if domain.name in set(features)])
        for number, features in enumerate(read_fragments(connection), 1)
    ]
    k, guarantee = config.privacy.k, config.privacy.guarantee
    if config.columns.entity is not None:
        labels = coarsen_persons(read_records(connection), regions, k, guarantee)
    elif config.join_scope == "segments":
        present = [_present(connection, number) for number in range(1, len(counts) + 1)]
        labels = coarsen_within_segments(counts, regions, present, k, guarantee)
    else:
        labels = coarsen(counts, regions, k, guarantee)
    labels = released_apart(merged_regions(regions, labels), labels)
    members = [
        merged[classes].astype(np.int32)
        for merged, classes in zip(labels, read_members(connection), strict=True)
    ]
    fragments = zip(members, merged_counts(counts, labels), merged_regions(regions, labels), strict=True)
    write_released(connection, [Anonymized(*fragment) for fragment in fragments], class_domain)
    if config.columns.entity is not None:
        count_persons(connection, config)


def _change(connection: duckdb.DuckDBPyConnection, config: Config) -> list[int]:
    """Store changed class counts; return how many class values changed per fragment."""
    before = read_class_counts(connection, "before")
    enforced = _enforced(connection, config, before)
    if config.privacy.protects_values and any(enforced.changed):
        _check_again(connection, config, enforced.counts)
    write_class_counts(connection, read_class_domain(connection), before, enforced.counts)
    return list(enforced.changed)


def _enforced(connection: duckdb.DuckDBPyConnection, config: Config, before: Sequence[Counts]) -> Enforced:
    privacy, seed = config.privacy, config.run.seed
    if privacy.protects_values and not privacy.strict_segments:
        present = [_present(connection, number) for number in range(1, len(before) + 1)]
        return enforce_within_segments(privacy, before, present, seed)
    return enforce(privacy, before, seed)


def _present(connection: duckdb.DuckDBPyConnection, fragment: int) -> Present:
    """Return which equivalence classes of a fragment have records in which segment."""
    pairs = connection.execute(f"""
        SELECT DISTINCT segment, fragment_{fragment} AS ec
        FROM segments JOIN members ON segments.rowid = members.rowid ORDER BY ALL
    """).fetchnumpy()
    return Present(np.asarray(pairs["segment"]), np.asarray(pairs["ec"]))


def _check_again(connection: duckdb.DuckDBPyConnection, config: Config, after: Sequence[Counts]) -> None:
    """Refuse class values that keep joins safe, but no longer what l or t promise of the class."""
    protection, _ = read_protection(connection, config, [read_class_domain(connection)])
    (attribute,) = protection.attributes
    for number, counts in enumerate(after, 1):
        placed = np.empty_like(counts)
        placed[:, attribute.places] = counts
        wanted = protection._replace(overall=placed.sum(axis=0)).wanted
        short = int((~wanted.holds(placed)).sum())
        if short:
            missed = ", ".join(map(str, wanted.failing(placed)))
            raise InfeasibleError(
                f"making joins safe leaves {short} of {len(counts)} equivalence classes of fragment {number} "
                f"short of {missed}: {_advice(connection, protection, int(counts.sum()))}"
            )


def _advice(connection: duckdb.DuckDBPyConnection, protection: Protection, records: int) -> str:
    ((segments,),) = connection.execute("SELECT count(DISTINCT segment) FROM segments").fetchall()
    if protection.complete and segments > 1:
        return f"set segmentation.min_segment = {records}: one segment needs no changed class values"
    if not protection.complete:
        return "ask for a distinct l too (privacy.l = 2), which makes joins safe without changed class values"
    return "ask for a smaller l or a larger t, or for fewer fragments"
