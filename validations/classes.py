"""Promise `classes`: the class column holds what it must, per record or per equivalence class."""

from validations import queries
from validations.evidence import Evidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.promises import Promises


class ExpectEveryRecordToHaveItsClass(ExpectNoDeviation):
    """Whether no record's class cell is blank."""


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
    return Finding(
        name="classes",
        title="Every record has its class value",
        asked="no blank class cell",
        achieved=_in_words(blank, "blank class cell", "blank class cells"),
        evidence=evidence_frame([file.file for file in files], blank=blank),
        lines=2 * len(promises.fragments),
        judgements=(
            ExpectEveryRecordToHaveItsClass(
                column="blank", max_value=0, description="No record's class cell is blank."
            ),
        ),
        query=queries.blank_classes(promises),
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
