"""Checks what a tool made of a table, in the same way for all of them."""

from pathlib import Path
from typing import NamedTuple

import duckdb


class Output(NamedTuple):
    """What the bounds of all records show.

    Attributes
    ----------
    records
        How many there are.
    k
        Of the fewest that are alike in all bounds.
    loss
        Mean over features of the mean of (upper - lower) / (max - min), where max and min are the table's.
    """

    records: int
    k: int
    loss: float


def check_output(bounds: Path, table: Path) -> Output:
    """Return what a file of bounds shows: f0_lower, f0_upper, ..., of the features f0, ... of a table."""
    with duckdb.connect() as connection:
        described = connection.execute(f"DESCRIBE FROM read_parquet('{table}')").fetchall()
        features = [name for name, *_ in described if name != "class"]
        extremes = ", ".join(f"max({name}) - min({name}) AS {name}" for name in features)
        losses = [
            f"coalesce(avg({name}_upper - {name}_lower) / nullif(any_value({name}), 0), 0)"
            for name in features
        ]
        records, loss = connection.execute(
            f"SELECT count(*), ({' + '.join(losses)}) / {len(features)} FROM read_parquet('{bounds}'), "
            f"(SELECT {extremes} FROM read_parquet('{table}'))"
        ).fetchall()[0]
        cells = ", ".join(f"{name}_lower, {name}_upper" for name in features)
        ((k,),) = connection.execute(
            f"SELECT min(n) FROM (SELECT count(*) AS n FROM read_parquet('{bounds}') GROUP BY {cells})"
        ).fetchall()
    return Output(int(records), int(k), float(loss))
