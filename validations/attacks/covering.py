"""Which equivalence classes (ECs) cover a target: those that its record can be in, by its features."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from validations.attacks.cells import Feature, Places
from validations.attacks.files import Fragment, Numbered, Values

CELLS_PER_BLOCK = 2**20  # pairs of a target and an EC
TRIED = 16  # targets on which a feature shows how much it tells apart
FIRST = 3  # features that are compared for every pair; the others for pairs that are left


class Seen(NamedTuple):
    """A fragment as the attacker sees it who knows the features of the targets.

    Attributes
    ----------
    fragment
        As it is published.
    covers : sparse matrix of shape (targets, ECs)
        1 where an EC covers a target.
    """

    fragment: Fragment
    covers: sparse.csr_array

    @property
    def rows(self) -> npt.NDArray[np.float64]:
        """How many rows cover each target, shape (targets,)."""
        return np.asarray(self.covers @ self.fragment.sizes, dtype=np.float64)

    def counts(self, values: Values) -> npt.NDArray[np.float64]:
        """Return how often the rows that cover each target have each value, shape (targets, values)."""
        return np.asarray((self.covers @ values.counts).toarray(), dtype=np.float64)

    def ecs(self, target: int) -> Numbered:
        """Return the ECs that cover a target."""
        return np.asarray(self.covers.indices[self.covers.indptr[target] : self.covers.indptr[target + 1]])

    def covered(self, ecs: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Return whether an EC covers its target, for one EC of each, shape (targets,)."""
        of_target = np.arange(len(ecs), dtype=np.int64) * len(self.fragment.sizes)
        held = np.repeat(of_target, np.diff(self.covers.indptr)) + self.covers.indices
        return np.isin(of_target + ecs, held)


def seen(fragment: Fragment) -> Seen:
    """Find the ECs of a fragment that cover each target."""
    targets, ecs = len(fragment.of_class.own), len(fragment.sizes)
    features = _most_telling_first(fragment)
    block = max(1, CELLS_PER_BLOCK // ecs)
    found = [
        _covering(features, np.arange(start, min(start + block, targets)), np.arange(ecs))
        for start in range(0, targets, block)
    ]
    who, which = (np.concatenate(part) for part in zip(*found, strict=True))
    ones = np.ones(len(who), dtype=np.int64)
    return Seen(fragment, sparse.coo_array((ones, (who, which)), shape=(targets, ecs)).tocsr())


def _most_telling_first(fragment: Fragment) -> list[Feature]:
    """Return the features, those by which the fewest ECs cover a target first."""
    some = np.arange(min(TRIED, len(fragment.of_class.own)))[:, None]
    ecs = np.arange(len(fragment.sizes))
    return sorted(fragment.features, key=lambda feature: float(feature.covers(some, ecs).mean()))


def _covering(features: list[Feature], targets: Places, ecs: Places) -> tuple[Places, Places]:
    """Return the pairs of a target and an EC that covers it."""
    covered = np.logical_and.reduce([each.covers(targets[:, None], ecs) for each in features[:FIRST]])
    who, which = np.nonzero(covered)
    who = targets[who]
    for feature in features[FIRST:]:
        kept = feature.covers(who, which)
        who, which = who[kept], which[kept]
    return who, which
