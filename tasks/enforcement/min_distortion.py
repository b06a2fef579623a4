"""Enforcement that changes as few class values as a search over all equivalence classes (ECs) finds.

The search goes through states that violate the guarantee. Only pairs of ECs are looked at throughout;
choices from more fragments are looked for in what is about to become the best result, by the exact check
over every subset, and looked at from then on. What the search does not better, or cannot hold, takes
nested supports.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product

import numpy as np

from tasks.config import Guarantee
from tasks.enforcement.nested_supports import nested_supports
from tasks.enforcement.penalised_search import PenalisedSearch
from tasks.joins.class_join import Counts, Distinct
from tasks.joins.record_witnesses import Members, record_witnesses
from tasks.joins.violating_joins import witnesses

SEARCHED_ECS = 2000  # with several class values; more take the nested supports
SEARCHED_RECORDS = 2**24  # of one EC; up to here the search's numbers are whole
WORK: dict[Guarantee, int] = {"join": 200_000_000, "records": 40_000_000}  # candidates tried against ECs
MOST_WORK = 2_000_000_000
PATIENCE = 40  # valid states in a row that are no better
LEARNT_AT_ONCE = 1000
ALIKE = 4


def min_distortion(counts: Sequence[Counts], k: int, guarantee: Guarantee) -> tuple[Counts, ...]:
    """Change few class values so that every choice, over every subset of fragments, keeps the guarantee.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment; every EC holds at least k records.
    k
        The smallest join, or the fewest records of an EC that a join may rest on.
    guarantee
        "join" or "records".

    Returns
    -------
    tuple of int64 ndarrays of shape (E_i, class values)
        Class counts with the same records in each EC.

    Raises
    ------
    InfeasibleError
        If the choices are too many to be checked.

    Examples
    --------
    >>> first, second = min_distortion([np.array([[1, 4]]), np.array([[5, 0]])], 5, "records")
    >>> first.tolist(), second.tolist()
    ([[1, 4]], [[4, 1]])
    """
    if next(_violating(counts, k, guarantee), None) is None:
        return tuple(counts)
    nested = nested_supports(counts, k, guarantee)
    mixed = sum(int(((fragment > 0).sum(axis=1) > 1).sum()) for fragment in counts)
    largest = max(int(fragment.sum(axis=1).max()) for fragment in counts)
    if mixed > SEARCHED_ECS or largest >= SEARCHED_RECORDS:
        return nested
    found = _Enforcement(counts, nested if guarantee == "records" else counts, k, guarantee).run()
    return found if found and _changed(counts, found) < _changed(counts, nested) else nested


class _Enforcement:
    """The search, and the way between its ECs and those of the fragments."""

    def __init__(
        self, counts: Sequence[Counts], start: Sequence[Counts], k: int, guarantee: Guarantee
    ) -> None:
        self.before, self.k, self.guarantee = np.concatenate(counts), k, guarantee
        self.starts = np.cumsum([0, *map(len, counts)])
        fragments = np.repeat(np.arange(len(counts)), np.diff(self.starts))
        several = (self.before > 0).sum(axis=1) > 1
        self.moving = np.flatnonzero(several | (guarantee == "records"))
        self.number = np.cumsum(several | (guarantee == "records")) - 1
        self.most = MOST_WORK if guarantee == "join" else WORK["records"]
        before, now = self.before[self.moving], np.concatenate(start)[self.moving]
        self.search = PenalisedSearch(before, now, fragments[self.moving], k, guarantee)

    def run(self) -> tuple[Counts, ...] | None:
        """Search until the work is done, and return the best valid class counts found, if any."""
        best, fewest, tried = None, np.inf, 0
        while self.search.work < (self.most if best is None else WORK[self.guarantee]) and tried < PATIENCE:
            self.search.descend(self.most)
            if self.search.raise_prices():
                continue
            if self.search.changed < fewest:
                state = self._state()
                found = list(islice(_violating(state, self.k, self.guarantee), LEARNT_AT_ONCE))
                if found:
                    self._learn(found)
                    continue
                best, fewest, tried = state, self.search.changed, 0
            tried += 1
            self.search.lower_prices()
        return best

    def _state(self) -> tuple[Counts, ...]:
        after = self.before.copy()
        after[self.moving] = self.search.now[:-1]
        return tuple(np.split(after, self.starts[1:-1]))

    def _learn(self, found: Sequence[Members]) -> None:
        self.search.learn([[int(self.number[self.starts[i] + ec]) for i, ec in members] for members in found])


def _violating(counts: Sequence[Counts], k: int, guarantee: Guarantee) -> Iterator[Members]:
    """Find choices that violate the guarantee, at least one if there is any."""
    if guarantee == "records":
        yield from record_witnesses(counts, k)
        return
    fragments = [Distinct.of(fragment) for fragment in counts]
    for witness in witnesses(fragments, k):
        pairs = zip(witness.fragments, witness.vectors, strict=True)
        alike = [np.flatnonzero(fragments[i].labels == vector)[:ALIKE].tolist() for i, vector in pairs]
        for ecs in islice(product(*alike), ALIKE):
            yield tuple(zip(witness.fragments, ecs, strict=True))


def _changed(before: Sequence[Counts], after: Sequence[Counts]) -> int:
    return sum(int(np.maximum(old - new, 0).sum()) for old, new in zip(before, after, strict=True))
