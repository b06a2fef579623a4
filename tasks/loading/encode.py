"""The values of columns as their ranks among the distinct ones."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.loading.held import Held
from tasks.loading.roles import Column
from tasks.store import quoted
from tasks.typed_values import as_stored

Encoded = tuple[npt.NDArray[np.int32], npt.NDArray[Any], bool]

READERS = 2
"""Columns that are read and ranked at once."""

FLAGS_PER_VALUE = 4


def encode(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any], bool]:
    """Return the ranks of values, the distinct values in order, and whether some are missing.

    Parameters
    ----------
    values : ndarray or masked array of shape (n,)
        Numbers or texts; masked entries are missing.

    Returns
    -------
    codes : ndarray of shape (n,)
        Code 0 is missing, if some are; the values follow in order.
    distinct : ndarray of shape (distinct non-missing values,)
    missing : bool
    """
    absent = np.ma.getmaskarray(values)
    missing = bool(absent.any())
    if not missing:
        return *_ranked(np.ma.getdata(values)), missing
    ranks, distinct = _ranked(np.ma.getdata(values)[~absent])
    codes = np.zeros(len(values), dtype=np.int32)
    codes[~absent] = ranks + 1
    return codes, distinct, missing


def _ranked(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Return the ranks of values among the distinct ones; whole numbers in a small range need no hash."""
    if values.dtype == np.int64 and len(values):
        lowest, highest = int(values.min()), int(values.max())
        if highest - lowest <= FLAGS_PER_VALUE * len(values):
            offsets = values - lowest
            occurs = np.zeros(highest - lowest + 1, dtype=np.bool_)
            occurs[offsets] = True
            return (np.cumsum(occurs, dtype=np.int32) - 1)[offsets], np.flatnonzero(occurs) + lowest
    import pandas as pd  # noqa: PLC0415 - costs a third of a second, which --help must not pay

    ranks, distinct = pd.factorize(values, sort=True)
    return ranks.astype(np.int32), np.asarray(distinct)


def encoded_columns(
    connection: duckdb.DuckDBPyConnection, readable: Sequence[tuple[Column, Held]]
) -> Iterator[Encoded]:
    """Yield the ranks, the distinct values and whether some are missing, of each column of the source."""

    def encoded(each: tuple[Column, Held]) -> Encoded:
        column, held = each
        stored = as_stored(quoted(column.name), held.kind, held.scale)
        found = connection.cursor().execute(f"SELECT {stored} AS value FROM source").fetchnumpy()
        return encode(np.ma.asanyarray(found["value"]))

    with ThreadPoolExecutor(max_workers=READERS) as readers:
        for first in range(0, len(readable), READERS):
            yield from readers.map(encoded, readable[first : first + READERS])
