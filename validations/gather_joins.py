"""Gathers the evidence of joins: what joining the fragments of a published folder on the class gives."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import duckdb

from validations.class_counts import ClassCounts, TooCostlyError, count_classes
from validations.class_joins import SmallestJoin, smallest_join
from validations.evidence import FragmentEvidence, JoinEvidence
from validations.groups import Groups
from validations.partners import holds_rows, records_without_partner, rests_on_records
from validations.promises import Promises
from validations.record_counts import smallest_records
from validations.record_shares import smallest_record_share
from validations.segment_joins import SegmentEvidence, within_segments
from validations.selectivity import PublishedClass, smallest_eta

Found = TypeVar("Found")


def gather_joins(
    connection: duckdb.DuckDBPyConnection,
    csv_groups: Sequence[Groups | None],
    fragments: Sequence[FragmentEvidence],
    promises: Promises,
) -> JoinEvidence:
    """Return what joining the fragments gives.

    Parameters
    ----------
    connection
        Where the groups are.
    csv_groups
        The groups of each fragment's CSV file; None if it could not be read.
    fragments
        What the files show.
    promises
        Say which joins must hold what.
    """
    problem = join_problem(csv_groups, fragments)
    if problem is not None:
        return JoinEvidence(choices=None, problem=problem, records_problem=problem)
    groups = [each for each in csv_groups if each]
    sizes = [len(fragment.csv.class_sizes) for fragment in fragments]
    choices = math.prod(1 + size for size in sizes) - 1 - sum(sizes)
    if promises.class_values == "per_class":
        return _per_class(_published_classes(connection, groups), promises, choices)
    return joins_of_counts(count_classes(connection, groups), promises, choices)


def gather_segments(
    connection: duckdb.DuckDBPyConnection,
    csv_groups: Sequence[Groups | None],
    fragments: Sequence[FragmentEvidence],
    promises: Promises,
    store: Path | None,
) -> SegmentEvidence | None:
    """Return what joins within segments hold; None without a private store or segments.

    Parameters
    ----------
    connection, csv_groups, fragments, promises
        See `gather_joins`.
    store
        The private store of the run that made the files.
    """
    if store is None or not promises.protects_values or len(fragments) == 1:
        return None
    problem = join_problem(csv_groups, fragments)
    if problem is not None:
        return SegmentEvidence(None, problem)
    return within_segments(connection, [each for each in csv_groups if each], promises, store)


def _per_class(published: list[dict[int, PublishedClass]], promises: Promises, choices: int) -> JoinEvidence:
    eta, problem = _tried(lambda: smallest_eta(published, promises.k))
    share, records_problem = None, None
    if promises.guarantee == "records":
        share, records_problem = _tried(lambda: smallest_record_share(published, promises.k))
    return JoinEvidence(
        choices=choices,
        smallest_eta=eta,
        smallest_record_share=share,
        problem=problem,
        records_problem=records_problem,
    )


def joins_of_counts(counts: ClassCounts, promises: Promises, choices: int) -> JoinEvidence:
    """Return what joins hold by class counts.

    Parameters
    ----------
    counts
        Of every fragment, of records or of persons.
    promises
        Say which joins must hold what.
    choices
        How many choices there are.
    """
    records, records_problem = _tried(lambda: smallest_records(counts))
    smallest, problem = _tried(lambda: smallest_join(counts, promises.k))
    if smallest is None and records is not None and records >= promises.k:
        smallest, problem = SmallestJoin(None, exact=False, at_least=records), None
    alone = record_alone = None
    if promises.join_scope == "segments":
        if smallest is not None and (smallest.at_least or promises.k) < promises.k:
            alone, problem = _tried(
                lambda: records_without_partner(counts, holds_rows, promises.k, promises.changed)
            )
        if promises.guarantee == "records" and records is not None and records < promises.k:
            record_alone, records_problem = _tried(
                lambda: records_without_partner(counts, rests_on_records, promises.k, promises.changed)
            )
    return JoinEvidence(
        choices=choices,
        smallest_join=None if problem else smallest,
        without_partner=alone,
        smallest_records=records,
        without_record_partner=record_alone,
        problem=problem,
        records_problem=records_problem,
    )


def _tried(find: Callable[[], Found]) -> tuple[Found | None, str | None]:
    """Return what is found, or why it could not be."""
    try:
        return find(), None
    except TooCostlyError as error:
        return None, f"too costly to check: {error}"


def join_problem(csv_groups: Sequence[Groups | None], fragments: Sequence[FragmentEvidence]) -> str | None:
    """Return why the fragments cannot be joined; None if they can."""
    for groups, fragment in zip(csv_groups, fragments, strict=True):
        if groups is None:
            return fragment.csv.problem
        if groups.class_column is None:
            return f"{fragment.csv.file} has not exactly one class column"
        if fragment.csv.records == 0:
            return f"{fragment.csv.file} holds no records"
    return None


def _published_classes(
    connection: duckdb.DuckDBPyConnection, csv_groups: list[Groups]
) -> list[dict[int, PublishedClass]]:
    """Return per fragment the smallest EC for every set of class values, as bits."""
    count_classes(connection, csv_groups)
    found = []
    for groups in csv_groups:
        rows = connection.execute(f"""
            SELECT min(records)::BIGINT, codes
            FROM (SELECT sum(n) AS records,
                         list_sort(list(DISTINCT code) FILTER (code IS NOT NULL)) AS codes
                  FROM {groups.table} AS g LEFT JOIN class_values ON class = g.{groups.class_column}
                  GROUP BY ec)
            WHERE len(codes) > 0 GROUP BY codes""").fetchall()
        found.append({sum(1 << code for code in codes): PublishedClass(len(codes), n) for n, codes in rows})
    return found
