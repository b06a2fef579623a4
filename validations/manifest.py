"""Promise `manifest`: what release.json states as achieved is what the files show."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from validations import file_queries
from validations.evidence import Evidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.person_figures import PersonFigures
from validations.promises import Promises
from validations.protection import OfRecords, Reached, WithinSegments


class Statement(NamedTuple):
    """A figure that the manifest states, and what the files show; None if that could not be found."""

    name: str
    stated: int | float
    found: int | float | None


class ExpectStatementsToBeTrue(ExpectNoDeviation):
    """Whether every figure that the manifest states is what the files show."""


def statements(promises: Promises, evidence: Evidence) -> tuple[Statement, ...]:
    """Return every figure that is stated as achieved, beside the one that the files show.

    Parameters
    ----------
    promises
        Holds what is stated; None is not stated.
    evidence
        Holds what was found.
    """
    shown = evidence.figures
    pairs: list[tuple[str, float | None, float | None]] = [
        ("k", promises.stated_k, _smallest(shown.smallest_class)),
        ("smallest join", promises.stated_smallest_join, shown.smallest_join),
        ("smallest record count", promises.stated_smallest_records, shown.smallest_records),
        ("smallest record share", promises.stated_record_share, shown.smallest_record_share),
        ("choices", promises.stated_choices, shown.choices),
        ("delta", promises.stated_delta, shown.smallest_eta),
    ]
    pairs += [("l", promises.stated_l, shown.smallest_l), ("t", promises.stated_t, shown.largest_t)]
    for number, promise in enumerate(promises.fragments):
        name = f"of fragment {number + 1}"
        classes, smallest = shown.equivalence_classes[number], shown.smallest_class[number]
        pairs.append((f"equivalence classes {name}", promise.equivalence_classes, classes))
        pairs.append((f"smallest class {name}", promise.smallest_class, smallest))
        pairs += _of_values(name, promise.stated, shown.protected[number])
    if evidence.segments is not None and promises.within_segments is not None:
        pairs += _of_segments(promises.within_segments, shown.within_segments)
    if promises.within_segments is not None:
        pairs += _of_values_in_files(promises.within_segments, promises.class_attribute, evidence)
        pairs += _of_classes_in_files(promises.within_segments, evidence)
    if evidence.persons is not None and promises.stated_persons is not None:
        pairs += _of_persons(promises.stated_persons, shown.persons)
    return tuple(Statement(name, stated, found) for name, stated, found in pairs if stated is not None)


def _of_values(
    name: str, stated: Sequence[Reached], shown: Sequence[Reached]
) -> Iterator[tuple[str, float | None, float | None]]:
    found = {each.column: each for each in shown}
    for each in stated:
        other = found.get(each.column, Reached(each.column, None, None))
        yield f"l {name}, {each.column}", each.l, other.l
        yield f"t {name}, {each.column}", each.t, other.t


def _of_segments(
    stated: WithinSegments, shown: WithinSegments | None
) -> Iterator[tuple[str, float | None, float | None]]:
    found = shown or WithinSegments(None, None, (), OfRecords(None, None))
    yield "rows within segments", stated.at_least, found.at_least
    yield "class values within segments", stated.l, found.l
    for column, values in stated.sensitive:
        yield f"values within segments, {column}", values, dict(found.sensitive).get(column)
    yield "records within segments", stated.records, found.records
    yield "l of records' joins", stated.of_records.l, found.of_records.l
    yield "t of records' joins", stated.of_records.t, found.of_records.t


def _of_persons(
    stated: PersonFigures, shown: PersonFigures | None
) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield what is stated of persons; all but their number is what there is at least."""
    found = shown._asdict() if shown else dict.fromkeys(PersonFigures._fields)
    for key, figure in stated._asdict().items():
        held = found[key]
        if key != "number" and None not in {figure, held}:
            held = min(figure, held)
        yield f"{key.replace('_', ' ')}, in persons", figure, held


def _of_values_in_files(
    stated: WithinSegments, class_attribute: str, evidence: Evidence
) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield the stated numbers of values; those found are the same, or what the files have if fewer."""
    held: dict[str, list[int | None]] = {}
    for fragment in evidence.fragments:
        for values in fragment.csv.values:
            held.setdefault(values.column, []).append(values.different)
    stated_values: list[tuple[str, str, float | None]] = [
        (class_attribute, "values within segments", stated.l),
        (class_attribute, "l of records' joins", stated.of_records.l),
        *((column, "values within segments", values) for column, values in stated.sensitive),
    ]
    for column, name, level in stated_values:
        in_files = _smallest(tuple(held.get(column, [None])))
        found = None if level is None or in_files is None else min(level, in_files)
        yield f"{name} beside those in the files, {column}", level, found


def _of_classes_in_files(
    stated: WithinSegments, evidence: Evidence
) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield the stated rows and records of joins; those found are the same, or the most possible if fewer.

    Any join has a join of two of its equivalence classes beside it, with no more rows than their sizes
    multiplied; it rests on no more records than the smaller one has.
    """
    largest = sorted(max(fragment.csv.class_sizes.tolist(), default=0) for fragment in evidence.fragments)
    known = all(len(fragment.csv.class_sizes) for fragment in evidence.fragments)
    for name, figure, most in (
        ("rows", stated.at_least, largest[-1] * largest[-2]),
        ("records", stated.records, largest[-2]),
    ):
        found = min(figure, most) if known and figure is not None else None
        yield f"{name} within segments beside the classes in the files", figure, found


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare every stated figure with the one that the files show."""
    stated = statements(promises, evidence)
    untrue = [_untrue(statement) for statement in stated]
    wrong = [statement.name for statement, fault in zip(stated, untrue, strict=True) if fault]
    unknown = [statement.name for statement, fault in zip(stated, untrue, strict=True) if fault is None]
    achieved = f"{untrue.count(0)} of {len(untrue)} as stated"
    achieved += f"; otherwise: {', '.join(wrong)}" * bool(wrong)
    achieved += f"; could not be checked: {', '.join(unknown)}" * bool(unknown)
    return Finding(
        name="manifest",
        title="The figures that the release states are what its files show",
        asked=in_words(len(stated), "stated figure", "stated figures") + " as found in the files",
        achieved=achieved,
        evidence=evidence_frame([statement.name for statement in stated], untrue=untrue),
        lines=len(stated),
        judgements=(
            ExpectStatementsToBeTrue(
                column="untrue",
                max_value=0,
                description="Every figure that the manifest states is what the files show.",
            ),
        ),
        query=file_queries.figures(promises),
        note="A release is checked before what the check itself finds is stated; unjoin audit counts these "
        "figures as well. The query shows k, equivalence classes and choices; the queries of the other "
        "promises show the rest.",
    )


def _smallest(sizes: tuple[int | None, ...]) -> int | None:
    known = [size for size in sizes if size is not None]
    return min(known) if len(known) == len(sizes) else None


def _untrue(statement: Statement) -> int | None:
    if statement.found is None:
        return None
    if isinstance(statement.stated, int) and isinstance(statement.found, int):
        return int(statement.stated != statement.found)
    return int(not math.isclose(statement.stated, statement.found, rel_tol=1e-9))
