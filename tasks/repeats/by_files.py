"""What the published files of an earlier version tell beside this one, where nobody can be followed."""

import glob
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from tasks.errors import InputError
from tasks.reports.manifest import MANIFEST, read_manifest
from tasks.store import literal
from tasks.tables import read_class_domain, read_fragments

READ = (
    "read_csv({path}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
    "max_line_size = 16777216, columns = {{{columns}}})"
)


def told_by_files(connection: duckdb.DuckDBPyConnection, folder: Path, k: int) -> int | None:
    """Return of how many records an earlier version's files and these tell; None if they have another class.

    Subtracting class counts tells of few where the totals of both versions, or two equivalence classes with
    the same cells in a fragment of the same features, differ by 1 to k - 1 records. Whether the others are
    of the same persons cannot be known. Where persons count, totals are of these.

    Parameters
    ----------
    connection
        To the store of the new version.
    folder
        Of the earlier one.
    k
        Asked of the new version.

    Returns
    -------
    int
        The most that the totals, or the equivalence classes of one fragment, tell.

    Raises
    ------
    InputError
        If the files cannot be read.
    """
    try:
        manifest = read_manifest(folder)
        if manifest["class"] != read_class_domain(connection).name:
            return None
        return max([_by_totals(connection, manifest, k), *_by_classes(connection, folder, manifest, k)])
    except (OSError, KeyError, TypeError, ValueError, duckdb.Error):
        raise InputError(
            f"{folder}: {MANIFEST} and the files beside it cannot be read as those of a release: bring them "
            "back, or move the folder away"
        ) from None


def _by_totals(connection: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any], k: int) -> int:
    ((records,),) = connection.execute("SELECT count(*) FROM codes").fetchall()
    apart = abs(records - manifest["records"])
    counted = connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'persons'").fetchall()
    if counted and manifest.get("persons"):
        ((persons,),) = connection.execute("SELECT count(DISTINCT person) FROM persons").fetchall()
        apart = abs(persons - manifest["persons"]["number"])
    return int(apart) if 0 < apart < k else 0


def _by_classes(
    connection: duckdb.DuckDBPyConnection, folder: Path, manifest: Mapping[str, Any], k: int
) -> Iterator[int]:
    """Yield what each fragment tells that the earlier version has as well."""
    earlier = {tuple(fragment["features"]): fragment for fragment in manifest["fragments"]}
    for number, features in enumerate(read_fragments(connection), 1):
        fragment = earlier.get(tuple(features))
        if fragment is None:
            continue
        width = len(features)
        cells = [f"coalesce(f{place}, '')" for place in range(1, width + 1)]
        own = f"SELECT {', '.join(_named(cells))}, records FROM regions_{number} AS regions "
        own += f"JOIN equivalence_classes AS size ON size.fragment = {number} AND size.ec = regions.rowid"
        ((apart,),) = connection.execute(f"""
            SELECT coalesce(sum(apart), 0) FROM (
                SELECT abs(new.records - old.records) AS apart
                FROM ({own}) AS new JOIN ({_classes_of(folder, fragment)}) AS old
                USING ({", ".join(f"c{place}" for place in range(1, width + 1))})
            ) WHERE apart BETWEEN 1 AND {k - 1}
        """).fetchall()
        yield int(apart)


def _classes_of(folder: Path, fragment: Mapping[str, Any]) -> str:
    """Return the SQL for the cells of each equivalence class of a published fragment, and its records."""
    names = [*fragment["features"], *fragment["sensitive"], "class"]
    columns = ", ".join(f"'f{place}': 'VARCHAR'" for place in range(1, len(names) + 1))
    path = literal(glob.escape(str(folder / fragment["csv"])))
    cells = _named([f"coalesce(f{place}, '')" for place in range(1, len(fragment["features"]) + 1)])
    rows = READ.format(path=path, columns=columns)
    return f"SELECT {', '.join(cells)}, count(*) AS records FROM {rows} GROUP BY ALL"


def _named(cells: list[str]) -> list[str]:
    return [f"{cell} AS c{place}" for place, cell in enumerate(cells, 1)]
