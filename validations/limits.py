"""Promise `limits`: the release is still worth having: not too much was lost, not too much was changed."""

from validations import file_queries
from validations.findings import ExpectNoDeviation, Finding, evidence_frame
from validations.promises import Promises


class ExpectMeasuresToStayWithinTheirLimits(ExpectNoDeviation):
    """Whether no measure exceeds the limit asked for it."""


def finding(promises: Promises) -> Finding:
    """Compare the stated measures with the limits that were asked; these cannot be read from the files."""
    limits = [
        ("information loss", promises.information_loss, promises.max_information_loss),
        ("share of changed class values", promises.changed_share, promises.max_changed_class_values),
    ]
    asked = [(name, measure, limit) for name, measure, limit in limits if limit is not None]
    return Finding(
        name="limits",
        title="The measures of the release stay within their limits",
        asked=", ".join(f"{name} at most {limit:g}" for name, _, limit in asked),
        achieved=", ".join(
            f"{name} " + ("not stated" if measure is None else f"{measure:.4g}") for name, measure, _ in asked
        ),
        evidence=evidence_frame(
            [name for name, _, _ in asked],
            excess=[None if measure is None else max(0.0, measure - limit) for _, measure, limit in asked],
        ),
        lines=len(asked),
        judgements=(
            ExpectMeasuresToStayWithinTheirLimits(
                column="excess", max_value=0, description="No measure exceeds the limit asked for it."
            ),
        ),
        query=file_queries.limits(promises),
        note="The measures are as stated: information loss is measured against the input, and cannot be "
        "read from the files.",
    )
