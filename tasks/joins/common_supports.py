"""Violating choices of three or more equivalence classes (ECs), searched by their common support.

A join holds at least the records that any of its ECs has in the common support: in a violating choice
every EC has fewer than k there. For each common support these are few, and few of their joins differ.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.joins.class_join import Booleans, Counts, Floats, Indices, blocks_of, refuse_if_too_costly

FEWEST = 3  # members of a choice
MAX_PAIRS = 20_000_000
MAX_COMMON = 100_000
MAX_SUMS = 2_000_000_000
MAX_STATES = 5_000_000
MAX_PEELED = 500
MACHINE_BITS = 62

Sets = npt.NDArray[Any]  # sets of class values as whole numbers, one bit for each value


class Choice(NamedTuple):
    """A violating choice: fragments, the number of the vector from each, and the rows of the join."""

    fragments: tuple[int, ...]
    vectors: tuple[int, ...]
    size: int


class _States(NamedTuple):
    """Joins over a common support.

    Attributes
    ----------
    inside : float64 ndarray of shape (states, values of the common support)
        The products of class counts.
    rest : ndarray of shape (states,)
        The further class values that all members have.
    """

    inside: Floats
    rest: Sets

    def take(self, rows: Indices | Booleans) -> "_States":
        return _States(self.inside[rows], self.rest[rows])

    def with_others(self, *others: "_States") -> "_States":
        return _States(*(np.concatenate(parts) for parts in zip(self, *others, strict=True)))


class _Candidates(NamedTuple):
    """The vectors of a fragment that have fewer than k records in a common support."""

    fragment: int
    numbers: Indices
    states: _States


def larger_choices(fragments: Sequence[Counts], k: int, each: int | None = None) -> Iterator[Choice]:
    """Yield the violating choices of vectors from three or more fragments.

    Parameters
    ----------
    fragments : sequence of int64 ndarrays of shape (vectors, class values)
        The distinct class counts of each fragment.
    k
        The smallest join allowed, in rows.
    each
        How many choices to yield at most for each common support and first member.

    Raises
    ------
    InfeasibleError
        If there are too many common supports, or joins over one.
    """
    for candidates in _of_each_support(fragments, k):
        yield from _choices(candidates, k, each)


def smallest_larger(fragments: Sequence[Counts], k: int) -> int:
    """Return the rows of the smallest non-empty join of three or more fragments, k if none is smaller."""
    for candidates in _of_each_support(fragments, k):
        while (found := next(_choices(candidates, k), None)) is not None:
            k = found.size
    return k


def _of_each_support(fragments: Sequence[Counts], k: int) -> Iterator[list[_Candidates]]:
    """Yield the candidates for each common support that can have a violating choice."""
    if len(fragments) < FEWEST:
        return
    sets = [_sets_of(vectors > 0) for vectors in fragments]
    common = _common(sets)
    refuse_if_too_costly(len(common) * sum(map(len, fragments)), MAX_SUMS)
    capped = [np.minimum(vectors, k).astype(np.float64) for vectors in fragments]
    for block in blocks_of(len(common), max(map(len, fragments))):
        wanted = np.array([_values_of(support, capped[0].shape[1]) for support in common[block]])
        few = [_few_inside(vectors, wanted, k) for vectors in capped]
        for number in _open_supports(capped, wanted, few):
            candidates = [
                _Candidates(
                    i,
                    rows := np.flatnonzero(of_fragment[number]),
                    _States(capped[i][np.ix_(rows, wanted[number])], sets[i][rows] ^ common[block][number]),
                )
                for i, of_fragment in enumerate(few)
                if of_fragment[number].any()
            ]
            if _may_violate(candidates, k):
                yield candidates


def _few_inside(vectors: Floats, wanted: Booleans, k: int) -> Booleans:
    """Return which vectors have all the wanted values, and fewer than k records with them."""
    sets = wanted.astype(np.float64)
    complete = sets @ (vectors.T > 0) == sets.sum(axis=1)[:, None]
    few: Booleans = complete & (sets @ vectors.T < k)
    return few


def _open_supports(capped: Sequence[Floats], wanted: Booleans, few: Sequence[Booleans]) -> Indices:
    """Return the common supports with candidates in enough fragments, and no further value that all have."""
    fragments = np.sum([of_fragment.any(axis=1) for of_fragment in few], axis=0)
    number = np.sum([of_fragment.sum(axis=1) for of_fragment in few], axis=0)
    having = np.sum(
        [of.astype(np.float64) @ (vectors > 0) for of, vectors in zip(few, capped, strict=True)], axis=0
    )
    shared = (having == number[:, None]).sum(axis=1)
    return np.flatnonzero((fragments >= FEWEST) & (shared == wanted.sum(axis=1)))


def _common(sets: Sequence[Sets]) -> Sets:
    """Return the common supports of all choices."""
    common: set[int] = set()
    for of_fragment in sets:
        own = set(of_fragment.tolist())
        refuse_if_too_costly(len(common) * len(own), MAX_PAIRS)
        joined = common | own
        for support in sorted(own):
            joined.update(support & other for other in common)
            refuse_if_too_costly(len(joined), MAX_COMMON)
        common = joined
    return np.array(sorted(common - {0}), dtype=sets[0].dtype)


def _sets_of(supports: Booleans) -> Sets:
    """Return supports as whole numbers; Python's where a machine's are too short."""
    rows = np.packbits(supports, axis=1)
    numbers = [int.from_bytes(row.tobytes()) for row in rows]
    return np.array(numbers, dtype=np.int64 if rows.shape[1] * 8 <= MACHINE_BITS else np.object_)


def _values_of(support: int, values: int) -> Booleans:
    size = -(-values // 8)
    bits = np.unpackbits(np.frombuffer(int(support).to_bytes(size), dtype=np.uint8))
    return bits[:values].astype(np.bool_)


def _may_violate(candidates: Sequence[_Candidates], k: int) -> bool:
    """Return whether the smallest counts for each rest allow a violating join: if not, none exists."""
    known = _smallest_per_rest(candidates[0].states)
    for fragment in candidates[1:]:
        own = _smallest_per_rest(fragment.states)
        joined = _joined(known, own, k)
        if not joined.rest.all():
            return True
        known = _smallest_per_rest(known.with_others(own, joined))
    return False


def _smallest_per_rest(states: _States) -> _States:
    """Return the smallest product of each class value over the states with the same rest."""
    order = np.argsort(states.rest, kind="stable")
    rest = states.rest[order]
    starts = np.flatnonzero(np.append(True, rest[1:] != rest[:-1]))
    return _States(np.minimum.reduceat(states.inside[order], starts), rest[starts])


def _joined(one: _States, other: _States, k: int) -> _States:
    """Return the joins of two states each that hold fewer than k rows inside the common support."""
    refuse_if_too_costly(len(one.rest) * len(other.rest), MAX_SUMS)
    joined = [_States(one.inside[:0], one.rest[:0])]
    number = 0
    for block in blocks_of(len(one.rest), len(other.rest)):
        rows, columns = np.nonzero(one.inside[block] @ other.inside.T < k)
        rows += block.start
        number += len(rows)
        refuse_if_too_costly(number, MAX_STATES)
        inside = one.inside[rows] * other.inside[columns]
        joined.append(_States(inside, one.rest[rows] & other.rest[columns]))
    return joined[0].with_others(*joined[1:])


def _minimal(states: _States) -> _States:
    """Leave out states that are nowhere below another: whatever completes them completes the other."""
    rest = np.unique(states.rest, return_inverse=True)[1]
    left = states.take(np.lexsort((rest, states.inside.sum(axis=1))))
    kept: list[_States] = []
    while len(left.rest) and len(kept) < MAX_PEELED:
        first = left.take(np.arange(1))
        above = (left.inside >= first.inside).all(axis=1) & ((first.rest & ~left.rest) == 0)
        kept.append(first)
        left = left.take(~above)
    return left.with_others(*kept)


def _choices(candidates: Sequence[_Candidates], k: int, each: int | None = None) -> Iterator[Choice]:
    """Yield the violating choices with just this common support, some for each first member."""
    completions = [candidates[0].states.take(np.arange(0))]
    for fragment in reversed(candidates[1:]):
        own = _minimal(fragment.states)
        joined = _joined(own, completions[-1], k)
        completions.append(_minimal(own.with_others(completions[-1], joined)))
    later = list(zip(candidates, reversed(completions), strict=True))
    for number, (first, completing) in enumerate(later, start=1):
        for row in np.flatnonzero(_completed(first.states, completing, k)).tolist():
            state = first.states.take(np.array([row]))
            member = (first.fragment,), (int(first.numbers[row]),)
            yield from islice(_grow(*member, state, later[number:], k), each)


def _grow(
    fragments: tuple[int, ...],
    vectors: tuple[int, ...],
    state: _States,
    later: Sequence[tuple[_Candidates, _States]],
    k: int,
) -> Iterator[Choice]:
    """Yield the violating choices that begin with some members, by one candidate more at a time."""
    for number, (candidates, completions) in enumerate(later, start=1):
        sizes = candidates.states.inside @ state.inside[0]
        rows = np.flatnonzero(sizes < k)
        grown = candidates.states.take(rows)
        grown = _States(grown.inside * state.inside, grown.rest & state.rest)
        members = (*fragments, candidates.fragment)
        numbers = candidates.numbers[rows]
        if len(members) >= FEWEST:
            for row in np.flatnonzero(grown.rest == 0).tolist():
                yield Choice(members, (*vectors, int(numbers[row])), int(sizes[rows[row]]))
        for row in np.flatnonzero(_completed(grown, completions, k)).tolist():
            chosen = (*vectors, int(numbers[row]))
            yield from _grow(members, chosen, grown.take(np.array([row])), later[number:], k)


def _completed(states: _States, completions: _States, k: int) -> Booleans:
    """Return which states some completion leaves with no further class value, and fewer than k rows."""
    done = np.zeros(len(states.rest), dtype=np.bool_)
    for block in blocks_of(len(states.rest), len(completions.rest)):
        disjoint = (states.rest[block, None] & completions.rest) == 0
        done[block] = (disjoint & (states.inside[block] @ completions.inside.T < k)).any(axis=1)
    return done
