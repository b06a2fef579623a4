"""Promise `join_records`: a join rests on at least k records of every equivalence class (EC) that is joined.

Rows of a join are products; they can be many and yet rest on one record. Where class values are published per
class, nobody knows how many records there are, and a large enough share of versions has k. The files do
not name segments; where only joins within them are promised, the partner test is all that they can tell.
"""

from fractions import Fraction

from validations import join_queries, queries
from validations.evidence import Evidence, JoinEvidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.joins import without_partner_in_words
from validations.promises import Promises


class ExpectEveryJoinToRestOnKRecords(ExpectNoDeviation):
    """Whether the fewest records that a join rests on in one EC lack none to k."""


class ExpectEveryRecordToHaveJoinsOfKRecords(ExpectNoDeviation):
    """Whether all joins rest on k records, or all records can have their classes in joins that do."""


class ExpectRecordSharesToReachDelta(ExpectNoDeviation):
    """Whether at least a share delta of versions has k records, for every EC of every choice."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare the fewest records that a join rests on with k; where none holds any rows, none are lacking."""
    if promises.class_values == "per_class":
        return _per_class(promises, evidence)
    if promises.join_scope == "segments":
        return _within_segments(promises, evidence)
    return _all(promises, evidence)


def _all(promises: Promises, evidence: Evidence) -> Finding:
    shown = join_queries.join_records(promises, evidence.classes)
    return Finding(
        name="join_records",
        title=f"Every join of fragments on the class attribute rests on at least {promises.k} records of "
        "each equivalence class joined",
        asked=f"no rows, or at least {promises.k:,} records with a joined class value in every equivalence "
        "class, in every join",
        achieved=_achieved(evidence.joins),
        evidence=evidence_frame(
            ["all sets of fragments"], records_lacking_to_k=[_lacking(promises, evidence.joins)]
        ),
        lines=1,
        judgements=(
            ExpectEveryJoinToRestOnKRecords(
                column="records_lacking_to_k",
                max_value=0,
                description=f"Every join of fragments rests on no records or at least {promises.k} of each "
                "equivalence class.",
            ),
        ),
        query=shown.text,
        note=shown.note,
    )


def _within_segments(promises: Promises, evidence: Evidence) -> Finding:
    joins, shown = evidence.joins, join_queries.join_records(promises, evidence.classes)
    achieved, alone = _achieved(joins), joins.without_record_partner
    if _lacking(promises, joins) == 0:
        alone = 0
    elif alone is not None:
        words = without_partner_in_words(promises, alone, f"that rest on {promises.k:,} records")
        achieved += f", segments unknown; {words}"
    return Finding(
        name="join_records",
        title="Within a segment, every join of fragments on the class attribute rests on at least "
        f"{promises.k} records of each equivalence class joined, as far as the files can tell",
        asked=f"no rows, or at least {promises.k:,} records with a joined class value in every equivalence "
        "class, in every join within a segment; the files do not name segments, so no record may be there "
        "whose classes cannot be in such joins; joins within segments were checked at release with the "
        "private store, and cannot be checked from the files",
        achieved=achieved,
        evidence=evidence_frame(["all pairs of fragments"], records_without_joins_on_k=[alone]),
        lines=1,
        judgements=(
            ExpectEveryRecordToHaveJoinsOfKRecords(
                column="records_without_joins_on_k",
                max_value=0,
                description=f"Every join rests on no records or at least {promises.k}, or all records can "
                "have their classes in such joins.",
            ),
        ),
        query=shown.text,
        note=shown.note,
    )


def _per_class(promises: Promises, evidence: Evidence) -> Finding:
    joins = evidence.joins
    below: int | None = None
    if joins.records_problem is not None:
        achieved = f"could not be checked: {joins.records_problem}"
    elif joins.smallest_record_share is None:
        below, achieved = 0, "no choice has a common class value"
    else:
        below = int(joins.smallest_record_share < Fraction(repr(promises.delta)))
        share = evidence.figures.smallest_record_share
        achieved = f"smallest share {share:.6g}, of {joins.choices:,} choices"
    return Finding(
        name="join_records",
        title="For every choice of equivalence classes, a join rests on "
        f"{promises.k} or more records of each in a share of {promises.delta} or more of its versions",
        asked=f"share of versions at least {promises.delta}",
        achieved=achieved,
        evidence=evidence_frame(["all sets of fragments"], below_delta=[below]),
        lines=1,
        judgements=(
            ExpectRecordSharesToReachDelta(
                column="below_delta",
                max_value=0,
                description=f"At least a share of {promises.delta} of all versions of every equivalence "
                "class has enough records with a joined class value.",
            ),
        ),
        query=queries.class_values(promises),
        note="The query shows the sizes and class values that the shares follow from, not the shares.",
    )


def _lacking(promises: Promises, joins: JoinEvidence) -> int | None:
    if joins.records_problem is not None:
        return None
    return 0 if joins.smallest_records is None else max(0, promises.k - joins.smallest_records)


def _achieved(joins: JoinEvidence) -> str:
    if joins.records_problem is not None:
        return f"could not be checked: {joins.records_problem}"
    if joins.smallest_records is None:
        return "no join holds any rows"
    fewest = in_words(joins.smallest_records, "record", "records")
    return f"{fewest} of one equivalence class in a join, of {joins.choices:,} choices"
