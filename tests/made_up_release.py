"""Made-up releases: what the report and the terminal tell of."""

from dataclasses import dataclass, replace

import numpy as np

from tasks.report import PlacedFeature, ReportFacts
from tasks.reports.dictionary import ColumnEntry


@dataclass(frozen=True)
class Checked:
    name: str
    title: str
    asked: str
    achieved: str
    query: str | None = None
    success: bool = True
    note: str | None = None


OUTCOMES = (
    Checked(
        "hashes", "Every file is the one the manifest names", "equal hashes", "4 of 4 equal", note="Not here."
    ),
    Checked(
        "k",
        "Every equivalence class holds at least k records",
        "at least 40",
        "41",
        'SELECT min(records)\nFROM (SELECT count(*) AS records FROM \'fragment_1.csv\' GROUP BY "a", "b")\n'
        "WHERE records < 40",
    ),
    Checked("joins", "Every join holds no row or at least k", "0 or at least 40", "at least 57", "SELECT 1"),
)


def cut(features, fragments):
    return [features[start::fragments] for start in range(fragments)]


def fragment_entry(number, features, sensitive, sizes):
    return {
        "csv": f"fragment_{number}.csv",
        "parquet": f"fragment_{number}.parquet",
        "features": list(features),
        "sensitive": list(sensitive),
        "protected": [],
        "equivalence_classes": len(sizes),
        "smallest_class": int(sizes.min()),
        "sha256": {"csv": f"{number}a" * 32, "parquet": f"{number}b" * 32},
    }


def release(features, sensitive, parts, sizes, random):
    loss = {
        name: float(value) for name, value in zip(features, random.beta(2, 6, len(features)), strict=True)
    }
    whole = {name: min(1.0, value * 1.6 + 0.05) for name, value in loss.items()}
    several = len(parts) > 1
    number = {name: fragment for fragment, part in enumerate(parts, start=1) for name in part}
    return {
        "name": "breast cancer",
        "version": "20261127T030000Z",
        "unjoin_version": "0.1.0",
        "records": int(sizes[0].sum()),
        "class": "diagnosis",
        "sensitive": list(sensitive),
        "protected": [],
        "class_values": "per_record",
        "enforcement": "min_distortion",
        "columns": [{"name": name, "kind": "decimal", "fragment": number[name]} for name in features],
        "guarantees": {
            "k": {"asked": 40, "achieved": 41},
            "guarantee": {"asked": "join", "achieved": "join"},
            "delta": {"asked": None, "achieved": None},
            **{name: {"asked": None, "achieved": None} for name in ("l", "l_model", "c", "t", "t_distance")},
        },
        "fragments": [
            fragment_entry(i, part, sensitive[i - 1 :: len(parts)], sizes[i - 1])
            for i, part in enumerate(parts, start=1)
        ],
        "joins": {
            "smallest_join": 57 if several else None,
            "smallest_records": 12 if several else None,
            "smallest_record_share": None,
            "choices": 300 if several else 0,
            "scope": "all",
            "within_segments": None,
        },
        "changed_class_values": {
            "total": 23 if several else 0,
            "share": 23 / int(sizes[0].sum()) / len(parts) if several else 0.0,
            "per_fragment": [23, *[0] * (len(parts) - 1)] if several else [0],
        },
        "suppressed_records": 0,
        "repeats": {"check": "refuse", "earlier": 0, "by_stores": 0, "by_files": 0, "kept": None},
        "measures": {
            "information_loss": {
                "fragmented": float(np.mean(list(loss.values()))),
                "unfragmented": float(np.mean(list(whole.values()))),
                "features": loss,
                "unfragmented_features": whole,
            }
        },
        "settings": {
            "privacy.k": 40,
            "privacy.enforcement": "min_distortion",
            "fragmentation.fragments": len(parts),
        },
        "limits": {"max_information_loss": None, "max_changed_class_values": None},
        "config_sha256": "c0ffee" * 10 + "abcd",
        "versions": {"numpy": "2.4.6", "duckdb": "2.0.1", "prefect": "3.9.1"},
        "validation": {"success": True, "path": "validation"},
    }


