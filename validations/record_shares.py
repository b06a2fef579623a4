"""Shares of versions in which a join rests on enough records, where class values are published per class.

A version of an equivalence class (EC) with n records and c class values gives each value a positive count.
In a choice of ECs with w common values, an EC has s records with one of these in
C(s - 1, w - 1) C(n - s - 1, c - w - 1) of its C(n - 1, c - 1) versions; if c = w, all n are.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from validations.class_counts import TooCostlyError
from validations.selectivity import LARGEST_CHOICES, PublishedClass


def record_share(published: PublishedClass, common: int, k: int) -> Fraction:
    """Return the share of an EC's versions with at least k records of the common class values.

    Parameters
    ----------
    published
        The EC.
    common
        Number of class values that it has in common with the others, w; at least 1.
    k
        Records that are wanted.
    """
    records, others = published.records, published.values - common
    if others == 0:
        return Fraction(int(records >= k))
    few = sum(
        math.comb(held - 1, common - 1) * math.comb(records - held - 1, others - 1)
        for held in range(common, min(k, records - others + 1))
    )
    return 1 - Fraction(few, math.comb(records - 1, published.values - 1))


def smallest_record_share(published: Sequence[dict[int, PublishedClass]], k: int) -> Fraction | None:
    """Return the smallest share, over every EC of every choice from every set of two or more fragments.

    The fewer values are common, the smaller the share, so of all choices with an EC those decide that leave
    it the fewest. Like eta, the share does not fall when the EC grows.

    Parameters
    ----------
    published
        Per fragment: for every set of class values (as bits) the smallest EC that has it.
    k
        Records that are wanted.

    Returns
    -------
    Fraction or None
        None if no choice has a common class value.

    Raises
    ------
    TooCostlyError
        If there are too many sets of class values that ECs can have in common.
    """
    shares = []
    for place, fragment in enumerate(published):
        others = _common_supports([*published[:place], *published[place + 1 :]])
        _refuse_more(len(others) * len(fragment))
        for support, smallest in fragment.items():
            fewest = min(((support & each).bit_count() for each in others if support & each), default=None)
            if fewest is not None:
                shares.append(record_share(smallest, fewest, k))
    return min(shares, default=None)


def _common_supports(published: Sequence[dict[int, PublishedClass]]) -> set[int]:
    """Return what ECs of one or more of the fragments have in common, where that is anything."""
    common: set[int] = set()
    for fragment in published:
        _refuse_more(len(common) * len(fragment))
        common |= {first & second for first in common for second in fragment} | fragment.keys()
        common.discard(0)
    return common


def _refuse_more(steps: int) -> None:
    if steps > LARGEST_CHOICES:
        raise TooCostlyError(f"{steps:.1e} intersections of supports exceed {LARGEST_CHOICES:.0e}")
