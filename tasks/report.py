"""Step: the report, a page that tells an auditor what was published, what holds and what does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.reports.coarse import all_coarse, coarse, step_of_release, withholds
from tasks.reports.dictionary import ColumnEntry, read_dictionary
from tasks.reports.gate_figures import Figures
from tasks.reports.manifest import DIGITS, Manifest, complete_manifest, read_manifest, write_manifest
from tasks.reports.page import render_report
from tasks.reports.report_attacks import Attacked, read_attacks, stated_attacks
from tasks.reports.report_risks import read_risks, stated_risks
from tasks.reports.report_trials import (
    Learning,
    NumberChoice,
    best_form,
    read_learning,
    read_number_choice,
    stated_choice,
)
from tasks.reports.report_utility import Utility, read_utility, stated_utility
from tasks.risks.figures import Risks
from tasks.sign import stated_documents, stated_signature
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

    @property
    def note(self) -> str | None:
        """What the query does not show, or why there is none."""


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
        What placing it added to FMRMR, in nats, rounded; None when there is one fragment.
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
        Features and sensitive attributes, each in input order, the class last; rounded, as contributions are.
    placements
        One per feature and sensitive attribute.
    class_sizes : per fragment, array of shape (ECs of the fragment,), records
    dictionary
        Every published column, see `tasks.reports.dictionary`.
    steps
        Name and seconds of every step of the run.
    choice
        How the number of fragments was chosen; None where it was given.
    learning
        What classifiers learn from a trial of the release; None where none was asked for.
    risks, attacks, utility
        What was measured of disclosure risk, of attacks on the written files and of what is kept; None where
        it was not.
    """

    manifest: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]
    features: tuple[str, ...]
    sensitive: tuple[str, ...]
    class_attribute: str
    mutual_information: Floats
    placements: tuple[PlacedFeature, ...]
    class_sizes: tuple[npt.NDArray[np.int64], ...]
    dictionary: tuple[ColumnEntry, ...]
    steps: tuple[tuple[str, float], ...]
    choice: NumberChoice | None = None
    learning: Learning | None = None
    risks: Risks | None = None
    attacks: Attacked | None = None
    utility: Utility | None = None


@step("write the report")
def write_report(store: Path, config: Config, staging: Path, verdict: Verdict) -> None:
    """Complete the manifest with what the gate found, and write the page that tells of it.

    The manifest comes last: it states the digests of the page and of the validation documents.
    """
    manifest = complete_manifest(read_manifest(staging), verdict.figures) | stated_signature(config)
    with open_store(store) as connection:
        facts = _facts(connection, manifest, verdict.promises)
    (staging / REPORT).write_text(render_report(facts), encoding="utf-8")
    documents = {"documents": stated_documents(staging)}
    write_manifest(_with_measurements(manifest, facts) | documents, staging)


def _with_measurements(manifest: Manifest, facts: ReportFacts) -> Manifest:
    """Return the manifest with what was measured beside the promises."""
    measures = manifest["measures"] | _f_measures(facts.learning)
    if facts.utility is not None:
        measures |= stated_utility(facts.utility)
    withheld = withholds(manifest)
    stated = manifest | {"measures": measures} | stated_choice(facts.choice)
    stated |= stated_attacks(facts.attacks, withheld=withheld)
    if facts.risks is None:
        return stated
    of_persons = bool(manifest.get("persons"))
    return stated | {"risks": stated_risks(facts.risks, withheld=withheld, of_persons=of_persons)}


def _f_measures(learning: Learning | None) -> dict[str, float]:
    """Return what learners reach on the release, of the best form of a cell."""
    if learning is None:
        return {}
    reached = {f"f_measure_{result.learner}": best_form(result.fragmented) for result in learning.results}
    return {name: round(f, DIGITS) for name, f in reached.items() if f is not None}


def _facts(
    connection: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any], outcomes: Sequence[Outcome]
) -> ReportFacts:
    features, class_domain = read_domains(connection)
    rounding = step_of_release(manifest)
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
        mutual_information=all_coarse(read_matrix(connection), rounding),
        placements=tuple(
            PlacedFeature(feature, fragment, step, None if nats is None else coarse(nats, rounding))
            for feature, fragment, step, nats in placements
        ),
        class_sizes=tuple(np.array(records, dtype=np.int64) for (records,) in sizes),
        dictionary=read_dictionary(connection, manifest),
        steps=tuple(connection.execute("SELECT step, seconds FROM steps ORDER BY rowid").fetchall()),
        choice=read_number_choice(connection),
        learning=read_learning(connection),
        risks=read_risks(connection),
        attacks=read_attacks(connection),
        utility=read_utility(connection, manifest),
    )
