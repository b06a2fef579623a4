"""What an attacker reads in the Parquet files of a release: each is read once, for all attacks.

The equivalence classes (ECs) of a file are numbered from 0. Lines are told apart by 64-bit hashes of their
cells: two ECs of a file with a million are taken for one with a chance below one in ten million.
"""

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
from scipy import sparse

from tasks.store import memory_limit
from validations.attacks.cells import Feature, read_numbers, read_texts
from validations.attacks.targets import Targets, present
from validations.cell_grammar import CATEGORIES, parquet_type
from validations.promises import FragmentPromise, Promises
from validations.published_files import Columns, UnreadableError, parquet_columns, parquet_rows

Numbered = npt.NDArray[np.int32]
Counts = npt.NDArray[np.float64]

NO_VALUE = -1

READERS = 2
"""Files that are read at once: what is in order, or small, keeps one core busy."""


class Values(NamedTuple):
    """The class, or a sensitive attribute, as a file has it.

    Attributes
    ----------
    domain
        The different values in order, those of the targets too.
    lines : ndarray of shape (records,)
        The value of every line as its place in the domain; -1 where the cell is empty.
    counts : sparse matrix of shape (ECs, values)
        How many records of an EC have each value, as far as the file tells.
    own : ndarray of shape (targets,)
        The true values of the targets; -1 where missing.
    even
        Whether the file has each value of an EC once; it then counts for an equal part of the EC.
    """

    domain: tuple[str, ...]
    lines: Numbered
    counts: sparse.csr_array
    own: Numbered
    even: bool = False


class Fragment(NamedTuple):
    """A file of a release, beside the targets.

    Attributes
    ----------
    number
        Of the fragment, from 1.
    lines : ndarray of shape (records,)
        The EC of every line, in the order of the file.
    sizes : ndarray of shape (ECs,)
        The records of each EC.
    features
        Its features.
    of_class
        The class.
    sensitive
        By name.
    """

    number: int
    lines: Numbered
    sizes: npt.NDArray[np.int64]
    features: tuple[Feature, ...]
    of_class: Values
    sensitive: dict[str, Values]


class _Read(NamedTuple):
    """A file before its values are given their places: its ECs, its features, its values by column."""

    lines: Numbered
    sizes: npt.NDArray[np.int64]
    features: tuple[Feature, ...]
    texts: dict[str, tuple[tuple[str, ...], Numbered]]


def read_files(
    folder: Path, promises: Promises, targets: Targets, private: Path | None = None
) -> tuple[Fragment, ...]:
    """Read the fragments of a published folder, or of one that is about to be.

    Parameters
    ----------
    folder
        It is only read.
    promises
        Names the files, the columns and their kinds.
    targets
        Whom the attacks aim at.
    private
        The folder for what does not fit in memory, which may be of the targets; the system's unless given.

    Raises
    ------
    UnreadableError
        If a file is not what the promises say.
    """
    with (
        tempfile.TemporaryDirectory(dir=private) as scratch,
        duckdb.connect(config={"temp_directory": scratch, **memory_limit()}) as connection,
        ThreadPoolExecutor(max_workers=READERS) as readers,
    ):
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET GLOBAL disabled_optimizers = 'common_subexpressions'")  # slow on many columns
        read = list(
            readers.map(
                lambda each: _read(connection.cursor(), folder, promises, each, targets), promises.fragments
            )
        )
    name = promises.class_attribute
    domain = _domain([each.texts[name][0] for each in read], targets, name)
    even = promises.class_values == "per_class"
    return tuple(
        Fragment(
            number,
            each.lines,
            each.sizes,
            each.features,
            _values(each, name, domain, targets, even=even),
            {
                other: _values(each, other, _domain([each.texts[other][0]], targets, other), targets)
                for other in promise.sensitive
            },
        )
        for number, (each, promise) in enumerate(zip(read, promises.fragments, strict=True), 1)
    )


def _read(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    promises: Promises,
    promise: FragmentPromise,
    targets: Targets,
) -> _Read:
    path, names = folder / promise.parquet, (*promise.sensitive, promises.class_attribute)
    columns = parquet_columns(connection, path)
    places = {name: _place(columns, name, promises) for name in (*promise.features, *names)}
    cells = [places[name] for name in promise.features]
    source = parquet_rows(path, len(columns.names))
    hashed = ", ".join(f"hash({places[name]}) AS v{number}" for number, name in enumerate(names))
    try:
        found = connection.execute(
            f"SELECT hash({', '.join(cells)}) AS cells, {hashed} FROM {source} ORDER BY line"
        ).fetchnumpy()
        lines, firsts, sizes = _classes(np.asarray(found["cells"]))
        _keep_classes(connection, source, cells, firsts)
        features = tuple(
            read_texts(connection, "ecs", places[name], targets.groups.get(name, {}), targets.values[name])
            if promises.kinds[name] in CATEGORIES
            else read_numbers(connection, "ecs", places[name], promises.kinds[name], targets.values[name])
            for name in promise.features
        )
        texts = {
            name: _texts(connection, source, places[name], np.asarray(found[f"v{number}"]))
            for number, name in enumerate(names)
        }
    except duckdb.Error:
        raise UnreadableError("its rows are not what its columns say") from None
    if len(lines) != promises.records:
        raise UnreadableError("it has another number of records than the release")
    return _Read(lines, sizes, features, texts)


