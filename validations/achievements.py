"""Whether a release that says it was checked states that it achieved what was asked of joins, l and t."""

import math
from collections.abc import Iterator

from validations.person_bounds import unachieved_by_persons
from validations.stated import Manifest, StatedGuarantees, StatedWithinSegments

ROUNDING = 1e-6
"""Levels are stated rounded down to six digits, distances rounded up."""


def unachieved(manifest: Manifest) -> Iterator[str]:
    """Yield what is stated as achieved and is not what was asked; a draft need not achieve anything.

    Parameters
    ----------
    manifest
        Of a release.
    """
    if manifest.validation.success is None:
        return
    guarantees = manifest.guarantees
    yield from _of_joins(manifest)
    yield from _of_guarantees(guarantees)
    yield from unachieved_by_persons(manifest)
    if not guarantees.protects_values or len(manifest.fragments) == 1:
        return
    if manifest.joins.within_segments is None:
        yield "`joins.within_segments` is not stated, but l or t is asked of several fragments"
    else:
        yield from _of_segments(manifest.joins.within_segments, guarantees)


def _of_joins(manifest: Manifest) -> Iterator[str]:
    """Yield what contradicts the guarantee asked; where values are per class, only delta is achieved."""
    stated, joins = manifest.guarantees.guarantee, manifest.joins
    if stated.achieved != (stated.asked if manifest.class_values == "per_record" else None):
        yield "`guarantee` is not achieved as it was asked"
    if stated.asked == "join":
        return
    fewest, within = manifest.guarantees.k.asked, joins.within_segments
    if joins.scope == "all" and joins.smallest_records is not None and joins.smallest_records < fewest:
        yield "`joins.smallest_records` states fewer than k records"
    if within is not None and within.records is not None and within.records < fewest:
        yield "`joins.within_segments` states fewer than k records"
    share, delta = joins.smallest_record_share, manifest.guarantees.delta.asked
    if share is not None and delta is not None and share + ROUNDING < delta:
        yield "`joins.smallest_record_share` states less than delta"


def _of_guarantees(stated: StatedGuarantees) -> Iterator[str]:
    level, distance = stated.l, stated.t
    if level.asked is not None and (level.achieved is None or level.achieved + ROUNDING < level.asked):
        yield "`l` is not achieved as it was asked"
    if distance.asked is not None and (
        distance.achieved is None or distance.achieved > distance.asked + ROUNDING
    ):
        yield "`t` is not achieved as it was asked"
    for name, settings in (("l_model", stated.l_model), ("c", stated.c), ("t_distance", stated.t_distance)):
        if settings.achieved != settings.asked:
            yield f"`{name}` is not achieved as it was asked"


def _of_segments(stated: StatedWithinSegments, guarantees: StatedGuarantees) -> Iterator[str]:
    asked = guarantees.l.asked
    if stated.at_least is not None and stated.at_least < guarantees.k.asked:
        yield "`joins.within_segments` states fewer than k rows"
    if asked is not None:
        levels = [each.l for each in stated.sensitive]
        if guarantees.l_model.asked == "distinct":
            levels.append(stated.l)
        if any(level is None or level < math.ceil(asked) for level in levels):
            yield "`joins.within_segments` states fewer than l values"
    of_records = stated.of_records
    for name, both, figure in (("l", guarantees.l, of_records.l), ("t", guarantees.t, of_records.t)):
        if both.asked is None and figure is not None:
            yield f"`joins.within_segments.of_records` states {name} although it was not asked"
