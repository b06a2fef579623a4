"""Promise `hashes`: every fragment file is the stated one, and the folder holds nothing undeclared."""

from validations import file_queries
from validations.evidence import Evidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.promises import Promises


class ExpectFilesToBeTheStatedOnes(ExpectNoDeviation):
    """Whether every fragment file has the stated digest and no undeclared file lies beside them."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare digests; a promise without a digest asks only that the file exists."""
    subjects, deviations = [], []
    for promise, fragment in zip(promises.fragments, evidence.fragments, strict=True):
        stated = (promise.csv_sha256, promise.parquet_sha256)
        for file, digest in zip(fragment.files, stated, strict=True):
            subjects.append(file.file)
            deviations.append(int(file.sha256 is None or (digest is not None and digest != file.sha256)))
    same = deviations.count(0)
    undeclared = in_words(evidence.undeclared, "undeclared file", "undeclared files")
    return Finding(
        name="hashes",
        title="The files are the ones the release states, and there are no others",
        asked="every fragment file as stated (SHA-256), nothing undeclared",
        achieved=f"{same} of {len(deviations)} fragment files as stated, {undeclared}",
        evidence=evidence_frame(
            [*subjects, "undeclared files"], deviations=[*deviations, evidence.undeclared]
        ),
        lines=2 * len(promises.fragments) + 1,
        judgements=(
            ExpectFilesToBeTheStatedOnes(
                column="deviations",
                max_value=0,
                description="Every fragment file is as stated; nothing undeclared is there.",
            ),
        ),
        query=file_queries.hashes(promises),
    )
