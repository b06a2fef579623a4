"""The risks in the run's store, and what a release states of them."""

from collections.abc import Iterable
from typing import Any

import duckdb

from tasks.risks.figures import Bin, ClassRevealed, Membership, Reidentification, Risks, Spread

SPREAD = f"STRUCT({', '.join(f'{quantile} DOUBLE' for quantile in Spread._fields)})"
DIGITS = 3
LEAST = 10**-DIGITS


def write_risks(connection: duckdb.DuckDBPyConnection, risks: Risks) -> None:
    """Store the risks as the tables `reidentification`, `candidates`, `membership` and `class_revealed`."""
    parts = list(enumerate(risks.reidentification, 1))
    _write(
        connection,
        "reidentification",
        f"part INTEGER, fragments INTEGER[], population BIGINT, prosecutor {SPREAD}, journalist {SPREAD}, "
        'marketer DOUBLE, "unique" BIGINT',
        (
            (
                number,
                list(part.fragments),
                risks.population,
                part.prosecutor._asdict(),
                part.journalist._asdict(),
                part.marketer,
                part.unique,
            )
            for number, part in parts
        ),
    )
    _write(
        connection,
        "candidates",
        "part INTEGER, lower BIGINT, upper BIGINT, share DOUBLE",
        ((number, *group) for number, part in parts for group in part.candidates),
    )
    member = risks.membership
    _write(
        connection,
        "membership",
        f"records BIGINT, likelihood {SPREAD}",
        [] if member is None else [(member.records, member.likelihood._asdict())],
    )
    _write(
        connection,
        "class_revealed",
        f"knowledge VARCHAR, fragment INTEGER, largest {SPREAD}, above_half DOUBLE, "
        'above_nine_tenths DOUBLE, certain DOUBLE, "right" DOUBLE',
        ((known.knowledge, known.fragment, known.largest._asdict(), *known[3:]) for known in risks.revealed),
    )


def _write(
    connection: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Iterable[tuple[Any, ...]]
) -> None:
    connection.execute(f"CREATE OR REPLACE TABLE {table} ({columns})")
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def read_risks(connection: duckdb.DuckDBPyConnection) -> Risks:
    """Return the risks as they were stored."""
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


def stated_risks(risks: Risks) -> dict[str, Any]:
    """Return what a release states of its risks.

    Chances have three significant digits, shares of records three decimals; a share that would round to 0 is
    stated as 0.001. Of joins and of membership the extremes are left out: they belong to a few records, and
    could tell which equivalence classes of different fragments have a record in common.
    """
    member = risks.membership
    return {
        "population": risks.population,
        "reidentification": [_stated_part(part) for part in risks.reidentification],
        "membership_likelihood": None if member is None else _stated_spread(member.likelihood),
        "class_revealed": [_stated_class(known) for known in risks.revealed],
    }


def _stated_part(part: Reidentification) -> dict[str, Any]:
    alone = len(part.fragments) == 1
    return {
        "fragments": list(part.fragments),
        "prosecutor": _stated_spread(part.prosecutor, largest=alone),
        "journalist": _stated_spread(part.journalist, largest=alone),
        "marketer": _digits(part.marketer),
        "unique_records": part.unique,
    }


def _stated_spread(spread: Spread, *, largest: bool = False) -> dict[str, float]:
    names = ["mean", "median", "ninety_fifth", *(["largest"] if largest else [])]
    return {name: _digits(getattr(spread, name)) for name in names}


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
