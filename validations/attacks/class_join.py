"""The class join: who knows a target's features joins the rows that cover it on the class."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from validations.attacks.combination import Belief, Counts, combined, without
from validations.attacks.covering import Seen
from validations.attacks.success import Attack, Candidates, attack, candidates

Flags = npt.NDArray[np.bool_]

ALL_SETS = 10  # fragments of which every set is joined
LARGEST_SET = 4  # of more fragments


def join_classes(fragments: Sequence[Seen], k: int) -> list[Attack]:
    """Try what the class join tells of the targets (method of the paper, section 4).

    Parameters
    ----------
    fragments
        One or more.
    k
        What the release promises.

    Returns
    -------
    list of Attack
        "class, certain": one class value alone is possible in every fragment, and is the true one; the
        baseline is the same without the target's own record. "isolated", of several fragments: the rows that
        cover the target in some of them join to fewer than k rows, but to some; its baseline is no success.
    """
    own = fragments[0].fragment.of_class.own
    with_record, without_record = beliefs(fragments)
    certain = with_record.certain(own), without_record.certain(own)
    tried = [attack("class_join", "class, certain", *certain)]
    if len(fragments) > 1:
        found = isolated(fragments, k)
        tried.append(attack("class_join", "isolated", found, np.zeros_like(found)))
    return tried


def beliefs(fragments: Sequence[Seen]) -> tuple[Belief, Belief]:
    """Return what all fragments tell of the targets' classes, with and without the target's own record.

    Where class values are published once per equivalence class the files are the same without it.
    """
    of_class = [each.fragment.of_class for each in fragments]
    counts = [each.counts(values) for each, values in zip(fragments, of_class, strict=True)]
    totals = [np.asarray(values.counts.sum(axis=0), dtype=np.float64)[None, :] for values in of_class]
    everything = combined(counts, totals)
    if any(values.even for values in of_class):
        return everything, everything
    left = [without(each, values.own) for each, values in zip(counts, of_class, strict=True)]
    totals = [total - (each - less) for total, each, less in zip(totals, counts, left, strict=True)]
    return everything, combined(left, totals)


def joined_candidates(fragments: Sequence[Seen]) -> list[Candidates]:
    """Return how many rows the targets can be, in each fragment and in the join of all."""
    found = [candidates(each.fragment.number, each.rows) for each in fragments]
    if len(fragments) > 1:
        joined = np.prod([each.counts(each.fragment.of_class) for each in fragments], axis=0).sum(axis=1)
        found.append(candidates(None, joined))
    return found


def isolated(fragments: Sequence[Seen], k: int) -> Flags:
    """Return which targets a join of some fragments leaves fewer than k rows, but some, shape (targets,).

    Every set of two or more fragments is joined where there are at most 10, else those of at most 4. Where
    several equivalence classes of a fragment cover a target, the attacker cannot tell which is the target's:
    the rows of all of them are joined.
    """
    return isolating([each.counts(each.fragment.of_class) for each in fragments], k)


def isolating(counts: Sequence[Counts], k: int) -> Flags:
    """Return which targets have a set of two or more fragments whose join holds fewer than k rows, but some.

    Parameters
    ----------
    counts : per fragment, array of shape (targets, class values)
        Over the rows that cover a target; those above 0 are at least 1.
    k

    Examples
    --------
    >>> isolating([np.array([[1.0, 4.0]]), np.array([[4.0, 0.0]])], 5)
    array([ True])
    """
    largest = len(counts) if len(counts) <= ALL_SETS else LARGEST_SET
    found = np.zeros(len(counts[0]), dtype=np.bool_)

    def join(joined: Counts, targets: npt.NDArray[np.intp], after: int, size: int) -> None:
        """Add one more fragment to a set, and so on as long as fewer than k rows can be left."""
        for number in range(after + 1, len(counts)):
            rows = joined * counts[number][targets]
            sums = rows.sum(axis=1)
            found[targets[(sums > 0) & (sums < k)]] = True
            left = ((rows > 0) & (rows < k)).any(axis=1) & ~found[targets]
            if size + 1 < largest and left.any():
                join(np.minimum(rows[left], k), targets[left], number, size + 1)

    for number, first in enumerate(counts):
        join(first, np.arange(len(first)), number, 1)
    return found
