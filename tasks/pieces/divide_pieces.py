"""Dividing the records of a table that does not fit in memory into equivalence classes, piece by piece."""

import math
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.domain import Domain
from tasks.durable import flush
from tasks.memory import cells_at_once
from tasks.partitions.anonymize import divide
from tasks.partitions.partition import Partition, joined
from tasks.partitions.requirements import KAnonymity
from tasks.pieces.first_cuts import Piece, cut_into_pieces
from tasks.store import literal, quoted
from tasks.tables import side_by_side

Ints = npt.NDArray[np.int64]


def pieces_of(
    connection: duckdb.DuckDBPyConnection, config: Config, domains: Sequence[Domain], most: float = math.inf
) -> list[Piece]:
    """Return the pieces of the stored table, seen through some features; none where it is cut as a whole.

    That is so where it fits, where cuts are not strict and at medians, where a feature has a hierarchy, and
    where more is asked than k records.

    Parameters
    ----------
    connection, config, domains
        The store, the run, and the features.
    most
        Cells of a piece, where that is less than fits in memory.
    """
    by_medians = config.anonymization.mode == "strict" and config.anonymization.split == "median"
    k_alone = not config.privacy.protects_values and config.columns.entity is None
    if not (by_medians and k_alone and all(domain.tree is None for domain in domains)):
        return []
    cells = int(min(cells_at_once(config.run), most))
    pieces = cut_into_pieces(connection, domains, config.privacy.k, cells)
    return pieces if len(pieces) > 1 else []


def write_piece(
    connection: duckdb.DuckDBPyConnection, path: Path, domains: Sequence[Domain], piece: Piece
) -> None:
    """Write the rows of a piece as Parquet: the number of each record, and its codes as f0, f1, ..."""
    connection.execute(f"COPY ({_rows_of(domains, piece)}) TO {literal(str(path))} (FORMAT parquet)")
    flush(path)


def divide_written(
    connection: duckdb.DuckDBPyConnection, config: Config, path: Path, domains: Sequence[Domain], piece: Piece
) -> tuple[Ints, Partition]:
    """Return the numbers of the records of a piece that was written, and their equivalence classes."""
    return _divide(connection, config, f"FROM read_parquet({literal(str(path))})", domains, piece)


def divide_stored(
    connection: duckdb.DuckDBPyConnection, config: Config, domains: Sequence[Domain], pieces: Sequence[Piece]
) -> Partition:
    """Divide all records of the store, piece after piece, into the classes that they make at once."""
    parts = (_divide(connection, config, _rows_of(domains, piece), domains, piece) for piece in pieces)
    return joined(sum(piece.records for piece in pieces), parts)


def _rows_of(domains: Sequence[Domain], piece: Piece) -> str:
    codes = ", ".join(f"{quoted(domain.name)} AS f{place}" for place, domain in enumerate(domains))
    return f"SELECT rowid AS record, {codes} FROM codes WHERE {piece.condition(domains)}"


def _divide(
    connection: duckdb.DuckDBPyConnection, config: Config, query: str, domains: Sequence[Domain], piece: Piece
) -> tuple[Ints, Partition]:
    rows = connection.execute(query).fetchnumpy()
    codes = side_by_side(rows, len(domains))
    places, asked = np.zeros(piece.records, dtype=np.int32), KAnonymity(config.privacy.k)
    found = divide(codes, domains, places, asked, config.anonymization, config.run.seed)
    within = found._replace(
        lower=np.maximum(found.lower, np.array(piece.lower, dtype=np.int32)),
        upper=np.minimum(found.upper, np.array(piece.upper, dtype=np.int32)),
    )
    return np.asarray(rows["record"]), within
