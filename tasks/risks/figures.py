"""What is measured of disclosure risk, in numbers.

Where persons are counted, a record is to be read as a person, here and in what is stored of these figures.
"""

from typing import Literal, NamedTuple


class Spread(NamedTuple):
    """How a figure is spread over records, or persons: its mean and its quantiles."""

    mean: float
    least: float
    fifth: float
    quarter: float
    median: float
    three_quarters: float
    ninety_fifth: float
    largest: float


class Bin(NamedTuple):
    """The share of records whose group of candidates has a size from `lower` to `upper`, both included."""

    lower: int
    upper: int
    share: float


class Reidentification(NamedTuple):
    """How surely a record can be picked out of a fragment, or out of a join of fragments.

    The candidates of a record are the records of its equivalence class or, of several fragments, the rows
    of the join of its equivalence classes.

    Attributes
    ----------
    fragments
        Numbers of the fragments, from 1; one, a pair, or all.
    prosecutor
        Over records: 1 / candidates. The attacker knows that the target is in the table.
    journalist
        Over records: the expected 1 / candidates in the population. Equals `prosecutor` where the table is
        the population.
    marketer
        The share of records that are picked out rightly if each is taken for one of its candidates at random;
        an upper bound for joins where class values were changed, since a record may have no row of its own.
    unique
        How many records have one candidate.
    candidates
        How many candidates records have, in bins that grow.
    """

    fragments: tuple[int, ...]
    prosecutor: Spread
    journalist: Spread
    marketer: float
    unique: int
    candidates: tuple[Bin, ...]


class Membership(NamedTuple):
    """The paper's membership likelihood (paper, section 4.2): |join of a record's ECs| / |join of fragments|.

    Attributes
    ----------
    records
        How many it was computed for.
    likelihood
        Over these records.
    """

    records: int
    likelihood: Spread


class ClassRevealed(NamedTuple):
    """How surely the class of records follows from what an attacker knows.

    Attributes
    ----------
    knowledge
        "prior": the shares of the published files; "fragment": the best single fragment, for who knows a
        record's features in it; "combination": all fragments together, taken as independent given the class.
    fragment
        Number of the best single fragment; None for the others.
    largest
        Over records: the largest probability of a class value.
    above_half, above_nine_tenths, certain
        Shares of records whose largest probability is above 0.5, above 0.9, and 1.
    right
        Share of records whose most likely class value is the true one.
    """

    knowledge: Literal["prior", "fragment", "combination"]
    fragment: int | None
    largest: Spread
    above_half: float
    above_nine_tenths: float
    certain: float
    right: float


class Risks(NamedTuple):
    """The disclosure risks of a release.

    Attributes
    ----------
    population
        People that the records are drawn from, where that is stated.
    reidentification
        Every fragment, then every pair of up to 8 fragments (of more, no pairs), then all fragments where
        there are more than two.
    membership
        None for a single fragment.
    revealed
        "prior", "fragment", and "combination" where there are several fragments.
    """

    population: int | None
    reidentification: tuple[Reidentification, ...]
    membership: Membership | None
    revealed: tuple[ClassRevealed, ...]
