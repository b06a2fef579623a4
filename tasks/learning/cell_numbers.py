"""Released cells as numbers to learn from.

A cell becomes its bounds (LeFevre, DeWitt, Ramakrishnan, "Workload-aware anonymization", KDD 2006), the
midpoint between them, or points that lie evenly between them.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.domain import Domain
from tasks.partitions.regions import CategoricalRegions, NumericRegions, Regions

Numbers = npt.NDArray[np.float64]
Cells = Literal["bounds", "midpoints"]

CATEGORIES = 64  # of a feature that have a column of their own, at most
COLUMNS = 2048  # of all categorical features together, unless these are more
FURTHEST = 1e6  # times the span of a feature: beyond it, values are as good as there


class Reference(NamedTuple):
    """What a feature's numbers are relative to.

    Attributes
    ----------
    domain
        In the release.
    mean
        Mean position, 0 to 1, of the midpoints of the release's records; stands in for missing.
    columns : ndarray of shape (size of the domain,)
        Which column each category's share goes to; none for numbers.
    """

    domain: Domain
    mean: float
    columns: npt.NDArray[np.intp]


def references(regions: Sequence[Regions], sizes: npt.NDArray[Any]) -> tuple[Reference, ...]:
    """Return what the numbers of each feature are relative to, `sizes` being the records of each EC."""
    categorical = sum(isinstance(region, CategoricalRegions) for region in regions)
    most = max(min(CATEGORIES, COLUMNS // max(categorical, 1)), 1)
    return tuple(
        Reference(region.domain, _mean_position(region, sizes), np.empty(0, dtype=np.intp))
        if isinstance(region, NumericRegions)
        else Reference(region.domain, 0.0, _columns(region, sizes, most))
        for region in regions
    )


def _columns(region: CategoricalRegions, sizes: npt.NDArray[Any], most: int) -> npt.NDArray[np.intp]:
    """Return the column of each category: the most frequent have their own, the others share the last."""
    size = region.domain.size
    if size <= most:
        return np.arange(size)
    sets, codes, shares = _members(region)
    records = np.bincount(region.chosen, sizes, minlength=len(region.sets))
    frequency = np.bincount(codes, records[sets] * shares, minlength=size)
    columns = np.full(size, most)
    columns[np.sort(np.argsort(-frequency, kind="stable")[:most])] = np.arange(most)
    return columns


def _members(region: CategoricalRegions) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Numbers]:
    """Return the categories of all sets, set after set: which set, which code, and 1 / (size of the set)."""
    sizes = np.array([len(codes) for codes in region.sets])
    codes = np.fromiter(chain.from_iterable(region.sets), dtype=np.intp, count=int(sizes.sum()))
    return np.repeat(np.arange(len(sizes)), sizes), codes, np.repeat(1 / sizes, sizes)


def _mean_position(region: NumericRegions, sizes: npt.NDArray[Any]) -> float:
    positions = region.domain.positions
    midpoints = (positions[region.lower] + positions[region.upper]) / 2
    weights = sizes * region.present
    return float(midpoints @ weights / max(weights.sum(), 1))


def features_of(regions: Sequence[Regions], relative_to: Sequence[Reference], cells: Cells) -> Numbers:
    """Return regions as numbers to learn from.

    A numeric feature gives its lower and upper bound, or its midpoint, as positions between the
    lowest (0) and the highest (1) value of the release; where it can be missing, also the degree to which
    it is (1, or 0.5 where a cell covers numbers and missing). A categorical feature gives each category's
    share, 1 / (size of the set) for those in the set; missing is one of them. Of a feature with more than 64
    categories (fewer where many features are categorical, so that there are 2,048 columns at most) only the
    most frequent by the release's records have a share of their own; one column holds that of the rest.

    Parameters
    ----------
    regions
        One per feature.
    relative_to
        Likewise; of the release, also for other records.
    cells
        "bounds" or "midpoints".

    Returns
    -------
    ndarray of shape (ECs, columns)
    """
    return np.column_stack(
        [
            _numeric_columns(region, reference, cells)
            if isinstance(region, NumericRegions)
            else _category_shares(region, reference)
            for region, reference in zip(regions, relative_to, strict=True)
        ]
    )


def _numeric_columns(region: NumericRegions, reference: Reference, cells: Cells) -> Numbers:
    lower, upper = (
        np.where(region.present, _positions(values, reference.domain), reference.mean)
        for values in region.bounds()
    )
    columns = [lower, upper] if cells == "bounds" else [(lower + upper) / 2]
    if reference.domain.missing:
        columns.append(np.where(region.present, region.missing / 2, 1.0))
    return np.column_stack(columns)


def spread_features(
    regions: Sequence[Regions], relative_to: Sequence[Reference], points: int, seed: int
) -> Numbers:
    """Return regions as several points each, which lie evenly within them in every feature.

    Numbers lie evenly between the bounds, one point is the midpoint; half of the points are missing where a
    cell covers numbers and missing, and each category of a set is that of as many points. Which values of
    two features meet in a point is drawn: an EC does not tell.

    Parameters
    ----------
    regions
        One per feature.
    relative_to
        Likewise.
    points
        Of each EC.
    seed
        Of the draws.

    Returns
    -------
    ndarray of shape (ECs x points, columns)
        EC after EC; columns as `features_of` returns of midpoints.
    """
    generator = np.random.default_rng(seed)
    columns = []
    for region, reference in zip(regions, relative_to, strict=True):
        ecs = len(region.chosen if isinstance(region, CategoricalRegions) else region.lower)
        place = generator.permuted(np.tile(np.arange(points), (ecs, 1)), axis=1)
        repeated, share = region.take(np.repeat(np.arange(ecs), points)), (place.ravel() + 0.5) / points
        columns.append(
            _numbers_between(repeated, share, reference)
            if isinstance(repeated, NumericRegions)
            else _category_shares(_one_category(repeated, share), reference)
        )
    return np.column_stack(columns)


def _numbers_between(region: NumericRegions, share: Numbers, reference: Reference) -> Numbers:
    """Return columns of points that lie between bounds, by their share of the way."""
    mixed = region.present & region.missing
    absent = ~region.present | (mixed & (share < 0.5))  # noqa: PLR2004 - half
    share = np.where(mixed, 2 * share - 1, share)
    lower, upper = (_positions(values, reference.domain) for values in region.bounds())
    position = np.where(absent, reference.mean, lower + (upper - lower) * share)
    return np.column_stack([position, absent] if reference.domain.missing else [position])


def _one_category(region: CategoricalRegions, share: Numbers) -> CategoricalRegions:
    """Return points of one category each, by its place in their set."""
    sizes = np.array([len(codes) for codes in region.sets])
    _, codes, _ = _members(region)
    first = (np.cumsum(sizes) - sizes)[region.chosen]
    chosen = codes[first + (share * sizes[region.chosen]).astype(np.intp)]
    return CategoricalRegions(region.domain, tuple((code,) for code in range(region.domain.size)), chosen)


def _positions(values: npt.NDArray[Any], domain: Domain) -> Numbers:
    """Return where values lie in a domain, outside 0 to 1 where they are beyond its ends."""
    ends = domain.values[[0, -1]].astype(np.float64) / 2 if len(domain.values) else np.zeros(2)
    span = ends[1] - ends[0]
    if span <= 0:
        return np.zeros(len(values))
    with np.errstate(over="ignore"):
        positions = (values.astype(np.float64) / 2 - ends[0]) / span
    return np.asarray(np.clip(positions, -FURTHEST, FURTHEST))


def _category_shares(region: CategoricalRegions, reference: Reference) -> Numbers:
    wanted, chosen = np.unique(region.chosen, return_inverse=True)
    used = CategoricalRegions(region.domain, tuple(region.sets[number] for number in wanted.tolist()), chosen)
    sets, codes, shares = _members(used)
    width = int(reference.columns.max()) + 1
    column = np.append(reference.columns, width)[_codes_in(region.domain, reference.domain)[codes]]
    of_sets = np.bincount(sets * (width + 1) + column, shares, minlength=len(wanted) * (width + 1))
    return np.asarray(of_sets.reshape(len(wanted), -1)[chosen, :-1])


def _codes_in(own: Domain, other: Domain) -> npt.NDArray[np.intp]:
    """Return each code's code in another domain, the domain's size for what is not in it."""
    if own is other:
        return np.arange(own.size)
    numbers = {name: code for code, name in enumerate(other.values.tolist(), start=int(other.missing))}
    codes = [numbers.get(name, other.size) for name in own.values.tolist()]
    if own.missing:
        codes.insert(0, 0 if other.missing else other.size)
    return np.array(codes, dtype=np.intp)