def made_up(features, fragments=2, sensitive=()):
    random = np.random.default_rng(7)
    parts = cut(features, fragments)
    sizes = tuple(random.integers(41, 80, 30).astype(np.int64) for _ in parts)
    factors = random.normal(size=(len(features) + len(sensitive) + 1, 4))
    information = np.abs(factors @ factors.T) / 12
    placements = [
        PlacedFeature(name, number, step, float(random.normal() / 10) if fragments > 1 else None)
        for number, part in enumerate(parts, start=1)
        for step, name in enumerate([*part, *sensitive[number - 1 :: fragments]])
    ]
    return ReportFacts(
        manifest=release(features, sensitive, parts, sizes, random),
        outcomes=OUTCOMES,
        features=tuple(features),
        sensitive=tuple(sensitive),
        class_attribute="diagnosis",
        mutual_information=information,
        placements=tuple(placements),
        class_sizes=sizes,
        dictionary=dictionary(parts, sensitive),
        steps=(("load", 0.4), ("mutual information", 1.21), ("fragment", 0.02)),
    )


def dictionary(parts, sensitive):
    entries = [
        ColumnEntry(name, "feature", "decimal", number, 20 + place, 0.125, 0.25, missing=place == 0)
        for number, part in enumerate(parts, start=1)
        for place, name in enumerate(part)
    ]
    entries += [
        ColumnEntry(name, "sensitive", "text", place % len(parts) + 1, 4, 1.0, None, missing=True)
        for place, name in enumerate(sensitive)
    ]
    return (*entries, ColumnEntry("diagnosis", "class", "text", None, 3, 1.0, None, missing=False))


def per_class(facts):
    delta = {"asked": 0.5, "achieved": 0.6125}
    guarantees = {
        **facts.manifest["guarantees"],
        "delta": delta,
        "guarantee": {"asked": "join", "achieved": None},
    }
    joins = {**facts.manifest["joins"], "smallest_join": None, "smallest_records": None}
    manifest = {**facts.manifest, "class_values": "per_class", "guarantees": guarantees, "joins": joins}
    dictionary = (*facts.dictionary[:-1], facts.dictionary[-1]._replace(exact=0.0625, missing=True))
    return replace(facts, manifest={**manifest, "enforcement": "delta_selectivity"}, dictionary=dictionary)


def changed(facts, **keys):
    return replace(facts, manifest={**facts.manifest, **keys})


def protected(facts, *, l=None, l_model="distinct", c=None, t=None, t_distance="equal"):  # noqa: E741
    """Give a release l-diversity or t-closeness; l and t are pairs of what was asked and achieved."""

    def both(value, figure):
        return {"asked": value, "achieved": value} if figure else {"asked": None, "achieved": None}

    guarantees = {
        **facts.manifest["guarantees"],
        "l": dict(zip(("asked", "achieved"), l or (None, None), strict=True)),
        "l_model": both(l_model, l),
        "c": both(c, c),
        "t": dict(zip(("asked", "achieved"), t or (None, None), strict=True)),
        "t_distance": both(t_distance, t),
    }
    reached = {"l": l and l[1], "t": t and t[1]}
    entries = [
        entry
        | {
            "protected": [
                {"column": name, **reached} for name in (facts.class_attribute, *entry["sensitive"])
            ]
        }
        for entry in facts.manifest["fragments"]
    ]
    return changed(facts, guarantees=guarantees, fragments=entries)


def segmented(facts, smallest_join=4, at_least=40, values=2, sensitive=(), *, of_records=(None, None)):
    """Promise joins within segments only; smallest_join is over all choices."""
    within = {
        "at_least": at_least,
        "l": values,
        "sensitive": [{"column": column, "l": number} for column, number in sensitive],
        "of_records": dict(zip(("l", "t"), of_records, strict=True)),
        "records": None,
    }
    return with_joins(facts, smallest_join=smallest_join, scope="segments", within_segments=within)


def with_joins(facts, **figures):
    return changed(facts, joins={**facts.manifest["joins"], **figures})
