"""What the report tells of attacks on the written files."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import duckdb

DIGITS = 2  # of what is stated
AT_RANDOM = ("position", "linkage")  # attacks that draw lines, whoever is aimed at


class Rate(NamedTuple):
    """How often something succeeded, as a share, with its 95 % confidence interval."""

    successes: int
    attempts: int
    value: float
    low: float
    high: float


class TriedAttack(NamedTuple):
    """What came of one attack.

    Attributes
    ----------
    name
        "class_join", "position", "linkage" or "inference".
    subject
        What it was about; of "inference" the class or the name of an attribute.
    success, baseline
        Of the attack, and of the same without what it rests on.
    only_with, only_without
        How many of the records it succeeded for while the baseline did not, and the other way round.
    excess, excess_low, excess_high
        (success - baseline) / (1 - baseline), and its 95 % confidence interval, within 0 and 1.
    gained
        Whether it succeeded more often than its baseline, judged together with all attacks on the release.
    every_record
        Whether all records were aimed at, and none was drawn.
    """

    name: str
    subject: str
    success: Rate
    baseline: Rate
    only_with: int
    only_without: int
    excess: float
    excess_low: float
    excess_high: float
    gained: bool
    every_record: bool

    @property
    def at_random(self) -> bool:
        """Whether it draws lines at random, and its baseline too."""
        return self.name in AT_RANDOM

    @property
    def drawn(self) -> bool:
        """Whether its rates can come out otherwise: for other records, or other lines."""
        return self.at_random or not self.every_record

    @property
    def pair(self) -> str:
        """Of "linkage": the two fragments."""
        return self.subject.partition(", ")[0].removeprefix("fragments ")

    @property
    def nearest(self) -> str:
        """Of "linkage": how many rows are taken for the nearest."""
        return self.subject.partition(", ")[2] or "nearest row"

    @property
    def label(self) -> str:
        """What people call it."""
        if self.name == "position":
            return "same line of every file"
        if self.name == "linkage":
            return f"{self.pair} linked, {self.nearest}"
        if self.name == "inference":
            return f"{self.subject} guessed"
        return {"class, certain": "class certain", "isolated": "few rows left"}[self.subject]


class CandidateRows(NamedTuple):
    """How many rows could be a target's, over targets; the fragment is None for the join of all."""

    fragment: int | None
    least: float
    quarter: float
    median: float
    three_quarters: float
    largest: float


class Attacked(NamedTuple):
    """The attacks on a release.

    Attributes
    ----------
    attacks
        One after the other; none where they failed.
    candidates
        Of each fragment, and of the join of all where there are several.
    failure
        The kind of error that the attacks failed with, if they did.
    """

    attacks: tuple[TriedAttack, ...]
    candidates: tuple[CandidateRows, ...]
    failure: str | None = None

    @property
    def targets(self) -> int:
        """How many records were aimed at."""
        return max((each.success.attempts for each in self.attacks), default=0)

    def of(self, name: str) -> tuple[TriedAttack, ...]:
        """Return the attacks of a name."""
        return tuple(each for each in self.attacks if each.name == name)

    @property
    def every_record(self) -> bool:
        """Whether all records were aimed at, and none was drawn."""
        return all(each.every_record for each in self.attacks)

    @property
    def gaining(self) -> tuple[TriedAttack, ...]:
        """The attacks that gained, the one with the largest gain first."""
        return largest_gain_first(each for each in self.attacks if each.gained)

    @property
    def links(self) -> tuple[TriedAttack, ...]:
        """The linkage attacks, the one with the largest gain first."""
        return largest_gain_first(self.of("linkage"))


def largest_gain_first(attacks: Iterable[TriedAttack]) -> tuple[TriedAttack, ...]:
    """Return attacks by their excess, those of no excess by what they lack."""
    return tuple(sorted(attacks, key=lambda each: (-each.excess, each.baseline.value - each.success.value)))


def read_attacks(connection: duckdb.DuckDBPyConnection) -> Attacked | None:
    """Return what came of attacks; None where none was asked for."""
    failures = connection.execute("SELECT failure FROM attacks").fetchall()
    if not failures:
        return None
    if failures[0][0] is not None:
        return Attacked((), (), failures[0][0])
    rows = connection.execute(
        "SELECT * EXCLUDE (by_chance, failure) FROM attacks ORDER BY attacks.rowid"
    ).fetchall()
    attacks = tuple(TriedAttack(row[0], row[1], Rate(*row[2:7]), Rate(*row[7:12]), *row[12:]) for row in rows)
    candidates = connection.execute("SELECT * FROM attack_candidates ORDER BY rowid").fetchall()
    return Attacked(attacks, tuple(CandidateRows(*row) for row in candidates))


def stated_attacks(attacked: Attacked | None, *, withheld: bool) -> dict[str, Any]:
    """Return what the manifest states of attacks, if any was made and what came of it may be told."""
    if attacked is None or attacked.failure is not None or withheld:
        return {}
    stated = [
        {
            "attack": each.name,
            "subject": each.subject,
            "targets": each.success.attempts,
            "success": round(each.success.value, DIGITS),
            "low": round(each.success.low, DIGITS) if each.drawn else None,
            "high": round(each.success.high, DIGITS) if each.drawn else None,
            "baseline": round(each.baseline.value, DIGITS),
            "gained": each.gained,
        }
        for each in attacked.attacks
    ]
    return {"attacks": stated}
