"""The definitions executed by brute force, slow and obvious, and the random inputs they are run on."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations, pairwise, product
from math import log, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from hypothesis import strategies as st

from tasks.domain import Domain, Kind

Codes: TypeAlias = npt.NDArray[np.int32]
Counts: TypeAlias = npt.NDArray[np.int64]
Choice: TypeAlias = tuple[tuple[int, int], ...]
Rows: TypeAlias = list[int]
Box: TypeAlias = tuple[tuple[int, int], ...]


# --- mutual information and FMRMR ---------------------------------------------------------------


def entropy(x: Sequence[int]) -> float:
    """Return the plug-in entropy in nats."""
    return -sum(share * log(share) for share in pd.Series(x).value_counts(normalize=True))


def mutual_information(x: Sequence[int], y: Sequence[int]) -> float:
    """Return the plug-in mutual information in nats."""
    joint = pd.crosstab(np.asarray(x), np.asarray(y), normalize=True).to_numpy().astype(float)
    of_x, of_y = joint.sum(axis=1), joint.sum(axis=0)
    return sum(
        float(joint[i, j]) * log(joint[i, j] / (of_x[i] * of_y[j]))
        for i, j in product(range(len(of_x)), range(len(of_y)))
        if joint[i, j] > 0
    )


def relevance(matrix: Sequence[Sequence[Any]], fragment: Sequence[int]) -> Any:
    """Return V_t: the mean of I(class, j) over the fragment (paper, section 3.2)."""
    return sum(matrix[-1][j] for j in fragment) / len(fragment)


def redundancy(matrix: Sequence[Sequence[Any]], fragment: Sequence[int]) -> Any:
    """Return W_t: the mean of I(k, j) over all ordered pairs, k = j included (paper, section 3.2)."""
    return sum(matrix[k][j] for k in fragment for j in fragment) / len(fragment) ** 2


def fmrmr(matrix: Sequence[Sequence[Any]], fragments: Sequence[Sequence[int]]) -> Any:
    """Return the sum over fragments of V_t - W_t (paper, section 3.2)."""
    return sum(relevance(matrix, fragment) - redundancy(matrix, fragment) for fragment in fragments)


def contribution(
    matrix: Sequence[Sequence[Any]], fragments: Sequence[Sequence[int]], feature: int, target: int
) -> Any:
    """Return the difference that one more feature in the target fragment makes to FMRMR."""
    after = [[*fragment, feature] if t == target else fragment for t, fragment in enumerate(fragments)]
    return fmrmr(matrix, after) - fmrmr(matrix, fragments)


def split(matrix: Sequence[Sequence[Any]], features: Sequence[int]) -> list[list[int]]:
    """Return the two halves of a fragment (Algorithm 1, corrected); `max` keeps the first of equals."""
    seeds = max(combinations(sorted(features), 2), key=lambda pair: matrix[pair[0]][pair[1]])
    halves = [[seeds[0]], [seeds[1]]]
    rest = sorted(set(features) - set(seeds))
    while rest:
        moves = [(feature, target) for feature in rest for target in (0, 1)]
        feature, target = max(moves, key=lambda move: contribution(matrix, halves, *move))
        halves[target].append(feature)
        rest.remove(feature)
    return [sorted(half) for half in halves]


def greedy_fragmentation(matrix: Sequence[Sequence[Any]], fragments: int) -> list[list[int]]:
    """Return the fragments after splitting the largest one, the first of equals, until there are enough."""
    result = [list(range(len(matrix) - 1))]
    while len(result) < fragments:
        largest = max(range(len(result)), key=lambda t: len(result[t]))
        result[largest : largest + 1] = split(matrix, result[largest])
    return result


# --- the class join -----------------------------------------------------------------------------


def fragment_subsets(fragments: int) -> Iterator[tuple[int, ...]]:
    """Yield every set of two or more fragments."""
    for members in range(2, fragments + 1):
        yield from combinations(range(fragments), members)


def choices(counts: Sequence[Counts]) -> Iterator[Choice]:
    """Yield one equivalence class from each member of every set of two or more fragments."""
    for members in fragment_subsets(len(counts)):
        for classes in product(*(range(len(counts[i])) for i in members)):
            yield tuple(zip(members, classes, strict=True))


def record_frame(counts: Counts, fragment: int) -> pd.DataFrame:
    """Return a fragment with one row per record: its equivalence class, its class value, its number."""
    rows = [(ec, value) for ec, value in np.ndindex(*counts.shape) for _ in range(counts[ec, value])]
    frame = pd.DataFrame(rows, columns=[f"ec_{fragment}", "class"])
    return frame.assign(**{f"record_{fragment}": range(len(frame))})


def joined_rows(counts: Sequence[Counts], members: Sequence[int]) -> pd.DataFrame:
    """Return the member fragments really joined on the class value."""
    frames = [record_frame(counts[i], i) for i in members]
    return reduce(lambda left, right: left.merge(right, on="class"), frames)


def grouped_joins(counts: Sequence[Counts]) -> Iterator[tuple[Choice, pd.DataFrame]]:
    """Yield every choice that joins to something, with its joined rows."""
    for members in fragment_subsets(len(counts)):
        by = [f"ec_{i}" for i in members]
        for classes, rows in joined_rows(counts, members).groupby(by):
            yield tuple(zip(members, np.array(classes).tolist(), strict=True)), rows


def join_sizes(counts: Sequence[Counts]) -> dict[Choice, int]:
    """Return the rows of every join that is not empty."""
    return {choice: len(rows) for choice, rows in grouped_joins(counts)}


def violating_choices(counts: Sequence[Counts], k: int) -> set[Choice]:
    """Return the choices whose join holds some rows but fewer than k (Theorem 4.1, for every subset)."""
    return {choice for choice, size in join_sizes(counts).items() if size < k}


def smallest_join(counts: Sequence[Counts]) -> int | None:
    """Return the rows of the smallest join that is not empty."""
    return min(join_sizes(counts).values(), default=None)


def smallest_records(counts: Sequence[Counts]) -> int | None:
    """Return the fewest different records of one equivalence class that the rows of a join rest on."""
    return min(
        (
            rows[f"record_{fragment}"].nunique()
            for choice, rows in grouped_joins(counts)
            for fragment, _ in choice
        ),
        default=None,
    )


def meets_record_condition(counts: Sequence[Counts], k: int) -> bool:
    """Whether every join that is not empty rests on k or more records of each of its classes."""
    fewest = smallest_records(counts)
    return fewest is None or fewest >= k


def common_values(counts: Sequence[Counts], choice: Choice) -> set[int]:
    """Return the class values that occur in every equivalence class of the choice."""
    supports = [set(np.flatnonzero(counts[fragment][ec]).tolist()) for fragment, ec in choice]
    return set.intersection(*supports)


# --- enforcement --------------------------------------------------------------------------------


def majority_only(counts: Counts) -> Counts:
    """Return every class with all its records at its majority value, the first of equals (naive)."""
    result = np.zeros_like(counts)
    for ec, of_class in enumerate(counts.tolist()):
        result[ec, of_class.index(max(of_class))] = sum(of_class)
    return result


def changed_records(before: Counts, after: Counts) -> int:
    """Return how many class values at least were changed between equally large classes."""
    return int(np.maximum(before - after, 0).sum())


# --- delta-selectivity --------------------------------------------------------------------------


def versions(size: int, values: int) -> Iterator[tuple[int, ...]]:
    """Yield the vectors of positive counts of the values that sum to the size (Definition 4.3)."""
    for cuts in combinations(range(1, size), values - 1):
        yield tuple(right - left for left, right in pairwise((0, *cuts, size)))


@cache
def eta(sizes: tuple[int, ...], values: tuple[int, ...], common: int, k: int) -> Fraction:
    """Return the share of combinations of versions that join to k rows or more (Definition 4.5)."""
    joins = [
        sum(prod(of_value) for of_value in zip(*(version[:common] for version in together), strict=True))
        for together in product(*map(versions, sizes, values))
    ]
    return Fraction(sum(size >= k for size in joins), len(joins))


def etas(
    sizes: Sequence[npt.NDArray[np.int64]], published: Sequence[Counts], k: int
) -> dict[Choice, Fraction]:
    """Return eta of every choice with a common value; a value is published where its count is not 0."""
    result = {}
    for choice in choices(published):
        common = len(common_values(published, choice))
        if common:
            of_choice = tuple(int(sizes[fragment][ec]) for fragment, ec in choice)
            values = tuple(np.count_nonzero(published[fragment][ec]) for fragment, ec in choice)
            result[choice] = eta(of_choice, values, common, k)
    return result


# --- Mondrian -----------------------------------------------------------------------------------


def width(codes: Codes, domain: Domain) -> float:
    """Return a node's normalised range in one feature."""
    lowest, highest = int(codes.min()), int(codes.max())
    if not domain.numeric:
        return (highest - lowest) / max(domain.size - 1, 1)
    if domain.missing and lowest == 0:
        return 1.0 if highest > 0 else 0.0
    return float(domain.positions[highest] - domain.positions[lowest])


