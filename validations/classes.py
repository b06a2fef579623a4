"""Promise `classes`: the class column holds what it must, per record or per equivalence class."""

from validations import file_queries, queries
from validations.evidence import Evidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.promises import Promises


class ExpectEveryRecordToHaveItsClass(ExpectNoDeviation):
    """Whether no record's class cell is blank."""


class ExpectClassTotalsToDifferByChangesOnly(ExpectNoDeviation):
    """Whether the class totals of fragments differ by no more than changed class values explain."""


class ExpectEveryClassToListItsValuesOnce(ExpectNoDeviation):
    """Whether every equivalence class lists at least one class value and none of them twice."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Count the faults of the class column of every file."""
    return (
        _per_class(evidence, promises)
        if promises.class_values == "per_class"
        else _per_record(evidence, promises)
    )


def _per_record(evidence: Evidence, promises: Promises) -> Finding:
    files = evidence.files
    blank = [file.class_cells.blank if file.class_cells else None for file in files]
    numbers = range(1, len(promises.fragments) + 1)
    unexplained = [_unexplained(promises, evidence, number) for number in numbers for _ in ("csv", "parquet")]
    achieved = _in_words(blank, "blank class cell", "blank class cells")
    if any(unexplained):
        achieved += "; class totals of fragments differ by more than changed class values explain"
    return Finding(
        name="classes",
        title="Every record has its class value, the same in all fragments but for those changed",
        asked="no blank class cell; class totals of fragments that differ by no more than changed class "
        "values explain",
        achieved=achieved,
        evidence=evidence_frame([file.file for file in files], blank=blank, unexplained=unexplained),
        lines=2 * len(promises.fragments),
        judgements=(
            ExpectEveryRecordToHaveItsClass(
                column="blank", max_value=0, description="No record's class cell is blank."
            ),
            ExpectClassTotalsToDifferByChangesOnly(
                column="unexplained",
                max_value=0,
                description="Class totals of fragments differ by no more than changed class values explain.",
            ),
        ),
        query=file_queries.class_cells(promises),
    )


def _unexplained(promises: Promises, evidence: Evidence, number: int) -> int | None:
    """Return by how much a fragment's class totals differ from another's beyond the changes in both."""
    if evidence.changes is None:
        return None
    return max(
        (
            max(0, changes - sum(promises.changed[each - 1] for each in pair))
            for pair, changes in evidence.changes.items()
            if number in pair
        ),
        default=0,
    )


def _per_class(evidence: Evidence, promises: Promises) -> Finding:
    files = evidence.files
    faults = [
        file.class_cells.bare + file.class_cells.repeated if file.class_cells else None for file in files
    ]
    return Finding(
        name="classes",
        title="Every equivalence class lists each of its class values once",
        asked="no equivalence class without a class value, no class value twice in one",
        achieved=_in_words(faults, "class value missing or repeated", "class values missing or repeated"),
        evidence=evidence_frame([file.file for file in files], faults=faults),
        lines=2 * len(promises.fragments),
        judgements=(
            ExpectEveryClassToListItsValuesOnce(
                column="faults",
                max_value=0,
                description="Every equivalence class lists at least one class value, and each only once.",
            ),
        ),
        query=queries.faulty_classes(promises),
    )


def _in_words(counts: list[int | None], singular: str, plural: str) -> str:
    achieved = in_words(sum(count or 0 for count in counts), singular, plural)
    return achieved + "; could not be checked in every file" * (None in counts)
