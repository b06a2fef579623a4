"""All evidence of a published folder: what its files show, without judging it.

A value that could not be found is None, and a problem says why.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from validations.agreement import Agreement
from validations.class_joins import SmallestJoin
from validations.groups import ClassCells
from validations.person_figures import PersonEvidence, PersonFigures
from validations.protected_values import ValuesEvidence
from validations.protection import OfRecords, Reached, WithinSegments
from validations.published_files import Columns
from validations.segment_joins import SegmentEvidence

ALMOST = 1e-9
"""Levels and distances that differ by less are equal."""


@dataclass(frozen=True, eq=False)
class FileEvidence:
    """What one fragment file shows.

    Attributes
    ----------
    file
        Its name.
    problem
        Why its rows could not be read; None if they could.
    sha256
        Its digest in hexadecimal; None if there is no such file or it is a link.
    columns
        Its columns; None if not even they could be read.
    class_sizes : int64 array of shape (ECs,)
        Records of each equivalence class; empty if the rows could not be read.
    class_cells
        What the class column shows; None unless there is exactly one.
    values
        What each protected attribute that the fragment publishes shows.
    unsound
        Cells that break the grammar or are not spelled canonically; None for columns of the wrong type.
    plain
        Whether the file holds its rows and nothing beside them; None if that could not be found.
    """

    file: str
    problem: str | None
    sha256: str | None
    columns: Columns | None
    class_sizes: npt.NDArray[np.int64]
    class_cells: ClassCells | None
    values: tuple[ValuesEvidence, ...]
    unsound: int | None
    plain: bool | None

    @property
    def records(self) -> int | None:
        """The number of rows."""
        return int(self.class_sizes.sum()) if self.problem is None else None


@dataclass(frozen=True, eq=False)
class FragmentEvidence:
    """What the two files of a fragment show.

    Attributes
    ----------
    csv, parquet
        The files.
    misplaced
        Groups of alike rows in the CSV that do not stand where the order by their cells puts them.
    agreement
        How the Parquet file compares with the CSV; None if they cannot be compared.
    """

    csv: FileEvidence
    parquet: FileEvidence
    misplaced: int | None
    agreement: Agreement | None

    @property
    def files(self) -> tuple[FileEvidence, FileEvidence]:
        """Both files."""
        return self.csv, self.parquet


@dataclass(frozen=True)
class JoinEvidence:
    """What joining fragments on the class gives.

    Attributes
    ----------
    choices
        Choices of one equivalence class from each of two or more fragments.
    smallest_join
        None if not asked for or not found.
    without_partner
        Class values of ECs that no EC of some other fragment joins with to k rows; None unless there are
        smaller joins, and only those within segments need to hold k rows.
    smallest_records
        Fewest records that a join rests on in one of its ECs; None if not found or no join has rows.
    without_record_partner
        Likewise, class values of ECs that join with no EC of some other fragment so that it rests on k
        records of both.
    smallest_eta
        None if not asked for, not found, or no choice has a common class value.
    smallest_record_share
        Smallest share of an EC's versions with k records that a join rests on; None likewise.
    problem
        Why the smallest join or eta could not be found; None if it could.
    records_problem
        Why the fewest records, or the share, could not be found; None if they could.
    """

    choices: int | None
    smallest_join: SmallestJoin | None = None
    without_partner: int | None = None
    smallest_records: int | None = None
    without_record_partner: int | None = None
    smallest_eta: Fraction | None = None
    smallest_record_share: Fraction | None = None
    problem: str | None = None
    records_problem: str | None = None


@dataclass(frozen=True)
class Figures:
    """The figures of a published folder; None where one could not be found or does not exist.

    Attributes
    ----------
    equivalence_classes, smallest_class
        Per fragment: the number of its ECs, and the records of the smallest one.
    smallest_join
        Rows of the smallest join that holds any, over every choice from two or more fragments.
    smallest_records
        Fewest records of an EC with a class value that all ECs of a choice share.
    choices
        Choices of one EC from each of two or more fragments.
    smallest_eta
        Smallest share of versions with a safe join, where class values are published per class;
        rounded down to 6 digits.
    smallest_record_share
        Smallest share of an EC's versions in which it has k records with a class value that all ECs of a
        choice share, where that is asked and values are per class; rounded down to 6 digits.
    smallest_l, largest_t
        The smallest level of diversity, and the largest distance, of an EC, over all protected attributes:
        see `Reached`.
    protected
        The same per fragment and protected attribute.
    within_segments
        What joins within segments hold; it cannot be read from the files alone.
    persons
        What is behind the files in persons, where these are counted; it cannot be read from the files alone.
    """

    equivalence_classes: tuple[int | None, ...]
    smallest_class: tuple[int | None, ...]
    smallest_join: int | None
    smallest_records: int | None
    choices: int | None
    smallest_eta: float | None
    smallest_record_share: float | None
    smallest_l: float | None
    largest_t: float | None
    protected: tuple[tuple[Reached, ...], ...]
    within_segments: WithinSegments | None
    persons: PersonFigures | None = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a published folder shows.

    Attributes
    ----------
    fragments
        One entry per promised fragment.
    joins
        Over all fragments.
    segments
        What the private store shows of segments; None where it is not there or there are none.
    persons
        What the private store shows of persons; None where it is not there or none are counted.
    documents
        The digest of every promised document in hexadecimal; None if there is no such file or it is a link.
    undeclared
        How many entries of the folder no release has or the promises do not name.
    changes
        Fewest class values that must have been changed in each two fragments together, by their numbers
        from 1; None if not found.
    """

    fragments: tuple[FragmentEvidence, ...]
    joins: JoinEvidence
    segments: SegmentEvidence | None
    persons: PersonEvidence | None
    documents: tuple[str | None, ...]
    undeclared: int
    changes: dict[tuple[int, int], int] | None

    @property
    def files(self) -> tuple[FileEvidence, ...]:
        """All files: CSV, Parquet, fragment after fragment."""
        return tuple(file for fragment in self.fragments for file in fragment.files)

    @property
    def classes(self) -> tuple[int, ...]:
        """The number of equivalence classes of every fragment's CSV file."""
        return tuple(len(fragment.csv.class_sizes) for fragment in self.fragments)

    @property
    def figures(self) -> Figures:
        """The figures alone; a fragment's are those of its CSV file."""
        sizes = [fragment.csv.class_sizes for fragment in self.fragments]
        join = self.joins.smallest_join
        protected = tuple(tuple(map(reached, fragment.csv.values)) for fragment in self.fragments)
        every = [each for of_fragment in protected for each in of_fragment]
        return Figures(
            equivalence_classes=tuple(len(each) or None for each in sizes),
            smallest_class=tuple(int(each.min()) if len(each) else None for each in sizes),
            smallest_join=join.rows if join and join.exact else None,
            smallest_records=self.joins.smallest_records,
            choices=self.joins.choices,
            smallest_eta=_share(self.joins.smallest_eta),
            smallest_record_share=_share(self.joins.smallest_record_share),
            smallest_l=_extreme(min, [each.l for each in every]),
            largest_t=_extreme(max, [each.t for each in every]),
            protected=protected,
            within_segments=_within_segments(self.segments),
            persons=self.persons.figures if self.persons else None,
        )


def reached(values: ValuesEvidence) -> Reached:
    """Return the figures of an attribute, rounded outward; what differs by less than `ALMOST` is equal."""
    return Reached(values.column, *_rounded(values.level, None if values.bare else values.distance))


def _within_segments(segments: SegmentEvidence | None) -> WithinSegments | None:
    if segments is None or segments.figures is None:
        return None
    of_records = OfRecords(*_rounded(*segments.figures.of_records))
    return segments.figures._replace(of_records=of_records)


def _rounded(level: float | None, distance: float | None) -> tuple[float | None, float | None]:
    """Return a level rounded down to 6 digits, and a distance rounded up."""
    if level is not None:
        level = math.floor((level + ALMOST) * 10**6) / 10**6
        level = int(level) if level.is_integer() else level
    if distance is not None:
        distance = math.ceil((distance - ALMOST) * 10**6) / 10**6
    return level, distance


def _share(share: Fraction | None) -> float | None:
    """Return a share rounded down to 6 digits."""
    return None if share is None else math.floor(share * 10**6) / 10**6


def _extreme(extreme: Callable[[list[float]], float], figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return extreme(known) if known and len(known) == len(figures) else None
