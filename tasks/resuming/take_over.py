"""Taking over the private folder of a run that died."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import duckdb

from tasks.config import Config
from tasks.events import remark
from tasks.private_folders import RUNNING, PrivateFolder, clear, lock, private_folders
from tasks.resuming.bases import BASES
from tasks.resuming.records import Kept, forget_others, kept_steps
from tasks.store import STORE, is_in_use


class Dead(NamedTuple):
    """The locked private folder of a run that died, and the steps in it that need not be run again."""

    folder: PrivateFolder
    descriptor: int
    kept: Mapping[str, Kept]


def take_over(
    config: Config, fingerprints: Mapping[str, str], place: Path
) -> tuple[int, Mapping[str, Kept]] | None:
    """Take over the folder of the dead run that got furthest, and remove those of others.

    Parameters
    ----------
    config
        Of the run.
    fingerprints
        What each step goes by now.
    place
        Where the folder is to be.

    Returns
    -------
    tuple
        The lock of the folder, and the steps that need not be run again. None if there is nothing to go on
        from. Whoever listens is told what was found.
    """
    dead = sorted(_dead(config, fingerprints), key=lambda each: len(each.kept))
    best = dead.pop() if dead and dead[-1].kept else None
    for each in dead:
        shutil.rmtree(each.folder.path)
        os.close(each.descriptor)
        remark(
            f"{_run(each.folder)} did not end, and nothing of it can be used: its private folder is removed"
        )
    if best is None:
        return None
    clear(best.folder.path)
    forget_others(best.folder.path / STORE, best.kept)
    best.folder.path.rename(place)
    remark(_found(best))
    return best.descriptor, best.kept


def _dead(config: Config, fingerprints: Mapping[str, str]) -> Iterator[Dead]:
    """Yield the folders of runs that neither ended nor live; one whose store is open elsewhere is left."""
    for folder in private_folders(config.run.workspace, config.output.name):
        descriptor = lock(folder.path) if folder.state == RUNNING else None
        if descriptor is None:
            continue
        try:
            kept = kept_steps(folder.path / STORE, fingerprints, persons=config.columns.entity is not None)
        except duckdb.Error as error:
            if is_in_use(error):
                os.close(descriptor)
                remark(f"{_run(folder)} did not end, and its store is open in another program: {folder.path}")
                continue
            kept = {}
        yield Dead(folder, descriptor, kept)


def _run(folder: PrivateFolder) -> str:
    return f"the run of {folder.started}"


def _found(dead: Dead) -> str:
    again = next((step for step in BASES if step not in dead.kept), None)
    goes_on = (
        "all of its steps" if again is None else f"{len(dead.kept)} of its steps, and goes on with {again!r}"
    )
    return f"{_run(dead.folder)} did not end: this one keeps {goes_on}"
