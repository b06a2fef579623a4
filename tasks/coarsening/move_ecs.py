"""Moving single equivalence classes (ECs) between groups that are safe, so that they lose less.

Unsafe joins are allowed for a price on the way: it rises while there are some, and falls while there are
none. The best move of a fragment is made even if it loses; its EC then stays for a while (tabu search).
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from tasks.coarsening.groups import Groups
from tasks.coarsening.held import Promise, held
from tasks.coarsening.larger_unsafe import larger_unsafe
from tasks.joins.class_join import Booleans, Floats, Indices, distinct_rows

NEAREST = 8  # groups that an EC can move to
PRICE = 0.002  # of a choice that misses k rows, in loss, at first
DEARER, CHEAPER = 1.04, 0.9  # the price after a step that leaves unsafe joins, or none
STAYS = (8, 20)  # steps that an EC stays, from and below
PATIENCE = 80  # steps without a safe solution, after which the search returns to the best one
LISTED = 30  # unsafe larger choices that are priced from now on, of those found at once
PRICED = 1000


class _Moves:
    """Groups, and the loss that moving each of their ECs adds.

    Attributes
    ----------
    leaving : list of ndarrays of shape (E_i,)
        What an EC's group gains where it leaves.
    joining : list of ndarrays of shape (E_i, E_i)
        What each EC (row) adds to each group; infinite for its own and where there is none.
    """

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self.alone = [shapes.losses() for shapes in groups.ec_shapes]
        self.leaving = [np.zeros(len(alone)) for alone in self.alone]
        self.joining = [np.full((len(alone), len(alone)), np.inf) for alone in self.alone]
        for fragment in range(groups.number):
            self.measure(fragment, groups.of(fragment))

    def measure(self, fragment: int, names: Indices) -> None:
        """Measure some groups of a fragment again."""
        groups, start = self.groups, self.groups.start(fragment)
        shapes, ecs = groups.shapes[fragment], groups.ec_shapes[fragment]
        places = names - start
        losses = groups.losses[fragment][places]
        united = shapes.united_losses(places, ecs) - losses[:, None]
        united[~groups.counts[names].any(axis=1)] = np.inf
        self.joining[fragment][:, places] = united.T
        labels = groups.labels[groups.ecs(fragment)]
        for name, loss in zip(names.tolist(), losses.tolist(), strict=True):
            members = np.flatnonzero(labels == name)
            if len(members):
                self.leaving[fragment][members] = ecs.losses_without_each(members) - loss
                self.joining[fragment][members, name - start] = np.inf

    def move(self, ec: int, group: int) -> Indices:
        """Move an EC into another group, or into its own (-1); return the groups concerned."""
        concerned = self.groups.move(ec, group)
        self.measure(int(self.groups.fragments[ec]), concerned)
        return concerned


class _Prices(NamedTuple):
    """What each row costs that a join misses of k."""

    k: int
    price: float

    def of(self, rows: Floats) -> Floats:
        """Return the price of joins, given the rows that they hold, summed over the last axis."""
        missing = self.k - rows
        missing[(missing <= 0) | (rows <= 0)] = 0
        return np.asarray(self.price * missing.sum(axis=-1))


def move_ecs(groups: Groups, promise: Promise, steps: int, noise: np.random.Generator) -> Groups:
    """Return groups that lose no more, joins of two fragments safe (as far as known, larger ones too).

    Parameters
    ----------
    groups
        Safe ones of ECs few enough that all pairs are known, under the guarantee "join".
    promise
        What joins must hold.
    steps
        How many moves to try.
    noise
        Chooses the fragments, and how long ECs stay.
    """
    moves, best = _Moves(groups.copy()), groups
    larger = np.empty((0, groups.number), dtype=np.intp)
    stay = np.zeros(len(groups.labels))
    price, since, moved = PRICE / promise.k, 0, set[int]()
    for step in range(steps):
        fragment = int(noise.integers(groups.number))
        joins = _joins_of_others(moves.groups, fragment, larger, promise.k)
        ec, group = _best_move(moves, fragment, joins, stay > step, _Prices(promise.k, price))
        if ec < 0:
            continue
        moved.update(moves.move(ec, group).tolist())
        stay[ec] = step + noise.integers(*STAYS)
        safe = _is_safe(moves.groups, larger, promise.k)
        if safe and moves.groups.loss() < best.loss() - 1e-12:
            found = _larger(moves.groups, promise, moved)
            larger = np.concatenate([larger, found])[-PRICED:]
            if safe := not len(found):
                best, moved = moves.groups.copy(), set()
        price *= CHEAPER if safe else DEARER
        since = 0 if safe else since + 1
        if since > PATIENCE:
            moves, price, since, moved = _Moves(best.copy()), PRICE / promise.k, 0, set()
    return best


def _joins_of_others(groups: Groups, fragment: int, larger: Indices, k: int) -> Floats:
    """Return the class counts of other fragments' groups, and of the larger joins that are priced."""
    others = [groups.counts[groups.of(other)] for other in range(groups.number) if other != fragment]
    choices = _called(groups, larger[larger[:, fragment] >= 0])
    choices[:, fragment] = -1
    products = np.minimum(groups.counts[choices].prod(axis=1), k)
    products = products[((products > 0) & (products < k)).any(axis=1)]
    return np.concatenate([*others, products[distinct_rows(products)[0]]])


