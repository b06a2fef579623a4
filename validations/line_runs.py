"""Runs of equal lines in a CSV file: its rows stand in order, so one line of each run is enough to read."""

from collections.abc import Sequence
from operator import ne
from pathlib import Path

import numpy as np
import numpy.typing as npt

CHUNK = 1 << 22
WRITTEN = 1 << 22  # bytes that are written before it is asked whether a file is worth it
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
    firsts, lines_before, rest = [], 0, b""
    above: bytes | None = None
    with path.open("rb") as source, short.open("wb") as target:
        header = source.readline(LONGEST)
        if not header.endswith(b"\n") or not _are_rows([header[:-1]]):
            return None
        target.write(header)
        while piece := source.read(CHUNK):
            *lines, rest = (rest + piece).split(b"\n")
            different = np.fromiter(map(ne, lines, [above, *lines]), dtype=np.bool_, count=len(lines))
            first = np.flatnonzero(different)
            runs = [lines[place] for place in first.tolist()]
            if not _are_rows(runs) or len(rest) > LONGEST:
                return None
            target.writelines(line + b"\n" for line in runs)
            if target.tell() > WRITTEN and 2 * target.tell() > source.tell():
                return None
            firsts.append(first + lines_before)
            lines_before, above = lines_before + len(lines), lines[-1] if lines else above
    if rest:
        return None
    return np.diff(np.concatenate([*firsts, [lines_before]]))


def _are_rows(lines: Sequence[bytes]) -> bool:
    """Whether each line is a row by itself."""
    whole = not any(line.count(b'"') % 2 for line in lines)
    return whole and b"" not in lines and b"\r" not in b"\n".join(lines)
