"""The gate: holds the written files of a release against its promises, from the files alone.

Beside the private store of the run that wrote them, joins within segments are checked as well.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from validations.evidence import Figures
from validations.gather import gather_evidence
from validations.promises import Promises

if TYPE_CHECKING:
    from validations.suites import Document


@dataclass(frozen=True)
class Outcome:
    """How one promise came out.

    Attributes
    ----------
    name
        Its short name, such as `k` or `joins`.
    title
        The promise in plain words.
    asked, achieved
        What was wanted and what the files show, in words.
    success
        Whether the promise is kept; a promise that could not be checked is not.
    query
        SQL that anyone can run with DuckDB inside the folder; None where there is none.
    note
        What the query does not show, or why there is none.
    """

    name: str
    title: str
    asked: str
    achieved: str
    success: bool
    query: str | None
    note: str | None


@dataclass(frozen=True)
class Verdict:
    """What the gate found.

    Attributes
    ----------
    promises
        One outcome per promise.
    success
        Whether all are kept.
    figures
        What the files show, in numbers.
    documents
        The result and the suite of Great Expectations, per promise.
    """

    promises: tuple[Outcome, ...]
    success: bool
    figures: Figures
    documents: tuple["Document", ...]


def check_folder(folder: Path, promises: Promises, store: Path | None = None) -> Verdict:
    """Check the written files of a release; nothing in the folder is changed.

    Parameters
    ----------
    folder
        Holds the fragment files, and perhaps the manifest, the report and the validation documents.
    promises
        What to hold the files against: stated by the run, or read from the manifest.
    store
        The private store of the run; it is only read. Nobody must have it open.
    """
    # Great Expectations takes a second or more to import, which --help must not pay. It is imported before
    # files are read, not meanwhile: both want the interpreter, and together take longer than one by one.
    from validations.suites import judge  # noqa: PLC0415 - see above

    evidence = gather_evidence(folder, promises, store)
    judged = judge(promises, evidence)
    outcomes = tuple(
        Outcome(
            name=each.finding.name,
            title=each.finding.title,
            asked=each.finding.asked,
            achieved=each.finding.achieved,
            success=each.success,
            query=each.finding.query,
            note=each.finding.note,
        )
        for each in judged
    )
    return Verdict(
        promises=outcomes,
        success=bool(outcomes) and all(outcome.success for outcome in outcomes),
        figures=evidence.figures,
        documents=tuple(each.document for each in judged),
    )


def write_validation(verdict: Verdict, folder: Path) -> None:
    """Write the documents of a verdict into the folder `validation`; they hold aggregates only.

    Parameters
    ----------
    verdict
        What `check_folder` returned.
    folder
        The folder of the release; gets validation/<promise>.json and validation/suites/<promise>.json.
    """
    target = folder / "validation"
    (target / "suites").mkdir(parents=True, exist_ok=True)
    for document in verdict.documents:
        (target / f"{document.name}.json").write_text(document.result + "\n", encoding="utf-8")
        (target / "suites" / f"{document.name}.json").write_text(document.suite + "\n", encoding="utf-8")
