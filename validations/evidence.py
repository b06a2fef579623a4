"""All evidence of a published folder: what its files show, without judging it.

Everything is recomputed from the files in SQL and kept as aggregates; no record and no cell leaves DuckDB.
A value that could not be found is None, and a problem says why.
"""

import hashlib
import math
import os
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from validations.agreement import Agreement, agreement
from validations.cell_grammar import KIND_TYPES, MACROS
from validations.class_counts import TooCostlyError, count_classes
from validations.class_joins import SmallestJoin, smallest_join
from validations.groups import (
    ClassCells,
    Groups,
    class_cells,
    class_sizes,
    misplaced,
    read_columns,
    read_groups,
    unsound,
)
from validations.promises import PROMISES, Promises
from validations.published_files import Columns, UnreadableError
from validations.record_counts import smallest_records
from validations.selectivity import PublishedClass, smallest_eta

DOCUMENTS = {
    "release.json",
    "report.html",
    "validation",
    "validation/suites",
    *(f"validation/{name}.json" for name in PROMISES),
    *(f"validation/suites/{name}.json" for name in PROMISES),
}
"""What a published folder holds beside its fragments."""


@dataclass(frozen=True, eq=False)
class FileEvidence:
    """What one fragment file shows.

    Attributes
    ----------
    file
        Its name.
    problem
        Why its rows could not be read; None if they could.
    sha256
        Its digest in hexadecimal; None if there is no such file or it is a link.
    columns
        Its columns; None if not even they could be read.
    class_sizes : int64 array of shape (ECs,)
        Records of each equivalence class; empty if the rows could not be read.
    class_cells
        What the class column shows; None unless there is exactly one.
    unsound
        Cells that break the grammar; None for columns of the wrong type.
    """

    file: str
    problem: str | None
    sha256: str | None
    columns: Columns | None
    class_sizes: npt.NDArray[np.int64]
    class_cells: ClassCells | None
    unsound: int | None

    @property
    def records(self) -> int | None:
        """The number of rows."""
        return int(self.class_sizes.sum()) if self.problem is None else None


@dataclass(frozen=True, eq=False)
class FragmentEvidence:
    """What the two files of a fragment show.

    Attributes
    ----------
    csv, parquet
        The files.
    misplaced
        Groups of alike rows in the CSV that do not stand where the order by their cells puts them.
    agreement
        How the Parquet file compares with the CSV; None if they cannot be compared.
    """

    csv: FileEvidence
    parquet: FileEvidence
    misplaced: int | None
    agreement: Agreement | None

    @property
    def files(self) -> tuple[FileEvidence, FileEvidence]:
        """Both files."""
        return self.csv, self.parquet


@dataclass(frozen=True)
class JoinEvidence:
    """What joining fragments on the class gives.

    Attributes
    ----------
    choices
        Choices of one equivalence class from each of two or more fragments.
    smallest_join
        None if not asked for or not found.
    smallest_records
        Fewest records that a join rests on in one of its ECs; None if not found or no join has rows.
    smallest_eta
        None if not asked for, not found, or no choice has a common class value.
    problem
        Why the smallest join or eta could not be found; None if it could.
    """

    choices: int | None
    smallest_join: SmallestJoin | None = None
    smallest_records: int | None = None
    smallest_eta: Fraction | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Figures:
    """The figures of a published folder; None where one could not be found or does not exist.

    Attributes
    ----------
    equivalence_classes, smallest_class
        Per fragment: the number of its ECs, and the records of the smallest one.
    smallest_join
        Rows of the smallest join that holds any, over every choice from two or more fragments.
    smallest_records
        Fewest records of an EC with a class value that all ECs of a choice share.
    choices
        Choices of one EC from each of two or more fragments.
    smallest_eta
        Smallest share of versions with a safe join, where class values are published per class.
    """

    equivalence_classes: tuple[int | None, ...]
    smallest_class: tuple[int | None, ...]
    smallest_join: int | None
    smallest_records: int | None
    choices: int | None
    smallest_eta: float | None


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a published folder shows.

    Attributes
    ----------
    fragments
        One entry per promised fragment.
    joins
        Over all fragments.
    undeclared
        How many entries of the folder no release has or the promises do not name.
    """

    fragments: tuple[FragmentEvidence, ...]
    joins: JoinEvidence
    undeclared: int

    @property
    def files(self) -> tuple[FileEvidence, ...]:
        """All files: CSV, Parquet, fragment after fragment."""
        return tuple(file for fragment in self.fragments for file in fragment.files)

    @property
    def figures(self) -> Figures:
        """The figures alone; a fragment's are those of its CSV file."""
        sizes = [fragment.csv.class_sizes for fragment in self.fragments]
        join, eta = self.joins.smallest_join, self.joins.smallest_eta
        return Figures(
            equivalence_classes=tuple(len(each) or None for each in sizes),
            smallest_class=tuple(int(each.min()) if len(each) else None for each in sizes),
            smallest_join=join.rows if join and join.exact else None,
            smallest_records=self.joins.smallest_records,
            choices=self.joins.choices,
            smallest_eta=None if eta is None else float(eta),
        )


