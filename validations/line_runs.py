"""Runs of equal lines in a CSV file: its rows stand in order, so one line of each run is enough to read."""

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

CHUNK = 1 << 22
LONGEST = 1 << 24  # bytes of a line: longer ones are not read as rows either


def write_runs(path: Path, short: Path) -> npt.NDArray[np.int64] | None:
    """Write a file that has one line of each run of equal lines; return how many lines each run has.

    Parameters
    ----------
    path
        A CSV file; its first line is written too, and counts for none.
    short
        The file to write.

    Returns
    -------
    ndarray of shape (runs,)
        None if less than half of the file is saved, or a line may not be a row: it may end within quotes.
    """
    lengths, written, seen = array("q"), 0, 0
    with path.open("rb") as source, short.open("wb") as target:
        header = source.readline(LONGEST)
        if not _is_row(header):
            return None
        target.write(header)
        for line, length in _runs(source):
            written, seen = written + len(line), seen + len(line) * length
            if not _is_row(line) or (written > CHUNK and 2 * written > seen):
                return None
            target.write(line)
            lengths.append(length)
    return np.array(lengths, dtype=np.int64)


def _runs(source: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield a line of each run of equal lines, and how many there are."""
    line, length = b"", 0
    for text in _whole_lines(source):
        place = 0
        while place < len(text):
            if length and text.startswith(line, place):
                length += 1
            else:
                if length:
                    yield line, length
                line, length = text[place : text.find(b"\n", place) + 1 or None], 1
            place += len(line)
    if length:
        yield line, length


def _whole_lines(source: BinaryIO) -> Iterator[bytes]:
    """Yield a file in pieces that end where a line ends; what follows the last end comes alone."""
    held = b""
    while len(held) <= LONGEST and (piece := source.read(CHUNK)):
        whole, end, rest = piece.rpartition(b"\n")
        if end:
            yield held + whole + end
            held = rest
        else:
            held += rest
    yield held


def _is_row(line: bytes) -> bool:
    return line.endswith(b"\n") and line != b"\n" and line.count(b'"') % 2 == 0 and b"\r" not in line
