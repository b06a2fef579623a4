"""Step 2: which feature goes into which fragment (paper, section 4.1, Algorithm 1).

FMRMR rewards fragments whose features tell much of the class and little of each other.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.steps import step
from tasks.store import open_store, write_table
from tasks.tables import read_domains, read_matrix

Matrix = npt.NDArray[np.float64]


class Placement(NamedTuple):
    """Why a feature is where it is.

    Attributes
    ----------
    feature
        Index of the feature.
    fragment
        Index of its fragment.
    step
        When the greedy search placed it, in the split that gave the fragment; seeds are 0.
    contribution
        What placing it added to FMRMR, in nats; 0 where there is one fragment.
    """

    feature: int
    fragment: int
    step: int
    contribution: float


class Fragmentation(NamedTuple):
    """A partition of the features.

    Attributes
    ----------
    fragments
        Feature indices of each fragment, ascending.
    placements
        One per feature, by feature index.
    """

    fragments: tuple[tuple[int, ...], ...]
    placements: tuple[Placement, ...]


def fmrmr(information: Matrix, fragments: Sequence[Sequence[int]]) -> float:
    """Return the relevance minus the redundancy of fragments, in nats.

    The sum over fragments of V_t - W_t, with W_t over all ordered pairs of features, each
    with itself included (paper, section 3.2).

    Parameters
    ----------
    information : ndarray of shape (features + 1, features + 1)
        Mutual information in nats, entropies on the diagonal, the class last.
    fragments
        Feature indices of each fragment.
    """
    total = 0.0
    for features in fragments:
        within = information[np.ix_(features, features)]
        total += float(information[features, -1].mean() - within.mean())
    return total


def fragment(information: Matrix, fragments: int) -> Fragmentation:
    """Cut the features into fragments of high FMRMR.

    Splits the largest fragment (the first of them) until there are enough; a split's two
    parts take its place (paper, section 4.1: multiple parts by repeating the process).

    Parameters
    ----------
    information : ndarray of shape (features + 1, features + 1)
        Mutual information in nats, entropies on the diagonal, the class last.
    fragments
        How many fragments to make, from 1 to the number of features.
    """
    features = len(information) - 1
    parts: list[_Part] = [dict.fromkeys(range(features), (0, 0.0))]
    while len(parts) < fragments:
        largest = max(range(len(parts)), key=lambda part: (len(parts[part]), -part))
        parts[largest : largest + 1] = _split(information, sorted(parts[largest]))
    placements = sorted(
        Placement(feature, number, *reason)
        for number, part in enumerate(parts)
        for feature, reason in part.items()
    )
    return Fragmentation(tuple(tuple(sorted(part)) for part in parts), tuple(placements))


_Part = dict[int, tuple[int, float]]


def _split(information: Matrix, features: Sequence[int]) -> list[_Part]:
    """Split features in two by Algorithm 1, with each feature's step and contribution."""
    within = information[np.ix_(features, features)]
    relevance = information[features, -1]
    own = within.diagonal()
    seeds = _seeds(within)
    parts: list[_Part] = [{features[seed]: (0, float(relevance[seed] - own[seed]))} for seed in seeds]
    size = np.ones(2)
    relevant = relevance[seeds].copy()
    redundant = own[seeds].copy()
    shared = within[:, seeds].copy()
    open_features = np.ones(len(features), dtype=bool)
    open_features[seeds] = False
    for place in range(1, len(features) - 1):
        before = relevant / size - redundant / size**2
        after = (relevant + relevance[:, None]) / (size + 1)
        after -= (redundant + 2 * shared + own[:, None]) / (size + 1) ** 2
        contribution = np.where(open_features[:, None], after - before, -np.inf)
        winner, part = divmod(int(contribution.argmax()), 2)
        parts[part][features[winner]] = (place, float(contribution[winner, part]))
        size[part] += 1
        relevant[part] += relevance[winner]
        redundant[part] += 2 * shared[winner, part] + own[winner]
        shared[:, part] += within[:, winner]
        open_features[winner] = False
    return parts


def _seeds(within: Matrix) -> list[int]:
    """Return the two different features that tell most of each other, the first such pair."""
    upper = np.where(np.triu(np.ones_like(within, dtype=bool), 1), within, -np.inf)
    return list(divmod(int(upper.argmax()), len(within)))


@step("cut the features into fragments")
def fragment_features(store: Path, config: Config) -> list[int]:
    """Store which feature goes where and why; return how many features each fragment has."""
    with open_store(store) as connection:
        information = read_matrix(connection)
        features, _ = read_domains(connection)
        found = fragment(information, config.fragmentation.fragments)
        write_table(
            connection,
            "fragments",
            {
                "fragment": [placement.fragment + 1 for placement in found.placements],
                "feature": [features[placement.feature].name for placement in found.placements],
                "step": [placement.step for placement in found.placements],
                "contribution": [placement.contribution for placement in found.placements],
                "relevance": information[:-1, -1],
            },
        )
    return [len(members) for members in found.fragments]
