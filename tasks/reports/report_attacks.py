"""What the report tells of attacks on the written files."""

from typing import Any, NamedTuple

import duckdb

DIGITS = 3  # of what is stated


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
    excess, excess_low, excess_high
        (success - baseline) / (1 - baseline), and its 95 % confidence interval, within 0 and 1.
    """

    name: str
    subject: str
    success: Rate
    baseline: Rate
    excess: float
    excess_low: float
    excess_high: float

    @property
    def gains(self) -> bool:
        """Whether it succeeds more often than its baseline, as far as can be told."""
        return self.excess_low > 0

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
    """How many rows a target can be, over targets; the fragment is None for the join of all."""

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
    def gaining(self) -> tuple[TriedAttack, ...]:
        """The attacks that succeed more often than their baselines, as far as can be told."""
        return tuple(each for each in self.attacks if each.gains)


def read_attacks(connection: duckdb.DuckDBPyConnection) -> Attacked | None:
    """Return what came of attacks; None where none was asked for."""
    rows = connection.execute("SELECT * FROM attacks ORDER BY rowid").fetchall()
    if not rows:
        return None
    failure = rows[0][-1]
    if failure is not None:
        return Attacked((), (), failure)
    attacks = tuple(
        TriedAttack(row[0], row[1], Rate(*row[2:7]), Rate(*row[7:12]), *row[12:15]) for row in rows
    )
    candidates = connection.execute("SELECT * FROM attack_candidates ORDER BY rowid").fetchall()
    return Attacked(attacks, tuple(CandidateRows(*row) for row in candidates))


def stated_attacks(attacked: Attacked | None) -> dict[str, Any]:
    """Return what the manifest states of attacks, if any was made."""
    if attacked is None or attacked.failure is not None:
        return {}
    stated = [
        {
            "attack": each.name,
            "subject": each.subject,
            "targets": each.success.attempts,
            "success": round(each.success.value, DIGITS),
            "low": round(each.success.low, DIGITS),
            "high": round(each.success.high, DIGITS),
            "baseline": round(each.baseline.value, DIGITS),
        }
        for each in attacked.attacks
    ]
    return {"attacks": stated}
