"""Enforcement that changes as few class values as a search over all equivalence classes (ECs) finds.

It starts from the better understood ways to be safe: nested supports, and least counts for every value,
each with changes taken back where that stays safe. The search then goes through states that violate the
guarantee. Only pairs of ECs are looked at throughout; choices from more fragments are looked for in what
is about to become the best result, and looked at from then on. What it finds is checked exactly over
every subset in the end; large inputs are not searched.
"""

from collections.abc import Sequence
from itertools import islice
from math import inf

import numpy as np

from tasks.config import Guarantee
from tasks.enforcement.least_counts import least_counts
from tasks.enforcement.nested_supports import nested_supports
from tasks.enforcement.penalised_search import PenalisedSearch
from tasks.enforcement.take_back import take_back
from tasks.errors import InfeasibleError
from tasks.joins.class_join import Booleans, Counts, Distinct, smallest_records
from tasks.joins.record_witnesses import record_witnesses
from tasks.joins.violating_joins import witnesses

SEARCHED_ECS = 2000  # that can move; more are not searched
EXACT_RECORDS = 2**24  # of one EC; from here on single precision is not enough
WORK: dict[Guarantee, int] = {"join": 200_000_000, "records": 40_000_000}  # candidates tried against ECs
MOST_WORK = 600_000_000
PATIENCE = 40  # valid states in a row that are no better
LEARNT_AT_ONCE = 1000
FAR = 20  # times as many changes, which were never taken back to fewer


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
    if not _violates(counts, k, guarantee):
        return tuple(counts)
    nested = nested_supports(counts, k, guarantee)
    options = [nested]
    single = max(int(fragment.sum(axis=1).max()) for fragment in counts) < EXACT_RECORDS
    searched = single and _can_move(np.concatenate(counts), guarantee).sum() <= SEARCHED_ECS
    if guarantee == "join":
        options.append(least_counts(counts, k))
        if single:
            options = _taken_back(counts, options, k, inf if searched else FAR)
    if searched:
        found = _Enforcement(counts, options[-1], k, guarantee).run()
        if found is not None:
            options.append(take_back(counts, found, k) if guarantee == "join" else found)
    options.sort(key=lambda option: _changed(counts, option))
    return next((option for option in options if _is_safe(option, k, guarantee)), nested)


def _taken_back(
    counts: Sequence[Counts], options: Sequence[tuple[Counts, ...]], k: int, far: float
) -> list[tuple[Counts, ...]]:
    """Take back changes, but not of later options with so many times the changes left in the first."""
    first = take_back(counts, options[0], k)
    most = far * max(_changed(counts, first), 1)
    return [first, *(take_back(counts, later, k) for later in options[1:] if _changed(counts, later) <= most)]


class _Enforcement:
    """The search, and the way between its ECs and those of the fragments."""

    def __init__(
        self, counts: Sequence[Counts], start: Sequence[Counts], k: int, guarantee: Guarantee
    ) -> None:
        self.before, self.k, self.guarantee = np.concatenate(counts), k, guarantee
        self.starts = np.cumsum([0, *map(len, counts)])
        fragments = np.repeat(np.arange(len(counts)), np.diff(self.starts))
        can_move = _can_move(self.before, guarantee)
        self.moving, self.number = np.flatnonzero(can_move), np.cumsum(can_move) - 1
        self.cells = np.ix_(self.moving, np.flatnonzero(self.before.any(axis=0)))
        self.most = MOST_WORK if guarantee == "join" else WORK["records"]
        before, now = self.before[self.cells], np.concatenate(start)[self.cells]
        self.search = PenalisedSearch(before, now, fragments[self.moving], k, guarantee)

    def run(self) -> tuple[Counts, ...] | None:
        """Search until the work is done, and return the best valid class counts found, if any."""
        best, fewest, tried = None, np.inf, 0
        if not self.search.start(self.most):
            return None
        while self.search.work < (self.most if best is None else WORK[self.guarantee]) and tried < PATIENCE:
            self.search.descend(self.most)
            if self.search.raise_prices():
                continue
            if self.search.changed < fewest:
                state = self._state()
                if larger := self._larger(state):
                    if self.search.learn(larger[:: -(-len(larger) // LEARNT_AT_ONCE)]):
                        continue
                    break
                best, fewest, tried = state, self.search.changed, 0
            tried += 1
            self.search.lower_prices()
        return best

    def _state(self) -> tuple[Counts, ...]:
        after = self.before.copy()
        after[self.cells] = self.search.now[:-1]
        return tuple(np.split(after, self.starts[1:-1]))

    def _larger(self, state: Sequence[Counts]) -> list[list[int]]:
        """Return choices from three or more fragments that violate, if any do."""
        if self.guarantee == "join":
            return self.search.violating_larger()
        found = islice(record_witnesses(state, self.k), LEARNT_AT_ONCE)
        return [[int(self.number[self.starts[i] + ec]) for i, ec in members] for members in found]


def _can_move(counts: Counts, guarantee: Guarantee) -> Booleans:
    """Return which ECs the search moves: for joins, those of one class value are safe with any other."""
    return np.asarray(((counts > 0).sum(axis=1) > 1) | (guarantee == "records"))


def _violates(counts: Sequence[Counts], k: int, guarantee: Guarantee) -> bool:
    """Return whether any choice, over every subset of fragments, violates the guarantee."""
    if guarantee == "records":
        fewest = smallest_records(counts)
        return fewest is not None and fewest < k
    return any(True for _ in witnesses([Distinct.of(fragment) for fragment in counts], k))


def _is_safe(counts: Sequence[Counts], k: int, guarantee: Guarantee) -> bool:
    """Return whether no choice violates the guarantee, as far as they are few enough to be checked."""
    try:
        return not _violates(counts, k, guarantee)
    except InfeasibleError:
        return False


def _changed(before: Sequence[Counts], after: Sequence[Counts]) -> int:
    return sum(int(np.maximum(old - new, 0).sum()) for old, new in zip(before, after, strict=True))
