"""Promise `k`: every record shares its released feature values with at least k - 1 others."""

from great_expectations.expectations.core.expect_column_min_to_be_between import ExpectColumnMinToBeBetween

from validations import queries
from validations.evidence import Evidence
from validations.findings import Finding, evidence_frame
from validations.promises import Promises


class ExpectEveryClassToHoldK(ExpectColumnMinToBeBetween):
    """Whether every equivalence class of every file holds at least k records."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare the smallest equivalence class of every file with k."""
    files = evidence.files
    smallest = [int(file.class_sizes.min()) if len(file.class_sizes) else None for file in files]
    known = [size for size in smallest if size is not None]
    achieved = (
        f"{min(known):,} records in the smallest equivalence class" if known else "no equivalence class"
    )
    if None in smallest:
        achieved += "; some files hold none or could not be read"
    return Finding(
        name="k",
        title="Every combination of feature values in a fragment is shared by "
        f"{promises.k:,} or more records",
        asked=f"at least {promises.k:,} records in every equivalence class",
        achieved=achieved,
        evidence=evidence_frame([file.file for file in files], smallest_class=smallest),
        lines=2 * len(promises.fragments),
        judgements=(
            ExpectEveryClassToHoldK(
                column="smallest_class",
                min_value=promises.k,
                description=f"Every equivalence class of every file holds at least {promises.k} records.",
            ),
        ),
        query=queries.class_sizes(promises),
    )
