"""What a person should know of the columns of a table, without any value of it."""

from collections.abc import Iterator, Sequence

import duckdb
import numpy as np

from tasks.domain import Domain
from tasks.events import remark
from tasks.loading.kinds import like_identifier
from tasks.store import write_table

MOST_TOLD = 20
FORMULA = ("=", "+", "-", "@")


def remarks_of(domain: Domain, records: int) -> Iterator[str]:
    """Yield what the distinct values of a feature give reason to say."""
    if len(domain.values) == 1 and not domain.missing:
        yield "holds one value in all records, and tells nothing"
    if not len(domain.values):
        yield "is missing in all records, and tells nothing"
    if like_identifier(domain.kind, len(domain.values), records):
        yield "has nearly as many values as records, as an identifier does"
    if domain.kind == "categorical" and _starts(domain.values.tolist()):
        yield 'has values that start with "=", "+", "-" or "@", which spreadsheets take for formulas'


def _starts(values: Sequence[str]) -> bool:
    return any(value.startswith(FORMULA) for value in values)


def write_remarks(connection: duckdb.DuckDBPyConnection, remarks: Sequence[tuple[str, str]]) -> None:
    """Make the table `remarks`, a row per column and remark."""
    write_table(
        connection,
        "remarks",
        {
            "column": np.array([name for name, _ in remarks], dtype=np.str_),
            "remark": np.array([remark for _, remark in remarks], dtype=np.str_),
        },
    )


def tell_remarks(connection: duckdb.DuckDBPyConnection, remarks: Sequence[tuple[str, str]]) -> None:
    """Store the remarks, and tell whoever listens the first of them."""
    write_remarks(connection, remarks)
    for name, text in remarks[:MOST_TOLD]:
        remark(f"column {name!r}: {text}")
    if len(remarks) > MOST_TOLD:
        remark(f"and {len(remarks) - MOST_TOLD} more remarks on columns")
