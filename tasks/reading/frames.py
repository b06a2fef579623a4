"""Tables in memory, of pandas or Arrow, as a Parquet file: values as they are, without row labels."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from tasks.errors import InputError
from tasks.reading.column_headers import check_names
from tasks.reading.python_values import Holds, cells_of, sql_type_of
from tasks.store import literal, quoted

if TYPE_CHECKING:
    import pandas as pd

AS_IT_IS = re.compile(r"u?int\d+|U?Int\d+|float(32|64)|Float\d+|bool|boolean|str|string|datetime64\[.*\]")
EXACT: set[Holds] = {"integer", "wide", "exact"}


def write_parquet(table: Any, path: Path) -> None:  # noqa: ANN401 - what it must offer is checked
    """Write a table to a Parquet file.

    Parameters
    ----------
    table : pandas.DataFrame, or anything that has ``__arrow_c_stream__``
        It is not changed. None, NaN, NaT and NA are missing.
    path
        Of a file that is not there yet.

    Raises
    ------
    InputError
        If it is no table, or has names or values that cannot be kept as they are.
    """
    import pandas as pd  # noqa: PLC0415 - costs a third of a second, which --help must not pay

    with duckdb.connect(config={"temp_directory": str(path.parent / "spill")}) as connection:
        connection.execute("SET enable_progress_bar = false")
        try:
            if isinstance(table, pd.DataFrame):
                selected = _registered_frame(connection, table)
            elif hasattr(table, "__arrow_c_stream__"):
                selected = _registered_stream(connection, table)
            else:
                raise InputError(
                    f"table: must be a pandas DataFrame, or a table of Arrow; got {type(table).__name__}"
                )
            connection.execute(f"COPY ({selected}) TO {literal(str(path))} (FORMAT parquet)")
        except (duckdb.Error, UnicodeError) as error:
            raise InputError(f"table: cannot be kept as Parquet ({type(error).__name__})") from None
    path.chmod(0o600)


def _registered_stream(connection: duckdb.DuckDBPyConnection, table: Any) -> str:  # noqa: ANN401 - as above
    """Let DuckDB see a table of Arrow, and return the SELECT of it; twins among names it would rename."""
    names = getattr(getattr(table, "schema", None), "names", None)
    if isinstance(names, list):
        check_names(names)
    connection.register("given", table)
    return "SELECT * FROM given"


def _registered_frame(connection: duckdb.DuckDBPyConnection, frame: "pd.DataFrame") -> str:
    """Let DuckDB see a frame's columns as c0, c1, ..., and return the SELECT that types and names them."""
    import pandas as pd  # noqa: PLC0415 - as above

    names = _names(frame)
    columns, types, faults = {}, [], []
    for number, name in enumerate(names):
        values = frame.iloc[:, number]
        try:
            columns[f"c{number}"], sql_type = _column(values)
            types.append(sql_type)
        except TypeError as error:
            faults.append(f"column {name!r}: {error}")
    if faults:
        raise InputError("\n".join(faults))
    connection.register("given", pd.DataFrame(columns))
    selected = ", ".join(
        f"{f'CAST(c{number} AS {sql_type})' if sql_type else f'c{number}'} AS {quoted(name)}"
        for number, (name, sql_type) in enumerate(zip(names, types, strict=True))
    )
    return f"SELECT {selected} FROM given"


def _names(frame: "pd.DataFrame") -> list[str]:
    if frame.columns.nlevels > 1:
        raise InputError(f"table: its columns have names of {frame.columns.nlevels} levels: make them one")
    others = [str(place) for place, name in enumerate(frame.columns, 1) if not isinstance(name, str)]
    if others:
        raise InputError(f"the name of column number {', '.join(others)} is not text: rename it")
    names = [str(name) for name in frame.columns]
    if not names:
        raise InputError("table: has no columns")
    check_names(names)
    return names


def _column(values: "pd.Series[Any]") -> tuple[Any, str]:
    """Return a column's values without labels, and the type they are cast to; none if they have it.

    Raises
    ------
    TypeError
        If they are of several types, or of one that no table can hold; the message names types alone.
    """
    import pandas as pd  # noqa: PLC0415 - as above

    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype) and dtype.categories.inferred_type == "string":
        return values.array, ""
    if AS_IT_IS.fullmatch(dtype.name) and not isinstance(dtype, pd.ArrowDtype):
        return values.array, "TIMESTAMP" if re.fullmatch(r"datetime64\[\w+\]", dtype.name) else ""
    try:
        texts, holds = cells_of(values.tolist())
    except TypeError as error:
        raise TypeError(f"holds values of type {error}, which cannot be released") from None
    sql_type = sql_type_of(holds)
    if sql_type == "VARCHAR" and len(holds) > 1 and not holds <= EXACT:
        raise TypeError(f"holds values of several types ({', '.join(sorted(holds))}): make them one")
    return pd.array(texts, dtype="string"), sql_type
