"""Step 13, the report: a page that tells an auditor what was published, what holds and what does not."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import duckdb
import numpy as np
import numpy.typing as npt
from jinja2 import Environment, PackageLoader, StrictUndefined

from tasks.reports.manifest import DIGITS, Figures, Manifest, complete_manifest, read_manifest, write_manifest
from tasks.reports.pictures import (
    Block,
    class_size_picture,
    information_loss_picture,
    mutual_information_picture,
    visible_text,
)
from tasks.reports.report_trials import (
    Learning,
    NumberChoice,
    best_form,
    read_learning,
    read_number_choice,
    stated_choice,
)
from tasks.reports.trial_pictures import learning_picture, number_picture
from tasks.reports.wording import (
    closeness_in_words,
    diversity_in_words,
    figure,
    percent,
    protected_in_words,
    safe_only_within_segments,
)
from tasks.steps import step
from tasks.store import open_store
from tasks.tables import read_domains, read_matrix, read_sensitive_domains

REPORT = "report.html"

Floats = npt.NDArray[np.float64]


class Outcome(Protocol):
    """A promise that the gate has checked."""

    @property
    def name(self) -> str:
        """Its short name, as in the file names below `validation/`."""

    @property
    def title(self) -> str:
        """The promise in plain words."""

    @property
    def asked(self) -> str:
        """What was asked."""

    @property
    def achieved(self) -> str:
        """What the files show."""

    @property
    def success(self) -> bool:
        """Whether it holds."""

    @property
    def query(self) -> str | None:
        """The evidence query, for DuckDB in the published folder."""


class Verdict(Protocol):
    """What the gate says of a folder."""

    @property
    def promises(self) -> Sequence[Outcome]:
        """Every promise, checked."""

    @property
    def figures(self) -> Figures:
        """What the files show."""


class PlacedFeature(NamedTuple):
    """Why a feature or a sensitive attribute is in its fragment.

    Attributes
    ----------
    feature
        Its name.
    fragment
        Number of its fragment, from 1.
    step
        When the greedy search placed it; 0 is a seed (paper, Algorithm 1). Sensitive attributes come last.
    contribution
        What placing it added to FMRMR, in nats; None when there is one fragment.
    """

    feature: str
    fragment: int
    step: int
    contribution: float | None


@dataclass(frozen=True)
class ReportFacts:
    """Everything the report tells.

    Attributes
    ----------
    manifest
        The content of release.json.
    outcomes
        Every promise of the gate.
    features
        Names, in input order.
    sensitive
        Names of the sensitive attributes beside the class, in input order.
    class_attribute
        Name of the class attribute.
    mutual_information : array of shape (p + s + 1, p + s + 1), nats
        Features and sensitive attributes, each in input order, the class last.
    placements
        One per feature and sensitive attribute.
    class_sizes : per fragment, array of shape (ECs of the fragment,), records
    steps
        Name and seconds of every step of the run.
    choice
        How the number of fragments was chosen; None where it was given.
    learning
        What classifiers learn from a trial of the release; None where none was asked for.
    """

    manifest: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]
    features: tuple[str, ...]
    sensitive: tuple[str, ...]
    class_attribute: str
    mutual_information: Floats
    placements: tuple[PlacedFeature, ...]
    class_sizes: tuple[npt.NDArray[np.int64], ...]
    steps: tuple[tuple[str, float], ...]
    choice: NumberChoice | None = None
    learning: Learning | None = None


class Member(NamedTuple):
    """A column as a row of its fragment's table; relevance and contribution in nats."""

    name: str
    sensitive: bool
    relevance: float
    step: int
    contribution: float | None


class FragmentView(NamedTuple):
    """A fragment as the page shows it."""

    number: int
    entry: Mapping[str, Any]
    members: tuple[Member, ...]
    median_class: float
    largest_class: int
    changed: int


class Affinity(NamedTuple):
    """Mean mutual information of two different features, in nats; None where there is no such pair."""

    within: float | None
    between: float | None


