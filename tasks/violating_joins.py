"""The choices of equivalence classes (ECs) whose join isolates too few rows, over every subset of fragments.

Partial products of class counts are built fragment by fragment and capped at k; what no further
fragment can bring below k is dropped.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np

from tasks.class_join import (
    Booleans,
    Counts,
    Distinct,
    Floats,
    Indices,
    blocks_of,
    distinct_rows,
    intersections,
    refuse_if_too_costly,
    smallest_pair,
)

LISTED_CHOICES = 1000
MAX_JOINS = 5_000_000_000
MAX_PRODUCTS = 5_000_000


class Member(NamedTuple):
    """One EC of one fragment, both numbered from 0."""

    fragment: int
    ec: int


class Violations(NamedTuple):
    """Choices whose join holds some rows but fewer than k.

    Attributes
    ----------
    choices
        Each choice as its members in fragment order.
    more
        Whether there are further violating choices that are not listed.
    """

    choices: tuple[tuple[Member, ...], ...]
    more: bool


class Witness(NamedTuple):
    """A violating choice of distinct class counts.

    Attributes
    ----------
    fragments
        The fragments joined, ascending.
    vectors
        The number of the distinct class counts taken from each of them.
    size
        The rows in their join.
    """

    fragments: tuple[int, ...]
    vectors: tuple[int, ...]
    size: int


class _Relevant(NamedTuple):
    """The distinct class counts of a fragment that can be in a violating choice, entries capped at k."""

    fragment: int
    numbers: Indices
    vectors: Floats


class _Products(NamedTuple):
    """Distinct products of the class counts of some fragments, entries capped at k, with one origin each."""

    origin: "_Products | None"
    last: _Relevant
    vectors: Floats
    rows: Indices
    columns: Indices

    def fragments(self) -> tuple[int, ...]:
        """Return the fragments joined."""
        return (*(self.origin.fragments() if self.origin else ()), self.last.fragment)

    def origin_of(self, index: int) -> tuple[int, ...]:
        """Return one choice of distinct class counts that has this product."""
        head = self.origin.origin_of(int(self.rows[index])) if self.origin else ()
        return (*head, int(self.last.numbers[self.columns[index]]))

    def origins_of(self, vector: Floats, k: int) -> Iterator[tuple[int, ...]]:
        """Return every choice of distinct class counts that has this product."""
        if self.origin is None:
            same = (self.last.vectors == vector).all(axis=1)
            yield from ((number,) for number in self.last.numbers[same].tolist())
            return
        for number, factor in zip(self.last.numbers.tolist(), self.last.vectors, strict=True):
            products = np.minimum(self.origin.vectors * factor, k)
            for row in np.flatnonzero((products == vector).all(axis=1)):
                heads = self.origin.origins_of(self.origin.vectors[row], k)
                yield from ((*head, number) for head in heads)


class _Found(NamedTuple):
    """The violating joins of some products with the class counts of one more fragment."""

    products: _Products
    last: _Relevant
    rows: Indices
    columns: Indices
    sizes: Counts


def violating_choices(counts: Sequence[Counts], k: int, limit: int = LISTED_CHOICES) -> Violations:
    """Return the choices whose join holds some rows but fewer than k, over every subset of fragments.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment.
    k
        The smallest join allowed, in rows.
    limit
        How many choices to list at most.

    Raises
    ------
    InfeasibleError
        If the fragments have too many distinct joins to be checked.
    """
    fragments = [Distinct.of(fragment) for fragment in counts]
    found: list[tuple[Member, ...]] = []
    for choice in _choices_of_vectors(fragments, k):
        ecs = [np.flatnonzero(fragments[i].labels == vector).tolist() for i, vector in choice]
        choices = product(*ecs)
        joined = [i for i, _ in choice]
        members = (tuple(map(Member, joined, chosen)) for chosen in choices)
        found.extend(islice(members, limit + 1 - len(found)))
        if len(found) > limit:
            break
    return Violations(tuple(sorted(found[:limit])), len(found) > limit)


def witnesses(fragments: Sequence[Distinct], k: int) -> Iterator[Witness]:
    """Find violating choices over every subset of fragments, one or more for each violating product.

    Products are built fragment by fragment, entries capped at k; what no later fragment can bring
    below k is dropped.

    Parameters
    ----------
    fragments
        The distinct class counts of each fragment.
    k
        The smallest join allowed, in rows.

    Raises
    ------
    InfeasibleError
        If there are too many distinct products.
    """
    for products, last, rows, columns, sizes in _violating_joins(fragments, k):
        joined = (*products.fragments(), last.fragment)
        for row, column, size in zip(rows.tolist(), columns.tolist(), sizes.tolist(), strict=True):
            yield Witness(joined, (*products.origin_of(row), int(last.numbers[column])), size)


def smallest_join(counts: Sequence[Counts]) -> int | None:
    """Return the smallest non-zero join over all choices, in rows; None if no two fragments join.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)

    Raises
    ------
    InfeasibleError
        If the fragments have too many distinct joins to be checked.
    """
    fragments = [Distinct.of(fragment) for fragment in counts]
    pairs = [smallest_pair(f.vectors, g.vectors) for f, g in combinations(fragments, 2)]
    smallest = min((size for size in pairs if size is not None), default=None)
    if smallest is None:
        return None
    return min((witness.size for witness in witnesses(fragments, smallest)), default=smallest)


def _choices_of_vectors(fragments: Sequence[Distinct], k: int) -> Iterator[list[tuple[int, int]]]:
    """Return every violating choice of distinct class counts as (fragment, vector) pairs."""
    for products, last, rows, columns, _ in _violating_joins(fragments, k):
        joined = (*products.fragments(), last.fragment)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            for head in products.origins_of(products.vectors[row], k):
                yield list(zip(joined, (*head, int(last.numbers[column])), strict=True))


def _violating_joins(fragments: Sequence[Distinct], k: int) -> Iterator[_Found]:
    """Search every subset of fragments, small ones first; each grows from one without its last fragment."""
    relevant = _relevant(fragments, k)
    supports = [fragment.vectors > 0 for fragment in relevant]
    later = [intersections(supports[i + 1 :], support.shape[1]) for i, support in enumerate(supports)]
    queue: deque[tuple[_Products | None, _Relevant]] = deque((None, fragment) for fragment in relevant)
    while queue:
        origin, fragment = queue.popleft()
        products = _grow(origin, fragment, later[fragment.fragment], k) if origin else _single(fragment)
        for last in relevant[fragment.fragment + 1 :]:
            yield from _joins_below(products, last, k)
            if len(later[last.fragment]):
                queue.append((products, last))


def _relevant(fragments: Sequence[Distinct], k: int) -> list[_Relevant]:
    """Keep the class counts that some common set of the other fragments brings below k, until stable."""
    relevant = [
        _Relevant(i, np.arange(len(f.vectors)), np.minimum(f.vectors, k).astype(np.float64))
        for i, f in enumerate(fragments)
    ]
    while True:
        supports = [r.vectors > 0 for r in relevant]
        kept = []
        for i, r in enumerate(relevant):
            common = intersections(supports[:i] + supports[i + 1 :], r.vectors.shape[1])
            keep = _can_fall_below(r.vectors, common, k)
            kept.append(_Relevant(i, r.numbers[keep], r.vectors[keep]))
        if all(len(new.numbers) == len(old.numbers) for new, old in zip(kept, relevant, strict=True)):
            return kept
        relevant = kept


def _can_fall_below(vectors: Floats, common: Booleans, k: int) -> Booleans:
    """Return which vectors sum to something, but less than k, over one of the common sets."""
    falls = np.empty(len(vectors), dtype=np.bool_)
    sets = common.T.astype(np.float64)
    for block in blocks_of(len(vectors), len(common)):
        sums = vectors[block] @ sets
        falls[block] = ((sums > 0) & (sums < k)).any(axis=1)
    return falls


def _single(fragment: _Relevant) -> _Products:
    first = distinct_rows(fragment.vectors)[0]
    return _Products(None, fragment, fragment.vectors[first], first, first)


def _joins_below(products: _Products, last: _Relevant, k: int) -> Iterator[_Found]:
    """Find the joins of products and one more fragment that hold something, but fewer than k rows."""
    refuse_if_too_costly(len(products.vectors) * len(last.vectors), MAX_JOINS)
    factors = np.ascontiguousarray(last.vectors.T)
    for block in blocks_of(len(products.vectors), len(last.vectors)):
        sizes = products.vectors[block] @ factors
        rows, columns = np.nonzero((sizes > 0) & (sizes < k))
        yield _Found(products, last, rows + block.start, columns, sizes[rows, columns].astype(np.int64))


def _grow(products: _Products, last: _Relevant, later: Booleans, k: int) -> _Products:
    """Multiply in one more fragment, and keep the distinct products that later ones can bring below k."""
    vectors = np.empty((0, last.vectors.shape[1]))
    rows = columns = np.empty(0, dtype=np.intp)
    for block in blocks_of(len(products.vectors), last.vectors.size):
        grown = np.minimum(products.vectors[block, None, :] * last.vectors[None, :, :], k)
        grown = grown.reshape(-1, last.vectors.shape[1])
        kept = np.flatnonzero(_can_fall_below(grown, later, k))
        vectors = np.concatenate([vectors, grown[kept]])
        rows = np.concatenate([rows, kept // len(last.vectors) + block.start])
        columns = np.concatenate([columns, kept % len(last.vectors)])
        first = distinct_rows(vectors)[0]
        vectors, rows, columns = vectors[first], rows[first], columns[first]
        refuse_if_too_costly(len(vectors), MAX_PRODUCTS)
    return _Products(products, last, vectors, rows, columns)
