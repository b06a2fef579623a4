"""Workbooks of Excel and LibreOffice: one sheet, whose first row that is not empty names the columns.

They are read by a process of its own: what reads them makes room for all cells between the outermost ones,
and ends the process where there is not enough.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from tasks.errors import ConfigurationError, InputError
from tasks.reading.apart import read_apart, require_extra
from tasks.reading.column_headers import check_header
from tasks.reading.missing_cells import cast_to
from tasks.reading.private_copies import private_folder, write_raw_from
from tasks.reading.python_values import cells_of, write_values
from tasks.table_settings import Input

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

EXTRA = ("python_calamine", "Excel", "excel")


def workbook_names(table: Input) -> list[str]:
    """Return the columns' names, without columns at the end that have neither name nor cells."""
    require_extra(*EXTRA)
    return read_apart(sheet_names, table, damaged=_damaged(table))


def read_workbook(
    connection: duckdb.DuckDBPyConnection, table: Input, names: Sequence[str], wanted: Sequence[int]
) -> None:
    """Make the table `raw` of the wanted columns, typed; text where cells are of several types."""
    with private_folder(connection) as folder:
        copy = folder / "copy"
        require_extra(*EXTRA)
        read_apart(copy_sheet, table, len(names), list(wanted), copy, damaged=_damaged(table))
        write_raw_from(connection, copy, table, names)


def _damaged(table: Input) -> str:
    return (
        f"input.path: {table.path.name} cannot be read as a workbook: it is damaged, or too large for "
        "memory, as where a cell far from the others is filled"
    )


def sheet_names(table: Input) -> list[str]:
    """Return the names in the first row of the sheet that is to be read."""
    sheet = _sheet(table)
    names = _names(sheet)
    if not names:
        raise InputError(
            f"input.path: the sheet {sheet.name!r} of {table.path.name} is empty: "
            "a first row with the columns' names is needed"
        )
    check_header(names)
    return names


def copy_sheet(table: Input, width: int, wanted: Sequence[int], copy: Path) -> None:
    """Make the table `cells` in a new database, of the wanted of some columns."""
    rows = ([row[number] for number in wanted] for row in _records(_sheet(table), width))
    with duckdb.connect(copy) as connection:
        copy.chmod(0o600)
        connection.execute("SET enable_progress_bar = false")
        types = write_values(connection, "texts", [f"c{number}" for number in wanted], rows)
        connection.execute(f"CREATE TABLE cells AS FROM {cast_to('texts', types)}")


def _sheet(table: Input) -> "CalamineSheet":
    from python_calamine import CalamineError, load_workbook  # noqa: PLC0415 - an extra

    try:
        with load_workbook(table.path) as workbook:
            return workbook.get_sheet_by_name(_chosen(table, workbook.sheet_names))
    except CalamineError:
        raise InputError(
            f"input.path: {table.path.name} cannot be read as a workbook: it is damaged, locked, or none"
        ) from None


def _chosen(table: Input, sheets: list[str]) -> str:
    told = ", ".join(map(repr, sheets))
    if table.sheet is not None and table.sheet not in sheets:
        raise ConfigurationError(f"input.sheet: {table.path.name} has no sheet {table.sheet!r}, but {told}")
    if table.sheet is None and len(sheets) != 1:
        raise ConfigurationError(
            f"input.sheet: {table.path.name} has {len(sheets)} sheets ({told}): set the one to read"
        )
    return table.sheet or sheets[0]


def _names(sheet: "CalamineSheet") -> list[str]:
    cells, _ = cells_of(next(_rows(sheet), []))
    names = [cell or "" for cell in cells]
    while names and not names[-1].strip() and _is_empty(sheet, len(names) - 1):
        names.pop()
    return names


def _is_empty(sheet: "CalamineSheet", column: int) -> bool:
    return all(row[column] == "" for row in _rows(sheet))


def _rows(sheet: "CalamineSheet") -> Iterator[list[Any]]:
    first = 0 if sheet.start is None else sheet.start[0]
    return islice(sheet.iter_rows(), first, None)


def _records(sheet: "CalamineSheet", width: int) -> Iterator[list[Any]]:
    """Yield the cells of each record, None where they are empty; empty rows at the end are none."""
    empty = 0
    for row in islice(_rows(sheet), 1, None):
        cells = [None if cell == "" else cell for cell in row[:width]]
        if all(cell is None for cell in cells):
            empty += 1
            continue
        yield from ([None] * width for _ in range(empty))
        empty = 0
        yield cells
