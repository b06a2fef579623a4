"""Promise `persons`: k, joins and l hold in persons, not only in records.

A person counts once in an equivalence class (EC), under one of the class values that its records have there:
the one that the private store credits it with. It can be checked only beside that store, for the files do not
name persons; from the files alone, what is stated of persons is held against what they show of records.
"""

import math

from validations.evidence import Evidence
from validations.findings import ExpectNoDeviation, Finding, evidence_frame, in_words
from validations.person_figures import PersonEvidence
from validations.promises import Promises

Line = tuple[str, int, int | None]
"""What was looked at, how many are promised, and how many there are; None if not found."""

Bound = tuple[str, int, int | None]
"""What is stated, how many, and the most that the files allow; None if not found."""


class ExpectPersonsToBeEnough(ExpectNoDeviation):
    """Whether equivalence classes and joins lack no persons, nor values of theirs, to what was promised."""


class ExpectPersonsToBeCreditedRightly(ExpectNoDeviation):
    """Whether every person is credited once in every EC that it has records in, with what they have there."""


class ExpectStatedPersonsToBePossible(ExpectNoDeviation):
    """Whether no more persons are stated than the files have records for."""


def finding(promises: Promises, evidence: Evidence) -> Finding:
    """Compare persons with k and l; without the private store, what is stated with what is possible."""
    if evidence.persons is None:
        return _from_files(promises, evidence)
    found = evidence.persons
    lines = _lines(promises, found)
    return Finding(
        name="persons",
        title=f"{_title(promises)}; a person counts once, however many records they have",
        asked="at least " + ", ".join(f"{wanted:,} {name}" for name, wanted, _ in lines),
        achieved=_achieved(promises, found, lines),
        evidence=evidence_frame(
            [name for name, _, _ in lines],
            lacking=[None if held is None else max(0, wanted - held) for _, wanted, held in lines],
            miscredited=[found.miscredited] * len(lines),
        ),
        lines=_promised(promises),
        judgements=(
            ExpectPersonsToBeEnough(
                column="lacking",
                max_value=0,
                description="Equivalence classes and joins have as many persons and values as was promised.",
            ),
            ExpectPersonsToBeCreditedRightly(
                column="miscredited",
                max_value=0,
                description="Every person is credited once where it has records, with a value they have; "
                "every class value that fragments are joined on has a person who is credited with it.",
            ),
        ),
        note="Persons were counted with the private store of the run. The files do not say which records are "
        "of one person, so they alone do not show it.",
    )


def _title(promises: Promises) -> str:
    k = promises.k
    title = f"Every equivalence class holds records of at least {k} persons"
    if len(promises.fragments) > 1:
        title += f", and no join of fragments isolates fewer than {k} combinations of persons"
    if promises.guarantee == "records" and len(promises.fragments) > 1:
        title += f" or rests on fewer than {k} persons of an equivalence class"
    return title


def _promised(promises: Promises) -> int:
    """Return how many things are promised: see `_lines`."""
    joins = (1 + (promises.guarantee == "records")) if len(promises.fragments) > 1 else 0
    values = 0 if promises.diversity is None else 1 + len(promises.sensitive)
    return 1 + joins + values


def _lines(promises: Promises, found: PersonEvidence) -> list[Line]:
    figures, k = found.figures, promises.k
    lines: list[Line] = [
        ("persons in every equivalence class", k, figures.smallest_class if figures else None)
    ]
    if len(promises.fragments) > 1:
        rows = _none_lacking(found.join_at_least, k, known=figures is not None and found.problem is None)
        lines.append(("combinations of persons in every join that has any", k, rows))
        if promises.guarantee == "records":
            known = figures is not None and found.records_problem is None
            held = _none_lacking(figures.smallest_records if figures else None, k, known=known)
            lines.append(("persons of every equivalence class in it", k, held))
    if promises.diversity is not None:
        wanted, values = math.ceil(promises.diversity.l), dict(found.values)
        for name in (promises.class_attribute, *promises.sensitive):
            words = f"values of {name} that persons of their own have in every equivalence class"
            lines.append((words, wanted, values.get(name)))
    return lines


