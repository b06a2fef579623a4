"""The rows of SPSS and Stata as a table of DuckDB: values by their labels, dates of their numbers."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from tasks.errors import InputError
from tasks.reading.python_values import cells_of
from tasks.table_settings import Input

if TYPE_CHECKING:
    import pandas as pd

ROWS = 100_000
EXACT_IN_FLOATS = 2**53

DAYS = "CAST(DATE '{origin}' + CAST(floor({{raw}} / {unit}) AS INTEGER) AS DATE)"
MOMENT = "TIMESTAMP '{origin}' + to_microseconds(CAST(round({{raw}} * {unit}) AS BIGINT))"
MONTHS = "CAST(DATE '1960-01-01' + to_months(CAST({{raw}} * {unit} AS INTEGER)) AS DATE)"
SPSS_DATES = dict.fromkeys(
    ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "MOYR", "QYR", "WKYR"),
    DAYS.format(origin="1582-10-14", unit=86400),
) | dict.fromkeys(("DATETIME", "YMDHMS"), MOMENT.format(origin="1582-10-14", unit=1_000_000))
STATA_DATES = {
    "%td": DAYS.format(origin="1960-01-01", unit=1),
    "%d": DAYS.format(origin="1960-01-01", unit=1),
    "%tc": MOMENT.format(origin="1960-01-01", unit=1000),
    "%tm": MONTHS.format(unit=1),
    "%tq": MONTHS.format(unit=3),
    "%th": MONTHS.format(unit=6),
    "%ty": "make_date(CAST({raw} AS INTEGER), 1, 1)",
}


def described(table: Input) -> tuple[list[str], dict[str, str]]:
    """Return the names of the variables, and what they are called in words, where they are."""
    _, about = _read(table, metadataonly=True)
    labels = {name: label for name, label in about.column_names_to_labels.items() if label}
    return list(about.column_names), labels


def copy_rows(table: Input, wanted: dict[str, str], copy: Path) -> None:
    """Make the table `cells` in a new database, of the wanted variables under other names.

    Raises
    ------
    InputError
        If the file is damaged, or two codes of a variable would become the same text.
    """
    _, about = _read(table, metadataonly=True)
    labels = about.variable_value_labels if table.labels else {}
    labelled = {name: _Labels(labels[name]) for name in wanted if labels.get(name)}
    texts = {*labelled, *(name for name in wanted if about.readstat_variable_types[name] == "string")}
    columns = ", ".join(f"{raw} {'VARCHAR' if name in texts else 'DOUBLE'}" for name, raw in wanted.items())
    with duckdb.connect(copy) as connection:
        copy.chmod(0o600)
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"CREATE TEMP TABLE read ({columns})")
        for frame in _frames(table, list(wanted)):
            _insert(connection, frame, wanted, labelled)
        faults = [f"column {name!r}: {labels.fault}" for name, labels in labelled.items() if labels.fault]
        if faults:
            raise InputError("\n".join(faults))
        numbers = {
            raw: _date(table, about.original_variable_types[name])
            for name, raw in wanted.items()
            if name not in texts
        }
        _write_typed(connection, list(wanted.values()), numbers)


class _Labels:
    """The texts of a variable's codes."""

    def __init__(self, labels: dict[Any, str]) -> None:
        self.labels = {code: label for code, label in labels.items() if label}
        self.texts: dict[Any, str] = {}

    def texts_of(self, codes: Sequence[Any]) -> list[str]:
        """Return the labels of distinct codes; a code without one stands for itself."""
        plain, _ = cells_of(codes)
        texts = [self.labels.get(code, text or "") for code, text in zip(codes, plain, strict=True)]
        self.texts.update(zip(codes, texts, strict=True))
        return texts

    @property
    def fault(self) -> str:
        """What is wrong with the labels of the codes seen so far."""
        twins = len(self.texts) - len(set(self.texts.values()))
        if not twins:
            return ""
        return (
            f"{twins + 1} or more codes have the label of another: mend the labels, "
            "or set input.labels = false to release codes"
        )


def _read(table: Input, **choices: Any) -> tuple["pd.DataFrame", Any]:  # noqa: ANN401 - pyreadstat's own
    import pyreadstat  # noqa: PLC0415 - an extra

    read = pyreadstat.read_sav if table.written_as == "spss" else pyreadstat.read_dta
    try:
        frame, about = read(str(table.path), disable_datetime_conversion=True, **choices)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError):
        raise InputError(damaged(table)) from None
    return frame, about


def _frames(table: Input, names: list[str]) -> Iterator["pd.DataFrame"]:
    offset = 0
    while True:
        frame, _ = _read(table, usecols=names, row_offset=offset, row_limit=ROWS)
        yield frame
        if len(frame) < ROWS:
            return
        offset += ROWS


def _insert(
    connection: duckdb.DuckDBPyConnection,
    frame: "pd.DataFrame",
    wanted: dict[str, str],
    labelled: dict[str, _Labels],
) -> None:
    import pandas as pd  # noqa: PLC0415 - costs a third of a second, which --help must not pay

    cells: dict[str, Any] = {}
    for name, raw in wanted.items():
        values = frame[name]
        if name in labelled:
            ranks, codes = pd.factorize(values)
            texts = pd.array([*labelled[name].texts_of(list(codes)), None], dtype="string")
            cells[raw] = texts.take(ranks)
        elif pd.api.types.is_numeric_dtype(values):
            cells[raw] = values.astype("float64").array
        else:
            cells[raw] = values.astype("string").array
    connection.register("incoming", pd.DataFrame(cells))
    connection.execute("INSERT INTO read SELECT * FROM incoming")
    connection.unregister("incoming")


def _date(table: Input, written: str) -> str:
    """Return the SQL that makes a date or moment of a number, nothing where it is a number."""
    if table.written_as == "spss":
        return SPSS_DATES.get(re.match("[A-Z]*", written).group(), "")  # type: ignore[union-attr]
    if written.startswith("%tcHH"):
        return ""
    return STATA_DATES.get(re.match("%-?(tc|t?[dmqhy])?", written).group().replace("-", ""), "")  # type: ignore[union-attr]


def _write_typed(connection: duckdb.DuckDBPyConnection, raws: Sequence[str], dates: dict[str, str]) -> None:
    """Make the table `cells`: dates of their numbers, other numbers whole where all are."""
    whole = _whole(connection, [raw for raw, date in dates.items() if not date])
    cells = {raw: dates[raw].format(raw=raw) if dates.get(raw) else raw for raw in raws}
    cells |= {raw: f"CAST({raw} AS BIGINT)" for raw in whole}
    selected = ", ".join(f"{cell} AS {raw}" for raw, cell in cells.items())
    connection.execute(f"CREATE TABLE cells AS SELECT {selected} FROM read")


def _whole(connection: duckdb.DuckDBPyConnection, raws: Sequence[str]) -> list[str]:
    """Return the columns of numbers in which all are whole."""
    if not raws:
        return []
    tests = ", ".join(
        f"coalesce(bool_and({raw} = trunc({raw}) AND abs({raw}) <= {EXACT_IN_FLOATS}), false)" for raw in raws
    )
    (found,) = connection.execute(f"SELECT {tests} FROM read").fetchall()
    return [raw for raw, is_whole in zip(raws, found, strict=True) if is_whole]


def damaged(table: Input) -> str:
    """Return in words that a file cannot be read."""
    made_by = "SPSS" if table.written_as == "spss" else "Stata"
    name = table.path.name
    return f"input.path: {name} cannot be read as a file of {made_by}: it is damaged, or too large for memory"
