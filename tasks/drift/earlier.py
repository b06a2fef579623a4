"""What an earlier release was like, as far as its published files show it."""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import duckdb
from pydantic import BaseModel, Field, ValidationError

from tasks.domain import Kind, Precision
from tasks.errors import ConfigurationError
from tasks.publish import LATEST
from tasks.reports.manifest import MANIFEST
from tasks.store import literal, quoted
from tasks.tables import Role

EPOCH = date(1970, 1, 1)
PUBLISHED_TYPES: dict[Kind, str] = {
    "integer": "BIGINT",
    "decimal": "DOUBLE",
    "fixed": "DECIMAL(18, {scale})",
    "date": "DATE",
}

Number = int | float


class _Column(BaseModel):
    """A feature, as release.json states it."""

    name: str
    kind: Kind
    scale: int = Field(default=0, ge=0, le=18)
    precision: Precision = "day"
    hierarchy: dict[str, Any] | None = None


class _Fragment(BaseModel):
    """A fragment, as release.json states it."""

    parquet: str = Field(pattern=r"^fragment_[0-9]+\.parquet$")
    features: list[str]
    sensitive: list[str] = []


class _Manifest(BaseModel):
    """What release.json states of records and columns."""

    records: int
    class_attribute: str = Field(alias="class")
    columns: list[_Column]
    fragments: list[_Fragment]


@dataclass(frozen=True)
class EarlierColumn:
    """A column of an earlier release.

    Attributes
    ----------
    hierarchy
        How the groups of a categorical feature were made, if it has any.
    missing
        Whether a published cell covers missing values.
    names
        All published categories, or groups of them; of the class and of sensitive attributes, all values.
    lowest, highest
        The outermost published bounds of numbers, as the values of a domain: fixed numbers without their
        point, dates as days. None if there is no number.
    """

    name: str
    role: Role
    kind: Kind = "categorical"
    scale: int = 0
    precision: Precision = "day"
    hierarchy: dict[str, Any] | None = None
    missing: bool = False
    names: frozenset[str] = frozenset()
    lowest: Number | None = None
    highest: Number | None = None


@dataclass(frozen=True)
class Earlier:
    """An earlier release: its records and its columns, the class last."""

    records: int
    columns: tuple[EarlierColumn, ...]


def find_release(folder: Path) -> Path | None:
    """Return the folder of the earlier release, or None if there is no release yet.

    Parameters
    ----------
    folder
        Of one release, or of all releases of a name; of these the latest is meant.

    Raises
    ------
    ConfigurationError
        If there is something else.
    """
    try:
        for place in (folder, folder / LATEST):
            if (place / MANIFEST).is_file():
                return place.resolve()
        if not folder.exists() or all(path.name.startswith(".") for path in folder.iterdir()):
            return None
    except OSError as error:
        raise ConfigurationError(f"drift.earlier: {folder} cannot be read ({error.strerror})") from None
    raise ConfigurationError(
        f"drift.earlier: {folder} holds neither {MANIFEST} nor {LATEST}/{MANIFEST}: "
        "name the folder of a release, or of all releases of a name"
    )


def read_earlier(folder: Path) -> Earlier:
    """Return what the files of a release show of its columns.

    Raises
    ------
    ConfigurationError
        If they are not those of a release.
    """
    try:
        manifest = _Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            return Earlier(manifest.records, tuple(_columns(connection, folder, manifest)))
    except OSError as error:
        raise ConfigurationError(f"drift.earlier: {folder} cannot be read ({error.strerror})") from None
    except (ValidationError, duckdb.Error):
        raise ConfigurationError(
            f"drift.earlier: {folder}: {MANIFEST} and the Parquet files beside it are not those of a release"
        ) from None


def _columns(
    connection: duckdb.DuckDBPyConnection, folder: Path, manifest: _Manifest
) -> Iterator[EarlierColumn]:
    stated = {column.name: column for column in manifest.columns}
    files = {fragment.parquet: _rows(folder / fragment.parquet) for fragment in manifest.fragments}
    for fragment in manifest.fragments:
        rows = files[fragment.parquet]
        features = [stated[name] for name in fragment.features if name in stated]
        yield from _numeric(connection, rows, [each for each in features if each.kind != "categorical"])
        for feature in features:
            if feature.kind == "categorical":
                names, missing = _names(connection, [rows], feature.name, "unnest(CAST(cell AS VARCHAR[]))")
                yield EarlierColumn(
                    feature.name, "feature", hierarchy=feature.hierarchy, names=names, missing=missing
                )
        for name in fragment.sensitive:
            names, missing = _names(connection, [rows], name)
            yield EarlierColumn(name, "sensitive", names=names, missing=missing)
    names, _ = _names(connection, list(files.values()), manifest.class_attribute)
    yield EarlierColumn(manifest.class_attribute, "class", names=names)


def _rows(file: Path) -> str:
    return f"read_parquet({literal(glob.escape(str(file)))})"


def _numeric(
    connection: duckdb.DuckDBPyConnection, rows: str, features: Sequence[_Column]
) -> Iterator[EarlierColumn]:
    """Yield the numeric features of a fragment, which one pass over its file finds."""
    if not features:
        return
    parts = ", ".join(map(_extent, features))
    (found,) = connection.execute(f"SELECT {parts} FROM {rows}").fetchall()
    for place, each in enumerate(features):
        lowest, highest, missing = found[3 * place : 3 * place + 3]
        yield EarlierColumn(
            each.name,
            "feature",
            each.kind,
            each.scale,
            each.precision,
            missing=missing,
            lowest=_in_domain(lowest, each.scale),
            highest=_in_domain(highest, each.scale),
        )


def _extent(feature: _Column) -> str:
    """Return the SQL for the outermost bounds of a feature, and whether any cell covers missing."""
    lower, upper, missing = (
        f"struct_extract({quoted(feature.name)}, '{part}')" for part in ("lower", "upper", "missing")
    )
    published = PUBLISHED_TYPES[feature.kind].format(scale=feature.scale)
    return (
        f"min(CAST({lower} AS {published})), max(CAST({upper} AS {published})), "
        f"coalesce(bool_or({missing}), false)"
    )


def _in_domain(number: Decimal | date | Number | None, scale: int) -> Number | None:
    """Return a published bound as a value of a domain."""
    if isinstance(number, Decimal):
        return int(number.scaleb(scale))
    if isinstance(number, date):
        return (number - EPOCH).days
    return number


def _names(
    connection: duckdb.DuckDBPyConnection, rows: Sequence[str], column: str, texts: str = "cell"
) -> tuple[frozenset[str], bool]:
    """Return the texts of a column, and whether some are missing."""
    cells = " UNION ".join(f"SELECT {quoted(column)} AS cell FROM {each}" for each in rows)
    found = {
        text
        for (text,) in connection.execute(
            f"SELECT DISTINCT {texts} FROM (SELECT DISTINCT cell FROM ({cells}))"
        ).fetchall()
    }
    return frozenset(cast("set[str]", found - {None})), None in found
