"""The register of a name: which versions were published, and with what; a chain of lines.

It says nothing that the published folders do not say. Each line holds the digest of the one before it, so
a line that was changed or taken out shows.
"""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from tasks.durable import replace_text
from tasks.errors import InputError
from tasks.reports.manifest import MANIFEST, read_manifest
from tasks.worker_processes import available_cores

REGISTER = "register.jsonl"
NO_LINE = "0" * 64
"""What the first line holds as the digest of the one before it."""

State = Literal["as registered", "changed", "gone", "not registered"]


class Entry(BaseModel):
    """A published version.

    Attributes
    ----------
    version, unjoin_version, records, config_sha256
        As in its release.json.
    fragments
        How many.
    guarantees
        What was asked and achieved, as in its release.json.
    promises_kept
        Whether the gate found every promise kept.
    sha256
        Of its release.json.
    folder_sha256
        Of the names and digests of all its files.
    late
        Whether it was registered by a later run, since its own ended between publishing and registering.
    previous
        The digest of the line before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    unjoin_version: str
    records: int
    fragments: int
    guarantees: dict[str, dict[str, str | int | float | None]]
    promises_kept: bool
    config_sha256: str
    sha256: str
    folder_sha256: str
    late: bool
    previous: str

    @property
    def line(self) -> str:
        """The entry as its line, always written the same way."""
        return json.dumps(
            self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )


class Listed(NamedTuple):
    """A version that is registered, published, or both; it has an entry if it is registered."""

    version: str
    entry: Entry | None
    state: State


def register(folder: Path, *, late: bool = False) -> None:
    """Add a published version to the register of its name.

    Parameters
    ----------
    folder
        The version's folder.
    late
        Whether an earlier run published it.

    Raises
    ------
    InputError
        If the register that is there is damaged.
    """
    place = folder.parent
    entries = read_register(place)
    last = entries[-1].line if entries else None
    added = _entry(folder, _digest(last) if last is not None else NO_LINE, late=late)
    replace_text(place / REGISTER, "".join(f"{entry.line}\n" for entry in (*entries, added)))


def read_register(place: Path) -> list[Entry]:
    """Return the lines of a register, oldest first; none where there is no register.

    Raises
    ------
    InputError
        If it cannot be read, or a line was changed, added or taken out.
    """
    path = place / REGISTER
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        entries = [Entry.model_validate_json(line) for line in lines]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValidationError, UnicodeDecodeError):
        raise InputError(f"{path}: is damaged: {_repair(path)}") from None
    before = [NO_LINE, *map(_digest, lines)]
    for number, (entry, line, digest) in enumerate(zip(entries, lines, before, strict=False), 1):
        if entry.previous != digest or entry.line != line:
            raise InputError(
                f"{path}: line {number} or the one before it is not as it was written: {_repair(path)}"
            )
    return entries


def _repair(path: Path) -> str:
    return f"bring back a copy of it, or move {path.name} away, and all versions are registered anew"


def version_folders(place: Path) -> list[Path]:
    """Return the folders of the published versions of a name, oldest first."""
    return sorted(
        path.parent
        for path in place.glob(f"*/{MANIFEST}")
        if not path.parent.is_symlink() and not path.parent.name.startswith(".")
    )


def published_versions(place: Path) -> set[str]:
    """Return the versions of a name that are registered or there."""
    registered = {entry.version for entry in read_register(place)}
    return registered.union(folder.name for folder in version_folders(place))


def register_left(place: Path) -> tuple[list[str], list[str]]:
    """Register the versions that are published and not registered.

    Returns
    -------
    registered, wrong : lists of versions
        Wrong are those whose fragments are not the ones that their release.json states: these are left out.
    """
    known = {entry.version for entry in read_register(place)}
    left = [folder for folder in version_folders(place) if folder.name not in known]
    registered = []
    for folder in filter(_is_sound, left):
        with suppress(InputError):  # not one of a release, though its fragments are as it says
            register(folder, late=True)
            registered.append(folder.name)
    return registered, [folder.name for folder in left if folder.name not in registered]


def history(place: Path) -> list[Listed]:
    """Return every version that is registered or published, and whether its files are as registered.

    Raises
    ------
    InputError
        If the register or a file cannot be read, or the register is damaged.
    """
    entries = {entry.version: entry for entry in read_register(place)}
    strangers = {folder.name for folder in version_folders(place)}.difference(entries)
    try:
        listed = [Listed(entry.version, entry, _state(entry, place)) for entry in entries.values()]
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read ({error.strerror})") from None
    return sorted(
        [*listed, *(Listed(version, None, "not registered") for version in strangers)],
        key=attrgetter("version"),
    )


def _state(entry: Entry, place: Path) -> State:
    folder = place / entry.version
    if not folder.is_dir():
        return "gone"
    return "as registered" if _folder_digest(folder) == entry.folder_sha256 else "changed"


def _entry(folder: Path, previous: str, *, late: bool) -> Entry:
    try:
        manifest = read_manifest(folder)
        return Entry(
            version=folder.name,
            unjoin_version=manifest["unjoin_version"],
            records=manifest["records"],
            fragments=len(manifest["fragments"]),
            guarantees=manifest["guarantees"],
            promises_kept=manifest["validation"]["success"],
            config_sha256=manifest["config_sha256"],
            sha256=_file_digest(folder / MANIFEST),
            folder_sha256=_folder_digest(folder),
            late=late,
            previous=previous,
        )
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{folder}: {MANIFEST} is not one of a published release") from None


def _is_sound(folder: Path) -> bool:
    """Tell whether the fragments are those that release.json states."""
    try:
        manifest = read_manifest(folder)
        return manifest["version"] == folder.name and all(
            _file_digest(folder / fragment[kind]) == fragment["sha256"][kind]
            for fragment in manifest["fragments"]
            for kind in ("csv", "parquet")
        )
    except (OSError, KeyError, TypeError, ValueError):
        return False


def _folder_digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    with ThreadPoolExecutor(available_cores()) as readers:
        digests = readers.map(_file_digest, files)
        names = {
            path.relative_to(folder).as_posix(): digest for path, digest in zip(files, digests, strict=True)
        }
    return _digest(json.dumps(names, sort_keys=True))


def _file_digest(path: Path) -> str:
    if path.is_symlink():
        return "a link"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
