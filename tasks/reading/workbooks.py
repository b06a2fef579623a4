"""Workbooks of Excel and LibreOffice: one sheet, whose first row that is not empty names the columns."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import duckdb

from tasks.errors import ConfigurationError, InputError
from tasks.reading.column_headers import check_header
from tasks.reading.missing_cells import cast_to, write_raw
from tasks.reading.python_values import cells_of, write_values
from tasks.table_settings import Input

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

EXTRA = "input.path: reading Excel needs the extra: pip install 'unjoin[excel]'"


def workbook_names(table: Input) -> list[str]:
    """Return the columns' names, without columns at the end that have neither name nor cells."""
    sheet = _sheet(table)
    names = _names(sheet)
    if not names:
        raise InputError(
            f"input.path: the sheet {sheet.name!r} of {table.path.name} is empty: "
            "a first row with the columns' names is needed"
        )
    check_header(names)
    return names


def read_workbook(
    connection: duckdb.DuckDBPyConnection, table: Input, names: Sequence[str], wanted: Sequence[int]
) -> None:
    """Make the table `raw` of the wanted columns, typed; text where cells are of several types."""
    rows = ([row[number] for number in wanted] for row in _records(_sheet(table), len(names)))
    types = write_values(connection, "cells", [f"c{number}" for number in wanted], rows)
    write_raw(connection, cast_to("cells", types), types, table, names)
    connection.execute("DROP TABLE cells")


def _sheet(table: Input) -> "CalamineSheet":
    try:
        from python_calamine import CalamineError, load_workbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigurationError(EXTRA) from None
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
