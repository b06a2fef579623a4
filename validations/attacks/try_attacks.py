"""All attacks on the files of a release."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tasks.errors import InputError
from validations.attacks.class_join import join_classes, joined_candidates
from validations.attacks.covering import Seen, seen
from validations.attacks.files import READERS, read_files
from validations.attacks.gains import Verdict, verdicts
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
    verdicts
        Of each attack: whether it gained.
    candidates
        Of each fragment, and of the join of all where there are several.
    every_record
        Whether all records were aimed at, and none was drawn.
    """

    attacks: tuple[Attack, ...]
    verdicts: tuple[Verdict, ...]
    candidates: tuple[Candidates, ...]
    every_record: bool


def try_attacks(
    folder: Path, promises: Promises, targets: Targets, seed: int, private: Path | None = None
) -> Attacked:
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
    private
        The folder for what does not fit in memory, which may be of the targets; the system's unless given.

    Raises
    ------
    UnreadableError
        If the files are not what is promised.
    InputError
        If some targets are in no equivalence class of a fragment.
    """
    rng = np.random.default_rng([seed, len(promises.fragments)])
    with ThreadPoolExecutor(READERS) as readers:
        fragments = list(readers.map(seen, read_files(folder, promises, targets, private)))
    _require_covered(fragments)
    attacks = [*join_classes(fragments, promises.k), *infer_values(fragments)]
    if len(fragments) > 1:
        attacks += [join_positions(fragments, rng), *link_fragments(fragments, promises.k, rng)]
    every_record = targets.number == promises.records
    judged = verdicts(attacks, every_record=every_record)
    return Attacked(tuple(attacks), judged, tuple(joined_candidates(fragments)), every_record)


def _require_covered(fragments: Sequence[Seen]) -> None:
    """Refuse targets that the release cannot be of: it holds every record of its table."""
    faults = [
        f"fragment {number}: {strangers} of {len(fragment.rows)} records drawn are in no equivalence class"
        for number, fragment in enumerate(fragments, 1)
        if (strangers := int((fragment.rows == 0).sum()))
    ]
    if faults:
        listed = "\n".join(faults)
        raise InputError(f"the table that the configuration names is not the one that was released\n{listed}")
