"""What the report and the manifest tell of utility: the input against what is published.

Every figure is rounded where it is read from the private store, so that none tells of a few records.
"""

from collections.abc import Mapping
from statistics import fmean
from typing import Any, NamedTuple

import duckdb

from tasks.reports.coarse import coarse, step_of_release


class FeatureUtility(NamedTuple):
    """What is kept of a feature.

    Attributes
    ----------
    name
        Of the feature.
    information_before, information_after
        Mutual information of the feature and the class, in nats.
    distance
        Total variation distance of its distributions before and after, 0 to 1.
    """

    name: str
    information_before: float
    information_after: float
    distance: float


class PairUtility(NamedTuple):
    """Mean mutual information of pairs of features of a fragment, in nats."""

    fragment: int
    pairs: int
    before: float
    after: float


class Utility(NamedTuple):
    """What a user of the files keeps.

    Attributes
    ----------
    step
        All figures are multiples of it.
    features
        In input order.
    pairs
        Of each fragment that has a pair.
    class_distances
        Of each fragment: the total variation distance of its class shares from those of the input, 0 to 1.
        None where class values are published per equivalence class: the files leave the shares open, and
        the distances would tell them.
    """

    step: float
    features: tuple[FeatureUtility, ...]
    pairs: tuple[PairUtility, ...]
    class_distances: tuple[float, ...] | None

    @property
    def information_before(self) -> float:
        """What a feature told of the class, in nats: the mean over features."""
        return coarse(fmean(feature.information_before for feature in self.features), self.step)

    @property
    def information_after(self) -> float:
        """What a feature tells of the class in what is published, in nats: the mean over features."""
        return coarse(fmean(feature.information_after for feature in self.features), self.step)

    @property
    def distance(self) -> float:
        """The mean distance of distributions."""
        return coarse(fmean(feature.distance for feature in self.features), self.step)

    @property
    def seeming(self) -> int:
        """How many features seem to tell more of the class than before."""
        return sum(feature.information_after > feature.information_before for feature in self.features)


def read_utility(connection: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any]) -> Utility:
    """Return what is kept, rounded to the step of the release."""
    step = step_of_release(manifest)
    features = connection.execute("""
        SELECT feature, information_before, information_after, distance FROM utility ORDER BY rowid
    """).fetchall()
    pairs = connection.execute("""
        SELECT fragment, pairs, before, after FROM pair_information ORDER BY fragment
    """).fetchall()
    return Utility(
        step,
        tuple(FeatureUtility(name, *_coarse(figures, step)) for name, *figures in features),
        tuple(PairUtility(fragment, number, *_coarse(nats, step)) for fragment, number, *nats in pairs),
        None if manifest["class_values"] == "per_class" else _class_distances(connection, step),
    )


def _class_distances(connection: duckdb.DuckDBPyConnection, step: float) -> tuple[float, ...]:
    rows = connection.execute("SELECT distance FROM class_shift ORDER BY fragment").fetchall()
    return tuple(_coarse([distance for (distance,) in rows], step))


def _coarse(figures: list[float], step: float) -> list[float]:
    return [coarse(figure, step) for figure in figures]


def stated_utility(utility: Utility) -> dict[str, Any]:
    """Return what the manifest states among its measures."""
    return {
        "utility": {
            "rounded_to": utility.step,
            "information_before": utility.information_before,
            "information_after": utility.information_after,
            "distance": utility.distance,
            "class_distances": None if utility.class_distances is None else list(utility.class_distances),
            "pairs": [pair._asdict() for pair in utility.pairs],
            "features": {feature.name: _stated_feature(feature) for feature in utility.features},
        }
    }


def _stated_feature(feature: FeatureUtility) -> dict[str, float]:
    return {
        "information_before": feature.information_before,
        "information_after": feature.information_after,
        "distance": feature.distance,
    }
