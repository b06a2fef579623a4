"""The manifest, release.json: what a release says of itself."""

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import duckdb

from tasks.config import Config
from tasks.tables import read_fragments
from tasks.version import __version__

MANIFEST = "release.json"
LIBRARIES = ("duckdb", "great-expectations", "numpy", "pandas", "prefect")
DIGITS = 6

Manifest = dict[str, Any]


class FragmentFiles(NamedTuple):
    """The two files of a fragment, and their digests."""

    csv: str
    parquet: str
    csv_sha256: str
    parquet_sha256: str


class Figures(Protocol):
    """What the gate read from the files."""

    @property
    def smallest_class(self) -> tuple[int | None, ...]:
        """The records of the smallest equivalence class of each fragment."""

    @property
    def smallest_join(self) -> int | None:
        """The smallest non-zero join over all choices, in rows."""

    @property
    def smallest_records(self) -> int | None:
        """The fewest records of one equivalence class that a join rests on."""

    @property
    def choices(self) -> int | None:
        """How many choices there are."""

    @property
    def smallest_eta(self) -> float | None:
        """The smallest equijoin selectivity over all choices."""


def draft_manifest(
    connection: duckdb.DuckDBPyConnection,
    config: Config,
    release_version: str,
    files: Sequence[FragmentFiles],
) -> Manifest:
    """Return the manifest as far as it is known before the files are checked."""
    privacy = config.privacy
    measures = dict(connection.execute("SELECT name, value FROM measures").fetchall())
    ((records,),) = connection.execute("SELECT count(*) FROM source").fetchall()
    changes = connection.execute("SELECT class_values FROM changes ORDER BY fragment").fetchall()
    return {
        "name": config.output.name,
        "version": release_version,
        "unjoin_version": __version__,
        "records": records,
        "class": config.columns.class_attribute,
        "class_values": "per_class" if privacy.enforcement == "delta_selectivity" else "per_record",
        "enforcement": privacy.enforcement,
        "columns": _columns(connection),
        "guarantees": {
            "k": {"asked": privacy.k, "achieved": None},
            "guarantee": {"asked": privacy.guarantee, "achieved": None},
            "delta": {"asked": privacy.delta, "achieved": None},
            "l": {"asked": None, "achieved": None},
            "l_model": {"asked": None, "achieved": None},
            "t": {"asked": None, "achieved": None},
        },
        "fragments": _fragments(connection, files),
        "joins": {"smallest_join": None, "smallest_records": None, "choices": None},
        "changed_class_values": {
            "total": int(measures["changed_class_values"]),
            "share": round(measures["changed_class_values_share"], DIGITS),
            "per_fragment": [changed for (changed,) in changes],
        },
        "suppressed_records": 0,
        "measures": _measures(connection, measures),
        "limits": config.limits.model_dump(),
        "config_sha256": config.sha256,
        "versions": {library: version(library) for library in LIBRARIES},
        "validation": {"success": None, "path": "validation"},
    }


def complete_manifest(manifest: Manifest, figures: Figures) -> Manifest:
    """Return the manifest of a release that passed the gate."""
    guarantees = manifest["guarantees"]
    per_record = manifest["class_values"] == "per_record"
    return manifest | {
        "guarantees": guarantees
        | {
            "k": guarantees["k"]
            | {"achieved": min(size for size in figures.smallest_class if size is not None)},
            "guarantee": guarantees["guarantee"] | {"achieved": "join" if per_record else None},
            "delta": guarantees["delta"] | {"achieved": figures.smallest_eta},
        },
        "joins": {
            "smallest_join": figures.smallest_join,
            "smallest_records": figures.smallest_records,
            "choices": figures.choices,
        },
        "validation": manifest["validation"] | {"success": True},
    }


def write_manifest(manifest: Manifest, folder: Path) -> None:
    """Write the manifest into a folder."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder."""
    manifest: Manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return manifest


def _columns(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    rows = connection.execute("""
        SELECT name, kind, fragment FROM columns JOIN fragments ON feature = name ORDER BY position
    """).fetchall()
    return [{"name": name, "kind": kind, "fragment": fragment} for name, kind, fragment in rows]


def _fragments(connection: duckdb.DuckDBPyConnection, files: Sequence[FragmentFiles]) -> list[dict[str, Any]]:
    sizes = connection.execute("""
        SELECT count(*), min(records) FROM equivalence_classes GROUP BY fragment ORDER BY fragment
    """).fetchall()
    return [
        {
            "csv": written.csv,
            "parquet": written.parquet,
            "features": features,
            "equivalence_classes": classes,
            "smallest_class": smallest,
            "sha256": {"csv": written.csv_sha256, "parquet": written.parquet_sha256},
        }
        for written, features, (classes, smallest) in zip(
            files, read_fragments(connection), sizes, strict=True
        )
    ]


def _measures(connection: duckdb.DuckDBPyConnection, measures: dict[str, float]) -> dict[str, Any]:
    return {
        "information_loss": {
            "fragmented": round(measures["information_loss"], DIGITS),
            "unfragmented": round(measures["information_loss_unfragmented"], DIGITS),
            "features": _feature_loss(connection, "fragmented"),
            "unfragmented_features": _feature_loss(connection, "unfragmented"),
        },
        "mean_class_size": round(measures["mean_class_size"], DIGITS),
        "discernibility": int(measures["discernibility"]),
    }


def _feature_loss(connection: duckdb.DuckDBPyConnection, release: str) -> dict[str, float]:
    rows = connection.execute(
        "SELECT name, information_loss FROM columns JOIN feature_loss ON feature = name "
        "WHERE release = ? ORDER BY position",
        [release],
    ).fetchall()
    return {name: round(loss, DIGITS) for name, loss in rows}