def _none_lacking(held: int | None, wanted: int, *, known: bool) -> int | None:
    """Return what a join holds; where none holds anything, nothing is lacking."""
    if not known:
        return None
    return wanted if held is None else held


def _achieved(promises: Promises, found: PersonEvidence, lines: list[Line]) -> str:
    if found.figures is None:
        return f"could not be checked: {found.problem}"
    held = ", ".join(f"{min(held, wanted):,} {name}" for name, wanted, held in lines if held is not None)
    problems = [found.problem, found.records_problem if promises.guarantee == "records" else None]
    unknown = "".join(f"; could not be checked: {problem}" for problem in dict.fromkeys(problems) if problem)
    wrong = f"; {in_words(found.miscredited or 0, 'credit', 'credits')} wrong or missing"
    persons = in_words(found.figures.number, "person", "persons")
    return f"of {persons}, at least {held}{wrong * bool(found.miscredited)}{unknown}"


def _from_files(promises: Promises, evidence: Evidence) -> Finding:
    bounds = _bounds(promises, evidence)
    exceeding = [None if most is None else max(0, stated - most) for _, stated, most in bounds]
    return Finding(
        name="persons",
        title=f"{_title(promises)}, as far as the files can tell",
        asked="no more persons stated than the files have records for; persons were counted at release with "
        "the private store, and cannot be counted from the files",
        achieved=_possible(bounds, exceeding),
        evidence=evidence_frame([name for name, _, _ in bounds], exceeding=exceeding),
        lines=len(bounds) or 1,
        judgements=(
            ExpectStatedPersonsToBePossible(
                column="exceeding",
                max_value=0,
                description="No more persons, or values of theirs, are stated than the files allow.",
            ),
        ),
        note="The files do not say which records are of one person, so they alone do not show it.",
    )


def _bounds(promises: Promises, evidence: Evidence) -> list[Bound]:
    """Return what is stated of persons beside the same of records, which is no less.

    What was only shown of records to be enough, or was too costly to find, is no bound.
    """
    stated, shown, joins = promises.stated_persons, evidence.figures, evidence.joins
    if stated is None:
        return []
    sizes = [size for size in shown.smallest_class if size is not None]
    smallest = min(sizes) if len(sizes) == len(promises.fragments) else None
    level = None if shown.smallest_l is None else math.floor(shown.smallest_l)
    bounds: list[tuple[str, int | None, int | None]] = [
        ("persons", stated.number, promises.records),
        ("persons of the smallest equivalence class", stated.smallest_class, smallest),
        ("values that persons of their own have", stated.l, level),
    ]
    if joins.smallest_join is None or joins.smallest_join.exact:
        rows = joins.smallest_join and (joins.smallest_join.rows or 0)
        bounds.append(("combinations of persons in the smallest join", stated.smallest_join, rows))
    if joins.records_problem is None:
        rests_on = joins.smallest_records or 0
        bounds.append(("persons that a join rests on", stated.smallest_records, rests_on))
    return [(name, figure, most) for name, figure, most in bounds if figure is not None]


def _possible(bounds: list[Bound], exceeding: list[int | None]) -> str:
    if not bounds:
        return "nothing is stated of persons"
    wrong = [name for (name, _, _), more in zip(bounds, exceeding, strict=True) if more]
    unknown = [name for (name, _, _), more in zip(bounds, exceeding, strict=True) if more is None]
    achieved = f"stated: {', '.join(f'{name} {stated:,}' for name, stated, _ in bounds)}"
    achieved += f"; more than the files allow: {', '.join(wrong)}" * bool(wrong)
    return achieved + f"; could not be checked: {', '.join(unknown)}" * bool(unknown)
