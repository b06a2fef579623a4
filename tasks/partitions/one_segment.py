"""Whether a table needs segments: not where its fragments lose little even as one segment."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.config import Anonymization
from tasks.domain import Domain
from tasks.measures import information_loss
from tasks.partitions.anonymize import divide
from tasks.partitions.regions import regions
from tasks.partitions.requirements import Requirement

Codes = npt.NDArray[np.int32]

LITTLE_MORE = 1.15  # times the loss without fragments; docs/segments.md


class Part(NamedTuple):
    """Some features of all records, and what their equivalence classes must satisfy.

    Attributes
    ----------
    codes : ndarray of shape (n, features)
    domains
        One per feature.
    places : ndarray of shape (n,) or (n, attributes)
        Where each record counts, see `tasks.partitions.protection`.
    requirement
        Of each equivalence class.
    """

    codes: Codes
    domains: Sequence[Domain]
    places: Codes
    requirement: Requirement


def one_segment_suffices(whole: Part, fragments: Sequence[Part], settings: Anonymization, seed: int) -> bool:
    """Tell whether fragments of the uncut table lose little more than the table without fragments.

    Parameters
    ----------
    whole
        All features, with what is asked of a table without fragments.
    fragments
        The features of each fragment, with what its chunk of the only segment must satisfy.
    settings
        How classes are formed. Loss is that of tight bounds however they are released: that of cuts comes so
        near to 1 that none is much more than another.
    seed
        Of relaxed cuts.

    Raises
    ------
    InfeasibleError
        If the table does not even as one equivalence class satisfy what is asked.
    """
    fragmented = np.concatenate([_losses(part, settings, seed) for part in fragments])
    return bool(fragmented.mean() <= LITTLE_MORE * _losses(whole, settings, seed).mean())


def _losses(part: Part, settings: Anonymization, seed: int) -> npt.NDArray[np.float64]:
    """Return the information loss of each feature."""
    partition = divide(part.codes, part.domains, part.places, part.requirement, settings, seed)
    labels, released = regions(part.codes, part.domains, partition, "tight")
    return information_loss(released, np.bincount(labels))
