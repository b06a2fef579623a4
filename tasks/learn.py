"""Learning from a release: classifiers trained on equivalence classes (ECs), tested on exact records.

One classifier per fragment; their predictions are combined by the sum of class probabilities. A
released cell becomes numbers: its bounds (LeFevre, DeWitt, Ramakrishnan, "Workload-aware
anonymization", KDD 2006) or the midpoint between them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tasks.domain import Domain
from tasks.regions import CategoricalRegions, NumericRegions, Regions

Codes = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float64]
Form = Literal["bounds", "midpoints"]
Learner = Literal["tree", "neighbours"]
Predictor = Callable[[Numbers], Numbers]

NEIGHBOURS = 5
RECORDS_PER_LEAF = 2
CELLS_PER_BLOCK = 2**22  # 32 MB of distances
ROUNDING = 1e-13  # share of the squared lengths below which two squared distances are the same


class Learnable(NamedTuple):
    """What a fragment publishes, as a learner sees it.

    Attributes
    ----------
    regions
        One per feature.
    counts : ndarray of shape (ECs, class values)
        Class counts; every EC has a record. Shares of records where class values are published per EC.
    """

    regions: Sequence[Regions]
    counts: Counts


class Rows(NamedTuple):
    """Records with exact values, to be classified.

    Attributes
    ----------
    codes : ndarray of shape (rows, features)
    domains
        One per feature. Values that the release never had are allowed.
    """

    codes: Codes
    domains: Sequence[Domain]


class Reference(NamedTuple):
    """What a feature's numbers are relative to.

    Attributes
    ----------
    domain
        In the release.
    mean
        Mean position, 0 to 1, of the midpoints of the release's records; stands in for missing.
    """

    domain: Domain
    mean: float


def exact_regions(rows: Rows) -> tuple[Regions, ...]:
    """Return records as regions that hold one value each."""
    return tuple(map(_exact_region, rows.codes.T, rows.domains))


def _exact_region(codes: Codes, domain: Domain) -> Regions:
    if not domain.numeric:
        return CategoricalRegions(
            domain, tuple((code,) for code in range(domain.size)), codes.astype(np.intp)
        )
    present = codes >= int(domain.missing)
    return NumericRegions(domain, codes, codes, present, ~present)


def references(regions: Sequence[Regions], sizes: npt.NDArray[Any]) -> tuple[Reference, ...]:
    """Return what the numbers of each feature are relative to, `sizes` being the records of each EC."""
    return tuple(
        Reference(region.domain, _mean_position(region, sizes) if isinstance(region, NumericRegions) else 0.0)
        for region in regions
    )


def _mean_position(region: NumericRegions, sizes: npt.NDArray[Any]) -> float:
    positions = region.domain.positions
    midpoints = (positions[region.lower] + positions[region.upper]) / 2
    weights = sizes * region.present
    return float(midpoints @ weights / max(weights.sum(), 1))


def features_of(regions: Sequence[Regions], relative_to: Sequence[Reference], form: Form) -> Numbers:
    """Return regions as numbers to learn from.

    A numeric feature gives its lower and upper bound, or its midpoint, as positions between the
    lowest (0) and the highest (1) value of the release; where it can be missing, also the degree to which
    it is (1, or 0.5 where a cell covers numbers and missing). A categorical feature gives each category's
    share, 1 / (size of the set) for those in the set; missing is one of them.

    Parameters
    ----------
    regions
        One per feature.
    relative_to
        Likewise; of the release, also for other records.
    form
        "bounds" or "midpoints".

    Returns
    -------
    ndarray of shape (ECs, columns)
    """
    return np.column_stack(
        [
            _numeric_columns(region, reference, form)
            if isinstance(region, NumericRegions)
            else _category_shares(region, reference.domain)
            for region, reference in zip(regions, relative_to, strict=True)
        ]
    )


def _numeric_columns(region: NumericRegions, reference: Reference, form: Form) -> Numbers:
    lower, upper = (
        np.where(region.present, _positions(values, reference.domain), reference.mean)
        for values in region.bounds()
    )
    columns = [lower, upper] if form == "bounds" else [(lower + upper) / 2]
    if reference.domain.missing:
        columns.append(np.where(region.present, region.missing / 2, 1.0))
    return np.column_stack(columns)


def _positions(values: npt.NDArray[Any], domain: Domain) -> Numbers:
    """Return where values lie in a domain, outside 0 to 1 where they are beyond its ends."""
    ends = domain.values[[0, -1]].astype(np.float64) / 2 if len(domain.values) else np.zeros(2)
    span = ends[1] - ends[0]
    return np.asarray((values.astype(np.float64) / 2 - ends[0]) / span if span > 0 else np.zeros(len(values)))


def _category_shares(region: CategoricalRegions, domain: Domain) -> Numbers:
    sizes = np.array([len(codes) for codes in region.sets])
    codes = np.concatenate([np.array(codes, dtype=np.intp) for codes in region.sets])
    shares = np.zeros((len(sizes), domain.size + 1))
    shares[np.repeat(np.arange(len(sizes)), sizes), _codes_in(region.domain, domain)[codes]] = np.repeat(
        1 / sizes, sizes
    )
    return np.asarray(shares[region.chosen, :-1])


def _codes_in(own: Domain, other: Domain) -> npt.NDArray[np.intp]:
    """Return each code's code in another domain, the domain's size for what is not in it."""
    numbers = {name: code for code, name in enumerate(other.values.tolist(), start=int(other.missing))}
    codes = [numbers.get(name, other.size) for name in own.values.tolist()]
    if own.missing:
        codes.insert(0, 0 if other.missing else other.size)
    return np.array(codes, dtype=np.intp)


def tree(features: Numbers, counts: Counts, seed: int) -> Predictor:
    """Grow a tree like C4.5's: highest information gain, at least two records in a leaf.

    Parameters
    ----------
    features : ndarray of shape (ECs, columns)
    counts : ndarray of shape (ECs, class values)
    seed
        Decides between cuts of equal gain.

    Returns
    -------
    callable
        Turns features of shape (rows, columns) into class probabilities of shape (rows, class values).
    """
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - costs a second at every start

    points, classes = np.nonzero(counts)
    weights = counts[points, classes]
    least = RECORDS_PER_LEAF * (1 - 1e-9) / weights.sum()
    grown = DecisionTreeClassifier(criterion="entropy", min_weight_fraction_leaf=least, random_state=seed)
    grown.fit(features.astype(np.float32)[points], classes, sample_weight=weights)

    def predict(test: Numbers) -> Numbers:
        probabilities = np.zeros((len(test), counts.shape[1]))
        probabilities[:, grown.classes_] = grown.predict_proba(test)
        return probabilities

    return predict


def neighbours(features: Numbers, counts: Counts) -> Predictor:
    """Let the nearest ECs vote, each with its class counts.

    ECs are taken by distance until they hold five records; all ECs at the last distance vote.

    Parameters
    ----------
    features : ndarray of shape (ECs, columns)
    counts : ndarray of shape (ECs, class values)

    Returns
    -------
    callable
        Turns features of shape (rows, columns) into class probabilities of shape (rows, class values).
    """
    sizes = counts.sum(axis=1)
    lengths = np.einsum("ec,ec->e", features, features)
    enough = min(NEIGHBOURS, len(features))

    def predict(test: Numbers) -> Numbers:
        own = np.einsum("rc,rc->r", test, test)[:, None]
        distances = test @ features.T
        distances *= -2
        distances += lengths
        distances += own
        nearest = np.argpartition(distances, enough - 1, axis=1)[:, :enough]
        radius = _radius(np.take_along_axis(distances, nearest, axis=1), sizes[nearest])
        votes = csr_array(distances <= radius + ROUNDING * (own + lengths.max())) @ counts
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    return predict


def _radius(distances: Numbers, sizes: npt.NDArray[Any]) -> Numbers:
    """Return, per row, the distance within which enough records are, or the largest; shape (rows, 1)."""
    order = np.argsort(distances, axis=1)
    within = np.take_along_axis(sizes, order, axis=1).cumsum(axis=1)
    last = np.minimum((within < NEIGHBOURS).sum(axis=1, keepdims=True), distances.shape[1] - 1)
    return np.take_along_axis(np.take_along_axis(distances, order, axis=1), last, axis=1)


def class_probabilities(
    fragment: Learnable, test: Rows, learner: Learner, form: Form, *, seed: int = 0
) -> Numbers:
    """Return what one fragment's classifier says of each record.

    Parameters
    ----------
    fragment
        To learn from.
    test
        Records, with the fragment's features.
    learner
        "tree" or "neighbours".
    form
        "bounds" or "midpoints".
    seed
        Of the tree.

    Returns
    -------
    ndarray of shape (rows, class values)
        Rows sum to 1.
    """
    relative_to = references(fragment.regions, fragment.counts.sum(axis=1))
    features = features_of(fragment.regions, relative_to, form)
    predict = (
        tree(features, fragment.counts, seed) if learner == "tree" else neighbours(features, fragment.counts)
    )
    block = max(CELLS_PER_BLOCK // max(features.shape), 1)
    probabilities = np.empty((len(test.codes), fragment.counts.shape[1]))
    for start in range(0, len(probabilities), block):
        rows = Rows(test.codes[start : start + block], test.domains)
        probabilities[start : start + block] = predict(features_of(exact_regions(rows), relative_to, form))
    return probabilities


def weighted_f(truth: npt.NDArray[np.integer], predicted: npt.NDArray[np.integer], classes: int) -> float:
    """Return the F-measure of each class, averaged by how often the class occurs.

    Parameters
    ----------
    truth, predicted : ndarray of shape (rows,)
        Class codes.
    classes
        The number of class values.

    Returns
    -------
    float
        Between 0 and 1; a class that is never met where it is, counts 0.

    Examples
    --------
    >>> weighted_f(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2)
    0.7333333333333334
    """
    hits = np.bincount(truth[truth == predicted], minlength=classes)
    support = np.bincount(truth, minlength=classes)
    claimed = np.bincount(predicted, minlength=classes)
    f = 2 * hits / np.maximum(support + claimed, 1)
    return float(f @ support / support.sum())


def evaluate(
    fragments: Sequence[Learnable],
    tests: Sequence[Rows],
    truth: npt.NDArray[np.integer],
    learner: Learner,
    form: Form,
    *,
    seed: int = 0,
) -> float:
    """Return the weighted F-measure that a release allows (paper, appendix D).

    Parameters
    ----------
    fragments
        What is published.
    tests
        The records to classify, with the features of each fragment.
    truth : ndarray of shape (rows,)
        Their class codes, in the order of the class counts.
    learner
        "tree" or "neighbours".
    form
        "bounds" or "midpoints".
    seed
        Of the trees.

    Returns
    -------
    float
        Of the classes with the highest sum of probabilities over fragments.
    """
    total = sum(
        class_probabilities(fragment, test, learner, form, seed=seed)
        for fragment, test in zip(fragments, tests, strict=True)
    )
    predicted = np.asarray(total).argmax(axis=1)
    return weighted_f(truth, predicted, fragments[0].counts.shape[1])
