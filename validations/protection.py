"""What l-diversity and t-closeness ask of the class and of sensitive attributes, and what is reached."""

from collections.abc import Mapping
from typing import NamedTuple

from validations.stated import DistanceName, DiversityModel


class Diversity(NamedTuple):
    """What l-diversity asks of every equivalence class (EC).

    Attributes
    ----------
    model
        "distinct": l different values. "entropy": as diverse as l equally frequent values. "recursive": the
        most frequent value occurs less than c times as often as all from the l-th most frequent one on.
    l
        The level; whole unless the model is "entropy".
    c
        For "recursive" only.
    """

    model: DiversityModel
    l: float  # noqa: E741 (the field's own letter)
    c: float | None


class Closeness(NamedTuple):
    """What t-closeness asks of every EC: at most this distance from the whole fragment's distribution."""

    t: float
    distance: DistanceName


class ProtectedPromise(NamedTuple):
    """The class or a sensitive attribute.

    Attributes
    ----------
    column
        Its name.
    fragment
        The number of the fragment that publishes it, from 1; None for the class, which all publish.
    order
        Its values, lowest first; None where they have no order or are numbers in theirs.
    hierarchy
        The ancestors of each value, from the next level to the root; None where there is no hierarchy.
    """

    column: str
    fragment: int | None
    order: tuple[str, ...] | None
    hierarchy: Mapping[str, tuple[str, ...]] | None


class Reached(NamedTuple):
    """What the files show for one protected attribute of a fragment; None where not asked or not known.

    Attributes
    ----------
    column
        The attribute.
    l
        The smallest level over ECs; an entropy level is rounded down to 6 digits.
    t
        The largest distance over ECs, rounded up to 6 digits.
    """

    column: str
    l: float | None  # noqa: E741 (the field's own letter)
    t: float | None


class OfRecords(NamedTuple):
    """What joins of ECs that one record has tell of the class; None where not asked or not found.

    Attributes
    ----------
    l
        The smallest level over records and sets of fragments; an entropy level is rounded down to 6 digits.
    t
        The largest distance over them, rounded up to 6 digits.
    """

    l: float | None  # noqa: E741 (the field's own letter)
    t: float | None


class WithinSegments(NamedTuple):
    """What joins of ECs of one segment hold.

    Attributes
    ----------
    at_least
        Rows of every join that has any; None if none has.
    l
        Class values of every join.
    sensitive
        Per sensitive attribute: its name, and how many of its values an EC has among the records that every
        join with it keeps.
    of_records
        What joins of the ECs that one record has tell of the class.
    records
        Records with a joined class value of every EC in every join; None if not asked or no join has rows.
    """

    at_least: int | None
    l: int | None  # noqa: E741 (the field's own letter)
    sensitive: tuple[tuple[str, int | None], ...]
    of_records: OfRecords
    records: int | None = None
