"""Promise `delta`: for every choice of classes, a large enough share of versions (eta) has a safe join."""

from fractions import Fraction

from validations import queries
from validations.evidence import Evidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame
from validations.promises import Promises


class ExpectEtaToReachDelta(ExpectNoDeviation):
    """Whether eta is at least delta for every choice of equivalence classes."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare the smallest eta with delta, exactly; choices without a common class value have no join."""
    joins = evidence.joins
    delta = Fraction(repr(promises.delta))
    below: int | None = None
    if joins.problem is not None:
        achieved = f"could not be checked: {joins.problem}"
    elif joins.smallest_eta is None:
        below, achieved = 0, "no choice has a common class value"
    else:
        below = int(joins.smallest_eta < delta)
        achieved = f"smallest eta {evidence.figures.smallest_eta:.6g}, of {joins.choices:,} choices"
    return Finding(
        name="delta",
        title=f"For every choice of equivalence classes, the join holds {promises.k} or more rows "
        f"in a share of {promises.delta} or more of all versions",
        asked=f"eta at least {promises.delta}",
        achieved=achieved,
        evidence=evidence_frame(["all sets of fragments"], below_delta=[below]),
        lines=1,
        judgements=(
            ExpectEtaToReachDelta(
                column="below_delta",
                max_value=0,
                description=f"At least a share of {promises.delta} of all versions has a safe join.",
            ),
        ),
        query=queries.class_values(promises),
        note="The query shows the sizes and class values that eta follows from, not eta.",
    )
