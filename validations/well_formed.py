"""How many cells of a file break the grammar of their kind, or are spelled as no release spells them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from validations.cell_grammar import CATEGORIES
from validations.groups import VALUES, Groups


def unsound(groups: Groups) -> int:
    """Return how many cells of distinct ECs, and values of distinct groups, break the grammar.

    The columns of a Parquet file must have the types that `validations.cell_grammar.parquet_type` gives.
    In a CSV file, different cells that keep the grammar count too if they are not in the one spelling of
    their value: decimal numbers are spelled as Python's `repr`, categories of a set as `json.dumps`; of
    the other kinds no two cells that keep the grammar have the same value.
    """
    return sum(_faults(groups, kind) for kind in sorted(set(groups.kinds) - {"undeclared"}))


def _faults(groups: Groups, kind: str) -> int:
    with _different_cells(groups, kind) as cells:
        ((broken,),) = groups.connection.execute(
            f"SELECT coalesce(sum(n), 0) FROM {cells} WHERE NOT sound"
        ).fetchall()
        return int(broken) + sum(not _is_spelled(kind, text) for text in _doubtful(groups, kind, cells))


@contextmanager
def _different_cells(groups: Groups, kind: str) -> Iterator[str]:
    """Yield a table of the different cells of a kind, how many there are, and whether they are sound."""
    columns = [f"c{place}" for place, held in enumerate(groups.kinds, 1) if held == kind]
    sound = (
        f"{kind}_value_sound(cell)"
        if groups.format == "parquet"
        else f"{kind}_sound(cell, {kind}_cell(cell))"
    )
    groups.connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE different AS SELECT cell, count(*) AS n
        FROM (SELECT unnest([{", ".join(columns)}]) AS cell
              FROM {groups.table if kind in VALUES else groups.classes})
        GROUP BY cell""")
    groups.connection.execute(
        f"CREATE OR REPLACE TEMP TABLE judged AS SELECT *, coalesce({sound}, false) AS sound FROM different"
    )
    groups.connection.execute("DROP TABLE different")
    try:
        yield "judged"
    finally:
        groups.connection.execute("DROP TABLE judged")


def _doubtful(groups: Groups, kind: str, cells: str) -> Iterator[str]:
    """Yield the sound cells whose form leaves a choice of spelling: decimals, and sets with escapes."""
    if groups.format == "csv" and kind in {"decimal", *CATEGORIES}:
        choice = "cell <> ''" if kind == "decimal" else r"starts_with(cell, '{') AND contains(cell, '\')"
        found = groups.connection.execute(f"SELECT cell FROM {cells} WHERE sound AND {choice}").fetchall()
        yield from (text for (text,) in found)


def _is_spelled(kind: str, text: str) -> bool:
    body = text.removesuffix(" or missing")
    if kind == "decimal":
        return all(repr(float(number)) == number for number in body.strip("[]").split(", "))
    values = json.loads(f"[{body[1:-1]}]")
    return body == "{" + ", ".join(json.dumps(value, ensure_ascii=False) for value in values) + "}"
