"""Promise `formats`: the CSV and the Parquet file of a fragment say the same, cell by cell."""

from validations import file_queries
from validations.evidence import Evidence, FragmentEvidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.promises import Promises


class ExpectFormatsToAgree(ExpectNoDeviation):
    """Whether the two files of every fragment hold the same rows, compared as values."""


class ExpectNothingBesideTheRows(ExpectNoDeviation):
    """Whether every file holds its rows, written in the one way there is, and nothing beside them."""


class ExpectCellsToFollowTheGrammar(ExpectNoDeviation):
    """Whether every cell of both files is one of the forms that a published cell can have."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Count the groups of rows that differ between the formats, and the cells that break the grammar."""
    differing = [
        fragment.agreement.differing if fragment.agreement else None for fragment in evidence.fragments
    ]
    unsound = [_unsound(fragment) for fragment in evidence.fragments]
    beside = [_beside(fragment) for fragment in evidence.fragments]
    return Finding(
        name="formats",
        title="The CSV and the Parquet file of every fragment say the same",
        asked="the same rows in both files, every cell well formed, nothing beside the rows",
        achieved=_in_words(differing, unsound, beside),
        evidence=evidence_frame(
            [f"fragment {number}" for number in range(1, len(evidence.fragments) + 1)],
            differing=differing,
            unsound=unsound,
            beside=beside,
        ),
        lines=len(promises.fragments),
        judgements=(
            ExpectFormatsToAgree(
                column="differing",
                max_value=0,
                description="The CSV and the Parquet file of every fragment hold the same rows.",
            ),
            ExpectCellsToFollowTheGrammar(
                column="unsound",
                max_value=0,
                description="Every cell has one of the forms that a published cell can have.",
            ),
            ExpectNothingBesideTheRows(
                column="beside",
                max_value=0,
                description="Every file holds its rows as a release writes them, and nothing beside them.",
            ),
        ),
        query=file_queries.formats(promises),
    )


def _in_words(*counts: list[int | None]) -> str:
    """Say what was found of groups that differ, cells of another form, and files with more than rows."""
    known = [[count for count in of_fragments if count is not None] for of_fragments in counts]
    if [len(each) for each in known] != [len(each) for each in counts]:
        return "could not be checked: files cannot be read or have other columns"
    differing, unsound, beside = map(sum, known)
    groups = in_words(differing, "group of rows differs", "groups differ")
    cells = in_words(unsound, "cell", "cells")
    return (
        f"{groups}, {cells} of another form, {in_words(beside, 'file', 'files')} not as a release writes it"
    )


def _beside(fragment: FragmentEvidence) -> int | None:
    plain = [file.plain for file in fragment.files]
    return None if None in plain else plain.count(False)


def _unsound(fragment: FragmentEvidence) -> int | None:
    counts = [file.unsound for file in fragment.files]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
