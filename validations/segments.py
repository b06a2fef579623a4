"""Promise `segments`: a record's equivalence classes are of one segment, and joins within it isolate nobody.

It can be checked only beside the private store of the run, for the files do not name segments.
"""

import math

from validations.evidence import Evidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.promises import Promises
from validations.protection import WithinSegments

Line = tuple[str, int, int | None]
"""What was looked at, how many are promised, and how many there are; None if not found."""


class ExpectJoinsWithinSegmentsToHoldEnough(ExpectNoDeviation):
    """Whether joins within segments lack nothing to what was promised of them."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare what joins within segments hold with k and l."""
    found = evidence.segments.figures if evidence.segments else None
    lines = _lines(promises, found)
    return Finding(
        name="segments",
        title="Within a segment, no join of fragments on the class attribute isolates fewer than "
        f"{promises.k} {_isolated(promises, lines)}",
        asked="at least " + ", ".join(f"{wanted:,} {name}" for name, wanted, _ in lines),
        achieved=_achieved(evidence, found),
        evidence=evidence_frame(
            [name for name, _, _ in lines],
            lacking=[None if held is None else max(0, wanted - held) for _, wanted, held in lines],
        ),
        lines=_promised(promises),
        judgements=(
            ExpectJoinsWithinSegmentsToHoldEnough(
                column="lacking",
                max_value=0,
                description="Joins within segments hold as many rows and values as was promised.",
            ),
        ),
        note="Segments are not published, so the files alone do not show it.",
    )


def _promised(promises: Promises) -> int:
    """Return how many things are promised: rows, records, and where l is asked the values of each column."""
    rows = 1 + (promises.guarantee == "records")
    if promises.diversity is None:
        return rows
    return rows + (promises.diversity.model == "distinct") + len(promises.sensitive)


def _isolated(promises: Promises, lines: list[Line]) -> str:
    of_joins = ["rows", *["records"] * (promises.guarantee == "records")]
    return " or ".join(of_joins) + " or fewer than l values" * (len(lines) > len(of_joins))


def _lines(promises: Promises, found: WithinSegments | None) -> list[Line]:
    rows = records = None
    if found is not None:  # where no join has rows, nothing is lacking
        rows = promises.k if found.at_least is None else found.at_least
        records = promises.k if found.records is None else found.records
    lines: list[Line] = [("rows in every join that has any", promises.k, rows)]
    if promises.guarantee == "records":
        lines.append(("records of every equivalence class in it", promises.k, records))
    if promises.diversity is None:
        return lines
    wanted = math.ceil(promises.diversity.l)
    if promises.diversity.model == "distinct":
        lines.append(("class values in every join", wanted, found.l if found else None))
    held = dict(found.sensitive) if found else {}
    for name in promises.sensitive:
        words = f"values of {name} in every equivalence class that is joined"
        lines.append((words, wanted, held.get(name)))
    return lines


def _achieved(evidence: Evidence, found: WithinSegments | None) -> str:
    if found is None:
        problem = evidence.segments.problem if evidence.segments else "there is no private store"
        return f"could not be checked: {problem}"
    rows = [] if found.at_least is None else [in_words(found.at_least, "row", "rows")]
    sensitive = [f"{in_words(values or 0, 'value', 'values')} of {name}" for name, values in found.sensitive]
    if found.records is not None:
        rows.append(
            in_words(found.records, "record of an equivalence class", "records of an equivalence class")
        )
    held = ", ".join([*rows, in_words(found.l or 0, "class value", "class values"), *sensitive])
    return f"{'' if rows else 'no join has rows; '}at least {held}"
