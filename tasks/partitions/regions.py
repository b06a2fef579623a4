"""What an equivalence class releases of each feature: its bounds, or its categories."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain
from tasks.partitions.cells import category_cell, numeric_cell
from tasks.partitions.numbers import number_texts
from tasks.partitions.partition import Partition
from tasks.tree import Tree

Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

EXACT_BITS = 52  # of a whole number in double precision
WORDS_PER_CODE = 4  # above, sets of many categories are told apart one by one
FLAGS_PER_RECORD = 8  # bytes beside the codes; above, categories are too many to be flagged


@dataclass(frozen=True, eq=False)
class NumericRegions:
    """The ranges of a numeric feature, one per equivalence class.

    Attributes
    ----------
    domain
        Of the feature.
    lower, upper : ndarray of shape (E,)
        Codes of the bounds; meaningless where a class covers missing alone.
    present, missing : ndarray of shape (E,)
        Whether the class covers numbers, and missing.
    """

    domain: Domain
    lower: Codes
    upper: Codes
    present: Flags
    missing: Flags

    def keys(self) -> npt.NDArray[np.int64]:
        """Return a number per class, the same where the released value is."""
        bounds = self.lower.astype(np.int64) * self.domain.size + self.upper
        return np.where(self.present, 2 * bounds + self.missing, -1)

    def texts(self) -> list[str]:
        """Return the released cell of each class."""
        _, first, same = np.unique(self.keys(), return_index=True, return_inverse=True)
        cells = _range_texts(self.take(first))
        return [cells[place] for place in same.tolist()]

    def loss(self) -> npt.NDArray[np.float64]:
        """Return each class's share of the feature's range; 1 where it mixes numbers and missing."""
        positions = self.domain.positions
        width = np.where(self.present, positions[self.upper] - positions[self.lower], 0.0)
        return np.where(self.present & self.missing, 1.0, width)

    def take(self, classes: npt.NDArray[np.intp]) -> "NumericRegions":
        """Return the regions of some classes."""
        return NumericRegions(
            self.domain,
            self.lower[classes],
            self.upper[classes],
            self.present[classes],
            self.missing[classes],
        )

    def merged(self, labels: npt.NDArray[np.intp]) -> "NumericRegions":
        """Return the regions of merged classes, given by the label of each class."""
        size = int(labels.max()) + 1
        lower = np.full(size, self.domain.size, dtype=np.int32)
        upper = np.zeros(size, dtype=np.int32)
        present, missing = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
        np.minimum.at(lower, labels[self.present], self.lower[self.present])
        np.maximum.at(upper, labels[self.present], self.upper[self.present])
        np.logical_or.at(present, labels, self.present)
        np.logical_or.at(missing, labels, self.missing)
        return NumericRegions(self.domain, np.where(present, lower, 0), upper, present, missing)

    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the values of the lower and the upper bounds."""
        values = self.domain.values if len(self.domain.values) else np.zeros(1, self.domain.values.dtype)
        first = int(self.domain.missing)
        return values[np.maximum(self.lower - first, 0)], values[np.maximum(self.upper - first, 0)]


def _range_texts(ranges: NumericRegions) -> list[str]:
    """Return the cell of each range."""
    domain, ends = ranges.domain, (ranges.lower[ranges.present], ranges.upper[ranges.present])
    used = np.unique(np.concatenate(ends))
    values = domain.values[used - int(domain.missing)]
    numbers = dict(zip(used.tolist(), number_texts(values, domain), strict=True))
    return [
        numeric_cell(numbers[lower], numbers[upper], missing=missing) if present else ""
        for lower, upper, present, missing in zip(
            ranges.lower.tolist(),
            ranges.upper.tolist(),
            ranges.present.tolist(),
            ranges.missing.tolist(),
            strict=True,
        )
    ]


