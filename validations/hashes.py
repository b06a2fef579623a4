"""Promise `hashes`: every file is the stated one, and the folder holds nothing undeclared."""

from validations import file_queries
from validations.evidence import Evidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.promises import Promises


class ExpectFilesToBeTheStatedOnes(ExpectNoDeviation):
    """Whether every file has the stated digest and no undeclared file lies beside them."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare digests; a promise without a digest asks only that the file exists."""
    subjects, deviations = [], []
    for promise, fragment in zip(promises.fragments, evidence.fragments, strict=True):
        stated = (promise.csv_sha256, promise.parquet_sha256)
        for file, digest in zip(fragment.files, stated, strict=True):
            subjects.append(file.file)
            deviations.append(int(file.sha256 is None or (digest is not None and digest != file.sha256)))
    of_fragments = f"{deviations.count(0)} of {len(deviations)} fragment files"
    documents = [
        int(found is None or (promise.sha256 is not None and promise.sha256 != found))
        for promise, found in zip(promises.documents, evidence.documents, strict=True)
    ]
    of_documents = f" and {documents.count(0)} of {len(documents)} other files" if documents else ""
    undeclared = in_words(evidence.undeclared, "undeclared file", "undeclared files")
    return Finding(
        name="hashes",
        title="The files are the ones the release states, and there are no others",
        asked=f"every {'file' if documents else 'fragment file'} as stated (SHA-256), nothing undeclared",
        achieved=f"{of_fragments}{of_documents} as stated, {undeclared}",
        evidence=evidence_frame(
            [*subjects, *(document.file for document in promises.documents), "undeclared files"],
            deviations=[*deviations, *documents, evidence.undeclared],
        ),
        lines=2 * len(promises.fragments) + len(promises.documents) + 1,
        judgements=(
            ExpectFilesToBeTheStatedOnes(
                column="deviations",
                max_value=0,
                description="Every file is as stated; nothing undeclared is there.",
            ),
        ),
        query=file_queries.HASHES,
    )
