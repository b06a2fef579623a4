"""Step: make a checked release visible, all of it or nothing."""

import os
import stat
from pathlib import Path

from tasks.register import register
from tasks.steps import step

LATEST = "latest"


@step("publish the release")
def publish_release(store: Path, staging: Path, release_version: str) -> Path:  # noqa: ARG001 - as every step
    """Move the staged release to its place, register it and point `latest` to it; return the place."""
    place = staging.parent / release_version
    staging.chmod(stat.S_IMODE(staging.parent.stat().st_mode))
    for path in sorted(staging.rglob("*")):
        _flush(path)
    _flush(staging)
    staging.rename(place)
    _flush(place.parent)
    register(place)
    _point_latest(place)
    return place


def _point_latest(place: Path) -> None:
    """Swap the link to the newest release in one move."""
    link = place.parent / f".{LATEST}"
    link.unlink(missing_ok=True)
    link.symlink_to(place.name)
    link.replace(place.parent / LATEST)
    _flush(place.parent)


def _flush(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
