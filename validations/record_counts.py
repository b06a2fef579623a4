"""The records that joins rest on: join rows are not people, and a join may rest on very few records."""

from validations.class_counts import (
    LARGEST_SUPPORTS,
    ClassCounts,
    TooCostlyError,
    support,
)
from validations.smallest_product import smallest_between


def smallest_records(counts: ClassCounts) -> int | None:
    """Return the fewest records of an EC with a class value in the common support of a choice it is in.

    Parameters
    ----------
    counts
        The class counts.

    Returns
    -------
    int or None
        None if no choice has a common class value.

    Raises
    ------
    TooCostlyError
        If there are too many intersections of supports.
    """
    if counts.values == 0:
        return None
    _write_supports(counts)
    found = []
    for fragment in range(1, counts.fragments + 1):
        _meet(counts, "others", f"before_{fragment}", f"after_{fragment}")
        bits = ", ".join(f"get_bit(mask, {value}) AS v{value}" for value in range(counts.values))
        counts.connection.execute(f"CREATE OR REPLACE TEMP TABLE common AS SELECT {bits} FROM others")
        found.append(smallest_between(counts, f"counts_{fragment}", "common"))
    return min((records for records in found if records is not None), default=None)


def _write_supports(counts: ClassCounts) -> None:
    """Write the supports that choices from the fragments before and after each fragment have in common."""
    connection, last = counts.connection, counts.fragments
    for fragment in range(1, last + 1):
        connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE supports_{fragment} AS
            SELECT DISTINCT {support(counts)} AS mask FROM counts_{fragment}""")
    for end in ("before_1", f"after_{last}"):
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {end} (mask BIT)")
    for fragment in range(1, last):
        _meet(counts, f"before_{fragment + 1}", f"before_{fragment}", f"supports_{fragment}")
        other = last - fragment
        _meet(counts, f"after_{other}", f"after_{other + 1}", f"supports_{other + 1}")


def _meet(counts: ClassCounts, name: str, first: str, second: str) -> None:
    """Write the supports of two tables and all their intersections that are not empty."""
    steps = counts.size(first) * counts.size(second)
    if steps > LARGEST_SUPPORTS:
        raise TooCostlyError(f"{steps:.1e} intersections of supports exceed {LARGEST_SUPPORTS:.0e}")
    counts.connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE {name} AS
        SELECT DISTINCT mask
        FROM (FROM {first} UNION ALL FROM {second}
              UNION ALL SELECT a.mask & b.mask FROM {first} AS a, {second} AS b)
        WHERE bit_count(mask) > 0""")
