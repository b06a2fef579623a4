"""The names of columns: refused where they are blank, look like a record, or are too much alike."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from tasks.errors import InputError
from tasks.loading.column_texts import NUMBER

RESERVED = "file_row_number"


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are blank, or that other programs would take for one.

    Raises
    ------
    InputError
        With a line for each of these faults.
    """
    faults = [fault for fault in (_blank(names), _unseen(names), _reserved(names), _twins(names)) if fault]
    if faults:
        raise InputError("\n".join(faults))


def check_header(names: Sequence[str]) -> None:
    """Refuse a first line that is a record, not the columns' names.

    Raises
    ------
    InputError
        If too many of its cells are numbers.
    """
    numbers = [name for name in names if re.fullmatch(NUMBER, name.strip())]
    if any("." in name for name in numbers) or 2 * len(numbers) > len(names):
        raise InputError(
            f"input.path: {len(numbers)} of {len(names)} names in the first line are numbers: "
            "it must hold the columns' names, not a record"
        )


def _blank(names: Sequence[str]) -> str:
    blank = [str(number) for number, name in enumerate(names, 1) if not name.strip()]
    return f"the name of column number {', '.join(blank)} is blank: name every column" if blank else ""


def _unseen(names: Sequence[str]) -> str:
    """Refuse what other programs take for the end of a text, or for a mark of how it is encoded."""
    found = [str(place) for place, name in enumerate(names, 1) if "\0" in name or name.startswith("\ufeff")]
    if not found:
        return ""
    return f"the name of column number {', '.join(found)} holds a NUL or a byte-order mark: rename it"


def _reserved(names: Sequence[str]) -> str:
    reserved = [name for name in names if name.casefold() == RESERVED]
    if not reserved:
        return ""
    return f"the column name {reserved[0]!r} means something else to readers of Parquet: rename it"


def _twins(names: Sequence[str]) -> str:
    alike = defaultdict(list)
    for name in names:
        if name.strip():
            alike[unicodedata.normalize("NFC", name).strip().casefold()].append(name)
    twins = [", ".join(map(repr, group)) for group in alike.values() if len(group) > 1]
    if not twins:
        return ""
    return (
        "column names must differ in more than case, surrounding blanks or the encoding of accents: "
        + "; ".join(twins)
    )
