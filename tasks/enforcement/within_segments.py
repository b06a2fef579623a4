"""Joins within segments: only equivalence classes (ECs) that have records in a common segment are joined.

A record's ECs are always in one segment, so no record is in any other join (paper, section 5).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.config import Privacy
from tasks.enforcement.strategies import Enforced, enforce, enforced
from tasks.errors import InfeasibleError

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ROUNDS = 20


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
    break another, so segments are gone through until none changes.

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
        If segments go on changing each other.
    """
    after = [fragment.copy() for fragment in counts]
    if privacy.enforcement == "none" or len(counts) == 1:
        return enforced(counts, after, "per_record")
    for _ in range(ROUNDS):
        changed = False
        for segment in np.flatnonzero(~are_safe(after, present, privacy.k)).tolist():
            classes = [fragment.of(segment) for fragment in present]
            within = [fragment[chosen] for fragment, chosen in zip(after, classes, strict=True)]
            mended = enforce(privacy, within, seed)
            for fragment, chosen, mended_counts in zip(after, classes, mended.counts, strict=True):
                fragment[chosen] = mended_counts
            changed |= sum(mended.changed) > 0
        if not changed:
            return enforced(counts, after, "per_record")
    raise InfeasibleError(
        f"joins within segments could not be made safe in {ROUNDS} rounds: "
        "set segmentation.min_segment higher, or ask for fewer fragments"
    )


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
