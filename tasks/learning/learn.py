"""Learning from a release: classifiers trained on equivalence classes (ECs), tested on exact records.

One classifier per fragment; their predictions are combined by the sum of class probabilities. A
released cell becomes numbers, see `tasks.learning.cell_numbers`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, assert_never

import numpy as np
import numpy.typing as npt

from tasks.config import Learner
from tasks.domain import Domain
from tasks.learning.cell_numbers import Cells, Reference, features_of, references, spread_features
from tasks.learning.learners import Predictor, forest, neighbours, tree
from tasks.partitions.regions import CategoricalRegions, NumericRegions, Regions

Codes = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float64]
Form = Literal["bounds", "midpoints", "spread"]
FORMS: tuple[Form, ...] = ("bounds", "midpoints", "spread")

POINTS = 20  # of an EC, where cells are spread
SPREAD = 20_000  # points of all ECs, unless they are more
CELLS_PER_BLOCK = 2**22  # 32 MB of distances
EQUAL = 1e-9  # probabilities that differ by less are equal


class Learnable(NamedTuple):
    """What a fragment publishes, as a learner sees it.

    Attributes
    ----------
    regions
        One per feature.
    counts : ndarray of shape (ECs, class values)
        Class counts; every EC has a record. Shares of records where class values are published per EC, see
        `equal_shares`.
    """

    regions: Sequence[Regions]
    counts: Counts


def equal_shares(counts: Counts, sizes: npt.NDArray[Any]) -> Numbers:
    """Return class counts to learn from where each EC publishes its class values once.

    A record counts for each class value of its EC, in equal parts.

    Parameters
    ----------
    counts : ndarray of shape (ECs, class values)
        Above 0 for the class values that an EC publishes, at least one.
    sizes : ndarray of shape (ECs,)
        The records of each EC.

    Returns
    -------
    ndarray of shape (ECs, class values)
        Rows sum to the sizes.

    Examples
    --------
    >>> equal_shares(np.array([[1, 1, 0], [0, 1, 0]]), np.array([5, 4]))
    array([[2.5, 2.5, 0. ],
           [0. , 4. , 0. ]])
    """
    published = counts > 0
    return np.asarray(published * (sizes / published.sum(axis=1))[:, None])


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


def with_own_domains(rows: Rows) -> Rows:
    """Return the same records, with domains that hold no other values than theirs.

    Parameters
    ----------
    rows
        At least one.
    """
    own = [_own(codes, domain) for codes, domain in zip(rows.codes.T, rows.domains, strict=True)]
    return Rows(np.column_stack([codes for codes, _ in own]), [domain for _, domain in own])


def _own(codes: Codes, domain: Domain) -> tuple[Codes, Domain]:
    used, ranks = np.unique(codes, return_inverse=True)
    missing = domain.missing and bool(used[0] == 0)
    values = domain.values[used[int(missing) :] - int(domain.missing)]
    return ranks.astype(np.int32), replace(domain, values=values, missing=missing)


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
        "tree", "neighbours" or "forest".
    form
        "bounds", "midpoints", or "spread": several points of each EC, which share its class counts.
    seed
        Of trees, forests and points.

    Returns
    -------
    ndarray of shape (rows, class values)
        Rows sum to 1.
    """
    relative_to = references(fragment.regions, fragment.counts.sum(axis=1))
    features, counts = _examples(fragment, relative_to, form, seed)
    predict = _learn(features, counts, learner, seed)
    tested: Cells = "midpoints" if form == "spread" else form
    block = max(CELLS_PER_BLOCK // max(features.shape), 1)
    probabilities = np.empty((len(test.codes), fragment.counts.shape[1]))
    for start in range(0, len(probabilities), block):
        rows = Rows(test.codes[start : start + block], test.domains)
        probabilities[start : start + block] = predict(features_of(exact_regions(rows), relative_to, tested))
    return probabilities


def _examples(
    fragment: Learnable, relative_to: Sequence[Reference], form: Form, seed: int
) -> tuple[Numbers, Counts]:
    """Return what to learn from: points and their class counts."""
    if form != "spread":
        return features_of(fragment.regions, relative_to, form), fragment.counts
    points = min(max(SPREAD // len(fragment.counts), 1), POINTS)
    features = spread_features(fragment.regions, relative_to, points, seed)
    return features, np.repeat(fragment.counts / points, points, axis=0)


def _learn(features: Numbers, counts: Counts, learner: Learner, seed: int) -> Predictor:
    match learner:
        case "tree":
            return tree(features, counts, seed)
        case "neighbours":
            return neighbours(features, counts)
        case "forest":
            return forest(features, counts, seed)
        case _:
            assert_never(learner)


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
        "tree", "neighbours" or "forest".
    form
        "bounds", "midpoints", or "spread": several points of each EC, which share its class counts.
    seed
        Of trees, forests and points.

    Returns
    -------
    float
        Of the classes with the highest sum of probabilities over fragments; of equal ones the most frequent
        in what is published, then the first.
    """
    total = sum(
        class_probabilities(fragment, test, learner, form, seed=seed)
        for fragment, test in zip(fragments, tests, strict=True)
    )
    frequency = sum(fragment.counts.sum(axis=0) / fragment.counts.sum() for fragment in fragments)
    predicted = most_likely(np.asarray(total), np.asarray(frequency))
    return weighted_f(truth, predicted, fragments[0].counts.shape[1])


def most_likely(probabilities: Numbers, frequency: Numbers) -> npt.NDArray[np.intp]:
    """Return the class of the highest probability of each record; of equal ones the most frequent.

    Where class values are published once per EC, an EC's values are equally likely, so equals are common.

    Parameters
    ----------
    probabilities : ndarray of shape (rows, class values)
    frequency : ndarray of shape (class values,)

    Examples
    --------
    >>> most_likely(np.array([[0.5, 0.5], [0.6, 0.4]]), np.array([0.2, 0.8]))
    array([1, 0])
    """
    highest = probabilities >= probabilities.max(axis=1, keepdims=True) - EQUAL
    return np.asarray(np.where(highest, frequency, -1.0).argmax(axis=1))
