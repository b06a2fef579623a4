"""Promise `joins`: joining fragments on the class gives no rows or at least k, perhaps only within segments.

The files do not name segments. Where only joins within them need to hold k rows, smaller ones may be there,
and the partner test is all that the files can tell.
"""

from validations import join_queries
from validations.class_joins import SmallestJoin
from validations.evidence import Evidence, JoinEvidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.promises import Promises


class ExpectEveryJoinToHoldKOrNoRows(ExpectNoDeviation):
    """Whether the smallest join with rows lacks no rows to k, over every set of two or more fragments."""


class ExpectEveryRecordToHaveJoinsOfK(ExpectNoDeviation):
    """Whether joins hold no rows or k, or all records can have their classes in joins of k rows or more."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare the smallest join with k; where none holds any rows, nothing is lacking."""
    return (
        _within_segments(promises, evidence)
        if promises.join_scope == "segments"
        else _all(promises, evidence)
    )


def _all(promises: Promises, evidence: Evidence) -> Finding:
    shown = join_queries.joins(promises, evidence.classes)
    return Finding(
        name="joins",
        title=f"No join of fragments on the class attribute isolates fewer than {promises.k} rows",
        asked=f"no rows or at least {promises.k:,} in every join",
        achieved=_achieved(evidence.joins),
        evidence=evidence_frame(["all sets of fragments"], rows_lacking_to_k=[_lacking(promises, evidence)]),
        lines=1,
        judgements=(
            ExpectEveryJoinToHoldKOrNoRows(
                column="rows_lacking_to_k",
                max_value=0,
                description=f"Every join of fragments holds no rows or at least {promises.k}.",
            ),
        ),
        query=shown.text,
        note=shown.note,
    )


def _within_segments(promises: Promises, evidence: Evidence) -> Finding:
    joins, shown = evidence.joins, join_queries.joins(promises, evidence.classes)
    achieved, alone = _achieved(joins), joins.without_partner
    if _lacking(promises, evidence) == 0:
        alone = 0
    elif alone is not None:
        words = without_partner_in_words(promises, alone, f"of at least {promises.k:,} rows")
        achieved += f", segments unknown; {words}"
    return Finding(
        name="joins",
        title="Within a segment, no join of fragments on the class attribute isolates fewer than "
        f"{promises.k} rows, as far as the files can tell",
        asked=f"no rows or at least {promises.k:,} in every join within a segment; the files do not name "
        "segments, so no record may be there whose classes cannot be in such joins; joins within "
        "segments were checked at release with the private store, and cannot be checked from the files",
        achieved=achieved,
        evidence=evidence_frame(["all pairs of fragments"], records_without_joins_of_k=[alone]),
        lines=1,
        judgements=(
            ExpectEveryRecordToHaveJoinsOfK(
                column="records_without_joins_of_k",
                max_value=0,
                description=f"Every join holds no rows or at least {promises.k}, or all records can have "
                "their classes in such joins.",
            ),
        ),
        query=shown.text,
        note=shown.note,
    )


def _lacking(promises: Promises, evidence: Evidence) -> int | None:
    smallest = evidence.joins.smallest_join
    return None if smallest is None else max(0, promises.k - (smallest.at_least or promises.k))


def _achieved(joins: JoinEvidence) -> str:
    if joins.smallest_join is None:
        return f"could not be checked: {joins.problem}"
    return f"{_in_words(joins.smallest_join)}, of {joins.choices:,} choices"


def without_partner_in_words(promises: Promises, alone: int, wanted: str) -> str:
    """Return in words how many records have no partner for a join that holds what is wanted."""
    if alone:
        return f"{in_words(alone, 'record', 'records')} without joins {wanted} in some pair"
    but = " but those of changed class" * (sum(promises.changed) > 0)
    return f"in every pair of fragments, all records{but} can be in joins {wanted}"


def _in_words(smallest: SmallestJoin) -> str:
    if smallest.at_least is None:
        return "no join holds any rows"
    rows = in_words(smallest.at_least, "row", "rows")
    return f"{'' if smallest.exact else 'at least '}{rows} in the smallest join"
