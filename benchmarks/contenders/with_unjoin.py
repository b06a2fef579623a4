"""Anonymize with unjoin's Mondrian: with_unjoin.py TABLE K OUT [loaded]; see contend.py.

Timed is the way from columns of numbers to the text of each published cell, and the cuts in it apart.
Compiled code is loaded before, as other tools' imports are: for tables that a process cuts with it even if
it cuts nothing else, and where asked for.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd  # noqa: F401 - `encode` imports it, which is not to be timed
from costs import measured, tell, timed

from tasks.domain import Domain
from tasks.loading.encode import encode
from tasks.partitions.anonymize import Anonymized, generalise
from tasks.partitions.mondrian import WORTH_COMPILING, partition
from tasks.partitions.requirements import KAnonymity

Columns = dict[str, npt.NDArray[Any]]


class Result(NamedTuple):
    """Equivalence classes, the text of their cells per feature, and the seconds of the cuts alone."""

    anonymized: Anonymized
    texts: list[list[str]]
    cuts: dict[str, float]


def anonymize(columns: Columns, k: int) -> Result:
    """Make equivalence classes of the records, and the text of their cells."""
    encoded = {name: encode(values) for name, values in columns.items()}
    classes, values, _ = encoded.pop("class")
    domains = [Domain(name, "integer", held, missing) for name, (_, held, missing) in encoded.items()]
    ranked = [ranks for ranks, _, _ in encoded.values()]
    codes = np.column_stack(ranked)
    divided, seconds, cpu = timed(lambda: partition(codes, domains, classes, KAnonymity(k), "strict"))
    found = generalise(ranked, domains, classes, len(values), divided, "tight")
    texts = [region.texts() for region in found.regions]
    return Result(found, texts, {"seconds": seconds, "cpu": cpu})


def load_compiled() -> None:
    """Cut a table of equal records that is large enough to be worth compiled code."""
    codes = np.zeros((WORTH_COMPILING // 2, 2), dtype=np.int32)
    domains = [Domain(name, "integer", np.arange(1), missing=False) for name in ("f0", "f1")]
    partition(codes, domains, codes[:, 0].copy(), KAnonymity(1), "strict")


def write_bounds(found: Result, columns: Columns, out: Path) -> None:
    """Write the bounds of each record's cells."""
    labels = found.anonymized.labels
    bounds = {"class": columns["class"].astype(str)}
    for region in found.anonymized.regions:
        lower, upper = region.bounds()
        name = region.domain.name
        bounds |= {f"{name}_lower": lower[labels], f"{name}_upper": upper[labels]}
    with duckdb.connect() as connection:
        connection.register("bounds", bounds)
        connection.execute(f"COPY bounds TO '{out}'")


def main() -> None:
    """Anonymize the table, write the bounds, tell the cost."""
    with duckdb.connect() as connection:
        columns = connection.execute(f"FROM read_parquet('{sys.argv[1]}')").fetchnumpy()
    if "loaded" in sys.argv or sum(map(len, columns.values())) >= WORTH_COMPILING:
        load_compiled()
    found, cost = measured(lambda: anonymize(columns, int(sys.argv[2])))
    write_bounds(found, columns, Path(sys.argv[3]))
    tell(cost, classes=len(found.anonymized.counts), cuts=found.cuts)


if __name__ == "__main__":
    main()
