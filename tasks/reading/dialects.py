"""How the cells of a text file are told apart: its delimiter, its quotes and what escapes them.

What is found is the one way of reading that gives every record as many cells as the header. Where several
do, and it matters, the file is refused: a guess could be another table.
"""

import csv
import io
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from tasks.errors import InputError
from tasks.reading.texts import lines, of_short_lines, texts

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 1 << 20
STANDARD_QUOTE = '"'
OTHER_QUOTE = "'"
BACKSLASH = "\\"


class Dialect(NamedTuple):
    """How cells are written.

    Attributes
    ----------
    escape
        What stands before a quote within quotes; None where quotes are doubled.
    """

    delimiter: str
    quote: str
    escape: str | None = None

    def records(self, parts: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield each record's last line, and its cells; blank lines count for nothing.

        Raises
        ------
        csv.Error
            If quotes do not end, or end within a cell.
        """
        reader = csv.reader(
            lines(parts),
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            doublequote=self.escape is None,
            strict=True,
        )
        yield from ((reader.line_num, record) for record in reader if record)


class Survey(NamedTuple):
    """What the whole text holds that says how it may be read.

    Attributes
    ----------
    ends
        The line ends that occur, also those within quotes.
    before_other_quote
        What stands before single quotes: a delimiter or a line end where they begin a cell.
    escaped
        The quotes before which a backslash stands.
    """

    ends: frozenset[str]
    before_other_quote: frozenset[str]
    escaped: frozenset[str]


def survey(path: Path, encoding: str, delimiter: str | None) -> Survey:
    """Return what the whole text holds.

    Raises
    ------
    InputError
        If it is no text in that encoding, or has a line of more than 16 MB; the message names the line.
    """
    delimiters = "".join(dict.fromkeys((*DELIMITERS, *(delimiter or ()))))
    version = path.stat()
    return _survey(path, (version.st_mtime_ns, version.st_size), encoding, delimiters)


@lru_cache(maxsize=8)
def _survey(path: Path, version: tuple[int, int], encoding: str, delimiters: str) -> Survey:  # noqa: ARG001 - for the cache
    """Read the text once: names, roles and rows are asked for one after the other."""
    ends: set[str] = set()
    before: set[str] = set()
    escaped: set[str] = set()
    last = "\n"
    for text in of_short_lines(path, texts(path, encoding)):
        crlf = text.count("\r\n")
        counts = {"\r\n": crlf, "\n": text.count("\n") - crlf, "\r": text.count("\r") - crlf}
        ends.update(end for end, count in counts.items() if count)
        seen = last + text
        if OTHER_QUOTE in text:
            before.update(sign for sign in f"\r\n{delimiters}" if sign + OTHER_QUOTE in seen)
        if BACKSLASH in seen:
            escaped.update(quote for quote in (STANDARD_QUOTE, OTHER_QUOTE) if BACKSLASH + quote in seen)
        last = text[-1:] or last
    return Survey(frozenset(ends), frozenset(before), frozenset(escaped))


def found_dialect(path: Path, encoding: str, delimiter: str | None, quote: str | None) -> Dialect:
    """Return how the cells of a file are written; what is given is not looked for.

    Raises
    ------
    InputError
        If it cannot be told.
    """
    held = survey(path, encoding, delimiter)
    if delimiter is None:
        delimiter = _found_delimiter(path, encoding, quote, held)
    ways = list(_ways(delimiter, quote, held))
    if len(ways) == 1:
        return ways[0]
    likely = [way for way in ways if _is_even(way, path, encoding)]
    if len(likely) > 1 and not _read_the_same(likely, path, encoding):
        raise InputError(
            f"input.quote: {path.name} can be read with either quote around cells, or with backslashes as "
            "escapes of quotes or not: set input.quote, double the quotes within cells, or give it as Parquet"
        )
    return likely[0] if likely else ways[0]


def _ways(delimiter: str, quote: str | None, held: Survey) -> Iterator[Dialect]:
    """Yield what could be around cells, the standard first: only what occurs there makes a difference."""
    quotes = [quote] if quote else [STANDARD_QUOTE]
    if quote is None and held.before_other_quote & {"\r", "\n", delimiter}:
        quotes.append(OTHER_QUOTE)
    for sign in quotes:
        yield Dialect(delimiter, sign)
        if sign in held.escaped:
            yield Dialect(delimiter, sign, BACKSLASH)


def _found_delimiter(path: Path, encoding: str, quote: str | None, held: Survey) -> str:
    sample, is_whole = _sample(path, encoding)
    ways = {sign: list(_ways(sign, quote, held)) for sign in DELIMITERS}
    found = [
        sign for sign in DELIMITERS if any(_width(way, sample, is_whole=is_whole) > 1 for way in ways[sign])
    ]
    if not found:  # rows are ragged, or there is one column: the reader of all rows tells
        found = [sign for sign in DELIMITERS if _header_width(ways[sign][0], sample) > 1] or [","]
    if len(found) > 1:
        raise InputError(
            f"input.delimiter: {path.name} can be read with several ({', '.join(map(repr, found))}): set it"
        )
    return found[0]


def _sample(path: Path, encoding: str) -> tuple[str, bool]:
    """Return the beginning of a text, and whether it is all of it."""
    parts = texts(path, encoding)
    sample = ""
    for part in parts:
        sample += part
        if len(sample) >= SAMPLE:
            return sample, not any(parts)
    return sample, True


def _width(way: Dialect, sample: str, *, is_whole: bool) -> int:
    """Return the number of cells that all records of a sample have, 0 if they differ."""
    widths: set[int] = set()
    last: list[str] = []
    try:
        for _, record in way.records(iter([sample])):
            if last:
                widths.add(len(last))
            last = record
            if len(widths) > 1:
                return 0
    except csv.Error as error:
        if is_whole or "unexpected end" not in str(error):
            return 0
        last = []
    if is_whole and last:
        widths.add(len(last))
    return widths.pop() if len(widths) == 1 else 0


def _header_width(way: Dialect, sample: str) -> int:
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=way.delimiter, quotechar=way.quote)
    try:
        return len(next(reader, []))
    except csv.Error:
        return 0


def _is_even(way: Dialect, path: Path, encoding: str) -> bool:
    """Whether every record of the file has as many cells as the header, and quotes are around cells only."""
    if way.escape is not None:  # the csv module lets quotes end anywhere then
        ends = re.escape(f"{way.delimiter}\r\n")
        within = re.compile(f"[^\\\\{ends}]{way.quote}[^{ends}]")
        if any(within.search(line) for line in lines(texts(path, encoding))):
            return False
    try:
        return len({len(record) for _, record in way.records(texts(path, encoding))}) == 1
    except csv.Error:
        return False


def _read_the_same(ways: list[Dialect], path: Path, encoding: str) -> bool:
    """Whether it makes no difference which of two or more ways a file is read in."""
    first, *others = ways
    return all(
        all(
            one == other
            for (_, one), (_, other) in zip_longest(
                first.records(texts(path, encoding)),
                way.records(texts(path, encoding)),
                fillvalue=(0, None),
            )
        )
        for way in others
    )
