"""Step: make every chunk, a segment of a fragment, anonymous on its own (paper, section 5, steps 3 and 4).

Without l or t there is one segment, and its chunks are the fragments (paper, section 3.2, step 2).
"""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.cluster.calls import threads_in_use
from tasks.config import Config
from tasks.domain import Domain
from tasks.durable import flush
from tasks.events import progress
from tasks.memory import cells_at_once
from tasks.partitions.anonymize import divide
from tasks.partitions.one_segment import Part
from tasks.partitions.partition import Partition, joined
from tasks.partitions.protection import Protection, places_of
from tasks.pieces.chunk_rows import (
    Asked,
    read_asked,
    reader_of_files,
    rows_of_segments,
    write_asked,
    write_rows,
    written_asked,
    written_rows,
)
from tasks.pieces.divide_pieces import divide_written, pieces_of, write_piece
from tasks.pieces.first_cuts import Piece
from tasks.steps import step
from tasks.store import open_store
from tasks.tables import read_fragment_domains, side_by_side
from tasks.worker_processes import available_cores

Codes = npt.NDArray[np.int32]

_large = Lock()  # held for what may fill the memory; all cores share it anyway

CELLS = 5_000_000  # of the table, in a batch of chunks: seconds of work, much more than a task costs
SHARE = 0.4  # of the cells that each thread of a cluster has to do, in a call: some take longer than others


class Batch(NamedTuple):
    """Chunks of one fragment that are anonymized together: those of some segments that follow each other.

    Attributes
    ----------
    fragment
        Its number, from 1.
    first, last
        The segments.
    piece, part
        What of the only chunk it is, and its number from 1, where that does not fit in memory.
    """

    fragment: int
    first: int
    last: int
    piece: Piece | None = None
    part: int = 0

    @property
    def name(self) -> str:
        """Of its private files beside the store, before the dot."""
        return f"chunks_{self.fragment}_{self.first}" + (f"_{self.part}" if self.part else "")


class Chunked(NamedTuple):
    """The equivalence classes (ECs) of some chunks of a fragment.

    Attributes
    ----------
    records : ndarray of shape (rows,)
        Which records the chunks hold.
    partition
        Of these rows; ECs are numbered chunk after chunk.
    """

    records: npt.NDArray[np.int64]
    partition: Partition


def in_pieces(
    store: Path, connection: duckdb.DuckDBPyConnection, planned: Sequence[Batch], config: Config
) -> list[Batch]:
    """Return batches that fit in memory, and what workers must read that cannot open the store as files.

    Of a fragment that does not fit these are its pieces. They are files in any case; other rows, and what is
    asked of them, are where a cluster does the work, whose pieces are many.
    """
    domains, fitting, elsewhere = read_fragment_domains(connection), [], config.run.engine == "dask"
    most = _cells_of_a_call(connection, domains, config) if elsewhere else math.inf
    for done, batch in enumerate(planned):
        own = domains[batch.fragment - 1]
        pieces = pieces_of(connection, config, own, most)
        cut = [batch._replace(piece=piece, part=part) for part, piece in enumerate(pieces, 1)]
        for part, piece in zip(cut, pieces, strict=True):
            write_piece(connection, store.parent / f"{part.name}.parquet", own, piece)
        if elsewhere and batch.first == 0:
            last = max(other.last for other in planned if other.fragment == batch.fragment)
            _write_apart(store.parent, connection, batch.fragment, config, None if cut else last)
        fitting += cut or [batch]
        progress((done + 1) / len(planned))
    return fitting


def _cells_of_a_call(
    connection: duckdb.DuckDBPyConnection, domains: Sequence[Sequence[Domain]], config: Config
) -> float:
    """Return how many cells a worker cuts at once: few enough for all to work, and to fit in its memory.

    Memory is shared by the workers of a machine, which are taken to be as many as this one has cores.
    """
    ((records,),) = connection.execute("SELECT count(*) FROM codes").fetchall()
    of_a_thread = records * sum(map(len, domains)) / threads_in_use()
    return float(min(cells_at_once(config.run) / available_cores(), max(CELLS, SHARE * of_a_thread)))


def _write_apart(
    folder: Path, connection: duckdb.DuckDBPyConnection, fragment: int, config: Config, last: int | None
) -> None:
    """Write what is asked of a fragment, and its rows up to a segment, if there is any."""
    asked = read_asked(connection, config, fragment)
    write_asked(folder, fragment, asked)
    if last is not None:
        write_rows(connection, folder, fragment, rows_of_segments(0, last, asked))


