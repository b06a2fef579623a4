"""Coarsening (ours): joins are made safe by merging equivalence classes (ECs); no class value is changed.

What is safe stays safe when ECs are merged, for either guarantee: a merged EC's joins are the sums of its
parts' joins, and it shares class values with whomever a part did. So merging ends, with one EC for each
fragment at the latest.
"""

from collections.abc import Sequence

import numpy as np

from tasks.coarsening.groups import Groups
from tasks.coarsening.held import Promise
from tasks.coarsening.larger_unsafe import larger_unsafe
from tasks.coarsening.mend_groups import apart, best_merges, mend
from tasks.coarsening.move_ecs import move_ecs
from tasks.coarsening.unsafe_choices import unsafe_choices, unsafe_pairs
from tasks.config import Guarantee
from tasks.joins.class_join import Counts, Indices
from tasks.partitions.regions import Regions, unite_same

ROUNDS = 16  # of trials, then moves: fewer and longer ones where there are more sets of fragments
TRIALS = {"join": 16_000, "records": 8000}  # over sets of fragments: the more, the longer one takes
MOVES = 16_000  # over fragments
MOVES_WORK = 4  # how many times the work of the trials they may take, at about ECs squared each
WORK = 300_000_000
NEIGHBOURS = 0.8  # share of trials that dissolve groups that are near each other
DISSOLVED = 5  # groups in a trial, at most
WARMTH = 0.002  # of the loss that coarsening adds: what a trial may lose, at first
TOGETHER = 0.7

Released = Sequence[Sequence[Regions]]


def coarsen(
    counts: Sequence[Counts], regions: Released, k: int, guarantee: Guarantee, work: int = WORK
) -> tuple[Indices, ...]:
    """Merge ECs until every choice of any fragments keeps what the guarantee promises.

    ECs are merged where this mends most for the information it loses. Then, again and again, some merged
    ECs are dissolved and mended otherwise, and what loses less is kept. Under the guarantee "join", single
    ECs also move between merged ones, see `tasks.coarsening.move_ecs`.

    Parameters
    ----------
    counts : sequence of int64 ndarrays of shape (E_i, class values)
        Class counts of each fragment, of the same k records or more.
    regions
        What the ECs of each fragment release of each feature.
    k
        In rows ("join") or in records ("records").
    guarantee
        What joins must hold.
    work
        How much the search may take: the numbers of ECs, class values and sets of fragments, multiplied.

    Returns
    -------
    tuple of ndarrays of shape (E_i,)
        For each fragment, the merged EC of each EC, from 0.

    Raises
    ------
    InfeasibleError
        If the joins are too many to be checked.
    """
    labels = tuple(np.arange(len(fragment)) for fragment in counts)
    promise = Promise(k, guarantee)
    while len(counts) > 1:
        groups = Groups(counts, regions, absent=1 if guarantee == "join" else k)
        settled = not groups.large
        if settled:
            groups = _search(groups, promise, work)
        elif len(choices := unsafe_choices(groups, promise)):
            _merge_many(groups, choices, promise)
        else:
            break
        merged = [groups.labels_of(fragment) for fragment in range(len(counts))]
        labels = tuple(new[old] for new, old in zip(merged, labels, strict=True))
        if settled:
            break
        counts, regions = merged_counts(counts, merged), merged_regions(regions, merged)
    return labels


def merged_counts(counts: Sequence[Counts], labels: Sequence[Indices]) -> tuple[Counts, ...]:
    """Return the class counts of merged ECs, for each fragment."""
    merged = []
    for fragment, new in zip(counts, labels, strict=True):
        merged.append(np.zeros((int(new.max()) + 1, fragment.shape[1]), dtype=np.int64))
        np.add.at(merged[-1], new, fragment)
    return tuple(merged)


def merged_regions(regions: Released, labels: Sequence[Indices]) -> tuple[tuple[Regions, ...], ...]:
    """Return what merged ECs release, for each fragment."""
    return tuple(
        tuple(region.merged(new) for region in features)
        for features, new in zip(regions, labels, strict=True)
    )


def released_apart(regions: Released, labels: Sequence[Indices]) -> tuple[Indices, ...]:
    """Return labels that also unite ECs which release the same once they are merged."""
    return tuple(unite_same(tuple(features))[0][new] for features, new in zip(regions, labels, strict=True))


def _merge_many(groups: Groups, choices: Indices, promise: Promise) -> None:
    """Make the better half of the merges that mend some choices, as far as they are of different groups."""
    merges = best_merges(groups, choices, promise)
    half = np.argsort(-merges.scores, kind="stable")[: len(merges.scores) // 2 + 1]
    groups.merge(*apart(merges.take(half)))


def _search(groups: Groups, promise: Promise, work: int) -> Groups:
    """Return groups that are safe and lose little: merged greedily, then tried otherwise again and again."""
    start = groups.loss()
    mend(groups, unsafe_pairs(groups, promise), promise, together=TOGETHER)
    _make_safe(groups, promise)
    if groups.loss() == start:
        return groups
    noise = np.random.default_rng(0)
    trials = min(TRIALS[promise.guarantee] >> groups.number, work // (groups.counts.size << groups.number))
    moves = min(MOVES // groups.number, MOVES_WORK * work // len(groups.labels) ** 2)
    rounds = max(ROUNDS >> groups.number, 1)
    best = groups
    for _ in range(rounds):
        found = _try_otherwise(best, promise, trials // rounds, WARMTH * (best.loss() - start), noise)
        if promise.guarantee == "join":
            found = move_ecs(found, promise, moves // rounds, noise)
        _make_safe(found, promise)
        best = min(best, found, key=Groups.loss)
    return best


def _try_otherwise(
    groups: Groups, promise: Promise, trials: int, warmth: float, noise: np.random.Generator
) -> Groups:
    """Dissolve some groups and mend them otherwise, again and again; return the best found."""
    best = current = groups.copy()
    for left in np.linspace(1, 0, trials):
        most = current.loss() + warmth * left * noise.exponential()
        trial = _tried(current, promise, most, noise)
        if trial is not None:
            current = trial
            best = min(best, trial, key=Groups.loss)
    return best


def _make_safe(groups: Groups, promise: Promise) -> None:
    while len(choices := unsafe_choices(groups, promise)):
        mend(groups, choices, promise)


def _tried(groups: Groups, promise: Promise, most: float, noise: np.random.Generator) -> Groups | None:
    """Dissolve some groups and mend them otherwise; None if that loses more than it may."""
    merged = np.flatnonzero(np.bincount(groups.labels) > 1)
    if not len(merged):
        return None
    trial = groups.copy()
    ecs = trial.dissolve(_some(groups, merged, noise))
    choices = unsafe_pairs(trial, promise, ecs)
    while mend(trial, choices, promise, most=most, noise=noise):
        choices = larger_unsafe(trial, promise, np.unique(trial.labels[ecs]))
        if not len(choices):
            return trial
    return None


def _some(groups: Groups, merged: Indices, noise: np.random.Generator) -> Indices:
    """Return a few groups of one fragment that can be dissolved: neighbours, or any."""
    group, number = int(noise.choice(merged)), int(noise.integers(1, DISSOLVED))
    if noise.random() < NEIGHBOURS:
        return np.append(groups.nearest(group, number), group)
    others = merged[groups.fragments[merged] == groups.fragments[group]]
    return np.append(noise.choice(others, min(number, len(others)), replace=False), group)
