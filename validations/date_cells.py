"""Cells of dates as SQL: days, months, quarters and years, the last three as the days that they span."""

FORMS = {
    "day": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "month": "[0-9]{4}-[0-9]{2}",
    "quarter": "[0-9]{4}-Q[1-4]",
    "year": "[0-9]{4}",
}
"""How a date is written."""

PRECISIONS = tuple(FORMS)

_QUARTER = "TRY_CAST(left({0}, 5) || substring('{months}', 2 * TRY_CAST(right({0}, 1) AS INTEGER) - 1, 2)"

_FIRST_DAYS = {
    "day": "TRY_CAST({0} AS DATE)",
    "month": "TRY_CAST({0} || '-01' AS DATE)",
    "quarter": _QUARTER.replace("{months}", "01040710") + " || '-01' AS DATE)",
    "year": "TRY_CAST({0} || '-01-01' AS DATE)",
}

_LAST_DAYS = {
    "day": "TRY_CAST({0} AS DATE)",
    "month": "last_day(TRY_CAST({0} || '-01' AS DATE))",
    "quarter": "last_day(" + _QUARTER.replace("{months}", "03060912") + " || '-01' AS DATE))",
    "year": "TRY_CAST({0} || '-12-31' AS DATE)",
}

_ENDS = {
    "day": "true",
    "month": "day(v.lower) = 1 AND v.upper = last_day(v.upper)",
    "quarter": "day(v.lower) = 1 AND month(v.lower) % 3 = 1 AND v.upper = last_day(v.upper) "
    "AND month(v.upper) % 3 = 0",
    "year": "dayofyear(v.lower) = 1 AND month(v.upper) = 12 AND day(v.upper) = 31",
}
"""Whether bounds are a first and a last day."""


def first_day(precision: str, text: str) -> str:
    """Return the SQL text of the first day of a written date, NULL if there is none.

    Parameters
    ----------
    precision
        Of the date.
    text
        SQL text of how it is written.

    Examples
    --------
    >>> first_day("month", "written")
    "TRY_CAST(written || '-01' AS DATE)"
    """
    return _FIRST_DAYS[precision].format(text)


def last_day(precision: str, text: str) -> str:
    """Return the SQL text of the last day of a written date; see `first_day`."""
    return _LAST_DAYS[precision].format(text)


def date_macros(precision: str) -> str:
    """Return the macros of cells of dates, see `validations.cell_grammar`.

    A text is read only if it has its form; days are of the years 1 to 9999.

    Parameters
    ----------
    precision
        Of the dates.
    """
    kind, form = f"date_{precision}", FORMS[precision]
    return f"""
CREATE MACRO {kind}_bounds(t) AS
    regexp_extract(t, '^(?:({form})|\\[({form}), ({form})\\])(?: or missing)?$', ['one', 'lower', 'upper']);
CREATE MACRO {kind}_lower(b) AS {first_day(precision, "concat(b.one, b.lower)")};
CREATE MACRO {kind}_upper(b) AS {last_day(precision, "concat(b.one, b.upper)")};
CREATE MACRO {kind}_cell(t) AS {{
    'lower': {kind}_lower({kind}_bounds(t)),
    'upper': {kind}_upper({kind}_bounds(t)),
    'missing': t = '' OR ends_with(t, ' or missing')}};
CREATE MACRO {kind}_value_sound(v) AS coalesce(
    CASE WHEN v.lower IS NULL OR v.upper IS NULL THEN integer_value_sound(v)
         WHEN year(v.lower) >= 1 AND year(v.upper) <= 9999 AND v.lower <= v.upper
         THEN v.missing IS NOT NULL AND {_ENDS[precision]} END, false);
CREATE MACRO {kind}_sound(t, v) AS t = '' OR (
    v.lower IS NOT NULL AND {kind}_value_sound(v)
    AND (NOT starts_with(t, '[') OR {kind}_bounds(t).lower < {kind}_bounds(t).upper));
"""
