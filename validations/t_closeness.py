"""Promise `t`: in every equivalence class, values are distributed much as in the whole fragment."""

from great_expectations.expectations.core.expect_column_max_to_be_between import ExpectColumnMaxToBeBetween

from validations import value_queries
from validations.evidence import ALMOST, Evidence, reached
from validations.findings import ExpectNoDeviation, Finding, evidence_frame
from validations.promises import Promises
from validations.protection import Closeness
from validations.wording import figures_in_words, of_protected_attributes


class ExpectEveryClassToBeClose(ExpectColumnMaxToBeBetween):
    """Whether no equivalence class of any file is further from the whole file than was asked."""


class ExpectEveryClassToHoldValues(ExpectNoDeviation):
    """Whether every equivalence class has a value: without any there is no distance."""


def finding(promises: Promises, evidence: Evidence, asked: Closeness) -> Finding:
    """Compare the furthest equivalence class with t, for every file and protected attribute."""
    files = [(file.file, values) for file in evidence.files for values in file.values]
    shown = [values for _, values in files]
    distances = [(each.column, each.t) for each in map(reached, shown)]
    return Finding(
        name="t",
        title=f"In every equivalence class, the values {of_protected_attributes(promises)} are distributed "
        f"as in the whole fragment, within a distance of {asked.t:g}",
        asked=f"at most t = {asked.t:g} for every equivalence class ({asked.distance} distance)",
        achieved=f"largest distance: {figures_in_words(distances, shown, max)}",
        evidence=evidence_frame(
            [f"{file}, {values.column}" for file, values in files],
            largest_distance=[values.distance for values in shown],
            without_values=[values.bare for values in shown],
        ),
        lines=2 * sum(len(promises.protected_in(number + 1)) for number in range(len(promises.fragments))),
        judgements=(
            ExpectEveryClassToBeClose(
                column="largest_distance",
                max_value=asked.t + ALMOST,
                description=f"No equivalence class of any file is further than t = {asked.t:g}.",
            ),
            ExpectEveryClassToHoldValues(
                column="without_values", max_value=0, description="Every equivalence class has a value."
            ),
        ),
        query=value_queries.distances(promises, asked),
    )