@dataclass(frozen=True, eq=False)
class CategoricalRegions:
    """The sets of categories of a feature, one per equivalence class.

    Attributes
    ----------
    domain
        Of the feature.
    sets
        The different sets, as ascending codes. With a hierarchy each one is a group, or missing, or both.
    chosen : ndarray of shape (E,)
        Which set each class releases.
    """

    domain: Domain
    sets: tuple[tuple[int, ...], ...]
    chosen: npt.NDArray[np.intp]

    def keys(self) -> npt.NDArray[np.int64]:
        """Return a number per class, the same where the released value is."""
        return self.chosen.astype(np.int64)

    def texts(self) -> list[str]:
        """Return the released cell of each class."""
        cells = [
            category_cell([value for value in values if value is not None], missing=None in values)
            for values in self.values()
        ]
        return [cells[chosen] for chosen in self.chosen.tolist()]

    def values(self) -> list[list[str | None]]:
        """Return the categories of each set, or the name of its group; None for missing in the last place."""
        if self.domain.tree is not None:
            return [_group_name(self.domain.tree, codes, int(self.domain.missing)) for codes in self.sets]
        names: list[str | None] = [None] if self.domain.missing else []
        names += self.domain.values.tolist()
        first = int(self.domain.missing)
        return [
            [names[code] for code in codes[codes[0] < first :]] + [None] * (codes[0] < first)
            for codes in self.sets
        ]

    def loss(self) -> npt.NDArray[np.float64]:
        """Return each class's share of the categories beyond its first."""
        sizes = np.array([len(codes) for codes in self.sets])
        return np.asarray((sizes - 1) / max(self.domain.size - 1, 1))[self.chosen]

    def take(self, classes: npt.NDArray[np.intp]) -> "CategoricalRegions":
        """Return the regions of some classes."""
        return CategoricalRegions(self.domain, self.sets, self.chosen[classes])

    def merged(self, labels: npt.NDArray[np.intp]) -> "CategoricalRegions":
        """Return the regions of merged classes, given by the label of each class."""
        if self.domain.tree is not None:
            return grouped(self._bounds().merged(labels), self.domain.tree)
        different = np.unique(np.column_stack([labels, self.chosen]), axis=0).tolist()
        held = [(label, code) for label, chosen in different for code in self.sets[chosen]]
        return regions_of_pairs(self.domain, *np.unique(np.array(held, dtype=np.int64), axis=0).T)

    def _bounds(self) -> NumericRegions:
        """Return the lowest and the highest code of each class."""
        first = int(self.domain.missing)
        missing = np.array([first > codes[0] for codes in self.sets], dtype=np.bool_)
        upper = np.array([codes[-1] for codes in self.sets], dtype=np.int32)
        lower = np.array([codes[first > codes[0] :][:1] or (0,) for codes in self.sets], dtype=np.int32)
        bounds = NumericRegions(self.domain, lower.ravel(), upper, upper >= first, missing)
        return bounds.take(self.chosen)


Regions = NumericRegions | CategoricalRegions


def regions(
    codes: Codes, domains: Sequence[Domain], partition: Partition, bounds: Literal["tight", "cuts"]
) -> tuple[npt.NDArray[np.int32], tuple[Regions, ...]]:
    """Return what each class releases, classes that release the same united.

    Parameters
    ----------
    codes : ndarray of shape (n, features)
    domains
        One per feature.
    partition
        The class of every row, and the boxes that the cuts left.
    bounds
        "tight": of the members; "cuts": the boxes.

    Returns
    -------
    labels : ndarray of shape (n,)
        The class of every row, numbered from 0.
    regions
        One per feature.
    """
    return regions_of_columns(codes.T, domains, partition, bounds)


def regions_of_columns(
    columns: Iterable[Codes],
    domains: Sequence[Domain],
    partition: Partition,
    bounds: Literal["tight", "cuts"],
) -> tuple[npt.NDArray[np.int32], tuple[Regions, ...]]:
    """Return the same as `regions`; the codes of each feature are asked for one by one."""
    tight = bounds == "tight"
    released = _tight(columns, domains, partition.labels) if tight else _boxes(domains, partition)
    united, released = unite_same(released)
    return united.astype(np.int32)[partition.labels], released


def unite_same(released: tuple[Regions, ...]) -> tuple[npt.NDArray[np.intp], tuple[Regions, ...]]:
    """Unite classes that release the same: nothing tells them apart.

    Parameters
    ----------
    released
        One per feature.

    Returns
    -------
    labels : ndarray of shape (E,)
        What each class is called afterwards.
    regions
        One per feature.
    """
    keys = np.column_stack([region.keys() for region in released])
    _, first, united = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(keys):
        return np.arange(len(keys)), released
    return united, tuple(region.take(first) for region in released)


def _tight(
    columns: Iterable[Codes], domains: Sequence[Domain], labels: npt.NDArray[np.int32]
) -> tuple[Regions, ...]:
    """Return the bounds of the members of each class."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return tuple(
        _of_ranges(_tight_range(column[order], domain, starts))
        if domain.numeric or domain.tree is not None
        else _tight_sets(column, domain, labels)
        for column, domain in zip(columns, domains, strict=True)
    )


def _of_ranges(ranges: NumericRegions) -> Regions:
    """Return ranges of codes as what is released: themselves, or the groups that hold them."""
    tree = ranges.domain.tree
    return ranges if tree is None else grouped(ranges, tree)


def _tight_range(column: Codes, domain: Domain, starts: npt.NDArray[np.intp]) -> NumericRegions:
    upper = np.maximum.reduceat(column, starts)
    lowest = np.minimum.reduceat(column, starts)
    missing = (lowest == 0) & domain.missing
    if domain.missing:
        lower = np.minimum.reduceat(np.where(column == 0, domain.size, column), starts)
    else:
        lower = lowest
    present = upper >= int(domain.missing)
    return NumericRegions(domain, np.minimum(lower, upper), upper, present, missing)


def _tight_sets(column: Codes, domain: Domain, labels: npt.NDArray[np.int32]) -> CategoricalRegions:
    pairs = labels.astype(np.int64) * domain.size + column
    return regions_of_pairs(domain, *np.divmod(_different(pairs), domain.size))


def _different(pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the different numbers in ascending order; flags find them faster than a hash where they fit."""
    largest = int(pairs.max())
    if largest > FLAGS_PER_RECORD * len(pairs):
        return np.unique(pairs)
    occurs = np.zeros(largest + 1, dtype=np.bool_)
    occurs[pairs] = True
    return np.flatnonzero(occurs)


