"""Joins of fragments on the class, over every set of two or more of them, from class counts in SQL.

A choice takes one equivalence class (EC) from each of two or more fragments. Its join holds
`sum_c prod_i f_i(c)` rows, where f_i are the class counts of its ECs.
"""

from contextlib import suppress
from typing import NamedTuple

from validations.class_counts import (
    LARGEST_SUPPORTS,
    LARGEST_WORK,
    ClassCounts,
    TooCostlyError,
    support,
)
from validations.smallest_product import smallest_between
from validations.support_joins import smallest_by_support

LARGEST_PRODUCTS = 20_000_000
"""Most products of class counts that are kept to be joined with a further fragment."""

FEW_PRODUCTS = 200_000
"""Products of class counts that are made before sets of class values are gone through; a second."""


class SmallestJoin(NamedTuple):
    """The smallest join that holds any rows.

    Attributes
    ----------
    rows
        Its rows; None if no join holds any, or none is known.
    exact
        False if joins, or those of larger sets of fragments, were only shown to hold `at_least` rows.
    at_least
        What every join that holds any rows holds at least; None if none holds any.
    """

    rows: int | None
    exact: bool
    at_least: int | None


def smallest_join(counts: ClassCounts, k: int) -> SmallestJoin:
    """Return the smallest join with rows, over every choice from every set of two or more fragments.

    Pairs are compared directly, see `validations.smallest_product`. Larger sets follow from products of class
    counts, fragment by fragment, or, where those are many, from what the ECs can have in common, see
    `validations.support_joins`.

    - A product needs to be made only where the supports cross, so that neither holds the other: with nested
      supports the ECs on the larger side can be left out, and the join does not grow.
    - Entries are capped, and a product whose non-zero entries all reach the cap is dropped: no join with it
      is smaller.

    The cap is the smallest join of a pair, so the result is exact; where that is too costly
      the cap is k, which still finds every join of fewer than k rows.

    Parameters
    ----------
    counts
        The class counts.
    k
        The size that every join with rows must reach.

    Raises
    ------
    TooCostlyError
        If even joins of fewer than k rows cannot be ruled out within the bounds.
    """
    pair = _smallest_pair(counts)
    if pair is None or counts.fragments == 2:  # noqa: PLR2004 (a pair is the only set of two)
        return SmallestJoin(pair, exact=True, at_least=pair)
    try:
        rows = _smallest_of_more(counts, pair)
    except TooCostlyError:
        if pair <= k:
            raise
        rows = _smallest_of_more(counts, k)
        return SmallestJoin(rows if rows < k else pair, exact=rows < k, at_least=min(rows, k))
    return SmallestJoin(rows, exact=True, at_least=rows)


def _smallest_pair(counts: ClassCounts) -> int | None:
    found = [
        smallest_between(counts, f"counts_{first}", f"counts_{second}")
        for second in range(2, counts.fragments + 1)
        for first in range(1, second)
    ]
    return min((rows for rows in found if rows is not None), default=None)


def _smallest_of_more(counts: ClassCounts, cap: int) -> int:
    """Return the smallest join of any set of fragments, or `cap` if there is none below it."""
    with suppress(TooCostlyError):
        return _smallest_product(counts, cap, min(FEW_PRODUCTS, LARGEST_PRODUCTS), FEW_PRODUCTS)
    tables = [counts.rows(f"counts_{fragment}") for fragment in range(1, counts.fragments + 1)]
    with suppress(TooCostlyError):
        return smallest_by_support(tables, cap)
    return _smallest_product(counts, cap, LARGEST_PRODUCTS, LARGEST_WORK // counts.values)


def _smallest_product(counts: ClassCounts, cap: int, most_kept: int, most: int) -> int:
    """Return the same from products, of which so many are kept at most, and made at most."""
    tables = sorted(_critical_tables(counts, cap), key=counts.size)
    counts.connection.execute(f"CREATE OR REPLACE TEMP TABLE products AS SELECT * FROM {tables[0]}")
    for number, table in enumerate(tables[1:], start=2):
        products = _write_crossing(counts, table)
        if products > (most_kept if number < len(tables) else most):
            raise TooCostlyError(f"{products:.1e} products of class counts are too many")
        cap = min(cap, _smallest_crossing(counts, table) or cap)
        if number < len(tables):
            _extend_products(counts, table, cap)
    return cap


def _critical_tables(counts: ClassCounts, cap: int) -> list[str]:
    """Write the ECs that can be part of a join of fewer than `cap` rows, their counts capped."""
    for fragment in range(1, counts.fragments + 1):
        counts.connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE critical_{fragment} AS
            SELECT *, {support(counts)} AS mask
            FROM (SELECT DISTINCT {_capped(counts, "a.v{}", cap)} FROM counts_{fragment} AS a
                  WHERE {_least_entry(counts, "a.v{}")} < {cap})""")
    return [f"critical_{fragment}" for fragment in range(1, counts.fragments + 1)]


def _write_crossing(counts: ClassCounts, table: str) -> int:
    """Write the pairs of crossing supports of the products and a table; count the products they give."""
    for side, name in (("left", "products"), ("right", table)):
        counts.connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE {side}_supports AS
            SELECT mask, count(*) AS n FROM {name} GROUP BY mask""")
    pairs = counts.size("left_supports") * counts.size("right_supports")
    if pairs > LARGEST_SUPPORTS:
        raise TooCostlyError(f"{pairs:.1e} pairs of supports exceed {LARGEST_SUPPORTS:.0e}")
    counts.connection.execute("""
        CREATE OR REPLACE TEMP TABLE crossing AS
        SELECT a.mask AS first, b.mask AS second, a.n * b.n AS n
        FROM left_supports AS a, right_supports AS b
        WHERE bit_count(a.mask & b.mask) > 0
              AND bit_count(a.mask & b.mask) < least(bit_count(a.mask), bit_count(b.mask))""")
    return counts.smallest("SELECT coalesce(sum(n), 0) FROM crossing") or 0


def _crossing(table: str) -> str:
    return f"crossing JOIN products AS a ON a.mask = first JOIN {table} AS b ON b.mask = second"


def _smallest_crossing(counts: ClassCounts, table: str) -> int | None:
    return counts.smallest(f"SELECT min({counts.product}) FROM {_crossing(table)}")


def _extend_products(counts: ClassCounts, table: str, cap: int) -> None:
    counts.connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE products AS
        SELECT DISTINCT * FROM (
            SELECT * FROM products UNION ALL SELECT * FROM {table} UNION ALL
            SELECT {_capped(counts, "a.v{0} * b.v{0}", cap)}, a.mask & b.mask FROM {_crossing(table)})
        WHERE {_least_entry(counts, "v{}")} < {cap}""")


def _capped(counts: ClassCounts, entry: str, cap: int) -> str:
    return ", ".join(
        f"least({entry.format(value)}, {cap})::BIGINT AS v{value}" for value in range(counts.values)
    )


def _least_entry(counts: ClassCounts, entry: str) -> str:
    """Return the SQL text of the smallest non-zero count; NULL if all are zero."""
    return f"least({', '.join(f'nullif({entry.format(value)}, 0)' for value in range(counts.values))})"
