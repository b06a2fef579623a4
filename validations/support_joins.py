"""The smallest join of larger sets of fragments, found for each set of class values that can be in common.

A choice takes one equivalence class (EC) from each of two or more fragments; S is what their supports have in
common. The join holds at least as many rows as each of its ECs has records with a class in S, because all
other counts are at least 1. So if the join is smaller than a cap, every EC has fewer such records than
that, and such parts of ECs are few and much alike.

For one S two things matter of a part: its counts in S, and the rest of its support, of which nothing may stay
in common. One part undercuts another if it exceeds it in neither: it does as well in every choice. Only parts
that no other one undercuts are kept, of single ECs as of several that are joined.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from validations.class_counts import TooCostlyError

LARGEST_COMPARISONS = 40_000_000_000
"""Most comparisons of class counts; about a minute."""

LARGEST_CAP = 2**31
"""Below it the product of two counts fits."""

MOST_VALUES = 63
"""Class values that have a bit in a mask."""

BLOCK = 1_000_000
"""Pairs of parts that are joined at once."""

MOST_SETS = 1_000_000
"""Most sets of class values that can be in common."""

SORTING = 20
"""Comparisons that take as long as sorting one set among others."""

LOOKING = 20_000
"""Comparisons that take as long as looking for the parts of one fragment, however few."""

STEP = 512
"""Parts that are held against those kept at once."""

Counts = npt.NDArray[np.integer[Any]]
Masks = npt.NDArray[np.integer[Any]]  # a bit per class value
Pairs = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


class Parts(NamedTuple):
    """Parts of ECs, or of several that are joined, for one S.

    Attributes
    ----------
    counts : array of shape (parts, values in S)
        Class counts, or their products, in the smallest type.
    rest : array of shape (parts,)
        What is in common beside S.
    """

    counts: Counts
    rest: Masks


class Effort:
    """The comparisons that may still be made."""

    def __init__(self) -> None:
        """Allow all of them."""
        self.left = LARGEST_COMPARISONS

    def spend(self, comparisons: int) -> None:
        """Make some comparisons.

        Raises
        ------
        TooCostlyError
            If there are more than may still be made.
        """
        self.left -= comparisons
        if self.left < 0:
            raise TooCostlyError(f"the bound of {LARGEST_COMPARISONS:.0e} comparisons of counts is exceeded")


def smallest_by_support(fragments: Sequence[Counts], cap: int) -> int:
    """Return the smallest join of ECs of two or more fragments, or `cap` if there is none below it.

    Parameters
    ----------
    fragments : arrays of shape (ECs, class values)
        The class counts of every fragment's ECs.
    cap
        Larger joins are not told apart.

    Raises
    ------
    TooCostlyError
        If that takes more than `LARGEST_COMPARISONS`.
    """
    values = fragments[0].shape[1]
    if values > MOST_VALUES or cap >= LARGEST_CAP:
        raise TooCostlyError("class values or counts are too many to be compared by their supports")
    effort = Effort()
    bits = np.left_shift(1, np.arange(values))
    smallest_type = np.min_scalar_type(int(bits.sum()))
    masks = [((counts > 0).astype(np.int64) @ bits).astype(smallest_type) for counts in fragments]
    for common in _common_supports(masks, effort):
        effort.spend(sum(LOOKING + len(mask) for mask in masks))
        within = np.flatnonzero(bits & common)
        every = [
            _parts(counts, mask, common, within, cap) for counts, mask in zip(fragments, masks, strict=True)
        ]
        cap = _smallest_choice([parts for parts in every if len(parts.rest)], cap, effort)
    return cap


def _common_supports(masks: Sequence[Masks], effort: Effort) -> Iterator[int]:
    """Yield what supports of two or more fragments can have in common."""
    partial, found = np.unique(masks[0]), masks[0][:0]
    for mask in masks[1:]:
        own = np.unique(mask)
        met = mask[:0]
        step = max(1, BLOCK // len(partial))
        for start in range(0, len(own), step):
            both = partial[:, None] & own[start : start + step]
            met = _united([met, both.ravel()], effort)
        found = _united([found, met], effort)
        partial = _united([partial, own, met], effort)
    yield from found[found > 0].tolist()


def _united(sets: Sequence[Masks], effort: Effort) -> Masks:
    """Return the different sets among some, or raise TooCostlyError if they are more than `MOST_SETS`."""
    effort.spend(SORTING * sum(map(len, sets)))
    different = np.unique(np.concatenate(sets))
    if len(different) > MOST_SETS:
        raise TooCostlyError(f"more than {MOST_SETS:,} sets of class values can be in common")
    return different


def _parts(counts: Counts, mask: Masks, common: int, within: Places, cap: int) -> Parts:
    """Return the parts of ECs that hold all of S and fewer than `cap` records with a class in it."""
    holding = np.flatnonzero(mask & common == common)
    inside = counts[holding][:, within]
    few = inside.sum(axis=1) < cap
    return Parts(inside[few].astype(np.min_scalar_type(cap)), mask[holding[few]] ^ common)


def _smallest_choice(fragments: Sequence[Parts], cap: int, effort: Effort) -> int:
    """Return the smallest join with exactly S in common, or `cap` if there is none below it."""
    always = [int(np.bitwise_and.reduce(parts.rest)) for parts in fragments]
    if len(fragments) < 2 or reduce(and_, always):  # noqa: PLR2004 (a join is of two or more)
        return cap
    any_rest = reduce(or_, [int(np.bitwise_or.reduce(parts.rest)) for parts in fragments])
    joined = _not_undercut(fragments[0], effort)
    for place, parts in enumerate(fragments[1:], start=2):
        own = _not_undercut(parts, effort)
        cap, joined = _join(joined, own, cap, reduce(and_, always[place:], any_rest), effort)
    return cap


def _join(first: Parts, second: Parts, cap: int, later: int, effort: Effort) -> tuple[int, Parts]:
    """Join parts with parts of a further fragment.

    Returns
    -------
    cap
        The smallest join with nothing in common beside S, if it is smaller than before.
    parts
        Those given, and joined ones with fewer rows and less in common than each of their two; without any
        that have something in common with all parts that come `later`.
    """
    both = _all_of(first, second)
    kept = _not_undercut(_only(both, both.rest & later == 0), effort)
    rows = max(1, BLOCK // max(1, len(second.rest)))
    effort.spend(len(first.rest) * len(second.rest) * first.counts.shape[1])
    for start in range(0, len(first.rest), rows):
        block = _only(first, slice(start, start + rows))
        sizes = block.counts.astype(np.float64) @ second.counts.T.astype(np.float64)
        one, other = np.nonzero(sizes < cap)
        rest = block.rest[one] & second.rest[other]
        cap = min(cap, int(sizes[one, other].min(where=rest == 0, initial=cap)))
        less = (rest & later == 0) & (rest != 0) & (rest != block.rest[one]) & (rest != second.rest[other])
        counts = block.counts[one[less]] * second.counts[other[less]]  # smaller than the cap: they fit
        crossing = Parts(counts, rest[less])
        kept = _all_of(kept, _not_undercut(crossing, effort, kept))
    return cap, _not_undercut(kept, effort)


def _not_undercut(parts: Parts, effort: Effort, others: Parts | None = None) -> Parts:
    """Return the parts that neither another one nor any other part undercuts, alike ones once."""
    size = parts.counts.sum(axis=1) + np.bitwise_count(parts.rest)
    ordered = _only(parts, np.argsort(size, kind="stable"))  # none undercuts one before it
    kept = _only(parts, slice(0))
    for start in range(0, len(size), STEP):
        block = _only(ordered, slice(start, start + STEP))
        for known in (kept,) if others is None else (others, kept):
            block = _only(block, np.logical_not(_undercuts(known, block, effort).any(axis=0)))
        block = _only(block, np.logical_not(np.triu(_undercuts(block, block, effort), 1).any(axis=0)))
        kept = _all_of(kept, block)
    return kept


def _undercuts(first: Parts, second: Parts, effort: Effort) -> Pairs:
    """Return whether each part of the first exceeds none of the second, shape (first, second)."""
    effort.spend(len(first.rest) * len(second.rest) * (1 + first.counts.shape[1]))
    pairs: Pairs = np.asarray(first.rest[:, None] & ~second.rest == 0)
    for one, other in zip(first.counts.T, second.counts.T, strict=True):
        pairs &= one[:, None] <= other
    return pairs


def _only(parts: Parts, chosen: Pairs | Places | slice) -> Parts:
    return Parts(parts.counts[chosen], parts.rest[chosen])


def _all_of(first: Parts, second: Parts) -> Parts:
    return Parts(np.concatenate([first.counts, second.counts]), np.concatenate([first.rest, second.rest]))