def _place(columns: Columns, name: str, promises: Promises) -> str:
    """Return the SQL name of a column."""
    expected = parquet_type(promises.kinds.get(name, "sensitive"))
    if columns.names.count(name) != 1 or columns.types[columns.names.index(name)] != expected:
        raise UnreadableError("its columns are not those of the release")
    return f"c{columns.names.index(name) + 1}"


def _classes(
    hashes: npt.NDArray[np.uint64],
) -> tuple[Numbered, npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """Return the EC of every line, the first line of every EC, and its size.

    Examples
    --------
    >>> [part.tolist() for part in _classes(np.array([7, 7, 5, 7], dtype=np.uint64))]
    [[1, 1, 0, 1], [2, 0], [1, 3]]
    """
    starts = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]])[: len(hashes)])
    lengths = np.diff(np.append(starts, len(hashes)))
    _, first, inverse = np.unique(hashes[starts], return_index=True, return_inverse=True)
    lines = np.repeat(inverse, lengths).astype(np.int32)
    return lines, starts[first], np.bincount(lines, minlength=len(first)).astype(np.int64)


def _keep_classes(
    connection: duckdb.DuckDBPyConnection, source: str, cells: Sequence[str], firsts: npt.NDArray[np.intp]
) -> None:
    """Make the table `ecs`: the cells of each EC, and its number."""
    import pandas as pd  # noqa: PLC0415 - costs a third of a second, which --help must not pay

    connection.register("firsts", pd.DataFrame({"line": firsts, "ec": np.arange(len(firsts))}))
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE ecs AS SELECT ec, {', '.join(cells)} "
        f"FROM {source} JOIN firsts USING (line)"
    )
    connection.unregister("firsts")


def _texts(
    connection: duckdb.DuckDBPyConnection, source: str, column: str, hashes: npt.NDArray[np.uint64]
) -> tuple[tuple[str, ...], Numbered]:
    """Return the different values of a column in order, and the place of each line's, -1 where empty."""
    rows = connection.execute(
        f"SELECT DISTINCT {column}, hash({column}) FROM {source} WHERE {column} IS NOT NULL"
    ).fetchall()
    values = tuple(sorted(value for value, _ in rows))
    if not rows:
        return values, np.full(len(hashes), NO_VALUE, dtype=np.int32)
    of_value = {value: place for place, value in enumerate(values)}
    known = sorted((found, of_value[value]) for value, found in rows)
    keys = np.array([key for key, _ in known], dtype=np.uint64)
    places = np.array([place for _, place in known])
    nearest = np.minimum(np.searchsorted(keys, hashes), len(keys) - 1)
    same = keys[nearest] == hashes
    return values, np.where(same, places[nearest], NO_VALUE).astype(np.int32)


def _domain(found: Sequence[Sequence[str]], targets: Targets, name: str) -> tuple[str, ...]:
    own = targets.values[name]
    return tuple(sorted({*own.data[present(own)].tolist()}.union(*found)))


def _values(
    each: _Read, name: str, domain: tuple[str, ...], targets: Targets, *, even: bool = False
) -> Values:
    values, places = each.texts[name]
    of_value = {value: place for place, value in enumerate(domain)}
    moved = np.array([*(of_value[value] for value in values), NO_VALUE], dtype=np.int32)
    lines, own = moved[places], targets.values[name]
    codes = [
        of_value[value] if known else NO_VALUE for value, known in zip(own.data, present(own), strict=True)
    ]
    counts = _counts(each, lines, len(domain))
    told = _evenly(counts, each.sizes) if even else counts
    return Values(domain, lines, told, np.array(codes, dtype=np.int32), even)


def _counts(each: _Read, lines: Numbered, values: int) -> sparse.csr_array:
    told = lines != NO_VALUE
    places = each.lines[told], lines[told]
    return sparse.coo_array((np.ones(len(places[0])), places), shape=(len(each.sizes), values)).tocsr()


def _evenly(counts: sparse.csr_array, sizes: npt.NDArray[np.int64]) -> sparse.csr_array:
    """Return an EC's records in equal parts for each value that it publishes."""
    published = np.diff(counts.indptr)
    parts = np.repeat(sizes / np.maximum(published, 1), published)
    return sparse.csr_array((parts, counts.indices, counts.indptr), shape=counts.shape)
