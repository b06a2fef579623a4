"""The private folders of runs: each is its owner's alone, locked while it runs, and says how it ended."""

import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, cast

from tasks.failures import ERROR_LOG
from tasks.store import STORE, create_workspace

STATE = "state"
RUNNING = "running"
VERSION = "%Y%m%dT%H%M%SZ"
CHUNKS = "chunks_*"

_NAMED = re.compile(r"(?P<name>.+)-(?P<purpose>\d{8}T\d{6}Z|[a-z]+)-[0-9a-f]{6}")


class PrivateFolder(NamedTuple):
    """A private folder that is there.

    Attributes
    ----------
    path
        Where it is.
    name
        Of the release.
    purpose
        The version of the release, or what else it was made for.
    """

    path: Path
    name: str
    purpose: str

    @property
    def state(self) -> str:
        """How its run ended, or that it is running; it did not end where nobody holds the lock then."""
        try:
            return (self.path / STATE).read_text(encoding="utf-8") or "kept"
        except FileNotFoundError:
            return "kept"

    @property
    def started(self) -> str:
        """When a release was started, in words; the purpose of any other folder."""
        with suppress(ValueError):
            return f"{datetime.strptime(self.purpose, VERSION).replace(tzinfo=UTC):%Y-%m-%d %H:%M:%S} UTC"
        return self.purpose

    @property
    def age(self) -> float:
        """Days since something in it was changed."""
        newest = max(path.stat().st_mtime for path in (self.path, *self.path.iterdir()))
        return (datetime.now(UTC).timestamp() - newest) / 86_400

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())


@contextmanager
def private_files() -> Iterator[None]:
    """Let nobody but their owner into files and folders that are made within, whatever the umask is."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def private_folders(root: Path, name: str | None = None) -> list[PrivateFolder]:
    """Return the private folders in a workspace that are this user's, of one release or of all; oldest first.

    What other users made is not trusted, and nothing of theirs is touched; nor are folders that only have
    such a name, and hold neither a store nor how a run ended.
    """
    found = []
    for path in sorted(root.iterdir()) if root.is_dir() else []:
        named = _NAMED.fullmatch(path.name)
        if named and name in {None, named["name"]} and _is_own(path) and _is_of_a_run(path):
            found.append(PrivateFolder(path, named["name"], named["purpose"]))
    return sorted(found, key=lambda folder: folder.purpose)


def _is_own(path: Path) -> bool:
    held = path.lstat()
    return stat.S_ISDIR(held.st_mode) and held.st_uid == os.geteuid() and not held.st_mode & 0o077


def _is_of_a_run(path: Path) -> bool:
    """Whether a folder is a run's; an empty one is that of a run that died at once."""
    names = {held.name for held in path.iterdir()}
    return not names or not names.isdisjoint({STATE, STORE})


@contextmanager
def alone_in(root: Path) -> Iterator[None]:
    """Let one process at a time make, take over or remove private folders; this is never long."""
    root.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def lock(folder: Path) -> int | None:
    """Lock a folder for as long as the descriptor is open; None if another process holds it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def make(folder: Path) -> int:
    """Make a private folder, and return its lock; its parent is this process's alone."""
    create_workspace(folder)
    set_state(folder, RUNNING)
    return cast("int", lock(folder))


def set_state(folder: Path, state: str) -> None:
    """Say in the folder how its run ended, or that it is running."""
    (folder / STATE).write_text(state, encoding="utf-8")


def clear(folder: Path) -> None:
    """Remove from a folder what a run that died was in the middle of."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif (
            not path.name.startswith(STORE) and path.name not in {STATE, ERROR_LOG} and not path.match(CHUNKS)
        ):
            path.unlink()
