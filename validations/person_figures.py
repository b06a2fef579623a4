"""What is said, and what is found, of the persons behind the records of a release."""

from typing import NamedTuple


class PersonFigures(NamedTuple):
    """The figures of persons; None where one was not asked, does not exist or is not known.

    Attributes
    ----------
    number
        Persons in the table.
    smallest_class
        Fewest persons of an equivalence class (EC).
    smallest_join
        Pairs, triples, ... of different persons in the smallest join that holds any, where each person counts
        once in an EC, under the class value it is credited with.
    smallest_records
        Fewest credited persons of an EC with a class value that all ECs of a choice share.
    l
        Fewest values of the class, or of a sensitive attribute, that persons of their own bear in an EC.
    """

    number: int
    smallest_class: int | None = None
    smallest_join: int | None = None
    smallest_records: int | None = None
    l: int | None = None  # noqa: E741 (the manifest's own key)


class PersonEvidence(NamedTuple):
    """What files and private store together show of persons.

    Attributes
    ----------
    figures
        None if files and store do not belong together.
    miscredited
        Persons of ECs that are not credited with one class value of their own there, class values of ECs that
        nobody is credited with where fragments are joined, and wrong credits of sensitive values.
    join_at_least
        What every join that holds any combinations of persons holds at least; None if none does.
    values
        Per protected attribute, the class first: its name, and the fewest values of an EC that persons of
        their own bear. Empty where l is not asked.
    problem
        Why something could not be found; None if all could.
    records_problem
        Why the fewest credited persons could not be found; None if they could.
    """

    figures: PersonFigures | None
    miscredited: int | None = None
    join_at_least: int | None = None
    values: tuple[tuple[str, int], ...] = ()
    problem: str | None = None
    records_problem: str | None = None
