"""Promise `fragments`: features and sensitive attributes are in one fragment each, the class in all."""

from collections import Counter
from collections.abc import Sequence

from validations import file_queries
from validations.cell_grammar import parquet_type
from validations.evidence import Evidence, FileEvidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.promises import FragmentPromise, Promises


class ExpectColumnsToBeTheStatedOnes(ExpectNoDeviation):
    """Whether every file has its fragment's columns in input order, the class last, in the right types."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare the columns of every file with its fragment's, and the fragments with all features."""
    subjects, deviations = [], []
    for promise, fragment in zip(promises.fragments, evidence.fragments, strict=True):
        for file in fragment.files:
            subjects.append(file.file)
            deviations.append(_deviations(promises, promise, file))
    placed = _misplaced_attributes(promises)
    known = [count for count in deviations if count is not None]
    return Finding(
        name="fragments",
        title=f"Every feature{' and every sensitive attribute' * bool(promises.sensitive)} is in exactly one "
        "fragment, the class attribute in all of them",
        asked=f"{_attributes(promises)} in exactly one fragment each, files with these columns, in input "
        "order and of the right type, and the class last",
        achieved=f"{in_words(placed, 'attribute', 'attributes')} not in exactly one fragment; "
        f"{in_words(sum(known), 'column', 'columns')} missing, undeclared, out of place or of another type"
        + (
            f"; {in_words(len(deviations) - len(known), 'file', 'files')} could not be checked"
            * (None in deviations)
        ),
        evidence=evidence_frame([*subjects, "all attributes"], deviations=[*deviations, placed]),
        lines=2 * len(promises.fragments) + 1,
        judgements=(
            ExpectColumnsToBeTheStatedOnes(
                column="deviations",
                max_value=0,
                description="Every file has its fragment's columns in input order, the class last.",
            ),
        ),
        query=file_queries.columns(promises),
    )


def _attributes(promises: Promises) -> str:
    features = in_words(len(promises.features), "feature", "features")
    sensitive = in_words(len(promises.sensitive), "sensitive attribute", "sensitive attributes")
    return f"{features} and {sensitive}" if promises.sensitive else features


def _deviations(promises: Promises, promise: FragmentPromise, file: FileEvidence) -> int | None:
    if file.columns is None:
        return None
    kinds = promises.kinds
    wanted = [
        (name, parquet_type(kinds.get(name, "undeclared")))
        for name in (*promise.features, *promise.sensitive, promises.class_attribute)
    ]
    if file.file == promise.csv:
        wanted = [(name, "VARCHAR") for name, _ in wanted]
    found = list(zip(file.columns.names, file.columns.types, strict=True))
    differing = sum(one != other for one, other in zip(wanted, found, strict=False))
    return differing + abs(len(wanted) - len(found))


def _misplaced_attributes(promises: Promises) -> int:
    features = [name for name, _ in promises.features]
    return _misplaced(features, [fragment.features for fragment in promises.fragments]) + _misplaced(
        promises.sensitive, [fragment.sensitive for fragment in promises.fragments]
    )


def _misplaced(names: Sequence[str], fragments: Sequence[Sequence[str]]) -> int:
    """Return how many names are not in exactly one fragment, undeclared or out of their order in it."""
    placed = Counter(name for fragment in fragments for name in fragment)
    repeated = sum(placed[name] != 1 for name in names)
    undeclared = len(placed.keys() - set(names))
    disordered = sum(list(fragment) != [name for name in names if name in fragment] for fragment in fragments)
    return repeated + undeclared + disordered