def _boxes(domains: Sequence[Domain], partition: Partition) -> tuple[Regions, ...]:
    """Return the boxes that the cuts left."""
    return tuple(
        _of_ranges(_box_range(domain, partition.lower[:, number], partition.upper[:, number]))
        if domain.numeric or domain.tree is not None
        else categorical_regions(
            domain,
            [
                tuple(range(lower, upper + 1))
                for lower, upper in zip(
                    partition.lower[:, number].tolist(), partition.upper[:, number].tolist(), strict=True
                )
            ],
        )
        for number, domain in enumerate(domains)
    )


def _box_range(domain: Domain, lower: Codes, upper: Codes) -> NumericRegions:
    first = int(domain.missing)
    present = upper >= first
    return NumericRegions(
        domain, np.minimum(np.maximum(lower, first), upper), upper, present, (lower < first)
    )


def categorical_regions(domain: Domain, sets: Sequence[tuple[int, ...]]) -> CategoricalRegions:
    """Return the regions of classes, from the set of ascending codes that each one releases."""
    numbers: dict[tuple[int, ...], int] = {}
    chosen = np.array([numbers.setdefault(codes, len(numbers)) for codes in sets], dtype=np.intp)
    return CategoricalRegions(domain, tuple(numbers), chosen)


def regions_of_pairs(
    domain: Domain, classes: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]
) -> CategoricalRegions:
    """Return the regions of classes, from the codes that each one releases.

    Parameters
    ----------
    domain
        Of the feature.
    classes, codes : ndarray of shape (pairs,)
        Different pairs of a class, numbered from 0 without gaps, and a code, in ascending order.
    """
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    ends = np.append(starts[1:], len(codes))
    width = -(-domain.size // EXACT_BITS)
    if width * len(starts) > WORDS_PER_CODE * len(codes):
        held = zip(starts.tolist(), ends.tolist(), strict=True)
        return categorical_regions(domain, [tuple(codes[start:end].tolist()) for start, end in held])
    words = _words(width, classes, codes)
    _, first, chosen = np.unique(words, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # sets are numbered as they occur
    sets = tuple(tuple(codes[starts[i] : ends[i]].tolist()) for i in first[order].tolist())
    return CategoricalRegions(domain, sets, np.argsort(order)[chosen])


def _words(
    width: int, classes: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the set of codes of each class as numbers, one bit for each code, shape (classes, width)."""
    places = classes * width + codes // EXACT_BITS
    bits = np.ldexp(1.0, codes % EXACT_BITS)
    words = np.bincount(places, weights=bits, minlength=(int(classes[-1]) + 1) * width)
    return np.asarray(words.reshape(-1, width), dtype=np.float64)


def grouped(ranges: NumericRegions, tree: Tree) -> CategoricalRegions:
    """Return the regions of classes of a feature with a hierarchy: the smallest group that holds each range.

    Parameters
    ----------
    ranges
        Of codes of the feature.
    tree
        Its hierarchy.
    """
    domain, first = ranges.domain, int(ranges.domain.missing)
    groups = np.full((len(ranges.lower), 3), -1)
    groups[:, 2] = ranges.missing
    lower, upper = (bound[ranges.present].astype(np.int64) - first for bound in (ranges.lower, ranges.upper))
    groups[ranges.present, :2] = np.column_stack(tree.group(lower, upper))
    different, chosen = np.unique(groups, axis=0, return_inverse=True)
    sets = [
        (0,) * missing + tuple(range(start + first, stop + first + 1) if start >= 0 else ())
        for start, stop, missing in different.tolist()
    ]
    return CategoricalRegions(domain, tuple(sets), chosen)


def _group_name(tree: Tree, codes: tuple[int, ...], first: int) -> list[str | None]:
    """Return the name of the group with these codes, then None if missing is one of them."""
    leaves = [code - first for code in codes if code >= first]
    named: list[str | None] = [tree.label(leaves[0], leaves[-1])] if leaves else []
    return [*named, None] if len(leaves) < len(codes) else named


def named_groups(domain: Domain, tree: Tree, named: Sequence[Sequence[str | None]]) -> CategoricalRegions:
    """Return the regions of classes from what `CategoricalRegions.values` returns of each one's set."""
    groups, first = tree.named(), int(domain.missing)
    sets = []
    for names in named:
        start, stop = groups[names[0]] if names[0] is not None else (0, -1)
        sets.append((0,) * (None in names) + tuple(range(start + first, stop + first + 1)))
    return categorical_regions(domain, sets)