def gather_evidence(folder: Path, promises: Promises) -> Evidence:
    """Read a published folder and return what it shows.

    Parameters
    ----------
    folder
        The folder; it is only read.
    promises
        What is promised: names the files, the columns and their kinds.
    """
    with tempfile.TemporaryDirectory() as scratch, duckdb.connect() as connection:
        connection.execute("SET temp_directory = ?", [scratch])
        connection.execute(MACROS)
        csv_groups: list[Groups | None] = []
        fragments = []
        for number in range(1, len(promises.fragments) + 1):
            csv, fragment = _gather_fragment(connection, folder, promises, number)
            csv_groups.append(csv)
            fragments.append(fragment)
        return Evidence(
            fragments=tuple(fragments),
            joins=_gather_joins(csv_groups, fragments, promises),
            undeclared=_undeclared(folder, promises),
        )


def _gather_fragment(
    connection: duckdb.DuckDBPyConnection, folder: Path, promises: Promises, number: int
) -> tuple[Groups | None, FragmentEvidence]:
    promise = promises.fragments[number - 1]
    csv_groups, csv = _gather_file(connection, folder / promise.csv, promises, number)
    parquet_groups, parquet = _gather_file(connection, folder / promise.parquet, promises, number)
    compared = None
    if csv_groups and parquet_groups and parquet.unsound is not None and _names(csv) == _names(parquet):
        compared = agreement(csv_groups, parquet_groups)
    return csv_groups, FragmentEvidence(
        csv=csv,
        parquet=parquet,
        misplaced=misplaced(csv_groups) if csv_groups else None,
        agreement=compared,
    )


def _gather_file(
    connection: duckdb.DuckDBPyConnection, path: Path, promises: Promises, number: int
) -> tuple[Groups | None, FileEvidence]:
    columns = groups = problem = None
    try:
        columns = read_columns(connection, path)
        groups = read_groups(connection, path, columns, promises, number)
    except UnreadableError as error:
        problem = f"{path.name} could not be read: {error}"
    return groups, FileEvidence(
        file=path.name,
        problem=problem,
        sha256=_sha256(path),
        columns=columns,
        class_sizes=class_sizes(groups) if groups else np.zeros(0, dtype=np.int64),
        class_cells=class_cells(groups) if groups else None,
        unsound=unsound(groups) if groups and columns and _typed(groups, columns) else None,
    )


def _names(file: FileEvidence) -> tuple[str, ...]:
    return file.columns.names if file.columns else ()


def _typed(groups: Groups, columns: Columns) -> bool:
    return groups.format == "csv" or all(
        KIND_TYPES.get(kind, found) == found for kind, found in zip(groups.kinds, columns.types, strict=True)
    )


def _sha256(path: Path) -> str | None:
    if path.is_symlink():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _gather_joins(
    csv_groups: list[Groups | None], fragments: list[FragmentEvidence], promises: Promises
) -> JoinEvidence:
    problem = _join_problem(csv_groups, fragments)
    if problem is not None:
        return JoinEvidence(choices=None, problem=problem)
    groups = [each for each in csv_groups if each]
    sizes = [len(fragment.csv.class_sizes) for fragment in fragments]
    choices = math.prod(1 + size for size in sizes) - 1 - sum(sizes)
    try:
        if promises.class_values == "per_class":
            found = smallest_eta(_published_classes(groups), promises.k)
            return JoinEvidence(choices=choices, smallest_eta=found)
        counts = count_classes(groups)
        smallest = smallest_join(counts, promises.k)
    except TooCostlyError as error:
        return JoinEvidence(choices=choices, problem=f"too costly to check: {error}")
    try:
        records = smallest_records(counts)
    except TooCostlyError:
        records = None
    return JoinEvidence(choices=choices, smallest_join=smallest, smallest_records=records)


def _join_problem(csv_groups: list[Groups | None], fragments: list[FragmentEvidence]) -> str | None:
    for groups, fragment in zip(csv_groups, fragments, strict=True):
        if groups is None:
            return fragment.csv.problem
        if groups.class_column is None:
            return f"{fragment.csv.file} has not exactly one class column"
        if fragment.csv.records == 0:
            return f"{fragment.csv.file} holds no records"
    return None


def _published_classes(csv_groups: list[Groups]) -> list[dict[int, PublishedClass]]:
    """Return per fragment the smallest EC for every set of class values, as bits."""
    count_classes(csv_groups)
    found = []
    for groups in csv_groups:
        rows = groups.connection.execute(f"""
            SELECT min(records)::BIGINT, codes
            FROM (SELECT sum(n) AS records,
                         list_sort(list(DISTINCT code) FILTER (code IS NOT NULL)) AS codes
                  FROM {groups.table} AS g LEFT JOIN class_values ON class = g.{groups.class_column}
                  GROUP BY ec)
            WHERE len(codes) > 0 GROUP BY codes""").fetchall()
        found.append({sum(1 << code for code in codes): PublishedClass(n, len(codes)) for n, codes in rows})
    return found


def _undeclared(folder: Path, promises: Promises) -> int:
    declared = {name for fragment in promises.fragments for name in (fragment.csv, fragment.parquet)}
    found = 0
    for place, folders, files in os.walk(folder):
        inside = Path(place).relative_to(folder)
        strange = [name for name in (*folders, *files) if str(inside / name) not in DOCUMENTS | declared]
        folders[:] = [name for name in folders if name not in strange]
        found += len(strange)
    return found
