"""The folders of a run: its private workspace, and where its release is prepared."""

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tasks.config import Config
from tasks.errors import ConfigurationError, DriftError, GateError, InfeasibleError, InputError
from tasks.failures import ERROR_LOG
from tasks.store import create_workspace

STAGING = ".staging-"
VERSION = "%Y%m%dT%H%M%SZ"


class Run(NamedTuple):
    """Where a run works.

    Attributes
    ----------
    store
        The private store.
    staging
        Where the release is prepared, on the file system of its final place.
    version
        The release's version: the time it was started, in UTC.
    """

    store: Path
    staging: Path
    version: str


@contextmanager
def workspace(config: Config) -> Iterator[Run]:
    """Open the folders of a run, and leave behind only what it should.

    A release that was published, or stopped by Ctrl-C, leaves no workspace unless asked to; bad input leaves
    nothing; a failed gate, a table that drifted or a crash leaves the workspace, private, for whoever looks
    into it.

    Raises
    ------
    ConfigurationError
        If the folders cannot be made, or a release of this name is being made by another run.
    """
    place = config.output.directory / config.output.name
    with _alone(place):
        version = _version(place)
        folder = config.run.workspace / f"{config.output.name}-{version}-{secrets.token_hex(3)}"
        store = _create(folder, place, version)
        staging = place / f"{STAGING}{version}"
        try:
            yield Run(store, staging, version)
        except DriftError:
            raise
        except (ConfigurationError, InputError, InfeasibleError):
            shutil.rmtree(folder)
            raise
        except KeyboardInterrupt:
            if not config.run.keep_workspace:
                shutil.rmtree(folder)
            raise
        except GateError:
            shutil.move(staging, folder / "rejected")
            raise
        else:
            if not config.run.keep_workspace:
                shutil.rmtree(folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _create(folder: Path, place: Path, version: str) -> Path:
    try:
        store = create_workspace(folder)
        (place / f"{STAGING}{version}").mkdir(mode=0o700)
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: cannot be made ({error.strerror})") from None
    return store


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Let one run at a time prepare releases of a name; sweep what a crashed one left."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(place, os.O_RDONLY)
    except OSError as error:
        raise ConfigurationError(f"output.directory: {place} cannot be written ({error.strerror})") from None
    try:
        _lock(descriptor, place.name)
        for left in place.glob(f"{STAGING}*"):
            shutil.rmtree(left)
        yield
    finally:
        os.close(descriptor)
        with suppress(OSError):
            place.rmdir()  # unless it holds releases


def _lock(descriptor: int, name: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigurationError(
            f"output.name: another run is making a release of {name}: wait for it to end"
        ) from None


def _version(place: Path) -> str:
    """Return the time in UTC, the first second from now on that no release has yet."""
    moment = datetime.now(UTC)
    while (place / moment.strftime(VERSION)).exists():
        moment += timedelta(seconds=1)
    return moment.strftime(VERSION)


@contextmanager
def private_store(config: Config, purpose: str) -> Iterator[Path]:
    """Open a private store, and delete it with all that is beside it; only an error log is left.

    Parameters
    ----------
    config
        Says where, and the name of the release.
    purpose
        Part of the folder's name.

    Raises
    ------
    ConfigurationError
        If the folder cannot be made.
    """
    folder = config.run.workspace / f"{config.output.name}-{purpose}-{secrets.token_hex(3)}"
    try:
        store = create_workspace(folder)
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: cannot be made ({error.strerror})") from None
    try:
        yield store
    finally:
        _sweep(folder)


def _sweep(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != ERROR_LOG:
            path.unlink()
    with suppress(OSError):
        folder.rmdir()  # unless it holds the log
