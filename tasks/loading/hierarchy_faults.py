"""What is wrong with a hierarchy; rows are named by number, values never."""

from collections import Counter
from collections.abc import Iterator, Sequence

NAMED_ROWS = 10

Row = tuple[int, tuple[str, ...]]


def feature_faults(rows: Sequence[Row]) -> Iterator[str]:
    """Return what is wrong with the hierarchy of a feature, from its numbered rows, one text per kind."""
    yield from _faults_of_rows(rows)
    yield from _torn_groups(rows)
    unclear = ambiguous_rows(rows)
    if unclear:
        yield f"{_some(unclear)} a name that stands for other values as well: rename one"


def protected_faults(rows: Sequence[Row]) -> Iterator[str]:
    """Return what is wrong with the hierarchy of a protected attribute, from its numbered rows."""
    yield from _faults_of_rows(rows)
    width = len(rows[0][1])
    common = [level for level in range(1, width) if len({cells[level:][:1] for _, cells in rows}) == 1]
    if len(rows) > 1 and len(common) > 1:
        yield f"{len(common)} levels are common to all values, which would make every distance less: keep one"
    yield from _torn_groups(rows)


def ambiguous_rows(rows: Sequence[Row]) -> list[int]:
    """Return the rows with a value or group whose name stands for more values at another level."""
    everywhere = Counter(name for _, cells in rows for name in set(cells) - {""})
    at_level = Counter((level, name) for _, cells in rows for level, name in enumerate(cells))
    fewer = {place for place, held in at_level.items() if held < everywhere[place[1]]}
    return [number for number, cells in rows if not fewer.isdisjoint(enumerate(cells))]


def _faults_of_rows(rows: Sequence[Row]) -> Iterator[str]:
    width = len(rows[0][1])
    if all(len(cells) == 1 and "," in cells[0] for _, cells in rows):
        yield "has commas and no semicolon: write each row as value;level1;level2;..."
    ragged = [number for number, cells in rows if len(cells) != width]
    if ragged:
        yield f"{_some(ragged)} not the {width} cells of the first row: give every value as many levels"
    holed = [number for number, cells in rows if "" in cells]
    if holed:
        yield f"{_some(holed)} an empty cell: fill it in"
    twice = _repeated(rows)
    if twice:
        yield f"{_some(twice)} a value that a row before has: keep one"


def _torn_groups(rows: Sequence[Row]) -> Iterator[str]:
    torn = _torn(rows, len(rows[0][1]))
    if torn:
        yield f"{_some(torn)} an ancestor that has another parent in a row before: give it one parent"


def _repeated(rows: Sequence[Row]) -> list[int]:
    first: dict[str, int] = {}
    return [number for number, (value, *_) in rows if first.setdefault(value, number) != number]


def _torn(rows: Sequence[Row], width: int) -> list[int]:
    """Return the rows in which an ancestor has another parent than where it first occurs."""
    parents: dict[tuple[int, str], str] = {}
    return [
        number
        for number, cells in rows
        if len(cells) == width
        and any(
            parents.setdefault((level, cells[level]), cells[level + 1]) != cells[level + 1]
            for level in range(1, width - 1)
        )
    ]


def _some(numbers: Sequence[int]) -> str:
    """Return how many rows have something, and which are the first of them."""
    shown = ", ".join(map(str, numbers[:NAMED_ROWS]))
    more = ", ..." if len(numbers) > NAMED_ROWS else ""
    if len(numbers) == 1:
        return f"1 row (number {shown}) has"
    return f"{len(numbers)} rows (numbers {shown}{more}) have"
