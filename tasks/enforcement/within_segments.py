"""Joins within segments: only equivalence classes (ECs) that have records in a common segment are joined.

A record's ECs are always in one segment, so no record is in any other join (paper, section 5).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tasks.config import Privacy
from tasks.enforcement.strategies import Enforced, enforce, enforced

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ROUNDS = 5


class Present(NamedTuple):
    """Which ECs of a fragment have records in which segment: pairs, ordered by segment.

    Attributes
    ----------
    segments, classes : ndarray of shape (pairs,)
    """

    segments: Numbers
    classes: Numbers

    def of(self, segment: int) -> Numbers:
        """Return the ECs that have records in a segment."""
        start, end = np.searchsorted(self.segments, [segment, segment + 1])
        return self.classes[start:end]


def enforce_within_segments(
    privacy: Privacy, counts: Sequence[Counts], present: Sequence[Present], seed: int
) -> Enforced:
    """Change class values until every choice of ECs within a segment keeps what the guarantee promises.

    An EC can have records in several segments, if chunks released the same: what mends one segment can
    break another, so segments are gone through until none changes. Where they go on changing each other,
    the ECs of all segments that are linked by such ECs are made safe together, within segments or not.

    Parameters
    ----------
    privacy
        Which strategy, guarantee and k, see `tasks.enforcement.strategies.enforce`.
    counts : sequence of ndarrays of shape (E_i, class values)
        Class counts of each fragment.
    present
        One per fragment.
    seed
        Chooses where the walks over the dependency graph start.

    Raises
    ------
    InfeasibleError
        If the choices are too many to be checked.
    """
    after = [fragment.copy() for fragment in counts]
    if privacy.enforcement == "none" or len(counts) == 1:
        return enforced(counts, after, "per_record")
    unsettled: list[int] = []
    for _ in range(ROUNDS):
        suspects = np.flatnonzero(~are_safe(after, present, privacy.k)).tolist()
        unsettled = []
        for segment in suspects:
            classes = [fragment.of(segment) for fragment in present]
            if _mend(privacy, after, classes, seed, after):
                unsettled.append(segment)
        if not unsettled:
            break
    for classes in linked_ecs(present, unsettled):
        _mend(privacy, counts, classes, seed, after)
    return enforced(counts, after, "per_record")


def are_safe(counts: Sequence[Counts], present: Sequence[Present], k: int) -> Flags:
    """Tell which segments are safe, for either guarantee, because their ECs share enough class values.

    Let S be the class values that all ECs with records in a segment hold. If each of them has k records
    with a class in S, every join of them rests on these k records of each of its ECs, which have a class
    that all of its ECs hold; so it holds k rows too.

    Parameters
    ----------
    counts : sequence of ndarrays of shape (E_i, class values)
    present
        One per fragment.
    k
        In rows, and in records.

    Returns
    -------
    ndarray of shape (segments,)
    """
    segments = np.concatenate([fragment.segments for fragment in present])
    order = np.argsort(segments, kind="stable")
    held = np.concatenate(
        [fragment[chosen.classes] for fragment, chosen in zip(counts, present, strict=True)]
    )[order]
    starts = np.flatnonzero(np.diff(segments[order], prepend=-1))
    shared = np.logical_and.reduceat(held > 0, starts, axis=0)
    rows = np.where(shared[segments[order]], held, 0).sum(axis=1)
    return np.asarray(np.logical_and.reduceat(rows >= k, starts))


def _mend(
    privacy: Privacy, counts: Sequence[Counts], classes: Sequence[Numbers], seed: int, after: Sequence[Counts]
) -> bool:
    """Make every choice of some ECs safe, put that into `after`, and return whether anything changed."""
    chosen = [fragment[own] for fragment, own in zip(counts, classes, strict=True)]
    mended = enforce(privacy, chosen, seed)
    for fragment, own, now in zip(after, classes, mended.counts, strict=True):
        fragment[own] = now
    return sum(mended.changed) > 0


def linked_ecs(present: Sequence[Present], segments: Sequence[int]) -> Iterator[list[Numbers]]:
    """Find the ECs of all segments that common ECs link, directly or not, to some segments.

    Parameters
    ----------
    present
        One per fragment.
    segments
        The segments to start from.

    Yields
    ------
    list of ndarrays
        The ECs of each fragment, for segments that are linked with each other and with no others.
    """
    ends = np.cumsum([fragment.classes.max() + 1 for fragment in present])
    of_ecs = np.concatenate(
        [fragment.classes + start for fragment, start in zip(present, [0, *ends], strict=False)]
    )
    of_segments = np.concatenate([fragment.segments for fragment in present]) + ends[-1]
    size = int(of_segments.max()) + 1
    links = csr_array((np.ones(len(of_ecs)), (of_ecs, of_segments)), shape=(size, size))
    labels = connected_components(links, directed=False)[1]
    for label in np.unique(labels[ends[-1] + np.array(segments, dtype=np.intp)]):
        yield [np.flatnonzero(fragment == label) for fragment in np.split(labels, ends)[:-1]]