def batches(sizes: Sequence[int], widths: Sequence[int], cells: int = CELLS) -> list[Batch]:
    """Return which chunks to anonymize together.

    Parameters
    ----------
    sizes
        The records of each segment.
    widths
        The features of each fragment.
    cells
        A batch ends with the segment that brings it to so many cells.
    """
    ends = np.cumsum(sizes)
    planned = []
    for fragment, width in enumerate(widths, 1):
        share = ends * width // cells
        last = np.flatnonzero(np.diff(share, append=-1))
        first = np.concatenate([[0], last[:-1] + 1])
        planned += [Batch(fragment, *bounds) for bounds in zip(first.tolist(), last.tolist(), strict=True)]
    return planned


@step("anonymize the chunks")
def anonymize_chunks(store: Path, batch: Batch, config: Config) -> Path:
    """Anonymize some chunks; return the name of the private file beside the store with their classes."""
    name = Path(f"{batch.name}.npz")
    with _large if batch.first == batch.last else nullcontext():
        chunked = _chunked(store, batch, config)
    _write(store.parent / name, chunked)
    return name


def _chunked(store: Path, batch: Batch, config: Config) -> Chunked:
    """Return the classes of a batch, whose rows are read from the store, or from files where that is far."""
    written = store.parent / f"{batch.name}.parquet"
    if config.run.engine == "dask":
        with reader_of_files() as connection:
            asked = written_asked(store.parent, batch.fragment)
            if batch.piece is not None:
                return Chunked(*divide_written(connection, config, written, asked.domains, batch.piece))
            rows = written_rows(store.parent, *batch[:3])
            return _chunks(connection, rows, asked, config)
    with open_store(store) as connection:
        if batch.piece is not None:
            domains = read_fragment_domains(connection)[batch.fragment - 1]
            return Chunked(*divide_written(connection, config, written, domains, batch.piece))
        asked = read_asked(connection, config, batch.fragment)
        return _chunks(connection, rows_of_segments(batch.first, batch.last, asked), asked, config)


def _chunks(connection: duckdb.DuckDBPyConnection, query: str, asked: Asked, config: Config) -> Chunked:
    rows = connection.execute(query).fetchnumpy()
    domains, protection = asked
    segments, records = np.asarray(rows.pop("segment")), np.asarray(rows.pop("record"))
    protected = [np.asarray(rows.pop(f"c{place}")) for place in range(len(protection.attributes))]
    places = places_of(protection.attributes, protected, persons=protection.persons)
    persons = np.asarray(rows.pop("person")) if protection.persons else None
    codes = side_by_side(rows, len(domains))
    ends = np.flatnonzero(np.diff(segments, append=-1)) + 1
    chunks = [slice(start, end) for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]
    parts = (
        (
            rows,
            _divided(
                Part(codes[rows], domains, places[rows], protection.wanted),
                None if persons is None else persons[rows],
                protection,
                config,
            ),
        )
        for rows in chunks
    )
    return Chunked(records, joined(len(records), parts))


def _divided(chunk: Part, persons: Codes | None, protection: Protection, config: Config) -> Partition:
    if config.privacy.protects_values and config.fragments > 1:
        counts = np.bincount(chunk.places.ravel(), minlength=len(protection.overall))
        chunk = chunk._replace(requirement=protection.of_chunk(counts))
    partition = divide(*chunk, config.anonymization, config.run.seed, persons)
    return _within(partition, chunk.codes)


def _within(partition: Partition, codes: Codes) -> Partition:
    """Return a chunk's partition with boxes that end where the chunk's own values do.

    A chunk is anonymized as a table of its own, so its first box holds what occurs in it, and no more.
    """
    return partition._replace(
        lower=np.maximum(partition.lower, codes.min(axis=0)),
        upper=np.minimum(partition.upper, codes.max(axis=0)),
    )


def _write(path: Path, chunked: Chunked) -> None:
    made = path.with_suffix(f".{token_hex(4)}")  # a worker that was given up may be at the same chunks
    made.touch(mode=0o600)
    with made.open("wb") as file:
        np.savez(file, records=chunked.records, **chunked.partition._asdict())
    flush(made)  # the store will say that this is done
    made.replace(path)


def _read(path: Path) -> Chunked:
    with np.load(path) as arrays:
        return Chunked(arrays["records"], Partition(arrays["labels"], arrays["lower"], arrays["upper"]))


def fragment_partition(paths: Sequence[Path], records: int) -> Partition:
    """Return a fragment's partition from the files of all its chunks, which are read one by one."""
    return joined(records, map(_read, paths))
