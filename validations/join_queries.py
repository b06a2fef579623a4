"""Evidence queries for people on joins of fragments; see `queries`.

Class counts become vectors over the class values, identical ones once, so that a join is a product of two.
Sets of more than two fragments are products of either half of the fragments, joined at the end: what is
kept is about the square root of what is compared.
"""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from validations.promises import Promises
from validations.queries import parquet_source, rows_of

MOST_CHOICES = 200_000_000
"""Choices of equivalence classes that a query goes through in seconds."""

MOST_PRODUCTS = 200_000
"""Products of class counts that a query keeps for either half of the fragments."""

COUNTS = """WITH {recursive}classes AS (
  {classes}),
listed AS (SELECT list_sort(list(DISTINCT value)) AS class_values
  FROM (SELECT unnest(map_keys(held)) AS value FROM classes)),
counts AS (SELECT DISTINCT fragment, [coalesce(held[value], 0)::DOUBLE for value in class_values] AS n
  FROM classes, listed)"""

FACTORS = """,
factors AS (SELECT fragment, true AS counted, n FROM counts
  UNION SELECT fragment, false, [sign(each)::DOUBLE for each in n] FROM counts)"""

PAIRS = """,
found AS (
  SELECT least(a.fragment, b.fragment) AS one, greatest(a.fragment, b.fragment) AS other,
         min(nullif(list_dot_product(a.n, b.n), 0))::BIGINT AS {figure}
  FROM {factors} AS a JOIN {factors} AS b ON {pairs}
  GROUP BY a.fragment, b.fragment)
SELECT one || ', ' || other AS fragments, min({figure}) AS {figure}
FROM found GROUP BY one, other ORDER BY one, other;"""

SETS = """,
products AS (
  SELECT half, 0 AS newest, 0 AS chosen, {none}[1::DOUBLE for value in class_values] AS n
  FROM listed, (VALUES (1), (2)) AS halves(half)
  UNION
  SELECT half, b.fragment, chosen + (1 << b.fragment), {either}
         [each[1] * each[2] for each in list_zip(a.n, b.n)]
  FROM products AS a JOIN {factors} AS b
    ON b.fragment > newest AND half = CASE WHEN b.fragment <= {middle} THEN 1 ELSE 2 END{not_both}
  WHERE list_dot_product(a.n, b.n) > 0),
found AS (
  SELECT a.chosen + b.chosen AS chosen, min(nullif(list_dot_product(a.n, b.n), 0))::BIGINT AS {figure}
  FROM products AS a JOIN products AS b ON a.half = 1 AND b.half = 2{one}
  GROUP BY a.chosen, b.chosen)
SELECT array_to_string([each for each in range(1, {last}) if chosen & (1 << each) > 0], ', ') AS fragments,
       min({figure}) AS {figure}
FROM found WHERE bit_count(chosen) > 1 GROUP BY chosen ORDER BY bit_count(chosen), fragments;"""

ROWS = {"factors": "counts", "pairs": "a.fragment < b.fragment", "figure": "smallest_join"} | dict.fromkeys(
    ("none", "either", "not_both", "one"), ""
)
"""A join's rows are products of all its class counts."""

RECORDS = {
    "factors": "factors",
    "pairs": "a.fragment <> b.fragment AND a.counted AND NOT b.counted",
    "figure": "fewest_records",
    "none": "false AS counted, ",
    "either": "a.counted OR b.counted,",
    "not_both": " AND NOT (a.counted AND b.counted)",
    "one": " AND a.counted <> b.counted",
}
"""The records of one class are its counts where all the others have any."""


class JoinQuery(NamedTuple):
    """A query of joins.

    Attributes
    ----------
    text
        None for a single fragment.
    note
        What it does not show, or why there is none; None where it shows every set of fragments.
    """

    text: str | None
    note: str | None


def joins(promises: Promises, sizes: Sequence[int]) -> JoinQuery:
    """Return a query of the smallest join with rows, per set of fragments.

    Parameters
    ----------
    promises
        Name the files and columns.
    sizes
        Equivalence classes of each fragment.
    """
    return _query(promises, sizes, COUNTS, ROWS)


def join_records(promises: Promises, sizes: Sequence[int]) -> JoinQuery:
    """Return a query of the fewest records of an equivalence class that a join rests on, likewise."""
    return _query(promises, sizes, COUNTS + FACTORS, RECORDS)


def _query(promises: Promises, sizes: Sequence[int], counts: str, of_what: dict[str, str]) -> JoinQuery:
    number = len(promises.fragments)
    if number == 1:
        return JoinQuery(None, "There is one fragment only, so there is nothing to join.")
    every = number > 2 and _are_few(sizes)  # noqa: PLR2004 (a pair is the only set of two)
    words = of_what | {"middle": str(number // 2), "last": str(number + 1)}
    recursive = "RECURSIVE " if every else ""
    counts = counts.format(classes=_classes(promises), recursive=recursive)
    text = counts + (SETS if every else PAIRS).format(**words)
    return JoinQuery(text, _note(promises, sizes, every=every))


def _classes(promises: Promises) -> str:
    return "\n  UNION ALL ".join(
        f"SELECT {fragment} AS fragment, histogram(value) AS held\n"
        f"  FROM {rows_of(promises, parquet_source(promise))} GROUP BY cells"
        for fragment, promise in enumerate(promises.fragments, 1)
    )


def _are_few(sizes: Sequence[int]) -> bool:
    middle = len(sizes) // 2
    halves = [math.prod(1 + size for size in half) for half in (sizes[:middle], sizes[middle:])]
    return math.prod(halves) <= MOST_CHOICES and max(halves) <= MOST_PRODUCTS


def _note(promises: Promises, sizes: Sequence[int], *, every: bool) -> str | None:
    pairs = sum(first * second for first, second in itertools.combinations(sizes, 2))
    notes = []
    if len(sizes) > 2 and not every:  # noqa: PLR2004 (a pair is the only set of two)
        choices = math.prod(1 + size for size in sizes) - 1 - sum(sizes) - pairs
        notes.append(
            "The query shows every two fragments. Sets of three or more are not in it, for there are "
            f"{_many(choices)} choices of their equivalence classes; unjoin audit checks them as well."
        )
    if pairs > MOST_CHOICES:
        notes.append(
            f"It compares {_many(pairs)} pairs of equivalence classes, some ten million of them in a second."
        )
    if promises.join_scope == "segments":
        notes.append("Which of these joins are within a segment, the files do not say.")
    return " ".join(notes) or None


def _many(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "more than a million billion"
