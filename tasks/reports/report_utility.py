"""What the report and the manifest tell of utility: the input against what is published."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

import duckdb

DIGITS = 3
NUMBER_DIGITS = (
    2  # the moments after are in the files: finer figures would tell those of the input to a person
)


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
    mean_shift
        Of the mean, in standard deviations of the input; None where the feature is not numeric or does not
        vary.
    spread_ratio
        Standard deviation after, in standard deviations of the input; likewise.
    """

    name: str
    information_before: float
    information_after: float
    distance: float
    mean_shift: float | None
    spread_ratio: float | None

    @property
    def shift_text(self) -> str:
        """The shift of the mean, with its sign."""
        return "none" if self.mean_shift is None else _signed(self.mean_shift)

    @property
    def ratio_text(self) -> str:
        """The ratio of standard deviations."""
        return "none" if self.spread_ratio is None else f"{self.spread_ratio:.{NUMBER_DIGITS}f}"


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
    features
        In input order.
    pairs
        Of each fragment that has a pair.
    class_distances
        Of each fragment: the total variation distance of its class shares from those of the input, 0 to 1.
    """

    features: tuple[FeatureUtility, ...]
    pairs: tuple[PairUtility, ...]
    class_distances: tuple[float, ...]

    @property
    def information_before(self) -> float:
        """What a feature told of the class, in nats: the mean over features."""
        return fmean(feature.information_before for feature in self.features)

    @property
    def information_after(self) -> float:
        """What a feature tells of the class in what is published, in nats: the mean over features."""
        return fmean(feature.information_after for feature in self.features)

    @property
    def distance(self) -> float:
        """The mean distance of distributions."""
        return fmean(feature.distance for feature in self.features)

    @property
    def seeming(self) -> int:
        """How many features seem to tell more of the class than before."""
        return sum(
            round(feature.information_after, DIGITS) > round(feature.information_before, DIGITS)
            for feature in self.features
        )


def read_utility(connection: duckdb.DuckDBPyConnection) -> Utility:
    """Return what is kept."""
    features = connection.execute("SELECT * FROM utility ORDER BY rowid").fetchall()
    pairs = connection.execute("SELECT * FROM pair_information ORDER BY fragment").fetchall()
    distances = connection.execute("SELECT distance FROM class_shift ORDER BY fragment").fetchall()
    return Utility(
        tuple(FeatureUtility(*row) for row in features),
        tuple(PairUtility(*row) for row in pairs),
        tuple(distance for (distance,) in distances),
    )


def stated_utility(utility: Utility) -> dict[str, Any]:
    """Return what the manifest states among its measures."""
    return {
        "utility": {
            **_rounded(utility, ("information_before", "information_after", "distance")),
            "class_distances": [round(distance, DIGITS) for distance in utility.class_distances],
            "pairs": [
                {"fragment": pair.fragment, "pairs": pair.pairs, **_rounded(pair, ("before", "after"))}
                for pair in utility.pairs
            ],
            "features": {feature.name: _stated_feature(feature) for feature in utility.features},
        }
    }


def _stated_feature(feature: FeatureUtility) -> dict[str, float | None]:
    return {
        **_rounded(feature, ("information_before", "information_after", "distance")),
        **_rounded(feature, ("mean_shift", "spread_ratio"), NUMBER_DIGITS),
    }


def _rounded(figures: NamedTuple, names: Sequence[str], digits: int = DIGITS) -> dict[str, float | None]:
    numbers = {name: getattr(figures, name) for name in names}
    return {name: None if number is None else round(number, digits) for name, number in numbers.items()}


def _signed(number: float) -> str:
    text = f"{number:+.{NUMBER_DIGITS}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
