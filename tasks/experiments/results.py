"""The store of results: what was found at which point, kept as soon as it is found."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path

import duckdb

from tasks.errors import ConfigurationError, StepError, UnjoinError
from tasks.experiments.data_tables import WORK, Table
from tasks.experiments.figures import Figure, Level, Point
from tasks.experiments.methods import WAYS
from tasks.experiments.runs import LEARNERS, MEASURES, TEST_SHARE, Run
from tasks.failures import ERROR_LOG, keep_details, private_failure, system_reason
from tasks.program import program_digest
from tasks.store import open_store
from tasks.version import __version__

RESULTS = "experiments.duckdb"
LIBRARIES = ("duckdb", "numpy", "scikit-learn", "scipy")  # that compute
TABLES = """
    CREATE TABLE IF NOT EXISTS runs (
        data VARCHAR, seed INTEGER, features INTEGER, k INTEGER, settings VARCHAR, seconds DOUBLE
    );
    CREATE TABLE IF NOT EXISTS figures (
        data VARCHAR, seed INTEGER, features INTEGER, k INTEGER,
        method VARCHAR, bounds VARCHAR, measure VARCHAR, value DOUBLE
    );
    CREATE TABLE IF NOT EXISTS levels (
        data VARCHAR, seed INTEGER, features INTEGER, k INTEGER, majority DOUBLE
    );
"""
REASONS = 3  # told of failures, the most frequent
AT = "data = ? AND seed = ? AND features = ? AND k = ?"


@contextmanager
def results_folder(folder: Path) -> Iterator[Path]:
    """Open the store of results in a folder, for one process; sweep what an interrupted one left.

    Yields
    ------
    Path
        Of the store. Beside it is the private folder `WORK`, which is gone when this ends.

    Raises
    ------
    ConfigurationError
        If the folder cannot be made or written, or its store is open elsewhere or is no store of results.
    StepError
        If results cannot be kept or read, as on a full disk.
    """
    with ExitStack() as held:
        store = _opened(folder, held)
        try:
            yield store
        except (OSError, duckdb.Error) as error:
            raise private_failure("keep the results", store, error) from None
        finally:
            shutil.rmtree(folder / WORK, ignore_errors=True)


def _opened(folder: Path, held: ExitStack) -> Path:
    """Return the store, which a connection keeps other processes out of."""
    store, work = folder / RESULTS, folder / WORK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held.enter_context(open_store(store)).execute(TABLES)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(mode=0o700)
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: cannot be made or written ({error.strerror})") from None
    except duckdb.Error as error:
        raise ConfigurationError(f"{store}: {_why_not_opened(error)}") from None
    return store


def _why_not_opened(error: duckdb.Error) -> str:
    """Return what keeps a store from being opened, and what to do."""
    reason = system_reason(error)
    if reason is not None:
        return f"cannot be made or written ({reason})"
    if "Could not set lock" in str(error):
        return "is in use by another program: let that end, or give another --out"
    return "holds no results that can be read here: move it away, or give another --out"


def settings_digest(table: Table) -> str:
    """Return a digest of all that figures of a data set depend on beside the point."""
    program = [__version__, program_digest(), [version(name) for name in LIBRARIES]]
    settings = [WAYS, LEARNERS, MEASURES, TEST_SHARE, table.divided, table.content]
    return hashlib.sha256(json.dumps(program + settings).encode()).hexdigest()


def still_to_run(store: Path, points: Sequence[Point], tables: Mapping[str, Table]) -> list[Point]:
    """Return the points without results of the same settings and the same program."""
    settings = {data: settings_digest(table) for data, table in tables.items()}
    with open_store(store) as connection:
        rows = connection.execute("SELECT data, seed, features, k, settings FROM runs").fetchall()
    done = {(Point(*place), digest) for *place, digest in rows}
    return [point for point in points if (point, settings[point.data]) not in done]


def require_all_run(
    store: Path, planned: Sequence[Point], missing: Sequence[Point], reasons: Counter[str]
) -> None:
    """Refuse to call the experiments done where points are missing.

    Parameters
    ----------
    store
        Of the results.
    planned, missing
        All points, and those without results.
    reasons
        Why points failed, and how many for each reason.

    Raises
    ------
    StepError
        If any is.
    """
    if missing:
        log = store.parent / ERROR_LOG
        found = "; ".join(f"{reason} ({number:,})" for reason, number in reasons.most_common(REASONS))
        raise StepError(
            f"{len(missing):,} of {len(planned):,} points failed and are missing in the page: {found}. "
            f"Details, which may hold data, are in {log}; the same command tries them again"
        )


def keep_failure(store: Path, reasons: Counter[str], point: Point, error: UnjoinError) -> None:
    """Add to the error log at which point something failed, and count why."""
    place = f"{point.data}, seed {point.seed}, {point.features} features, k = {point.k}"
    keep_details(store, f"{place}: {error}\n\n")
    reasons[str(error).partition(";")[0]] += 1


def keep_run(store: Path, tables: Mapping[str, Table], run: Run) -> None:
    """Store what was found at a point, all or nothing, in place of what was there."""
    with open_store(store) as connection:
        connection.begin()
        for name in ("runs", "figures", "levels"):
            connection.execute(f"DELETE FROM {name} WHERE {AT}", [*run.point])
        settings = settings_digest(tables[run.point.data])
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", [*run.point, settings, run.seconds])
        connection.execute("INSERT INTO levels VALUES (?, ?, ?, ?, ?)", [*run.point, run.level.majority])
        connection.executemany(
            "INSERT INTO figures VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [[*run.point, *rest] for _, *rest in run.figures],
        )
        connection.commit()


def read_results(store: Path, points: Sequence[Point]) -> tuple[list[Figure], list[Level]]:
    """Return what was found at some points, in their order."""
    order = {point: number for number, point in enumerate(points)}
    with open_store(store) as connection:
        found = connection.execute("SELECT * FROM figures ORDER BY rowid").fetchall()
        reached = connection.execute("SELECT * FROM levels").fetchall()
    figures = [Figure(Point(*row[:4]), *row[4:]) for row in found]
    levels = [Level(Point(*row[:4]), *row[4:]) for row in reached]
    return (
        sorted((each for each in figures if each.point in order), key=lambda each: order[each.point]),
        sorted((each for each in levels if each.point in order), key=lambda each: order[each.point]),
    )
