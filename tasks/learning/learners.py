"""Classifiers that learn from class counts of equivalence classes (ECs)."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float64]
Predictor = Callable[[Numbers], Numbers]

NEIGHBOURS = 5
RECORDS_PER_LEAF = 2
TREES = 100
HELD = NEIGHBOURS * (1 - 1e-9)  # points hold fractions of a record
ROUNDING = 1e-13  # share of the squared lengths below which two squared distances are the same


def ready_learners() -> None:
    """Load what learners need, so that the first one is not taken to be slow."""
    import sklearn.tree  # noqa: F401, PLC0415 - costs a second at every start


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep scikit-learn's remarks on tables with many class values from the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def tree(features: Numbers, counts: Counts, seed: int) -> Predictor:
    """Grow a tree like C4.5's: highest information gain, at least two records in a leaf.

    Of fewer than four records, a leaf holds at least half.

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
    least = min(RECORDS_PER_LEAF * (1 - 1e-9) / weights.sum(), 0.5)
    grown = DecisionTreeClassifier(criterion="entropy", min_weight_fraction_leaf=least, random_state=seed)
    with _quiet():
        grown.fit(features.astype(np.float32)[points], classes, sample_weight=weights)

    def predict(test: Numbers) -> Numbers:
        probabilities = np.zeros((len(test), counts.shape[1]))
        with _quiet():
            probabilities[:, grown.classes_] = grown.predict_proba(test)
        return probabilities

    return predict


def forest(features: Numbers, counts: Counts, seed: int) -> Predictor:
    """Grow a random forest: each tree from as many records, drawn anew with replacement.

    Each cut of a tree is the best of the square root of the number of columns, drawn at random.

    Parameters
    ----------
    features : ndarray of shape (ECs, columns)
    counts : ndarray of shape (ECs, class values)
    seed
        Draws records and columns; the forest depends on nothing else.

    Returns
    -------
    callable
        Turns features of shape (rows, columns) into class probabilities of shape (rows, class values).
    """
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - costs a second at every start

    points, classes = np.nonzero(counts)
    known, weights = features.astype(np.float32)[points], counts[points, classes] / counts.sum()
    generator = np.random.default_rng(seed)
    grown = []
    for number in generator.integers(2**31, size=TREES).tolist():
        drawn = generator.multinomial(round(counts.sum()), weights)
        held = np.flatnonzero(drawn)
        one = DecisionTreeClassifier(criterion="entropy", max_features="sqrt", random_state=number)
        with _quiet():
            grown.append(one.fit(known[held], classes[held], sample_weight=drawn[held]))

    def predict(test: Numbers) -> Numbers:
        probabilities = np.zeros((len(test), counts.shape[1]))
        with _quiet():
            for one in grown:
                probabilities[:, one.classes_] += one.predict_proba(test) / TREES
        return probabilities

    return predict


def neighbours(features: Numbers, counts: Counts) -> Predictor:
    """Let the nearest ECs vote, each with its class counts.

    ECs, or their points, are taken by distance until they hold five records; all at the last distance vote.

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
    fewest = np.sort(sizes).cumsum()
    enough = min(int((fewest < HELD).sum()) + 1, len(features))

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
    last = np.minimum((within < HELD).sum(axis=1, keepdims=True), distances.shape[1] - 1)
    return np.take_along_axis(np.take_along_axis(distances, order, axis=1), last, axis=1)
