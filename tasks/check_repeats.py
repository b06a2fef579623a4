"""Step: hold the release against all earlier versions of it; tell what they tell together, or refuse it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np

from tasks.config import Config, Privacy
from tasks.errors import GateError
from tasks.events import progress, remark
from tasks.register import published_versions, version_folders
from tasks.repeats.by_files import told_by_files
from tasks.repeats.conditions import Flags, Ints, few_records, few_values, told_by_difference, values_left
from tasks.repeats.content import has_persons
from tasks.repeats.kept import kept_versions
from tasks.repeats.outcome import Compared, Concerned, Condition, lines_of, write_outcome
from tasks.repeats.versions import Earlier, OfSome, known_to, opened, read_version, write_followed
from tasks.steps import step
from tasks.store import open_store

REFUSED = "nothing was published: together with earlier versions this one tells more than was asked"
WHO = "the table repeats_concerned of {store} says which records are meant"
ADVICE = (
    "repeats.check: hold back who has come or gone until they are k persons (docs/repeated-releases.md says "
    'more); "flag" publishes all the same'
)
NOBODY = Concerned(values=0, records=0, differences=0, persons=0, in_files=0, of_records={})


class _Versions(NamedTuple):
    """The private files of the earlier versions that have one to compare, and the folders of others."""

    files: list[Path]
    folders: list[Path]
    number: int


@step("hold against earlier versions")
def check_repeats(store: Path, config: Config) -> None:
    """Refuse or flag a release that tells too much together with earlier versions of it."""
    with open_store(store) as connection:
        write_followed(connection, config)
        if config.repeats.check == "off":
            write_outcome(connection, "off", Compared(0, 0, 0), NOBODY)
            return
        versions = _earlier(connection, config)
        compared, concerned = _compare(connection, config, versions)
        write_outcome(connection, config.repeats.check, compared, concerned)
    _tell_uncompared(compared)
    if not concerned.nobody:
        _tell(store, config, concerned)


def _earlier(connection: duckdb.DuckDBPyConnection, config: Config) -> _Versions:
    place = config.output.directory / config.output.name
    kept, folders = kept_versions(config), {folder.name: folder for folder in version_folders(place)}
    by_stores = {name: file for name, file in kept.items() if _is_alike(connection, config, file)}
    return _Versions(
        list(by_stores.values()),
        [folder for name, folder in folders.items() if name not in by_stores],
        len(published_versions(place).union(kept)),
    )


def _is_alike(connection: duckdb.DuckDBPyConnection, config: Config, file: Path) -> bool:
    """Tell whether the persons of a version can be followed to this one, and its class is the same."""
    if not has_persons(connection):
        return False
    with opened(file) as earlier:
        followed = earlier.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'followed'").fetchall()
        about = earlier.execute("SELECT class, person FROM about").fetchall()
    return bool(followed) and about == [(config.columns.class_attribute, config.followed)]


def _compare(
    connection: duckdb.DuckDBPyConnection, config: Config, versions: _Versions
) -> tuple[Compared, Concerned]:
    told = [told_by_files(connection, folder, config.privacy.k) for folder in versions.folders]
    in_files = [number for number in told if number is not None]
    concerned = _by_stores(connection, config.privacy, versions.files) if versions.files else NOBODY
    compared = Compared(versions.number, len(versions.files), len(in_files))
    return compared, concerned._replace(in_files=max(in_files, default=0))


def _by_stores(connection: duckdb.DuckDBPyConnection, privacy: Privacy, files: Sequence[Path]) -> Concerned:
    """Return who is concerned, where it is known who was in which equivalence class."""
    known = known_to(connection, files)
    new, persons = read_version(connection, known), len(known.keys)
    now, earlier = _present(new.persons, persons), Earlier(files, known)
    before, differences = np.zeros_like(now), np.zeros_like(now)
    for number, version in enumerate(earlier, 1):
        before |= _present(version.persons, persons)
        differences |= told_by_difference(new, version, persons, privacy.k)
        progress(number / len(files))
    several = now & before
    versions = OfSome(new, earlier, several)
    left = values_left(versions, persons)
    flags: dict[Condition, Flags] = {
        "values": few_values(left, privacy.l or 0) & several,
        "records": few_records(versions, left, privacy.k),
        "differences": differences,
    }
    keys = connection.execute("SELECT key FROM person_keys").fetchnumpy()["key"]
    return _counted(flags, np.searchsorted(known.keys, np.ma.getdata(keys)))


def _present(persons: Ints, number: int) -> Flags:
    present = np.zeros(number, dtype=np.bool_)
    present[persons] = True
    return present


def _counted(flags: Mapping[Condition, Flags], of_records: Ints) -> Concerned:
    numbers = {condition: int(flagged.sum()) for condition, flagged in flags.items()}
    anybody = np.logical_or.reduce(list(flags.values()))
    records = {condition: np.flatnonzero(flagged[of_records]) for condition, flagged in flags.items()}
    return Concerned(**numbers, persons=int(anybody.sum()), in_files=0, of_records=records)


def _tell_uncompared(compared: Compared) -> None:
    """Say which earlier versions were compared by little or nothing."""
    nothing = compared.earlier - compared.by_stores - compared.by_files
    if compared.by_files:
        remark(
            f"{compared.by_files} of {compared.earlier} earlier versions were compared by their published "
            "files only, which do not tell who was in them"
        )
    if nothing:
        remark(f"{nothing} of {compared.earlier} earlier versions could not be compared")


def _tell(store: Path, config: Config, concerned: Concerned) -> None:
    lines = lines_of(concerned, config.privacy)
    if config.repeats.check == "flag":
        for line in lines:
            remark(f"with earlier versions, {line}")
        return
    who = [WHO.format(store=store)] if concerned.persons else []
    raise GateError("\n".join([REFUSED, *lines, *who, ADVICE]))
