"""All attacks on the files of a release."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from validations.attacks.class_join import join_classes, joined_candidates
from validations.attacks.covering import seen
from validations.attacks.files import read_files
from validations.attacks.inference import infer_values
from validations.attacks.linkage import link_fragments
from validations.attacks.position import join_positions
from validations.attacks.success import Attack, Candidates
from validations.attacks.targets import Targets
from validations.promises import Promises


class Attacked(NamedTuple):
    """What came of all attacks.

    Attributes
    ----------
    attacks
        One after the other.
    candidates
        Of each fragment, and of the join of all where there are several.
    """

    attacks: tuple[Attack, ...]
    candidates: tuple[Candidates, ...]


def try_attacks(folder: Path, promises: Promises, targets: Targets, seed: int) -> Attacked:
    """Attack a release with its files, knowing the features of some persons.

    Parameters
    ----------
    folder
        A published folder, or one that is about to be; it is only read.
    promises
        Of the release.
    targets
        Whom the attacks aim at; at least one.
    seed
        Of what attacks leave to chance.

    Raises
    ------
    UnreadableError
        If the files are not what is promised.
    """
    rng = np.random.default_rng([seed, len(promises.fragments)])
    fragments = [seen(fragment) for fragment in read_files(folder, promises, targets)]
    attacks = [*join_classes(fragments, promises.k), *infer_values(fragments)]
    if len(fragments) > 1:
        attacks += [join_positions(fragments, rng), *link_fragments(fragments, promises.k, rng)]
    return Attacked(tuple(attacks), tuple(joined_candidates(fragments)))