def median_code(codes: Codes) -> int:
    """Return the lower median."""
    return int(sorted(codes)[(len(codes) - 1) // 2])


def strict_cuts(codes: Codes) -> list[int]:
    """Return the highest codes of the left side: the median's cut, then the one below the median."""
    median = median_code(codes)
    return [cut for cut in (median, median - 1) if codes.min() <= cut < codes.max()]


def by_width(codes: Codes, domains: Sequence[Domain]) -> list[int]:
    """Return the features that vary in the node: the widest, then what narrows most, then the first."""
    varying = [f for f in range(codes.shape[1]) if codes[:, f].min() < codes[:, f].max()]
    return sorted(
        varying, key=lambda f: (-width(codes[:, f], domains[f]), -narrowing(codes[:, f], domains[f]), f)
    )


def narrowing(codes: Codes, domain: Domain) -> float:
    """Return by how much records are narrower, on average, after the cut at the median."""
    median = median_code(codes)
    left, right = codes[codes <= median], codes[codes > median]
    if not len(right):
        return 0.0
    sides = len(left) * width(left, domain) + len(right) * width(right, domain)
    return width(codes, domain) - sides / len(codes)


def narrowed(box: Box, feature: int, bounds: tuple[int, int]) -> Box:
    """Return the box with other bounds of one feature."""
    return (*box[:feature], bounds, *box[feature + 1 :])


def strict_mondrian(
    codes: Codes, domains: Sequence[Domain], holds: Callable[[Rows], bool]
) -> list[tuple[Rows, Box]]:
    """Return the rows and the box of every leaf, left before right (LeFevre et al., strict)."""

    def leaves(rows: Rows, box: Box) -> list[tuple[Rows, Box]]:
        for feature in by_width(codes[rows], domains):
            lower, upper = box[feature]
            for cut in strict_cuts(codes[rows, feature]):
                left = [row for row in rows if codes[row, feature] <= cut]
                right = [row for row in rows if codes[row, feature] > cut]
                if holds(left) and holds(right):
                    return leaves(left, narrowed(box, feature, (lower, cut))) + leaves(
                        right, narrowed(box, feature, (cut + 1, upper))
                    )
        return [(rows, box)]

    return leaves(list(range(len(codes))), tuple((0, domain.size - 1) for domain in domains))


def relaxed_mondrian(
    codes: Codes, domains: Sequence[Domain], holds: Callable[[Rows], bool]
) -> list[tuple[Rows, Box]]:
    """Return the rows and the box of every leaf when equal values may go to both sides."""

    def leaves(rows: Rows, box: Box) -> list[tuple[Rows, Box]]:
        for feature in by_width(codes[rows], domains):
            ordered = sorted(rows, key=lambda row: (codes[row, feature], row))
            left, right = ordered[: len(rows) // 2], ordered[len(rows) // 2 :]
            if holds(left) and holds(right):
                lower, upper = box[feature]
                return leaves(
                    sorted(left), narrowed(box, feature, (lower, int(codes[left[-1], feature])))
                ) + leaves(sorted(right), narrowed(box, feature, (int(codes[right[0], feature]), upper)))
        return [(rows, box)]

    return leaves(list(range(len(codes))), tuple((0, domain.size - 1) for domain in domains))


def is_cuttable(codes: Codes, rows: Rows, holds: Callable[[Rows], bool]) -> bool:
    """Whether a feature that varies in the node has a median cut with two sound sides."""
    return any(
        holds([row for row in rows if codes[row, feature] <= cut])
        and holds([row for row in rows if codes[row, feature] > cut])
        for feature in range(codes.shape[1])
        for cut in strict_cuts(codes[rows, feature])
    )


def are_separated(one: Codes, other: Codes) -> bool:
    """Whether some feature's code ranges are disjoint."""
    return bool(((one.max(axis=0) < other.min(axis=0)) | (other.max(axis=0) < one.min(axis=0))).any())


def is_valid_partition(codes: Codes, labels: npt.NDArray[np.int32], holds: Callable[[Rows], bool]) -> bool:
    """Whether all classes hold, are separated from each other, and can be cut no further."""
    groups = [np.flatnonzero(labels == label).tolist() for label in range(max(labels) + 1)]
    return (
        sum(map(len, groups)) == len(codes)
        and all(group and holds(group) and not is_cuttable(codes, group, holds) for group in groups)
        and all(are_separated(codes[one], codes[other]) for one, other in combinations(groups, 2))
    )


# --- published cells ----------------------------------------------------------------------------


class Region(NamedTuple):
    """What a released cell covers: values of its column, and missing or not."""

    covered: frozenset[Any]
    missing: bool


def distinct_values(domain: Domain) -> list[Any]:
    """Return the values without missing, in order, as plain Python objects."""
    return list(domain.values.tolist())


def cell_loss(region: Region, domain: Domain) -> Fraction:
    """Return one cell's share of its column's range (paper, appendix D)."""
    if not domain.numeric:
        return Fraction(len(region.covered) + region.missing - 1, max(domain.size - 1, 1))
    if region.missing:
        return Fraction(bool(region.covered))
    numbers = [Fraction(value) for value in distinct_values(domain)]
    covered = [Fraction(value) for value in region.covered]
    span = numbers[-1] - numbers[0]
    return (max(covered) - min(covered)) / span if span else Fraction(0)


def tight_region(codes: Codes, domain: Domain) -> Region:
    """Return what the members of one class cover in one column."""
    by_code = [None] * domain.missing + distinct_values(domain)
    members = {by_code[code] for code in codes}
    return Region(frozenset(members - {None}), None in members)


def cuts_region(lower: int, upper: int, domain: Domain) -> Region:
    """Return what the box left by the cuts covers in one column."""
    return tight_region(np.arange(lower, upper + 1, dtype=np.int32), domain)


def information_loss(regions: Sequence[Sequence[Region]], domains: Sequence[Domain]) -> float:
    """Return the mean loss over rows and features; regions hold one row per record."""
    losses = [
        cell_loss(region, domain) for row in regions for region, domain in zip(row, domains, strict=True)
    ]
    return float(sum(losses) / len(losses))


def published_classes(text: str) -> dict[tuple[str, ...], Counter[str]]:
    """Return how often each class cell occurs with each row of feature cells of a published CSV."""
    _, *rows = csv.reader(io.StringIO(text, newline=""))
    result: dict[tuple[str, ...], Counter[str]] = {}
    for *features, class_cell in rows:
        result.setdefault(tuple(features), Counter())[class_cell] += 1
    return result


# --- random inputs ------------------------------------------------------------------------------


class Table(NamedTuple):
    """A small encoded table."""

    codes: Codes
    domains: list[Domain]
    classes: npt.NDArray[np.int32]


class Family(NamedTuple):
    """The class counts of several fragments of the same records, and the k their classes reach."""

    counts: list[Counts]
    k: int


def encode(values: Sequence[Any], kind: Kind, name: str = "x") -> tuple[Codes, Domain]:
    """Return ranks among the sorted distinct values; None is missing and comes first."""
    present = sorted({value for value in values if value is not None})
    missing = None in values
    codes = [0 if value is None else present.index(value) + missing for value in values]
    types = {"integer": np.int64, "decimal": np.float64, "categorical": object}
    return np.array(codes, dtype=np.int32), Domain(name, kind, np.array(present, dtype=types[kind]), missing)


def ranks(values: Iterable[int]) -> npt.NDArray[np.int32]:
    """Return ranks among the distinct values."""
    return np.unique(list(values), return_inverse=True)[1].astype(np.int32)


CELLS: dict[Kind, list[st.SearchStrategy[Any]]] = {
    "integer": [st.integers(-3, 4), st.integers(0, 1), st.just(7), st.integers(-(10**6), 10**6)],
    "decimal": [st.sampled_from([-1.5, 0.0, 1e-05, 0.25, 2.0]), st.floats(-100, 100, width=32)],
    "categorical": [st.sampled_from("abcde"), st.sampled_from(["a", "b"]), st.just("a")],
}


@st.composite
def columns(draw: st.DrawFn, rows: int, name: str) -> tuple[Codes, Domain]:
    """Draw one column: many ties, few, or none, constant, with missing values or only missing ones."""
    kind = draw(st.sampled_from(sorted(CELLS)))
    cells = draw(st.sampled_from(CELLS[kind]))
    if draw(st.booleans()):
        cells = st.none() | cells
    return encode(draw(st.lists(cells, min_size=rows, max_size=rows)), kind, name)


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 30, max_columns: int = 4) -> Table:
    """Draw a table; a column may stand in it twice, and there may be one class value only."""
    rows = draw(st.integers(1, max_rows))
    drawn = [draw(columns(rows, f"x{i}")) for i in range(draw(st.integers(1, max_columns)))]
    if draw(st.booleans()):
        drawn.append(draw(st.sampled_from(drawn)))
    classes = draw(st.lists(st.integers(0, draw(st.integers(0, 3))), min_size=rows, max_size=rows))
    codes, domains = zip(*drawn, strict=True)
    return Table(np.column_stack(codes), list(domains), ranks(classes))


def class_counts(classes: npt.NDArray[np.int32], k: int, rng: np.random.Generator) -> Counts:
    """Return one fragment: the records more or less in some order of their class values, cut into classes."""
    place = rng.permutation(max(classes) + 1)[classes]
    ordered = classes[np.argsort(place + rng.choice([0.0, 0.5, 1.0, 3.0]) * rng.normal(size=len(classes)))]
    cuts = int(rng.integers(min(len(classes) // k, 4)))
    shifts = np.sort(rng.integers(len(classes) - (cuts + 1) * k + 1, size=cuts))
    edges = [0, *(np.arange(1, cuts + 1) * k + shifts).tolist(), len(classes)]
    rows = [np.bincount(ordered[start:end], minlength=max(classes) + 1) for start, end in pairwise(edges)]
    return np.array(rows, dtype=np.int64)


def random_family(seed: int, max_fragments: int, max_values: int, max_k: int, max_records: int) -> Family:
    """Return the class counts of two or more fragments that hold the same records; many violate."""
    rng = np.random.default_rng(seed)
    k, fragments = int(rng.integers(1, max_k + 1)), int(rng.integers(2, max_fragments + 1))
    records = rng.integers(max(k, max_records // 2), max_records + 1)
    classes = ranks(rng.integers(rng.integers(1, max_values + 1), size=records).tolist())
    return Family([class_counts(classes, k, rng) for _ in range(fragments)], k)


def families(
    max_fragments: int = 4, max_values: int = 5, max_k: int = 6, max_records: int = 18
) -> st.SearchStrategy[Family]:
    """Draw families from seeds: a shrunk family would only be another family."""
    return st.integers(0, 2**32 - 1).map(
        lambda seed: random_family(seed, max_fragments, max_values, max_k, max_records)
    )
