"""Which encoding a text file is in, where its configuration does not say so."""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from tasks.errors import InputError
from tasks.reading.texts import pieces

MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
WESTERN = "windows-1252"

# Letters beyond ASCII that texts of one language, or of neighbours, have together
ALPHABETS = tuple(
    frozenset(letters)
    for letters in (
        "äöüßéèàâçêëîïôœùûæÿáíñóú",
        "àèéìòùî",
        "áâãàçéêíóôõúü",
        "æøåéèöäü",
    )
)
LETTERS = "A-Za-zÀ-ÖØ-öø-ÿŒœŸ"
MARKS_OF_WORDS = "‘’–—·"  # noqa: RUF001 - may stand within a word
SIGNS = "€‚„…“”•™«»°§©®±²³µ¹º½¼¾¿¡£¥¢ª\xa0"  # noqa: RUF001 - may not
ODD = re.compile(  # what texts in these languages do not have, around what is beyond ASCII
    rf"[^\x00-\x7f]{{3}}"
    rf"|[{LETTERS}][{SIGNS}][{LETTERS}]"
    rf"|[°§©®±²³µ¹º½¼¾¿¡£¥¢ª]{{2}}"
    rf"|[a-zß-öø-ÿ][À-ÖØ-Þ]"
    rf"|[^\x00-\x7f{LETTERS}{MARKS_OF_WORDS}{SIGNS}]"
)
BEYOND_ASCII = re.compile(r".?[^\x00-\x7f]+.?")
LINE_SIGNS = b"\t\n\f\r" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))


def found_encoding(path: Path) -> str:
    """Return the encoding of a text file.

    A byte-order mark tells UTF-16. What can be UTF-8 is. Anything else is windows-1252, of which Latin-1 is a
    part, if its text has what texts in Western European languages have, and nothing else.

    Raises
    ------
    InputError
        If it cannot be told.
    """
    first = next(pieces(path), b"")
    for mark, encoding in MARKS:
        if first.startswith(mark):
            return encoding
    if _can_be_utf8(pieces(path)):
        return "utf-8"
    if _looks_western(pieces(path)):
        return WESTERN
    raise InputError(
        f"input.path: {path.name} is not text in utf-8, and what else it is in cannot be told: "
        "set input.encoding"
    )


def _can_be_utf8(chunks: Iterator[bytes]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for chunk in chunks:
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _looks_western(chunks: Iterator[bytes]) -> bool:
    seen: set[str] = set()
    for chunk in chunks:
        if chunk.translate(None, LINE_SIGNS):
            return False
        try:
            places = set(BEYOND_ASCII.findall(chunk.decode(WESTERN)))
        except UnicodeDecodeError:
            return False
        if any(map(ODD.search, places)):
            return False
        seen.update(letter.lower() for place in places for letter in place if not letter.isascii())
    letters = {letter for letter in seen if re.match(f"[{LETTERS}]", letter)}
    return any(letters <= alphabet for alphabet in ALPHABETS)
