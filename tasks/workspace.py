"""The folders of a run: its private workspace, and where its release is prepared."""

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import duckdb

from tasks.config import Config
from tasks.errors import ConfigurationError, DriftError, GateError, InfeasibleError, InputError
from tasks.events import Running, as_current, remark
from tasks.failures import ERROR_LOG, private_failure
from tasks.memory import memory_of_duckdb
from tasks.private_folders import VERSION, alone_in, lock, make, private_files, set_state
from tasks.publish import finish_publishing
from tasks.resuming.bases import fingerprints
from tasks.resuming.going_on import GoingOn, going_on
from tasks.resuming.take_over import take_over
from tasks.retention import sweep_old
from tasks.store import STORE, limited_memory

STAGING = ".staging-"
PREPARING = "prepare the folders"


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

    A release that was published, or stopped, leaves no workspace unless asked to; bad input leaves nothing;
    a failed gate or a table that drifted leaves the workspace, private, for whoever looks into it. So does a
    crash, and the next run of the same name goes on from there, or removes it.

    Raises
    ------
    ConfigurationError
        If the folders cannot be made, or a release of this name is being made by another run.
    """
    place = config.output.directory / config.output.name
    with _alone(place), private_files():
        version = _version(place)
        staging = place / f"{STAGING}{version}"
        folder = config.run.workspace / f"{config.output.name}-{version}-{_mark()}"
        try:
            with _told(), _can_be_made(place):
                staging.mkdir()
                descriptor, found = _opened(config, folder)
            with (
                limited_memory(memory_of_duckdb(config.run)),
                going_on(found),
                _left_as_it_should(config, folder, staging, descriptor),
            ):
                yield Run(folder / STORE, staging, version)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _opened(config: Config, folder: Path) -> tuple[int, GoingOn]:
    """Make the private folder, or take over that of a run that died; return its lock, and what is kept."""
    going_by = fingerprints(config)
    with alone_in(config.run.workspace):
        sweep_old(config)
        try:
            taken = take_over(config, going_by, folder)
        except duckdb.Error as error:
            raise private_failure(PREPARING, folder / STORE, error) from None
        descriptor, kept = taken or (make(folder), {})
    return descriptor, GoingOn(going_by, kept)


@contextmanager
def _left_as_it_should(config: Config, folder: Path, staging: Path, descriptor: int) -> Iterator[None]:
    """Remove the private folder at the end of the run, or leave it for whoever needs it."""
    try:
        yield
    except DriftError:
        set_state(folder, "drift refused")
        raise
    except (ConfigurationError, InputError, InfeasibleError):
        _remove(folder)
        raise
    except GateError:
        with suppress(OSError):  # a full disk must not hide why the gate failed
            shutil.move(staging, folder / "rejected")
        set_state(folder, "gate failed")
        raise
    except Exception:
        raise  # the next run goes on from here
    except BaseException:
        _leave(config, folder, "stopped")
        raise
    else:
        _leave(config, folder, "published")
    finally:
        os.close(descriptor)


def _leave(config: Config, folder: Path, state: str) -> None:
    if config.run.keep_workspace:
        set_state(folder, state)
    else:
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a private folder, where workers that still know its path put nothing while it goes."""
    run, _, _ = folder.name.rpartition("-")
    shutil.rmtree(folder.rename(folder.with_name(f"{run}-{_mark()}")))


def _mark() -> str:
    return secrets.token_hex(3)


@contextmanager
def _told() -> Iterator[None]:
    """Give what is told before the first step a name."""
    with as_current(Running(PREPARING, time.perf_counter(), 0, [])):
        yield


@contextmanager
def _can_be_made(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        told = error.filename or place  # a file that cannot be filled has no name there
        raise ConfigurationError(f"{told}: cannot be made ({error.strerror})") from None


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Let one run at a time prepare releases of a name; finish or sweep what a crashed one left."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        descriptor = lock(place)
    except OSError as error:
        raise ConfigurationError(f"output.directory: {place} cannot be written ({error.strerror})") from None
    if descriptor is None:
        raise ConfigurationError(
            f"output.name: another run is making a release of {place.name}: wait for it to end"
        )
    try:
        with _told(), _can_be_made(place):
            _recover(place)
        yield
    finally:
        os.close(descriptor)
        with suppress(OSError):
            place.rmdir()  # unless it holds releases


def _recover(place: Path) -> None:
    finish_publishing(place)
    for left in _staged(place):
        shutil.rmtree(left)
        remark(f"{left.name} is removed: its run did not end")


def sweep_staging(place: Path, *, remove: bool) -> list[Path]:
    """Return the folders in which a release was prepared by a run that died, and remove them if asked to.

    There are none as long as a run of this name lives.
    """
    if not place.is_dir():
        return []
    descriptor = lock(place)
    if descriptor is None:
        return []
    try:
        left = _staged(place)
        for path in left if remove else []:
            shutil.rmtree(path)
    finally:
        os.close(descriptor)
    return left


def _staged(place: Path) -> list[Path]:
    return sorted(place.glob(f"{STAGING}*"))


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
        Part of the folder's name, in small letters.

    Raises
    ------
    ConfigurationError
        If the folder cannot be made.
    """
    folder = config.run.workspace / f"{config.output.name}-{purpose}-{_mark()}"
    with private_files():
        with _can_be_made(folder), alone_in(config.run.workspace):
            descriptor = make(folder)
        try:
            yield folder / STORE
        finally:
            _sweep(folder)
            os.close(descriptor)


def _sweep(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != ERROR_LOG:
            path.unlink()
    with suppress(OSError):
        folder.rmdir()  # unless it holds the log
