"""What an experiment is about, and what it finds."""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Bounds = Literal["cuts", "tight"]
Method = Literal[
    "unfragmented",
    "naive",
    "dependency_graph",
    "delta_selectivity",
    "min_distortion",
    "unfragmented_diversity",
    "diversity",
]


class Dataset(NamedTuple):
    """A table with numeric features, as experiments use it.

    Attributes
    ----------
    name
        Such as "musk".
    features
        Names, in the order of the table.
    values : ndarray of shape (n, features)
    classes : ndarray of shape (n,)
        Class values as text.
    test : boolean ndarray of shape (n,)
        Which records test what is learnt from the others; None where a share is drawn by seed.
    """

    name: str
    features: tuple[str, ...]
    values: npt.NDArray[np.generic]
    classes: npt.NDArray[np.object_]
    test: npt.NDArray[np.bool_] | None


class Point(NamedTuple):
    """A place on the x axes of the figures: one data set, one choice of features by seed, one k.

    Attributes
    ----------
    data
        Name of the data set.
    seed
        Chooses the features, nested: those of a smaller number are among those of a larger one.
    features
        How many.
    k
        Records that equivalence classes hold at least.
    """

    data: str
    seed: int
    features: int
    k: int


class Figure(NamedTuple):
    """A number that was found at a point.

    Attributes
    ----------
    point
        Where.
    method
        How the records were released; "diversity" is l-diversity, l = 2, in fragments.
    bounds
        Of released ranges.
    measure
        "information_loss", "changed" (share of class values), "equivalence_classes", "seconds", or the
        weighted F-measure "f_<learner>_<form>", such as "f_tree_bounds".
    value
        None where no release keeps what was asked.
    """

    point: Point
    method: Method
    bounds: Bounds
    measure: str
    value: float | None


class Level(NamedTuple):
    """The weighted F-measure of who always names the most frequent class, at a point."""

    point: Point
    majority: float
