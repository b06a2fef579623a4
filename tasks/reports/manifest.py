"""The manifest, release.json: what a release says of itself."""

import json
import math
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from tasks.config import Config, Privacy
from tasks.domain import Domain
from tasks.hierarchies import read_ancestors
from tasks.repeats.outcome import stated_repeats
from tasks.reports.coarse import coarse, step_of
from tasks.reports.gate_figures import Figures, PersonFigures, WithinSegments
from tasks.reports.settings import stated_settings
from tasks.table_settings import Builder
from tasks.tables import (
    read_class_domain,
    read_fragments,
    read_sensitive,
    read_sensitive_domains,
)
from tasks.version import __version__

MANIFEST = "release.json"
LIBRARIES = ("duckdb", "great-expectations", "numpy", "pandas", "prefect")
DIGITS = 6
OF_PERSONS = ("number", "smallest_class", "smallest_join", "smallest_records", "l")
"""What is stated of persons."""

Manifest = dict[str, Any]


class FragmentFiles(NamedTuple):
    """The two files of a fragment, and their digests."""

    csv: str
    parquet: str
    csv_sha256: str
    parquet_sha256: str


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
    persons = _persons(connection, config)
    people = records if persons is None else persons["number"]
    changes = connection.execute("SELECT class_values FROM changes ORDER BY fragment").fetchall()
    return {
        "name": config.output.name,
        "version": release_version,
        "unjoin_version": __version__,
        "records": records,
        "class": config.columns.class_attribute,
        "class_values": "per_class" if privacy.enforcement == "delta_selectivity" else "per_record",
        "enforcement": privacy.enforcement,
        "columns": _columns(connection, config),
        "sensitive": [domain.name for domain in read_sensitive_domains(connection)],
        "protected": _protected(connection, config) if privacy.protects_values else [],
        "guarantees": {name: {"asked": asked, "achieved": None} for name, asked in _asked(privacy).items()},
        "fragments": _fragments(connection, files),
        "joins": {
            "smallest_join": None,
            "smallest_records": None,
            "smallest_record_share": None,
            "choices": None,
            "scope": config.join_scope,
            "within_segments": None,
        },
        "persons": persons,
        "changed_class_values": {
            "total": int(measures["changed_class_values"]),
            "share": round(measures["changed_class_values_share"], DIGITS),
            "per_fragment": [changed for (changed,) in changes],
        },
        "suppressed_records": 0,
        "measures": _measures(connection, measures, step_of(people, privacy.k)),
        "repeats": stated_repeats(connection),
        "limits": config.limits.model_dump(),
        "settings": stated_settings(config),
        "config_sha256": config.sha256,
        "versions": {library: version(library) for library in LIBRARIES},
        "validation": {"success": None, "path": "validation"},
    }


def _asked(privacy: Privacy) -> dict[str, Any]:
    return {
        "k": privacy.k,
        "guarantee": privacy.guarantee,
        "delta": privacy.delta,
        "l": _whole(privacy.l),
        "l_model": None if privacy.l is None else privacy.l_model,
        "c": privacy.c,
        "t": privacy.t,
        "t_distance": None if privacy.t is None else privacy.t_distance,
    }


def complete_manifest(manifest: Manifest, figures: Figures) -> Manifest:
    """Return the manifest of a release that passed the gate."""
    guarantees = manifest["guarantees"]
    guarantee = guarantees["guarantee"]["asked"] if manifest["class_values"] == "per_record" else None
    return manifest | {
        "guarantees": guarantees
        | {
            "k": guarantees["k"]
            | {"achieved": min(size for size in figures.smallest_class if size is not None)},
            "guarantee": guarantees["guarantee"] | {"achieved": guarantee},
            "delta": guarantees["delta"] | {"achieved": figures.smallest_eta},
            "l": guarantees["l"] | {"achieved": figures.smallest_l},
            "t": guarantees["t"] | {"achieved": figures.largest_t},
            **{name: {"asked": asked, "achieved": asked} for name, asked in _kept(guarantees)},
        },
        "fragments": [
            fragment | {"protected": [{"column": each.column, "l": each.l, "t": each.t} for each in reached]}
            for fragment, reached in zip(manifest["fragments"], figures.protected, strict=True)
        ],
        "joins": manifest["joins"]
        | {
            "smallest_join": figures.smallest_join,
            "smallest_records": figures.smallest_records,
            "smallest_record_share": figures.smallest_record_share,
            "choices": figures.choices,
            "within_segments": _within_segments(figures.within_segments),
        },
        "persons": _enough_persons(figures.persons, guarantees),
        "validation": manifest["validation"] | {"success": True},
    }


def _persons(connection: duckdb.DuckDBPyConnection, config: Config) -> dict[str, Any] | None:
    """Return how many persons the records are of, where persons are counted."""
    if config.columns.entity is None:
        return None
    ((number,),) = connection.execute("SELECT count(DISTINCT person) FROM persons").fetchall()
    return dict.fromkeys(OF_PERSONS) | {"number": number}


def _enough_persons(
    found: PersonFigures | None, guarantees: dict[str, dict[str, Any]]
) -> dict[str, int | None] | None:
    """Return what was asked of persons, as far as it was found, and no more.

    The files do not tell persons: exact figures would say which class values a person with several records
    has, whose numbers of records are known.
    """
    if found is None:
        return None
    k, values = guarantees["k"]["asked"], math.ceil(guarantees["l"]["asked"] or 0)
    most = {"number": found.number, "smallest_class": max(k, values), "smallest_join": k, "l": values}
    if guarantees["guarantee"]["asked"] == "records":
        most["smallest_records"] = k
    figures = {name: getattr(found, name) for name in OF_PERSONS}
    return {
        name: None if figure is None or name not in most else min(figure, most[name])
        for name, figure in figures.items()
    }


