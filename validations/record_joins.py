"""What the joins of records' own equivalence classes (ECs) tell of the class, found with the private store.

A record has one EC in each fragment. Whoever knows its features joins exactly these; l and t of single ECs do
not bound what the join tells. A class value's share in a join is the product of its counts, over their sum.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations

import duckdb

from validations.class_counts import ClassCounts, TooCostlyError, balanced_sum
from validations.distances import write_nodes, write_ranks
from validations.promises import Promises
from validations.protection import Diversity, OfRecords, ProtectedPromise
from validations.segment_store import STORE
from validations.stated import DistanceName

LARGEST_CELLS = 200_000_000
"""Most class counts of joins of one set of fragments."""

LARGEST_CELLS_IN_ALL = 2_000_000_000
"""Most class counts of joins of all sets; about two minutes on two cores."""

LARGEST_COUNT = 1e300
"""Most rows of a join: what DOUBLE can hold, with room for logarithms."""

MOST_FRAGMENTS = 4
"""Of more fragments only every pair and all together are joined, not every set."""

Extremes = tuple[float | None, float | None]
"""The smallest l and the largest t; None where not asked or not found."""


def write_tuples(connection: duckdb.DuckDBPyConnection, fragments: int) -> None:
    """Write the table `tuples`: the ECs `e1`, `e2`, ... that a record has in the files; alike records once.

    Parameters
    ----------
    connection
        Has the store attached, and the tables `tied_1`, ... of `validations.segment_store`.
    fragments
        How many there are.
    """
    numbers = range(1, fragments + 1)
    ecs = ", ".join(f"tied_{number}.ec AS e{number}" for number in numbers)
    ties = " ".join(f"JOIN tied_{number} ON tied_{number}.member = fragment_{number}" for number in numbers)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE tuples AS SELECT DISTINCT {ecs} FROM {STORE}.members {ties}"
    )


def joins_of_records(counts: ClassCounts, promises: Promises) -> OfRecords:
    """Return the smallest l and the largest t of the class in a join of ECs that one record has.

    Joins without rows are left out.

    Parameters
    ----------
    counts
        Class counts of all ECs; its connection has the table `tuples` too.
    promises
        Say how l and t are measured.

    Returns
    -------
    OfRecords
        Over sets of fragments, see `MOST_FRAGMENTS`; t is measured against the file of the set's first one.
        None where not asked, too costly, or no join has rows.
    """
    sets = sets_of_fragments(counts.fragments)
    if counts.size("tuples") * counts.values * len(sets) > LARGEST_CELLS_IN_ALL:
        return OfRecords(None, None)
    try:
        found = [_extremes(counts, chosen, promises) for chosen in sets]
    except TooCostlyError:
        return OfRecords(None, None)
    return OfRecords(
        l=min((level for level, _ in found if level is not None), default=None),
        t=max((distance for _, distance in found if distance is not None), default=None),
    )


def sets_of_fragments(fragments: int) -> list[tuple[int, ...]]:
    """Return the sets of fragments, numbered from 1, that are joined."""
    numbers = range(1, fragments + 1)
    sizes: Iterable[int] = range(2, fragments + 1) if fragments <= MOST_FRAGMENTS else (2, fragments)
    return [chosen for size in sizes for chosen in combinations(numbers, size)]


def _extremes(counts: ClassCounts, chosen: Sequence[int], promises: Promises) -> Extremes:
    _write_joined(counts, chosen)
    level = distance = None
    if promises.diversity is not None:
        query = _levels(promises.diversity, counts.values)
        level = _figure(counts.connection, f"SELECT min(level)::DOUBLE FROM ({query})")
    if promises.closeness is not None:
        shares = _write_everyone(counts.connection, chosen[0])
        query = _distances(counts.connection, shares, promises.closeness.distance, promises.protected[0])
        distance = _figure(counts.connection, f"SELECT max(distance)::DOUBLE FROM ({query})")
    return level, distance


def _figure(connection: duckdb.DuckDBPyConnection, query: str) -> float | None:
    ((figure,),) = connection.execute(query).fetchall()
    return None if figure is None else float(figure)


def _write_joined(counts: ClassCounts, chosen: Sequence[int]) -> None:
    """Write the table `joined`: products s0, s1, ... of class counts and their `total`, per join with rows.

    Raises
    ------
    TooCostlyError
        If these are more than `LARGEST_CELLS`, or a join has more rows than `LARGEST_COUNT`.
    """
    choices = f"(SELECT DISTINCT {', '.join(f'e{number}' for number in chosen)} FROM tuples)"
    if counts.size(choices) * counts.values > LARGEST_CELLS:
        raise TooCostlyError("the bound on class counts of joins is exceeded")
    products = [
        " * ".join(f"of_{number}.v{value}::DOUBLE" for number in chosen) for value in range(counts.values)
    ]
    tables = " ".join(
        f"JOIN class_counts_{number} AS of_{number} ON of_{number}.ec = e{number}" for number in chosen
    )
    counts.connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE joined AS
        SELECT *, {balanced_sum(_places(counts.values))} AS total
        FROM (SELECT {_named(products)} FROM {choices} {tables}) WHERE total > 0""")
    if counts.size(f"joined WHERE total > {LARGEST_COUNT}"):
        raise TooCostlyError("the bound on rows of a join is exceeded")


