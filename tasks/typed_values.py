"""Values as SQL has them, and as the numbers that are computed with."""

from tasks.domain import Kind, Precision

EPOCH = "DATE '1970-01-01'"


def sql_type(kind: Kind, scale: int) -> str:
    """Return the type of a column's values, for who reads them.

    Examples
    --------
    >>> sql_type("fixed", 2)
    'DECIMAL(18, 2)'
    """
    types = {"integer": "BIGINT", "decimal": "DOUBLE", "date": "DATE", "categorical": "VARCHAR"}
    return f"DECIMAL(18, {scale})" if kind == "fixed" else types[kind]


def as_stored(value: str, kind: Kind, scale: int) -> str:
    """Return SQL for what `Domain.values` holds, of SQL for a typed value."""
    if kind == "fixed":
        return f"CAST({value} * CAST({10**scale} AS DECIMAL(19, 0)) AS BIGINT)"
    return f"CAST({value} - {EPOCH} AS BIGINT)" if kind == "date" else value


def as_typed(value: str, kind: Kind, scale: int) -> str:
    """Return SQL for the typed value, of SQL for what `Domain.values` holds; a date is its first day."""
    if kind == "fixed":
        unit = f"CAST(0.{'0' * (scale - 1)}1 AS DECIMAL(18, {scale}))"
        return f"CAST(CAST({value} AS DECIMAL(18, 0)) * {unit} AS DECIMAL(18, {scale}))"
    return (
        f"{EPOCH} + CAST({value} AS INTEGER)" if kind == "date" else f"CAST({value} AS {sql_type(kind, 0)})"
    )


def first_day(day: str, precision: Precision) -> str:
    """Return SQL for the first day of the month, quarter or year that a day is in."""
    return day if precision == "day" else f"CAST(date_trunc('{precision}', {day}) AS DATE)"


def last_day(first: str, precision: Precision) -> str:
    """Return SQL for the last day of what starts with a day."""
    months = {"month": 0, "quarter": 2, "year": 11}
    if precision == "day":
        return first
    return f"last_day(CAST({first} + INTERVAL {months[precision]} MONTH AS DATE))"


def date_text(first: str, precision: Precision) -> str:
    """Return SQL for the text of a day, month, quarter or year, given its first day."""
    day = f"CAST({first} AS VARCHAR)"
    return {
        "day": day,
        "month": f"left({day}, 7)",
        "quarter": f"left({day}, 4) || '-Q' || quarter({first})",
        "year": f"left({day}, 4)",
    }[precision]
