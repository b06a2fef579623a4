"""Promise `l`: in every equivalence class, the class and every sensitive attribute stay diverse."""

from great_expectations.expectations.core.expect_column_min_to_be_between import ExpectColumnMinToBeBetween

from validations import value_queries
from validations.evidence import ALMOST, Evidence, reached
from validations.findings import Finding, evidence_frame
from validations.promises import Promises
from validations.protection import Diversity
from validations.wording import figures_in_words, of_protected_attributes


class ExpectEveryClassToBeDiverse(ExpectColumnMinToBeBetween):
    """Whether the values of every equivalence class of every file are as diverse as was asked."""


def finding(promises: Promises, evidence: Evidence, asked: Diversity) -> Finding:
    """Compare the least diverse equivalence class with l, for every file and protected attribute."""
    files = [(file.file, values) for file in evidence.files for values in file.values]
    shown = [values for _, values in files]
    levels = [(each.column, each.l) for each in map(reached, shown)]
    return Finding(
        name="l",
        title=_title(promises, asked),
        asked=f"at least l = {asked.l:g} in every equivalence class ({_model(asked)})",
        achieved=f"smallest l: {figures_in_words(levels, shown, min)}",
        evidence=evidence_frame(
            [f"{file}, {values.column}" for file, values in files],
            smallest_level=[values.level for values in shown],
        ),
        lines=2 * sum(len(promises.protected_in(number + 1)) for number in range(len(promises.fragments))),
        judgements=(
            ExpectEveryClassToBeDiverse(
                column="smallest_level",
                min_value=asked.l - ALMOST,
                description=f"Every equivalence class of every file reaches at least l = {asked.l:g}.",
            ),
        ),
        query=value_queries.levels(promises, asked),
    )


def _title(promises: Promises, asked: Diversity) -> str:
    attributes = of_protected_attributes(promises)
    if asked.model == "distinct":
        return f"Every equivalence class holds {asked.l:g} or more different values {attributes}"
    if asked.model == "entropy":
        return (
            f"In every equivalence class, the values {attributes} are as diverse as {asked.l:g} or more "
            "equally frequent ones"
        )
    return (
        f"In every equivalence class, the most frequent value {attributes} occurs less than {asked.c:g} "
        f"times as often as all values together from the one of rank {asked.l:g} on"
    )


def _model(asked: Diversity) -> str:
    return asked.model if asked.c is None else f"{asked.model}, c = {asked.c:g}"