def _levels(asked: Diversity, values: int) -> str:
    """Return the SQL query for the `level` of every join, by the model asked."""
    places = _places(values)
    if asked.model == "distinct":
        return f"SELECT {balanced_sum([f'({place} > 0)::INTEGER' for place in places])} AS level FROM joined"
    if asked.model == "entropy":
        logarithms = balanced_sum([f"{place} * ln(greatest({place}, 1))" for place in places])
        return f"SELECT exp(ln(total) - ({logarithms}) / total) AS level FROM joined"
    ascending = f"SELECT list_sort([{', '.join(places)}]) AS counts FROM joined"
    each = _named([f"counts[{rank}]" for rank in range(1, values + 1)])
    rarest = _running_sums(
        f"SELECT {each}, counts[{values}] AS largest FROM ({ascending})", values, "largest"
    )
    held = [
        f"coalesce(largest / nullif({place}, 0) < {asked.c!r}::DOUBLE, false)::INTEGER" for place in places
    ]
    return f"SELECT {balanced_sum(held)} AS level FROM ({rarest})"


def _write_everyone(connection: duckdb.DuckDBPyConnection, fragment: int) -> dict[int, Fraction]:
    """Write the table `value_counts`: a file's class values as if of one EC; return their shares, by code."""
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE value_counts AS
        SELECT 0 AS ec, class AS value, sum(n)::BIGINT AS n
        FROM of_classes WHERE fragment = {fragment} GROUP BY class""")
    rows = connection.execute(
        "SELECT code, n FROM value_counts JOIN class_values ON class = value"
    ).fetchall()
    records = sum(n for _, n in rows)
    return {code: Fraction(n, records) for code, n in rows}


def _distances(
    connection: duckdb.DuckDBPyConnection,
    shares: Mapping[int, Fraction],
    distance: DistanceName,
    protected: ProtectedPromise,
) -> str:
    """Return the SQL query for the `distance` of every join from shares of everyone; NULL where unknown."""
    if distance == "ordered":
        values, absent = write_ranks(connection, protected.order)
        query = _ordered(connection, shares, values)
    else:
        hierarchy = protected.hierarchy if distance == "hierarchical" else None
        levels, absent = write_nodes(connection, hierarchy)
        query = _hierarchical(connection, shares, levels)
    unknown = absent or (distance == "hierarchical" and protected.hierarchy is None)
    return "SELECT NULL AS distance" if unknown else query


def _ordered(connection: duckdb.DuckDBPyConnection, shares: Mapping[int, Fraction], values: int) -> str:
    rows = connection.execute("""
        SELECT code FROM ranks JOIN class_values ON class = value ORDER BY rank""").fetchall()
    codes = [code for (code,) in rows]
    ranked = f"SELECT {_named([f's{code}' for code in codes])}, total FROM joined"
    everyone = accumulate(shares[code] for code in codes)
    gaps = [_gap(place, share) for place, share in zip(_places(values), everyone, strict=True)]
    moved = f"({balanced_sum(gaps)}) / {max(values - 1, 1)}"
    return f"SELECT {moved} AS distance FROM ({_running_sums(ranked, values, 'total')})"


def _hierarchical(connection: duckdb.DuckDBPyConnection, shares: Mapping[int, Fraction], levels: int) -> str:
    rows = connection.execute("""
        SELECT list(code) FROM nodes JOIN class_values ON class = value GROUP BY level, node""").fetchall()
    gaps = [
        _gap(
            f"({balanced_sum([f's{code}' for code in codes])})",
            sum((shares.get(code, Fraction()) for code in codes), Fraction()),
        )
        for (codes,) in rows
    ]
    return f"SELECT ({balanced_sum(gaps)}) / {2 * levels} AS distance FROM joined"


def _gap(count: str, share: Fraction) -> str:
    """Return the SQL text of how far a count's share of the `total` is from another share."""
    return f"abs({count} / total - {float(share)!r}::DOUBLE)"


def _places(values: int) -> list[str]:
    return [f"s{place}" for place in range(values)]


def _named(columns: Sequence[str]) -> str:
    """Return the SQL text of columns named s0, s1, ..."""
    return ", ".join(f"{column} AS s{place}" for place, column in enumerate(columns))


def _running_sums(query: str, values: int, kept: str) -> str:
    """Return a SQL query with s0, s0 + s1, ... in place of a query's s0, s1, ..., keeping a column."""
    step = 1
    while step < values:
        sums = [f"s{place} + s{place - step}" if place >= step else f"s{place}" for place in range(values)]
        query = f"SELECT {_named(sums)}, {kept} FROM ({query})"
        step *= 2
    return query
