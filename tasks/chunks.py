"""Step: make every chunk, a segment of a fragment, anonymous on its own (paper, section 5, steps 3 and 4).

Without l or t there is one segment, and its chunks are the fragments (paper, section 3.2, step 2).
"""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.domain import Domain
from tasks.durable import flush
from tasks.partitions.anonymize import divide
from tasks.partitions.one_segment import Part
from tasks.partitions.partition import Partition, joined
from tasks.partitions.protection import Protection, read_protection
from tasks.persons.stored import read_persons
from tasks.pieces.divide_pieces import divide_written, pieces_of, write_piece
from tasks.pieces.first_cuts import Piece
from tasks.steps import step
from tasks.store import open_store, quoted
from tasks.tables import (
    read_class_domain,
    read_fragment_domains,
    read_sensitive,
    read_sensitive_domains,
    side_by_side,
)

Codes = npt.NDArray[np.int32]

_large = Lock()  # held for what may fill the memory; all cores share it anyway

CELLS = 5_000_000  # of the table, in a batch of chunks: seconds of work, much more than a task costs


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
    """Return batches that fit in memory: of a fragment that does not, its pieces, each written as Parquet."""
    domains, fitting = read_fragment_domains(connection), []
    for batch in planned:
        own = domains[batch.fragment - 1]
        pieces = pieces_of(connection, config, own)
        cut = [batch._replace(piece=piece, part=part) for part, piece in enumerate(pieces, 1)]
        for part, piece in zip(cut, pieces, strict=True):
            write_piece(connection, store.parent / f"{part.name}.parquet", own, piece)
        fitting += cut or [batch]
    return fitting


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
    name, piece = Path(f"{batch.name}.npz"), batch.piece
    with _large if batch.first == batch.last else nullcontext():
        chunked = _chunks(store, batch, config) if piece is None else _piece(store, batch, piece, config)
    _write(store.parent / name, chunked)
    return name


def _piece(store: Path, batch: Batch, piece: Piece, config: Config) -> Chunked:
    with open_store(store) as connection:
        domains = read_fragment_domains(connection)[batch.fragment - 1]
        written = store.parent / f"{batch.name}.parquet"
        return Chunked(*divide_written(connection, config, written, domains, piece))


def _chunks(store: Path, batch: Batch, config: Config) -> Chunked:
    with open_store(store) as connection:
        domains = read_fragment_domains(connection)[batch.fragment - 1]
        class_domain = read_class_domain(connection)
        beside = set(read_sensitive(connection)[batch.fragment - 1])
        sensitive = [domain for domain in read_sensitive_domains(connection) if domain.name in beside]
        protection, places = read_protection(connection, config, [class_domain, *sensitive])
        persons = read_persons(connection, config)
        segments, records, codes = _rows(connection, batch, domains)
    ends = np.flatnonzero(np.diff(segments, append=-1)) + 1
    chunks = [slice(start, end) for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]
    parts = (
        (
            rows,
            _divided(
                Part(codes[rows], domains, places[records[rows]], protection.wanted),
                None if persons is None else persons[records[rows]],
                protection,
                config,
            ),
        )
        for rows in chunks
    )
    return Chunked(records, joined(len(records), parts))


def _rows(
    connection: duckdb.DuckDBPyConnection, batch: Batch, domains: Sequence[Domain]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Codes]:
    """Return the segment, the record number and the codes of the rows of a batch, segment after segment."""
    columns = ", ".join(f"codes.{quoted(domain.name)} AS f{place}" for place, domain in enumerate(domains))
    order = "ORDER BY segments.segment, segments.rowid" if batch.first < batch.last else ""
    rows = connection.execute(f"""
        SELECT segments.segment AS segment, segments.rowid AS record, {columns}
        FROM codes POSITIONAL JOIN segments
        WHERE segments.segment BETWEEN {batch.first} AND {batch.last} {order}
    """).fetchnumpy()
    codes = side_by_side(rows, len(domains))
    return np.asarray(rows["segment"]), np.asarray(rows["record"]), codes


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
    made = path.with_suffix(".made")
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
