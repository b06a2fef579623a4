"""Coarsening where only equivalence classes (ECs) that have records in a common segment are joined."""

from collections.abc import Sequence

import numpy as np

from tasks.coarsening.coarsen import WORK, Released, coarsen, merged_counts, merged_regions, released_apart
from tasks.coarsening.held import Promise
from tasks.config import Guarantee
from tasks.enforcement.within_segments import Present, are_safe
from tasks.joins.class_join import Counts, Indices


def coarsen_within_segments(
    counts: Sequence[Counts],
    regions: Released,
    present: Sequence[Present],
    k: int,
    guarantee: Guarantee,
) -> tuple[Indices, ...]:
    """Merge ECs until every choice of ECs within a segment keeps what the guarantee promises.

    A merged EC has records in the segments of all its parts, and can be unsafe in each of them: segments
    are gone through until nothing is merged any more.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment.
    regions
        What the ECs of each fragment release of each feature.
    present
        Which ECs of each fragment have records in which segment.
    k, guarantee
        See `tasks.coarsening.coarsen.coarsen`.

    Returns
    -------
    tuple of ndarrays of shape (E_i,)
        For each fragment, the merged EC of each EC, from 0; no two merged ECs release the same.

    Raises
    ------
    InfeasibleError
        If the joins are too many to be checked.
    """
    labels = tuple(np.arange(len(fragment)) for fragment in counts)
    segments = np.unique(present[0].segments).tolist()
    while True:
        before = sum(len(fragment) for fragment in counts)
        suspects = [segments[place] for place in np.flatnonzero(~are_safe(counts, present, k))]
        for segment in suspects:
            within = [fragment.of(segment) for fragment in present]
            merged = _merged_within(counts, regions, within, Promise(k, guarantee), WORK // len(suspects))
            merged = released_apart(merged_regions(regions, merged), merged)
            labels = tuple(new[old] for new, old in zip(merged, labels, strict=True))
            counts, regions = merged_counts(counts, merged), merged_regions(regions, merged)
            present = [_present(fragment, new) for fragment, new in zip(present, merged, strict=True)]
        if sum(len(fragment) for fragment in counts) == before:
            return labels


def _merged_within(
    counts: Sequence[Counts], regions: Released, within: Sequence[Indices], promise: Promise, work: int
) -> tuple[Indices, ...]:
    """Return labels of all ECs, those within a segment coarsened until they are safe."""
    coarsened = coarsen(
        [fragment[chosen] for fragment, chosen in zip(counts, within, strict=True)],
        [
            [region.take(chosen) for region in features]
            for features, chosen in zip(regions, within, strict=True)
        ],
        *promise,
        work,
    )
    labels = []
    for fragment, chosen, new in zip(counts, within, coarsened, strict=True):
        first = chosen[np.unique(new, return_index=True)[1]]
        called = np.arange(len(fragment))
        called[chosen] = first[new]
        labels.append(np.unique(called, return_inverse=True)[1])
    return tuple(labels)


def _present(present: Present, labels: Indices) -> Present:
    pairs = np.unique(np.column_stack([present.segments, labels[present.classes]]), axis=0)
    return Present(pairs[:, 0], pairs[:, 1])
