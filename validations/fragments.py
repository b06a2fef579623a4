"""Promise `fragments`: every feature is in exactly one fragment, the class in all of them."""

from collections import Counter

from validations import queries
from validations.cell_grammar import KIND_TYPES
from validations.evidence import Evidence, FileEvidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.promises import FragmentPromise, Promises


class ExpectColumnsToBeTheStatedOnes(ExpectNoDeviation):
    """Whether every file has its fragment's features in input order, then the class, in the right types."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare the columns of every file with its fragment's, and the fragments with all features."""
    subjects, deviations = [], []
    for promise, fragment in zip(promises.fragments, evidence.fragments, strict=True):
        for file in fragment.files:
            subjects.append(file.file)
            deviations.append(_deviations(promises, promise, file))
    placed = _misplaced_features(promises)
    known = [count for count in deviations if count is not None]
    return Finding(
        name="fragments",
        title="Every feature is in exactly one fragment, the class attribute in all of them",
        asked=f"{in_words(len(promises.features), 'feature', 'features')} in exactly one fragment each, "
        "files with these columns, in input order and of the right type, and the class last",
        achieved=f"{in_words(placed, 'feature', 'features')} not in exactly one fragment; "
        f"{in_words(sum(known), 'column', 'columns')} missing, undeclared, out of place or of another type"
        + (
            f"; {in_words(len(deviations) - len(known), 'file', 'files')} could not be checked"
            * (None in deviations)
        ),
        evidence=evidence_frame([*subjects, "all features"], deviations=[*deviations, placed]),
        lines=2 * len(promises.fragments) + 1,
        judgements=(
            ExpectColumnsToBeTheStatedOnes(
                column="deviations",
                max_value=0,
                description="Every file has its fragment's features in input order, then the class.",
            ),
        ),
        query=queries.columns(promises),
    )


def _deviations(promises: Promises, promise: FragmentPromise, file: FileEvidence) -> int | None:
    if file.columns is None:
        return None
    kinds = dict(promises.features) | {promises.class_attribute: "class"}
    wanted = [
        (name, KIND_TYPES.get(kinds.get(name, ""), ""))
        for name in (*promise.features, promises.class_attribute)
    ]
    if file.file == promise.csv:
        wanted = [(name, "VARCHAR") for name, _ in wanted]
    found = list(zip(file.columns.names, file.columns.types, strict=True))
    differing = sum(one != other for one, other in zip(wanted, found, strict=False))
    return differing + abs(len(wanted) - len(found))


def _misplaced_features(promises: Promises) -> int:
    """Return how many features are not in exactly one fragment, undeclared or out of their order in it."""
    names = [name for name, _ in promises.features]
    placed = Counter(name for fragment in promises.fragments for name in fragment.features)
    repeated = sum(placed[name] != 1 for name in names)
    undeclared = len(placed.keys() - set(names))
    disordered = sum(_is_disordered(fragment, names) for fragment in promises.fragments)
    return repeated + undeclared + disordered


def _is_disordered(fragment: FragmentPromise, names: list[str]) -> bool:
    return list(fragment.features) != [name for name in names if name in fragment.features]
