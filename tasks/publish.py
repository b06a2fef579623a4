"""Step: make a checked release visible, all of it or nothing."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.durable import flush
from tasks.events import remark
from tasks.register import register
from tasks.steps import step

LATEST = "latest"
NEXT = ".latest"
"""Points to a release from before it is in its place until `latest` does: it tells what a crash cut short."""


@step("publish the release")
def publish_release(store: Path, staging: Path, release_version: str) -> Path:  # noqa: ARG001 - as every step
    """Move the staged release to its place, register it and point `latest` to it; return the place."""
    place = staging.parent / release_version
    with _as_open_as(staging.parent) as mode:
        for path in sorted(staging.rglob("*")):
            path.chmod(mode if path.is_dir() else mode & 0o666)
            flush(path)
        staging.chmod(mode)
        flush(staging)
        _announce_next(place)
        staging.rename(place)
        flush(place.parent)
        register(place)
        _point_latest(place.parent)
    return place


def finish_publishing(folder: Path) -> None:
    """Point `latest` to a release that a crash kept it from, if it is in its place; tell of it."""
    link = folder / NEXT
    if not link.is_symlink():
        return
    if link.exists():
        remark(f"{link.readlink()} was published by a run that did not end: latest points to it now")
        _point_latest(folder)
    else:
        link.unlink()


@contextmanager
def _as_open_as(folder: Path) -> Iterator[int]:
    """Let what is made within be as open as a folder is; yields the mode of that."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    before = os.umask(0o777 & ~mode)
    try:
        yield mode
    finally:
        os.umask(before)


def _announce_next(place: Path) -> None:
    link = place.parent / NEXT
    link.unlink(missing_ok=True)
    link.symlink_to(place.name)
    flush(place.parent)


def _point_latest(folder: Path) -> None:
    """Swap the link to the newest release in one move."""
    (folder / NEXT).replace(folder / LATEST)
    flush(folder)
