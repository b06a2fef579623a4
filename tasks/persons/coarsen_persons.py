"""Coarsening where persons count: merged equivalence classes (ECs) count whom they have in common once."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.coarsening.coarsen import WORK, Released, coarsen, merged_regions, released_apart
from tasks.coarsening.groups import Groups
from tasks.config import Guarantee
from tasks.errors import InfeasibleError
from tasks.joins.class_join import Counts, Indices
from tasks.partitions.regions import Regions
from tasks.persons.change_classes import Records
from tasks.persons.credit import Codes, credit, lacks_persons


def coarsen_persons(
    records: Records, regions: Released, k: int, guarantee: Guarantee, work: int = WORK
) -> tuple[Indices, ...]:
    """Merge ECs until all joins are safe in persons, and every class value has a person of its own.

    Persons who have records in several ECs that are merged make fewer persons than the ECs had, so joins
    are looked at again after every merge; with one EC for each fragment they are safe.

    Parameters
    ----------
    records
        Of all fragments.
    regions
        What the ECs of each fragment release of each feature.
    k, guarantee
        What joins must hold, in persons.
    work
        How much each search may take, as for `tasks.coarsening.coarsen.coarsen`.

    Returns
    -------
    tuple of ndarrays of shape (E_i,)
        For each fragment, the merged EC of each EC, from 0.

    Raises
    ------
    InfeasibleError
        If not even all records as one EC have a person for every class value.
    """
    members, persons, classes, values = records
    labels = tuple(np.arange(int(ecs.max()) + 1) for ecs in members)
    while len(members) > 1:
        merged = [new[ecs].astype(np.int32) for new, ecs in zip(labels, members, strict=True)]
        released = merged_regions(regions, labels)
        counts = [credit(ecs, persons, classes, values).counts(ecs.max() + 1, values) for ecs in merged]
        new = _with_bearers(counts, merged, classes, released)
        if new is None:
            new = coarsen(counts, released, k, guarantee, work)
        new = released_apart(merged_regions(released, new), new)
        if all(int(each.max()) + 1 == len(each) for each in new):
            break
        labels = tuple(now[old] for now, old in zip(new, labels, strict=True))
    return labels


def _with_bearers(
    counts: Sequence[Counts], merged: Sequence[Codes], classes: Codes, released: Released
) -> tuple[Indices, ...] | None:
    """Merge each EC that has a class value without a person with its nearest; None if there is none."""
    short = [
        np.flatnonzero(lacks_persons(ecs, classes, held)) for ecs, held in zip(merged, counts, strict=True)
    ]
    if not any(map(len, short)):
        return None
    return tuple(
        _merged_with_nearest(ecs, held, features) if len(ecs) else np.arange(len(held))
        for ecs, held, features in zip(short, counts, released, strict=True)
    )


def _merged_with_nearest(ecs: Indices, counts: Counts, features: Sequence[Regions]) -> Indices:
    if len(counts) == 1:
        raise InfeasibleError(
            "the persons of the table do not suffice for its class values, one for each: drop the rarest "
            'class values, or set privacy.enforcement = "min_distortion", which changes them'
        )
    groups = Groups([counts], [features], absent=1)
    partners, added = groups.partners(0, ecs)
    partners = np.broadcast_to(partners, added.shape)
    nearest = np.take_along_axis(partners, added.argmin(axis=1)[:, None], axis=1)[:, 0]
    links = coo_array((np.ones(len(ecs)), (ecs, nearest)), (len(counts), len(counts)))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)