def render_report(facts: ReportFacts) -> str:
    """Return the report as one HTML page that needs nothing from outside it."""
    environment = Environment(
        loader=PackageLoader("tasks.reports", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"name": visible_text, "number": _number, "decimals": _decimals}
    environment.filters |= {"share": _share, "floor_share": _floor_share}
    environment.filters |= {"figure": figure, "percent": percent}
    environment.filters |= {"protected": protected_in_words, "diversity": diversity_in_words}
    environment.filters |= {"closeness": closeness_in_words}
    return environment.get_template("report.html.j2").render(
        release=facts.manifest,
        published=_in_words(facts.manifest["version"]),
        outcomes=facts.outcomes,
        broken=sum(not outcome.success for outcome in facts.outcomes),
        class_attribute=facts.class_attribute,
        features=facts.features,
        sensitive=facts.sensitive,
        only_within_segments=safe_only_within_segments(facts.manifest),
        fragments=_fragment_views(facts),
        numeric=_first_numeric(facts.manifest["columns"]),
        affinity=_affinity(facts),
        information_picture=_information_picture(facts),
        loss_picture=_loss_picture(facts),
        size_picture=class_size_picture(facts.class_sizes, facts.manifest["guarantees"]["k"]["asked"]),
        steps=facts.steps,
        choice=facts.choice,
        number_picture=facts.choice and number_picture(facts.choice),
        learning=facts.learning,
        learning_picture=facts.learning and learning_picture(facts.learning),
    )


def _fragment_views(facts: ReportFacts) -> list[FragmentView]:
    changed = facts.manifest["changed_class_values"]["per_fragment"]
    return [
        FragmentView(
            number=number,
            entry=entry,
            members=members,
            median_class=float(np.median(sizes)),
            largest_class=int(sizes.max()),
            changed=changed[number - 1],
        )
        for number, (entry, members, sizes) in enumerate(
            zip(facts.manifest["fragments"], _members(facts), facts.class_sizes, strict=True), start=1
        )
    ]


def _members(facts: ReportFacts) -> list[tuple[Member, ...]]:
    columns = (*facts.features, *facts.sensitive)
    relevance = dict(zip(columns, facts.mutual_information[-1].tolist(), strict=False))
    placed = {feature: (step, contribution) for feature, _, step, contribution in facts.placements}
    return [
        tuple(
            Member(name, role == "sensitive", relevance[name], *placed[name])
            for role in ("features", "sensitive")
            for name in entry[role]
        )
        for entry in facts.manifest["fragments"]
    ]


def _positions(facts: ReportFacts) -> list[npt.NDArray[np.intp]]:
    """Return each fragment's columns as rows of the matrix, its sensitive attributes last."""
    index = {name: position for position, name in enumerate((*facts.features, *facts.sensitive))}
    return [
        np.array([index[name] for name in (*entry["features"], *entry["sensitive"])])
        for entry in facts.manifest["fragments"]
    ]


def _affinity(facts: ReportFacts) -> Affinity:
    p = len(facts.features)
    fragment = np.empty(p, dtype=np.intp)
    for number, positions in enumerate(_positions(facts)):
        fragment[positions[positions < p]] = number
    first, second = np.triu_indices(p, 1)
    together = fragment[first] == fragment[second]
    information = facts.mutual_information[first, second]
    return Affinity(_mean(information[together]), _mean(information[~together]))


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _information_picture(facts: ReportFacts) -> str:
    positions = _positions(facts)
    columns = len(facts.features) + len(facts.sensitive)
    thickness = 1 + columns // 61  # keeps the class visible beside hundreds of features
    order = np.concatenate([*positions, [columns] * thickness])
    blocks = [Block(f"fragment {number}", len(part)) for number, part in enumerate(positions, start=1)]
    names = (*facts.features, *facts.sensitive, facts.class_attribute)
    information = facts.mutual_information.copy()
    np.fill_diagonal(information, np.nan)
    return mutual_information_picture(
        information[np.ix_(order, order)], [names[i] for i in order], [*blocks, Block("class", thickness)]
    )


def _loss_picture(facts: ReportFacts) -> str:
    loss = facts.manifest["measures"]["information_loss"]
    published, one_table = (
        np.array([loss[key][name] for name in facts.features])
        for key in ("features", "unfragmented_features")
    )
    several = len(facts.manifest["fragments"]) > 1
    return information_loss_picture(facts.features, published, one_table if several else None)


def _first_numeric(columns: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    return next((column for column in columns if column["kind"] != "categorical"), None)


def _in_words(version: str) -> str:
    moment = datetime.strptime(version, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def _number(number: int, noun: str = "") -> str:
    return f"{number:,} {noun}{'' if number == 1 or not noun else 's'}".rstrip()


def _share(share: float) -> str:
    if 0 < share < 0.001:  # noqa: PLR2004 - what would print as zero
        return "less than 0.1 %"
    return f"{100 * share:.1f} %".replace(".0 %", " %")


def _floor_share(share: float) -> str:
    return _share(math.floor(share * 1000 + 1e-9) / 1000)


def _decimals(number: float | None) -> str:
    return "none" if number is None else f"{number:.3f}".replace("-", "\N{MINUS SIGN}")


@step("write the report")
def write_report(store: Path, staging: Path, verdict: Verdict) -> None:
    """Complete the manifest with what the gate found, and write the page that tells of it."""
    manifest = complete_manifest(read_manifest(staging), verdict.figures)
    with open_store(store) as connection:
        facts = _facts(connection, manifest, verdict.promises)
    write_manifest(_with_f_measures(manifest, facts.learning) | stated_choice(facts.choice), staging)
    (staging / REPORT).write_text(render_report(facts), encoding="utf-8")


def _with_f_measures(manifest: Manifest, learning: Learning | None) -> Manifest:
    """Return the manifest with what learners reach on the release, of the best form of a cell."""
    if learning is None:
        return manifest
    reached = {f"f_measure_{result.learner}": best_form(result.fragmented) for result in learning.results}
    stated = {name: round(f, DIGITS) for name, f in reached.items() if f is not None}
    return manifest | {"measures": manifest["measures"] | stated}


def _facts(
    connection: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any], outcomes: Sequence[Outcome]
) -> ReportFacts:
    features, class_domain = read_domains(connection)
    placements = connection.execute(
        "SELECT feature, fragment, step, contribution FROM fragments ORDER BY fragment, step"
    ).fetchall()
    sizes = connection.execute(
        "SELECT list(records) FROM equivalence_classes GROUP BY fragment ORDER BY fragment"
    ).fetchall()
    return ReportFacts(
        manifest=manifest,
        outcomes=tuple(outcomes),
        features=tuple(feature.name for feature in features),
        sensitive=tuple(attribute.name for attribute in read_sensitive_domains(connection)),
        class_attribute=class_domain.name,
        mutual_information=read_matrix(connection),
        placements=tuple(PlacedFeature(*placement) for placement in placements),
        class_sizes=tuple(np.array(records, dtype=np.int64) for (records,) in sizes),
        steps=tuple(connection.execute("SELECT step, seconds FROM steps ORDER BY rowid").fetchall()),
        choice=read_number_choice(connection),
        learning=read_learning(connection),
    )
