"""What the gate hands to the manifest and the report."""

from collections.abc import Sequence
from typing import Protocol


class Reached(Protocol):
    """What a fragment reaches for one protected attribute; None where it was not asked."""

    @property
    def column(self) -> str:
        """The attribute."""

    @property
    def l(self) -> float | None:  # noqa: E743 - the field's own letter
        """The smallest diversity of an equivalence class."""

    @property
    def t(self) -> float | None:
        """The largest distance of an equivalence class from the fragment."""


class OfRecords(Protocol):
    """What joins of the equivalence classes that one record has tell of the class; None where not found."""

    @property
    def l(self) -> float | None:  # noqa: E743 - the field's own letter
        """The smallest diversity of a join."""

    @property
    def t(self) -> float | None:
        """The largest distance of a join from everyone."""


class WithinSegments(Protocol):
    """What joins of equivalence classes of one segment hold."""

    @property
    def at_least(self) -> int | None:
        """Rows."""

    @property
    def l(self) -> int | None:  # noqa: E743 - the field's own letter
        """Class values."""

    @property
    def sensitive(self) -> Sequence[tuple[str, int | None]]:
        """Values of each sensitive attribute."""

    @property
    def of_records(self) -> OfRecords:
        """What a record's own equivalence classes tell together."""

    @property
    def records(self) -> int | None:
        """Records with a joined class value of every equivalence class, where that was asked."""


class PersonFigures(Protocol):
    """What is behind the files in persons, each of whom counts once in an equivalence class."""

    @property
    def number(self) -> int:
        """Persons in the table."""

    @property
    def smallest_class(self) -> int | None:
        """Persons of the smallest equivalence class."""

    @property
    def smallest_join(self) -> int | None:
        """The smallest non-zero join over all choices, in combinations of persons."""

    @property
    def smallest_records(self) -> int | None:
        """The fewest persons of one equivalence class that a join rests on."""

    @property
    def l(self) -> int | None:  # noqa: E743 - the field's own letter
        """The fewest values that persons of their own have in an equivalence class, where l was asked."""


class Figures(Protocol):
    """What the gate read from the files."""

    @property
    def smallest_class(self) -> tuple[int | None, ...]:
        """The records of the smallest equivalence class of each fragment."""

    @property
    def smallest_join(self) -> int | None:
        """The smallest non-zero join over all choices, in rows."""

    @property
    def smallest_records(self) -> int | None:
        """The fewest records of one equivalence class that a join rests on."""

    @property
    def choices(self) -> int | None:
        """How many choices there are."""

    @property
    def smallest_eta(self) -> float | None:
        """The smallest equijoin selectivity over all choices."""

    @property
    def smallest_record_share(self) -> float | None:
        """The smallest share of versions with k records that a join rests on, where that was asked."""

    @property
    def smallest_l(self) -> float | None:
        """The smallest diversity of an equivalence class, by the model that was asked for."""

    @property
    def largest_t(self) -> float | None:
        """The largest distance of an equivalence class from its fragment."""

    @property
    def protected(self) -> Sequence[Sequence[Reached]]:
        """What each fragment reaches for the class and its sensitive attributes."""

    @property
    def within_segments(self) -> WithinSegments | None:
        """What joins within segments hold."""

    @property
    def persons(self) -> PersonFigures | None:
        """What is behind the files in persons; None where records are counted alone."""