def _kept(guarantees: dict[str, dict[str, Any]]) -> list[tuple[str, Any]]:
    """Return how l and t are measured, which is achieved as asked or not at all."""
    return [(name, guarantees[name]["asked"]) for name in ("l_model", "c", "t_distance")]


def _within_segments(found: WithinSegments | None) -> dict[str, Any] | None:
    if found is None:
        return None
    sensitive = [{"column": column, "l": values} for column, values in found.sensitive]
    of_records = {"l": found.of_records.l, "t": found.of_records.t}
    return {
        "at_least": found.at_least,
        "l": found.l,
        "sensitive": sensitive,
        "of_records": of_records,
        "records": found.records,
    }


def write_manifest(manifest: Manifest, folder: Path) -> None:
    """Write the manifest into a folder."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder."""
    manifest: Manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return manifest


def _whole(level: float | None) -> float | None:
    """Return a whole number as one."""
    return int(level) if level is not None and level.is_integer() else level


def _protected(connection: duckdb.DuckDBPyConnection, config: Config) -> list[dict[str, Any]]:
    """Return the class and the sensitive attributes, with what their distance rests on."""
    fragment_of = {
        name: number for number, names in enumerate(read_sensitive(connection), 1) for name in names
    }
    return [
        {
            "column": domain.name,
            "fragment": fragment_of.get(domain.name),
            "order": _order(config, domain),
            "hierarchy": _hierarchy(connection, config, domain),
        }
        for domain in (read_class_domain(connection), *read_sensitive_domains(connection))
    ]


def _order(config: Config, domain: Domain) -> list[str] | None:
    """Return the values that occur, in their declared order."""
    order = config.columns.orders.get(domain.name)
    occurring = set(domain.values.tolist())
    return None if order is None else [value for value in order if value in occurring]


def _hierarchy(
    connection: duckdb.DuckDBPyConnection, config: Config, domain: Domain
) -> dict[str, list[str]] | None:
    """Return the ancestors of the values that occur."""
    if domain.name not in config.columns.hierarchies:
        return None
    return dict(zip(domain.values.tolist(), read_ancestors(connection, domain.name), strict=True))


def _columns(connection: duckdb.DuckDBPyConnection, config: Config) -> list[dict[str, Any]]:
    rows = connection.execute("""
        SELECT name, kind, fragment, CASE WHEN kind = 'fixed' THEN scale END, precision, label
        FROM columns JOIN fragments ON feature = name
        WHERE role = 'feature' ORDER BY position
    """).fetchall()
    keys = ("name", "kind", "fragment", "scale", "precision", "label", "hierarchy")
    hierarchies = {name: hierarchy_made(made) for name, made in config.columns.hierarchies.items()}
    return [
        {
            key: held
            for key, held in zip(keys, (*row, hierarchies.get(row[0])), strict=True)
            if held is not None
        }
        for row in rows
    ]


def hierarchy_made(made: Path | Builder) -> dict[str, Any]:
    """Return how a hierarchy is made, by the names of the settings."""
    if isinstance(made, Path):
        return {"made": "file"}
    if made.ranges is not None:
        widths = [int(width) if width.is_integer() else width for width in made.ranges]
        return {"made": "ranges", "ranges": widths}
    ((how, levels),) = made.model_dump(mode="json", exclude_none=True).items()
    return {"made": how, how: levels}


def _fragments(connection: duckdb.DuckDBPyConnection, files: Sequence[FragmentFiles]) -> list[dict[str, Any]]:
    sizes = connection.execute("""
        SELECT count(*), min(records) FROM equivalence_classes GROUP BY fragment ORDER BY fragment
    """).fetchall()
    return [
        {
            "csv": written.csv,
            "parquet": written.parquet,
            "features": features,
            "sensitive": sensitive,
            "protected": [],
            "equivalence_classes": classes,
            "smallest_class": smallest,
            "sha256": {"csv": written.csv_sha256, "parquet": written.parquet_sha256},
        }
        for written, features, sensitive, (classes, smallest) in zip(
            files, read_fragments(connection), read_sensitive(connection), sizes, strict=True
        )
    ]


def _measures(
    connection: duckdb.DuckDBPyConnection, measures: dict[str, float], step: float
) -> dict[str, Any]:
    return {
        "information_loss": {
            "fragmented": round(measures["information_loss"], DIGITS),
            "features": _feature_loss(connection, "fragmented"),
            **_one_table_loss(connection, measures, step),
        },
        "mean_class_size": round(measures["mean_class_size"], DIGITS),
        "discernibility": int(measures["discernibility"]),
    }


def _one_table_loss(
    connection: duckdb.DuckDBPyConnection, measures: dict[str, float], step: float
) -> dict[str, Any]:
    """Return the loss of one table, which is rounded unless it is what was published."""
    mean, losses = measures["information_loss_unfragmented"], _feature_loss(connection, "unfragmented")
    published = len(read_fragments(connection)) == 1 and losses == _feature_loss(connection, "fragmented")
    if not published:
        mean, losses = coarse(mean, step), {name: coarse(loss, step) for name, loss in losses.items()}
    return {"unfragmented": round(mean, DIGITS), "unfragmented_features": losses}


def _feature_loss(connection: duckdb.DuckDBPyConnection, release: str) -> dict[str, float]:
    rows = connection.execute(
        "SELECT name, information_loss FROM columns JOIN feature_loss ON feature = name "
        "WHERE release = ? ORDER BY position",
        [release],
    ).fetchall()
    return {name: round(loss, DIGITS) for name, loss in rows}
