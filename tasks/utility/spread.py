"""What is published, read as a user of the files reads it: spread evenly over what a cell covers.

Whole numbers lie evenly on the whole numbers of a range, fixed numbers and dates likewise on those of their
scale and precision, decimals evenly between its bounds, and each
category of a set is as likely as the others. Half of the records are missing where a cell covers numbers
and missing (as in `tasks.learning.cell_numbers.spread_features`). Values that occur in the input and are
not published, those between the bounds, play no part.
"""

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tasks.domain import Domain, Precision
from tasks.partitions.regions import CategoricalRegions, NumericRegions, Regions
from tasks.utility.binned import Binned

Numbers = npt.NDArray[np.float64]

CELLS_PER_BLOCK = 2**20  # 8 MB of shares
DAYS: dict[Precision, float] = {"day": 1.0, "month": 30.436875, "quarter": 91.310625, "year": 365.2425}
NARROWEST = 1e-300  # stands for a width of 0, by which nothing can be divided


class Moments(NamedTuple):
    """Mean and standard deviation of a numeric feature, as positions between lowest (0) and highest (1)."""

    mean: float
    deviation: float


def spread(region: Regions, into: Binned) -> Numbers:
    """Return which share of each equivalence class (EC) is in each bin.

    Parameters
    ----------
    region
        What the ECs release of a feature.
    into
        The feature's bins.

    Returns
    -------
    ndarray of shape (ECs, bins)
        Rows sum to 1.
    """
    if isinstance(region, CategoricalRegions):
        return np.asarray(_shares_of_sets(region).toarray()[region.chosen])
    absent = _absent(region)
    shares = _spread_numbers(region, into) * (1 - absent)[:, None]
    return np.column_stack([absent, shares]) if into.domain.missing else shares


def spread_classes(region: Regions, into: Binned, counts: Numbers) -> Numbers:
    """Return how often bins and class values occur together in what is published.

    Parameters
    ----------
    region
        What the ECs release of a feature.
    into
        The feature's bins.
    counts : ndarray of shape (ECs, class values)
        The published class counts, or shares of records where class values are published per EC.

    Returns
    -------
    ndarray of shape (bins, class values)
        Sums to the records.
    """
    if isinstance(region, CategoricalRegions):
        order = np.argsort(region.chosen, kind="stable")
        sets, starts = np.unique(region.chosen[order], return_index=True)
        of_sets = np.zeros((len(region.sets), counts.shape[1]))
        of_sets[sets] = np.add.reduceat(counts[order], starts, axis=0)
        return np.asarray(_shares_of_sets(region).T @ of_sets)
    joint = np.zeros((into.bins, counts.shape[1]))
    for block in blocks(len(counts), into.bins):
        joint += spread(region.take(block), into).T @ counts[block]
    return joint


def blocks(classes: int, cells: int) -> list[npt.NDArray[np.intp]]:
    """Return the numbers of ECs in runs, so that a run with that many cells for each EC stays small."""
    rows = max(CELLS_PER_BLOCK // cells, 1)
    return [np.arange(start, min(start + rows, classes)) for start in range(0, classes, rows)]


def _shares_of_sets(region: CategoricalRegions) -> csr_array[Any]:
    """Return each category's share of each set, shape (sets, categories)."""
    sizes = np.array([len(codes) for codes in region.sets])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    codes = np.fromiter(chain.from_iterable(region.sets), dtype=np.int32, count=int(ends[-1]))
    return csr_array((np.repeat(1 / sizes, sizes), codes, ends), shape=(len(sizes), region.domain.size))


def _absent(region: NumericRegions) -> Numbers:
    """Return the share of each EC that is missing."""
    return np.where(region.present, region.missing / 2, 1.0)


def _spread_numbers(region: NumericRegions, into: Binned) -> Numbers:
    """Return which share of the numbers of each EC is in each bin of numbers."""
    first = int(into.domain.missing)
    lower, upper = _ends(region)
    width = np.maximum(upper - lower, NARROWEST)[:, None]
    below = np.ones((len(lower), into.bins - first + 1))
    np.clip((_bin_starts(into) - lower[:, None]) / width, 0.0, 1.0, out=below[:, :-1])
    shares = below[:, 1:] - below[:, :-1]
    single = region.present & (region.lower == region.upper)
    shares[single] = np.eye(into.bins - first)[into.bin_of(region.lower[single]) - first]
    return np.asarray(shares)


def _bin_starts(into: Binned) -> Numbers:
    """Return where each bin of numbers starts: midway between the values on both sides."""
    positions, first = into.domain.positions, int(into.domain.missing)
    codes = into.starts[first:]
    starts = (positions[codes - 1] + positions[codes]) / 2
    starts[:1] = -np.inf
    return np.asarray(starts)


def _ends(region: NumericRegions) -> tuple[Numbers, Numbers]:
    """Return where the ranges start and end; whole numbers reach half a unit to both sides."""
    positions, reach = region.domain.positions, _unit(region.domain) / 2
    return positions[region.lower] - reach, positions[region.upper] + reach


def _unit(domain: Domain) -> float:
    """Return how far two neighbouring numbers are apart, as positions; decimals have no neighbours.

    Months, quarters and years are taken to be as long as they are on average.
    """
    if domain.kind == "decimal" or len(domain.values) < 2:  # noqa: PLR2004 - one value has none either
        return 0.0
    step = DAYS[domain.precision] if domain.kind == "date" else 1.0
    return step / (int(domain.values[-1]) - int(domain.values[0]))


def moments_before(into: Binned) -> Moments | None:
    """Return the moments of a numeric feature in the input; None where it has no number."""
    first = int(into.domain.missing)
    weights, positions = into.occurrences[first:].astype(np.float64), into.domain.positions[first:]
    return _moments(weights, positions, 0.0) if len(weights) else None


def moments_after(region: NumericRegions, sizes: npt.NDArray[Any]) -> Moments:
    """Return the moments of a numeric feature in what is published.

    Parameters
    ----------
    region
        What the ECs release; one covers numbers.
    sizes : ndarray of shape (ECs,)
        The records of each EC.
    """
    positions = region.domain.positions
    lower, upper = positions[region.lower], positions[region.upper]
    width, unit = upper - lower, _unit(region.domain)
    variances = width * (width + 2 * unit) / 12  # of whole numbers 0 to w: ((w + 1)^2 - 1) / 12
    return _moments(sizes * (1 - _absent(region)), (lower + upper) / 2, variances)


def _moments(weights: Numbers, centres: Numbers, variances: Numbers | float) -> Moments:
    """Return the moments of a mixture."""
    total = weights.sum()
    mean = weights @ centres / total
    return Moments(float(mean), float(np.sqrt(weights @ ((centres - mean) ** 2 + variances) / total)))
