"""Gathers the evidence of a published folder from its files, in SQL.

Only aggregates leave DuckDB: no record, no cell.
"""

import hashlib
import os
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np

from tasks.store import memory_limit
from validations.agreement import agreement
from validations.cell_grammar import macros, parquet_type
from validations.class_totals import fewest_changes
from validations.evidence import Evidence, FileEvidence, FragmentEvidence
from validations.gather_joins import gather_joins, gather_segments
from validations.gather_persons import gather_persons
from validations.groups import (
    Groups,
    class_cells,
    class_sizes,
    misplaced,
)
from validations.promises import PROMISES, Promises
from validations.protected_values import ValuesEvidence, protected_values
from validations.published_files import Columns, UnreadableError
from validations.read_groups import read_columns, read_groups
from validations.spelling import has_no_metadata, is_written_plainly
from validations.well_formed import unsound

DOCUMENTS = {
    "release.json",
    "report.html",
    "validation",
    "validation/suites",
    *(f"validation/{name}.json" for name in PROMISES),
    *(f"validation/suites/{name}.json" for name in PROMISES),
}
"""What a published folder holds beside its fragments, where its manifest does not state it yet."""

FOLDERS = {"validation", "validation/suites"}
"""Which of these are folders."""

READERS = 2
"""Fragments that are read at once: a CSV file's lines are numbered one after the other, on one core.

Where they do not fit in memory together they are read again, one by one.
"""


def gather_evidence(folder: Path, promises: Promises, store: Path | None = None) -> Evidence:
    """Read a published folder and return what it shows.

    Parameters
    ----------
    folder
        The folder; it is only read.
    promises
        What is promised: names the files, the columns and their kinds.
    store
        The private store of the run that made the folder, where segments and persons are looked at.
    """
    try:
        return _gather(folder, promises, store, READERS)
    except duckdb.OutOfMemoryException:
        return _gather(folder, promises, store, 1)  # takes longer, and least memory


def _gather(folder: Path, promises: Promises, store: Path | None, readers: int) -> Evidence:
    private = None if store is None else store.parent  # what spills may be of the store
    with (
        tempfile.TemporaryDirectory(dir=private) as scratch,
        duckdb.connect(config=memory_limit()) as connection,
    ):
        connection.execute("SET GLOBAL temp_directory = ?", [scratch])
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET GLOBAL disabled_optimizers = 'common_subexpressions'")  # slow on many columns
        if readers == 1:
            connection.execute("SET GLOBAL threads = 1")
        connection.execute(macros(promises.kinds.values()))
        with ThreadPoolExecutor(max_workers=readers) as pool:
            read = pool.map(
                lambda number: _gather_fragment(connection.cursor(), folder, promises, number, Path(scratch)),
                range(1, len(promises.fragments) + 1),
            )
        csv_groups, fragments = zip(*read, strict=True)
        return Evidence(
            fragments=fragments,
            joins=gather_joins(connection, csv_groups, fragments, promises),
            segments=gather_segments(connection, csv_groups, fragments, promises, store),
            persons=gather_persons(connection, csv_groups, fragments, promises, store),
            documents=tuple(_sha256(folder / document.file) for document in promises.documents),
            undeclared=_undeclared(folder, promises),
            changes=_gather_changes(connection, csv_groups),
        )


def _gather_fragment(
    connection: duckdb.DuckDBPyConnection, folder: Path, promises: Promises, number: int, scratch: Path
) -> tuple[Groups | None, FragmentEvidence]:
    promise = promises.fragments[number - 1]
    csv_groups, csv, out_of_place = _gather_file(connection, folder / promise.csv, promises, number, scratch)
    parquet_groups, parquet, _ = _gather_file(connection, folder / promise.parquet, promises, number, scratch)
    compared = None
    if csv_groups and parquet_groups and parquet.unsound is not None and _names(csv) == _names(parquet):
        compared = agreement(csv_groups, parquet_groups, in_order=out_of_place == 0)
    return csv_groups, FragmentEvidence(
        csv=csv,
        parquet=parquet,
        misplaced=out_of_place,
        agreement=compared,
    )


def _gather_file(
    connection: duckdb.DuckDBPyConnection, path: Path, promises: Promises, number: int, scratch: Path
) -> tuple[Groups | None, FileEvidence, int | None]:
    """Return the groups of a file, what it shows, and how many groups of a CSV file are out of place."""
    columns = groups = problem = None
    try:
        columns = read_columns(connection, path)
        groups = read_groups(connection, path, columns, promises, number, scratch=scratch)
    except UnreadableError as error:
        problem = f"{path.name} could not be read: {error}"
    digest = _sha256(path)
    out_of_place = misplaced(groups) if groups and groups.format == "csv" else None
    evidence = FileEvidence(
        file=path.name,
        problem=problem,
        sha256=digest,
        columns=columns,
        class_sizes=class_sizes(groups) if groups else np.zeros(0, dtype=np.int64),
        class_cells=class_cells(groups) if groups else None,
        values=_values(groups, promises, number, problem),
        unsound=unsound(groups) if groups and columns and _typed(groups, columns) else None,
        plain=_plain(groups, path, columns, digest, out_of_place) if groups and columns else None,
    )
    return groups, evidence, out_of_place


def _values(
    groups: Groups | None, promises: Promises, number: int, problem: str | None
) -> tuple[ValuesEvidence, ...]:
    if groups:
        return protected_values(groups, promises, number)
    protected = promises.protected_in(number)
    return tuple(ValuesEvidence(each.column, problem=problem) for each in protected)


def _plain(
    groups: Groups, path: Path, columns: Columns, digest: str | None, out_of_place: int | None
) -> bool:
    """Return whether a file holds nothing beside its rows; rows out of order are the promise `order`'s."""
    if groups.format == "parquet":
        return has_no_metadata(groups.connection, path)
    return bool(out_of_place) or is_written_plainly(groups, path, columns, digest)


def _names(file: FileEvidence) -> tuple[str, ...]:
    return file.columns.names if file.columns else ()


def _typed(groups: Groups, columns: Columns) -> bool:
    return groups.format == "csv" or all(
        parquet_type(kind) in {None, found} for kind, found in zip(groups.kinds, columns.types, strict=True)
    )


def _sha256(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _gather_changes(
    connection: duckdb.DuckDBPyConnection, csv_groups: tuple[Groups | None, ...]
) -> dict[tuple[int, int], int] | None:
    groups = [each for each in csv_groups if each and each.class_column]
    return fewest_changes(connection, groups) if len(groups) == len(csv_groups) else None


def _undeclared(folder: Path, promises: Promises) -> int:
    declared = {name for fragment in promises.fragments for name in (fragment.csv, fragment.parquet)}
    declared |= _documents(promises)
    found = 0
    for place, folders, files in os.walk(folder):
        inside = Path(place).relative_to(folder)
        strange = [
            name
            for name in (*folders, *files)
            if str(inside / name) not in declared
            or not _is_real(Path(place, name), folder=str(inside / name) in FOLDERS)
        ]
        folders[:] = [name for name in folders if name not in strange]
        found += len(strange)
    return found


def _documents(promises: Promises) -> set[str]:
    """Return what the folder holds beside its fragments."""
    if not promises.documents:
        return DOCUMENTS
    return {"release.json", *FOLDERS, *(document.file for document in promises.documents)}


def _is_real(path: Path, *, folder: bool) -> bool:
    """Return whether a path is a folder or a regular file itself, not a link to one."""
    mode = path.lstat().st_mode
    return stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode)
