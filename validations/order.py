"""Promise `order`: rows are sorted by their own cells, so that a row's place carries nothing."""

from validations import queries
from validations.evidence import Evidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.promises import Promises


class ExpectRowsToBeSortedByTheirOwnCells(ExpectNoDeviation):
    """Whether all rows stand where the order by their own cells puts them."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Count the groups of alike rows that stand elsewhere, in both formats."""
    subjects, misplaced = [], []
    for fragment in evidence.fragments:
        subjects += [file.file for file in fragment.files]
        misplaced += [fragment.misplaced, fragment.agreement.misplaced if fragment.agreement else None]
    known = [count for count in misplaced if count is not None]
    unknown = [subject for subject, count in zip(subjects, misplaced, strict=True) if count is None]
    achieved = in_words(sum(known), "group of alike rows", "groups of alike rows") + " out of place"
    if unknown:
        achieved += f"; could not be checked: {', '.join(unknown)}"
    return Finding(
        name="order",
        title="Rows are sorted by their own cells, so that their place carries nothing",
        asked="every row where the order by its own cells puts it, the same in both formats",
        achieved=achieved,
        evidence=evidence_frame(subjects, misplaced=misplaced),
        lines=2 * len(promises.fragments),
        judgements=(
            ExpectRowsToBeSortedByTheirOwnCells(
                column="misplaced",
                max_value=0,
                description="All rows stand where the order by their own cells puts them.",
            ),
        ),
        query=queries.order(promises),
    )