def _called(groups: Groups, choices: Indices) -> Indices:
    """Return the groups that the ECs of choices are in."""
    return np.where(choices >= 0, groups.labels[choices], -1)


def _best_move(
    moves: _Moves, fragment: int, joins: Floats, stay: Booleans, prices: _Prices
) -> tuple[int, int]:
    """Return the EC and the group (-1: its own) of the move that adds least; -1, -1 if there is none."""
    groups, start = moves.groups, moves.groups.start(fragment)
    ecs, joining = groups.ecs(fragment), moves.joining[fragment]
    own, labels = groups.ec_counts[ecs] @ joins.T, groups.labels[ecs] - start
    rows = groups.counts[ecs] @ joins.T
    priced = prices.of(rows)
    left = moves.leaving[fragment] + prices.of(rows[labels] - own) - priced[labels]
    near = np.argpartition(joining, min(NEAREST, len(ecs)) - 1, axis=1)[:, :NEAREST]
    after = prices.of(rows[near] + own[:, None])
    joined = np.take_along_axis(joining, near, axis=1) + after - priced[near]
    alone = moves.alone[fragment] + prices.of(own)
    alone[np.bincount(labels, minlength=len(ecs))[labels] == 1] = np.inf
    added = left[:, None] + np.column_stack([joined, alone])
    added[stay[ecs]] = np.inf
    place, number = np.unravel_index(added.argmin(), added.shape)
    if not np.isfinite(added[place, number]):
        return -1, -1
    return int(ecs[place]), -1 if number == near.shape[1] else int(near[place, number]) + start


def _is_safe(groups: Groups, larger: Indices, k: int) -> bool:
    """Return whether the joins of two fragments and the larger ones that are priced are safe."""
    counts = [groups.counts[groups.of(fragment)] for fragment in range(groups.number)]
    pairs = (f @ g.T for f, g in combinations(counts, 2))
    rows = held(groups.counts, _called(groups, larger), "join")
    return not any(((sizes > 0) & (sizes < k)).any() for sizes in (rows, *pairs))


def _larger(groups: Groups, promise: Promise, moved: set[int]) -> Indices:
    """Return some unsafe choices of three or more groups, some of them moved: those that miss least."""
    found = [np.empty((0, groups.number), dtype=np.intp)]
    names = np.unique(groups.labels[sorted(moved)])
    for fragment in range(groups.number):
        among = names[groups.fragments[names] == fragment]
        if groups.number > 2 and len(among):  # noqa: PLR2004 - two fragments have no larger choices
            found.append(larger_unsafe(groups, promise, among))
    choices = np.concatenate(found)
    rows = held(groups.counts, choices, promise.guarantee)
    return choices[np.argsort(-rows, kind="stable")[:LISTED]]
