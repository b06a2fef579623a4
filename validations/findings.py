"""What a promise module hands to the gate, and the checks that guard every suite against missing evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from great_expectations.expectations.core.expect_column_max_to_be_between import ExpectColumnMaxToBeBetween
from great_expectations.expectations.core.expect_column_min_to_be_between import ExpectColumnMinToBeBetween
from great_expectations.expectations.core.expect_column_values_to_be_between import (
    ExpectColumnValuesToBeBetween,
)
from great_expectations.expectations.core.expect_column_values_to_not_be_null import (
    ExpectColumnValuesToNotBeNull,
)
from great_expectations.expectations.core.expect_table_row_count_to_equal import ExpectTableRowCountToEqual
from great_expectations.expectations.expectation import Expectation

Judgement = ExpectColumnMaxToBeBetween | ExpectColumnMinToBeBetween | ExpectColumnValuesToBeBetween
Number = float | int | None


class ExpectEverythingToBeChecked(ExpectTableRowCountToEqual):
    """Whether there is one line of evidence for everything that the promise covers."""


class ExpectNothingToBeUnknown(ExpectColumnValuesToNotBeNull):
    """Whether all evidence could be found: a missing number would slip through a minimum or maximum."""


class ExpectNoDeviation(ExpectColumnMaxToBeBetween):
    """Whether a count of deviations is zero throughout."""


@dataclass(frozen=True, eq=False)
class Finding:
    """The evidence for one promise and what is expected of it.

    Attributes
    ----------
    name
        The promise's short name.
    title
        The promise in plain words.
    asked, achieved
        What was wanted and what the files show, in words.
    evidence
        One line per thing that was checked; aggregates only.
    lines
        How many lines the evidence must have.
    judgements
        What is expected of the evidence, each about one column.
    query
        SQL that anyone can run inside the folder to see the evidence; None where there is none.
    note
        What the query does not show, or why there is none.
    """

    name: str
    title: str
    asked: str
    achieved: str
    evidence: pd.DataFrame
    lines: int
    judgements: tuple[Judgement, ...]
    query: str | None = None
    note: str | None = None

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """The judgements, and for each that its column is complete; first that no line is missing."""
        complete = tuple(
            ExpectNothingToBeUnknown(
                column=judgement.column, description="All evidence could be found; none of it is missing."
            )
            for judgement in self.judgements
        )
        return (
            ExpectEverythingToBeChecked(
                value=self.lines,
                description="There is one line of evidence for everything that the promise covers.",
            ),
            *self.judgements,
            *complete,
        )


def evidence_frame(subjects: Sequence[str], **columns: Sequence[Number]) -> pd.DataFrame:
    """Return an evidence frame: what was checked, and a column of numbers per count; None is unknown."""
    numbers: Mapping[str, pd.Series] = {
        name: pd.Series(values, dtype="float64") for name, values in columns.items()
    }
    return pd.DataFrame({"checked": list(subjects), **numbers})


def in_words(count: int, singular: str, plural: str) -> str:
    """Return a count with its noun, such as `1 file` or `2,000 files`."""
    return f"{count:,} {singular if count == 1 else plural}"
