"""Linkage of two fragments, as Anonymeter's linkability evaluator defines it.

The attacker rebuilds a table of the columns of both fragments from their files. A target is linked if its
nearest rows of that table by the features of the one fragment, and those by the features of the other, have
a row in common (Giomi et al., "A Unified Framework for Quantifying Privacy Risk in Synthetic Data", 2023,
section 3.2). The distance sums over features: for numbers the way to the nearer bound as a share of the
column's span, for categories 1 where they do not fit (after Gower).
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from validations.attacks.covering import Seen
from validations.attacks.files import NO_VALUE, Numbered
from validations.attacks.groups_of_lines import Grouped, grouped, members
from validations.attacks.success import Attack, attack

Places = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]

PAIRED = 4  # fragments, of which each two are linked
CLOSE = 1e-9  # distances that differ by less are the same


class Side(NamedTuple):
    """A rebuilt table as one of its two fragments shows it.

    Attributes
    ----------
    seen
        The fragment.
    rows
        The rows of the rebuilt table, by their equivalence class in this fragment.
    """

    seen: Seen
    rows: Grouped


def link_fragments(fragments: Sequence[Seen], k: int, rng: np.random.Generator) -> list[Attack]:
    """Try to link every two fragments; of more than four, the four with the most equivalence classes.

    Parameters
    ----------
    fragments
        Two or more.
    k
        What the release promises. Rows are alike at least k by k, so the k nearest rows are tried beside the
        one nearest row; not where class values are published once per equivalence class, as then fewer of
        its rows than that can be paired.
    rng
        Breaks ties, and draws the rows of the baseline: the same number of rows at random, twice.
    """
    largest_first = sorted(fragments, key=lambda each: -len(each.fragment.sizes))
    chosen = sorted(largest_first[:PAIRED], key=lambda each: each.fragment.number)
    few = any(each.fragment.of_class.even for each in chosen)
    return [
        tried
        for one, other in itertools.combinations(chosen, 2)
        for tried in _attacks(one, other, (1,) if few else (1, k), rng)
    ]


def _attacks(one: Seen, other: Seen, neighbours: Sequence[int], rng: np.random.Generator) -> Iterator[Attack]:
    sides = rebuilt(one, other)
    for count in neighbours:
        found = linked(sides, count, rng)
        by_chance = _linked_by_chance(len(sides[0].rows.order), count, len(found), rng)
        nearest_rows = f", {count} nearest rows" if count > 1 else ""
        subject = f"fragments {one.fragment.number} and {other.fragment.number}{nearest_rows}"
        yield attack("linkage", subject, found, by_chance)


def rebuilt(one: Seen, other: Seen) -> tuple[Side, Side]:
    """Pair the rows of two fragments, the first of each class value with the first of it, and so on.

    Rows without a class value, or that find no partner, are in no pair.
    """
    classes = [each.fragment.of_class.lines for each in (one, other)]
    values = len(one.fragment.of_class.domain)
    paired = np.min([np.bincount(lines[lines != NO_VALUE], minlength=values) for lines in classes], axis=0)
    first, second = (
        Side(each, grouped(each.fragment.lines[_first(lines, paired)], len(each.fragment.sizes)))
        for each, lines in zip((one, other), classes, strict=True)
    )
    return first, second


def _first(lines: Numbered, counts: npt.NDArray[np.intp]) -> Places:
    """Return the first lines of each value, as many as are wanted of each, by value."""
    order = np.argsort(lines, kind="stable")
    values = lines[order]
    told = values != NO_VALUE
    order, values = order[told], values[told]
    rank = np.arange(len(values)) - np.searchsorted(values, np.arange(len(counts)))[values]
    return np.asarray(order[rank < counts[values]])


def linked(sides: tuple[Side, Side], neighbours: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return for which targets the nearest rows by either side have one in common, shape (targets,).

    Parameters
    ----------
    sides
        Of a rebuilt table, see `rebuilt`.
    neighbours
        How many rows are taken for the nearest.
    rng
        Chooses among rows of the same distance.
    """
    first, second = sides
    return np.array(
        [
            bool(
                np.isin(
                    nearest(first, target, neighbours, rng), nearest(second, target, neighbours, rng)
                ).any()
            )
            for target in range(len(first.seen.rows))
        ]
    )


def nearest(side: Side, target: int, neighbours: int, rng: np.random.Generator) -> Places:
    """Return the rows nearest to a target by the features of one side; all if there are not as many."""
    covering = side.seen.ecs(target)
    if side.rows.sizes[covering].sum() >= neighbours:
        return _some(side.rows, covering, neighbours, rng)
    ecs = np.flatnonzero(side.rows.sizes)
    distances = _distances(side.seen, target, ecs)
    reached = np.cumsum(side.rows.sizes[ecs][order := np.argsort(distances, kind="stable")])
    if len(side.rows.order) <= neighbours:
        return side.rows.order
    furthest = distances[order][np.searchsorted(reached, neighbours)]
    sure, tied = ecs[distances < furthest - CLOSE], ecs[np.abs(distances - furthest) <= CLOSE]
    rows = _some(side.rows, sure, int(side.rows.sizes[sure].sum()), rng)
    return np.concatenate([rows, _some(side.rows, tied, neighbours - len(rows), rng)])


def _distances(seen: Seen, target: int, ecs: Places) -> Floats:
    who = np.array([target])
    return np.asarray(np.sum([feature.distance(who, ecs) for feature in seen.fragment.features], axis=0))


def _some(rows: Grouped, ecs: npt.NDArray[np.integer], count: int, rng: np.random.Generator) -> Places:
    """Return as many rows of some equivalence classes, at random."""
    numbers = rng.choice(int(rows.sizes[ecs].sum()), count, replace=False) if count else np.zeros(0, np.intp)
    return members(rows, ecs, numbers)


def _linked_by_chance(
    rows: int, neighbours: int, targets: int, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Return how it comes out if the nearest rows are any rows: two sets at random with one in common."""
    taken = min(neighbours, rows)
    return np.asarray(rng.hypergeometric(taken, rows - taken, taken, size=targets) > 0)
