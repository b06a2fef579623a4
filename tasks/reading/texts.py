"""The text of a file, piece by piece: unpacked, decoded, and refused where it is no text."""

import codecs
import csv
import gzip
import io
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tasks.errors import InputError

CHUNK = 1 << 20
LONGEST = 1 << 24  # characters of a line
PACKED_CHUNK = 1 << 16


def texts(path: Path, encoding: str) -> Iterator[str]:
    """Yield the text of a file, without a byte-order mark; no piece but the last ends in CR.

    Raises
    ------
    InputError
        If it is no text in that encoding; the message names the line.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
    held, line = "", 1
    for chunk in chain(pieces(path), [b""]):
        state = decoder.getstate()
        try:
            text = held + decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            decoder.setstate(state)
            start = max(0, getattr(error, "start", 0) - len(state[0]))
            line += line_ends(held + decoder.decode(chunk[:start]))
            raise InputError(
                f"input.path: line {line} of {path.name} is not text in {encoding}: "
                "mend it, or set input.encoding"
            ) from None
        if "\0" in text:
            line += line_ends(text.partition("\0")[0])
            raise InputError(
                f"input.path: {path.name} is not text in {encoding}: line {line} holds a NUL character"
            )
        held = "\r" if chunk and text.endswith("\r") else ""
        text = text.removesuffix(held)
        line += line_ends(text)
        yield text


def lines(parts: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a text with their ends: LF, CRLF or CR.

    Raises
    ------
    csv.Error
        If one is longer than `LONGEST`.
    """
    held = ""
    for part in parts:
        if len(held) > LONGEST:
            raise csv.Error
        *whole, held = [*io.StringIO(held + part, newline=""), ""][: -1 if held + part else None]
        yield from whole
    if held:
        yield held


def of_short_lines(path: Path, parts: Iterator[str]) -> Iterator[str]:
    """Yield the parts of a text; a line so long that a quote must be missing is refused.

    DuckDB leaves out lines of hundreds of megabytes without a word.

    Raises
    ------
    InputError
        If a line is longer than `LONGEST`; the message names it.
    """
    line, begun = 1, 0
    for part in parts:
        if begun + len(part) > LONGEST:
            for offset, whole in enumerate(lines(iter([part]))):
                if len(whole) + begun * (offset == 0) > LONGEST:
                    raise InputError(
                        f"input.path: line {line + offset} of {path.name} exceeds 16 MB: is a quote missing?"
                    )
        yield part
        line += line_ends(part)
        last = max(part.rfind("\n"), part.rfind("\r"))
        begun = begun + len(part) if last < 0 else len(part) - last - 1


def line_ends(text: str) -> int:
    """Return how many lines end in a text."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def pieces(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked if its name ends in .gz or .zst.

    Raises
    ------
    OSError, EOFError, zlib.error
        If it cannot be read, or is damaged.
    """
    suffix = path.suffix.lower()
    with path.open("rb") as file:
        if suffix == ".zst":
            yield from _from_zstandard(file)
        elif suffix == ".gz":
            with gzip.open(file) as unpacked:
                yield from iter(lambda: unpacked.read(CHUNK), b"")
        else:
            yield from iter(lambda: file.read(CHUNK), b"")


def _from_zstandard(file: io.BufferedReader) -> Iterator[bytes]:
    """Unpack frame after frame; a last one that does not end is damage."""
    import zstandard  # noqa: PLC0415 - few files are packed so

    frame = None
    try:
        while packed := file.read(PACKED_CHUNK):
            while packed:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                yield frame.decompress(packed)
                packed, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    except zstandard.ZstdError:
        raise EOFError from None
    if frame is not None:
        raise EOFError
