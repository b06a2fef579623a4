"""Promise `records`: every fragment holds every record."""

from great_expectations.expectations.core.expect_column_values_to_be_between import (
    ExpectColumnValuesToBeBetween,
)

from validations import queries
from validations.evidence import Evidence
from validations.findings import Finding, evidence_frame, in_words
from validations.promises import Promises


class ExpectEveryFileToHoldAllRecords(ExpectColumnValuesToBeBetween):
    """Whether every file has one row per record."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare the number of rows of every file with the number of records."""
    files = evidence.files
    rows = [file.records for file in files]
    problems = [file.problem for file in files if file.problem]
    return Finding(
        name="records",
        title="Every fragment holds every record",
        asked=in_words(promises.records, "row", "rows") + " in every file",
        achieved="could not be checked: " + problems[0]
        if problems
        else ", ".join(f"{count:,}" for count in sorted({count for count in rows if count is not None}))
        + " rows",
        evidence=evidence_frame([file.file for file in files], rows=rows),
        lines=2 * len(promises.fragments),
        judgements=(
            ExpectEveryFileToHoldAllRecords(
                column="rows",
                min_value=max(promises.records, 1),
                max_value=promises.records,
                description="Every file has one row per record; no fragment is empty.",
            ),
        ),
        query=queries.rows(promises),
    )
