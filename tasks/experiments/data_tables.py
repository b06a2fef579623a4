"""The data sets as tables that points read their columns from."""

import hashlib
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.experiments.datasets import load_dataset
from tasks.experiments.figures import Dataset
from tasks.steps import step
from tasks.store import literal

WORK = ".running"  # beside the results; holds what does not last
CLASS, TEST = "class", "test"


class Table(NamedTuple):
    """A data set as a Parquet file.

    Attributes
    ----------
    data
        Its name.
    columns
        Of the features: named by their place, so that no other column has one of these names.
    divided
        Whether the column `TEST` tells which records test.
    content
        A digest of all that figures depend on.
    """

    data: str
    columns: tuple[str, ...]
    divided: bool
    content: str


def table_path(store: Path, data: str) -> Path:
    """Return where the table of a data set is."""
    return store.parent / WORK / f"{data}.parquet"


def write_dataset(dataset: Dataset, path: Path) -> Table:
    """Write a data set as a Parquet file, a line per record in its order."""
    import pandas as pd  # noqa: PLC0415 - costs a third of a second, which --help must not pay

    columns = tuple(f"f{place}" for place in range(1, len(dataset.features) + 1))
    frame = pd.DataFrame(dataset.values, columns=list(columns))
    frame[CLASS] = dataset.classes
    if dataset.test is not None:
        frame[TEST] = dataset.test
    with duckdb.connect() as connection:
        connection.register("records", frame)
        connection.execute(f"COPY (SELECT * FROM records) TO {literal(str(path))} (FORMAT parquet)")
    return Table(dataset.name, columns, dataset.test is not None, content_digest(dataset))


def content_digest(dataset: Dataset) -> str:
    """Return a digest of the values, the classes, and which records test."""
    values = np.ascontiguousarray(dataset.values)
    digest = hashlib.sha256(f"{values.dtype.str} {values.shape}".encode())
    digest.update(values.tobytes())
    digest.update("\0".join(dataset.classes.tolist()).encode())
    digest.update(b"" if dataset.test is None else dataset.test.tobytes())
    return digest.hexdigest()


def rows_that_test(path: Path) -> npt.NDArray[np.bool_]:
    """Return which records of a divided table test."""
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT {TEST} FROM read_parquet(?)", [str(path)]).fetchnumpy()
    return np.asarray(rows[TEST])


@step("read the data sets")
def read_data(store: Path, name: str, files: Path | None) -> Table:
    """Load a data set by name, and write it as a table."""
    return write_dataset(load_dataset(name, files), table_path(store, name))
