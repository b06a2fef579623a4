"""What runs have left, and its removal once nobody needs it: it holds the data."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tasks.config import Config
from tasks.errors import ConfigurationError
from tasks.events import remark
from tasks.failures import system_reason
from tasks.private_folders import RUNNING, PrivateFolder, alone_in, lock, private_folders


class Left(NamedTuple):
    """A private folder that a run left.

    Attributes
    ----------
    path
        Where it is.
    state
        How the run ended.
    days
        Since something in it was changed.
    size
        Bytes.
    """

    path: Path
    state: str
    days: float
    size: int


def sweep_old(config: Config) -> None:
    """Remove private folders of the release's name that were kept longer than they should, and tell of it."""
    if config.run.retention_days is None:
        return
    for folder, state in _unlocked(config.run.workspace, config.output.name):
        if state != RUNNING and folder.age > config.run.retention_days:
            shutil.rmtree(folder.path)
            remark(f"{folder.path.name} ({state}) is removed: kept for {config.run.retention_days} days")


def left_behind(root: Path, name: str | None, older_than: float, *, remove: bool) -> list[Left]:
    """Return the private folders in a workspace that no living run uses, and remove them if asked to.

    Parameters
    ----------
    root
        The workspace.
    name
        Of the release; None for all.
    older_than
        Days since something in them was changed.
    remove
        Whether they are removed.

    Raises
    ------
    ConfigurationError
        If one cannot be removed.
    """
    with _refused(root), alone_in(root):
        found = []
        for folder, state in _unlocked(root, name):
            if folder.age >= older_than:
                told = "did not end" if state == RUNNING else state
                found.append(Left(folder.path, told, folder.age, folder.size))
                if remove:
                    shutil.rmtree(folder.path)
        return found


def _unlocked(root: Path, name: str | None) -> Iterator[tuple[PrivateFolder, str]]:
    """Yield the folders whose runs do not live, locked as long as they are looked at."""
    for folder in private_folders(root, name):
        descriptor = lock(folder.path)
        if descriptor is not None:
            try:
                yield folder, folder.state
            finally:
                os.close(descriptor)


@contextmanager
def _refused(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"{error.filename or root}: cannot be removed ({system_reason(error)})"
        ) from None
