"""Promise `joins`: joining fragments on the class gives no rows or at least k."""

from validations import queries
from validations.class_joins import SmallestJoin
from validations.evidence import Evidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame
from validations.promises import Promises


class ExpectEveryJoinToHoldKOrNoRows(ExpectNoDeviation):
    """Whether the smallest join with rows lacks no rows to k, over every set of two or more fragments."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare the smallest join with k; where none holds any rows, nothing is lacking."""
    joins = evidence.joins
    lacking = None
    achieved = f"could not be checked: {joins.problem}"
    if joins.smallest_join is not None:
        lacking = max(0, promises.k - (joins.smallest_join.at_least or promises.k))
        achieved = f"{_in_words(joins.smallest_join)}, of {joins.choices:,} choices"
    return Finding(
        name="joins",
        title=f"No join of fragments on the class attribute isolates fewer than {promises.k} rows",
        asked=f"no rows or at least {promises.k:,} in every join",
        achieved=achieved,
        evidence=evidence_frame(["all sets of fragments"], rows_lacking_to_k=[lacking]),
        lines=1,
        judgements=(
            ExpectEveryJoinToHoldKOrNoRows(
                column="rows_lacking_to_k",
                max_value=0,
                description=f"Every join of fragments holds no rows or at least {promises.k}.",
            ),
        ),
        query=queries.joins(promises),
    )


def _in_words(smallest: SmallestJoin) -> str:
    if smallest.at_least is None:
        return "no join holds any rows"
    return f"{'' if smallest.exact else 'at least '}{smallest.at_least:,} rows in the smallest join"
