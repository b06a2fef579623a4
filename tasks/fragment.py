"""Step: which feature goes into which fragment (paper, section 4.1, Algorithm 1).

FMRMR rewards fragments whose features tell much of the class and little of each other.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.errors import ConfigurationError
from tasks.events import counted
from tasks.loading.roles import too_many_fragments
from tasks.steps import step
from tasks.store import open_store, write_table
from tasks.tables import read_domains, read_matrix, read_sensitive_domains

Matrix = npt.NDArray[np.float64]


class Placement(NamedTuple):
    """Why a feature or a sensitive attribute is where it is.

    Attributes
    ----------
    feature
        Its index in the matrix.
    fragment
        Index of its fragment.
    step
        When the greedy search placed it, in the split that gave the fragment; seeds are 0, and
        sensitive attributes follow the features.
    contribution
        What placing it added to FMRMR, in nats; 0 for the features of a table that is left whole.
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
    information : ndarray of shape (columns, columns)
        Mutual information in nats, entropies on the diagonal, the class last.
    fragments
        Indices of each fragment's columns.
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
    seeds = [features[seed] for seed in _seeds(information[np.ix_(features, features)])]
    parts: list[_Part] = [{seed: (0, fmrmr(information, [[seed]]))} for seed in seeds]
    rest = [feature for feature in features if feature not in seeds]
    for feature, part, place, contribution in _place(information, [[seed] for seed in seeds], rest):
        parts[part][feature] = (place, contribution)
    return parts


def place_sensitive(
    information: Matrix, features: int, fragmentation: Fragmentation
) -> tuple[Placement, ...]:
    """Place each sensitive attribute in the fragment where it adds most to FMRMR.

    The attribute that adds most goes first, and counts from then on like a feature.

    Parameters
    ----------
    information : ndarray of shape (columns, columns)
        Mutual information in nats, entropies on the diagonal: features, sensitive attributes, the
        class.
    features
        The number of features.
    fragmentation
        Where they are.

    Returns
    -------
    tuple of Placement
        One per sensitive attribute, in the order of the matrix.
    """
    last = max(placement.step for placement in fragmentation.placements)
    sensitive = range(features, len(information) - 1)
    placed = _place(information, fragmentation.fragments, sensitive)
    return tuple(sorted(placement._replace(step=last + placement.step) for placement in placed))


def _place(
    information: Matrix, parts: Sequence[Sequence[int]], columns: Sequence[int]
) -> Iterator[Placement]:
    """Add columns to parts, each time the column that adds most to FMRMR; steps count from 1."""
    among = information[np.ix_(columns, columns)]
    relevance = information[columns, -1]
    own = among.diagonal()
    size = np.array([len(part) for part in parts], dtype=np.float64)
    relevant = np.array([information[part, -1].sum() for part in parts])
    redundant = np.array([information[np.ix_(part, part)].sum() for part in parts])
    shared = np.stack([information[np.ix_(columns, part)].sum(axis=1) for part in parts], axis=1)
    waiting = np.ones(len(columns), dtype=bool)
    for place in range(1, len(columns) + 1):
        before = relevant / size - redundant / size**2
        after = (relevant + relevance[:, None]) / (size + 1)
        after -= (redundant + 2 * shared + own[:, None]) / (size + 1) ** 2
        contribution = np.where(waiting[:, None], after - before, -np.inf)
        winner, part = divmod(int(contribution.argmax()), len(parts))
        yield Placement(columns[winner], part, place, float(contribution[winner, part]))
        size[part] += 1
        relevant[part] += relevance[winner]
        redundant[part] += 2 * shared[winner, part] + own[winner]
        shared[:, part] += among[:, winner]
        waiting[winner] = False


def _seeds(within: Matrix) -> list[int]:
    """Return the two different features that tell most of each other, the first such pair."""
    upper = np.where(np.triu(np.ones_like(within, dtype=bool), 1), within, -np.inf)
    return list(divmod(int(upper.argmax()), len(within)))


@step("cut the features into fragments")
def fragment_features(store: Path, config: Config) -> list[int]:
    """Store which feature goes where and why; return how many features each fragment has.

    Sensitive attributes beside the class are placed after the features, and not counted.

    Raises
    ------
    ConfigurationError
        If there are fewer features than fragments: the table may have been loaded when fewer were asked for.
    """
    with open_store(store) as connection:
        information = read_matrix(connection)
        features, _ = read_domains(connection)
        if config.fragments > len(features):
            raise ConfigurationError(too_many_fragments(config.fragments, len(features)))
        names = [domain.name for domain in (*features, *read_sensitive_domains(connection))]
        kept = [*range(len(features)), -1]
        found = fragment(information[np.ix_(kept, kept)], config.fragments)
        placements = [*found.placements, *place_sensitive(information, len(features), found)]
        write_table(
            connection,
            "fragments",
            {
                "fragment": [placement.fragment + 1 for placement in placements],
                "feature": names,
                "step": [placement.step for placement in placements],
                "contribution": [placement.contribution for placement in placements],
                "relevance": information[:-1, -1],
            },
        )
    counted(fragments=len(found.fragments))
    return [len(members) for members in found.fragments]
