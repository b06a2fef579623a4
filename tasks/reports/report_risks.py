"""What the report and the manifest tell of disclosure risks."""

from typing import Any

import duckdb

from tasks.risks.figures import Bin, ClassRevealed, Membership, Reidentification, Risks, Spread

DIGITS = 2
LEAST = 10**-DIGITS


def read_risks(connection: duckdb.DuckDBPyConnection) -> Risks:
    """Return what the step `measure the risks` stored."""
    parts = connection.execute("""
        SELECT population, part, fragments, prosecutor, journalist, marketer, "unique"
        FROM reidentification ORDER BY part
    """).fetchall()
    members = connection.execute("SELECT records, likelihood FROM membership").fetchall()
    revealed = connection.execute("SELECT * FROM class_revealed ORDER BY rowid").fetchall()
    return Risks(
        population=parts[0][0],
        reidentification=tuple(
            Reidentification(
                tuple(fragments),
                Spread(**prosecutor),
                Spread(**journalist),
                marketer,
                unique,
                _read_candidates(connection, part),
            )
            for _, part, fragments, prosecutor, journalist, marketer, unique in parts
        ),
        membership=next((Membership(records, Spread(**likelihood)) for records, likelihood in members), None),
        revealed=tuple(
            ClassRevealed(knowledge, fragment, Spread(**largest), *shares)
            for knowledge, fragment, largest, *shares in revealed
        ),
    )


def _read_candidates(connection: duckdb.DuckDBPyConnection, part: int) -> tuple[Bin, ...]:
    rows = connection.execute(
        "SELECT lower, upper, share FROM candidates WHERE part = ? ORDER BY lower", [part]
    ).fetchall()
    return tuple(Bin(*row) for row in rows)


def stated_risks(risks: Risks, *, withheld: bool, of_persons: bool = False) -> dict[str, Any]:
    """Return what a release states of its risks.

    Chances have two significant digits, shares of records two decimals; a share that would round to 0 is
    stated as 0.01. Of joins and of membership the extremes are left out: they belong to a few records, and
    could tell which equivalence classes of different fragments have a record in common.

    Parameters
    ----------
    risks
        As they were measured.
    withheld
        Whether only what follows from the published files may be told.
    of_persons
        Whether persons were counted. How many an equivalence class has does not follow from the files, so
        that fragments are told of as joins are.
    """
    if withheld:
        alone = [part for part in risks.reidentification if len(part.fragments) == 1 and not of_persons]
        stated = [_stated_part(part, of_persons=of_persons) for part in alone]
        return {"withheld": True, "population": risks.population, "reidentification": stated}
    member = risks.membership
    return {
        "withheld": False,
        "population": risks.population,
        "reidentification": [_stated_part(part, of_persons=of_persons) for part in risks.reidentification],
        "membership_likelihood": None if member is None else _stated_spread(member.likelihood),
        "class_revealed": [_stated_class(known) for known in risks.revealed],
    }


def _stated_part(part: Reidentification, *, of_persons: bool) -> dict[str, Any]:
    follows = len(part.fragments) == 1 and not of_persons
    return {
        "fragments": list(part.fragments),
        "prosecutor": _stated_spread(part.prosecutor, follows=follows),
        "journalist": _stated_spread(part.journalist, follows=follows),
        "marketer": _digits(part.marketer),
        "unique_persons" if of_persons else "unique_records": part.unique,
    }


def _stated_spread(spread: Spread, *, follows: bool = False) -> dict[str, float]:
    """Return what is stated of a distribution; of one that follows from the files, the largest value too."""
    stated = {name: _digits(getattr(spread, name)) for name in ("mean", "median", "ninety_fifth")}
    return stated | ({"largest": float(f"{spread.largest:.6g}")} if follows else {})


def _stated_class(known: ClassRevealed) -> dict[str, Any]:
    return {
        "knowledge": known.knowledge,
        "fragment": known.fragment,
        "median_largest_probability": _digits(known.largest.median),
        "above_half": _share(known.above_half),
        "above_nine_tenths": _share(known.above_nine_tenths),
        "certain": _share(known.certain),
        "right": _share(known.right),
    }


def _digits(chance: float) -> float:
    return float(f"{chance:.{DIGITS}g}")


def _share(share: float) -> float:
    return max(round(share, DIGITS), LEAST if share else 0.0)
