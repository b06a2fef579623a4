"""The grammar of published cells as SQL macros: what a CSV cell says, and whether a cell is well formed.

`<kind>_cell(t)` is the value that the CSV cell `t` stands for, in the type the Parquet file holds.
`<kind>_sound(t, v)` is true if the CSV cell `t`, read as `v`, is well formed, `<kind>_value_sound(v)` if the
Parquet value `v` is.
The kinds are those of `cell_kind`, sensitive, class, and undeclared for columns that nobody promised.
"""

from collections.abc import Iterable

from validations.date_cells import PRECISIONS, date_macros

TYPES = {
    "integer": "BIGINT",
    "decimal": "DOUBLE",
    "date": "DATE",
}
"""The type of a bound of a numeric cell."""

DIGITS = 18
"""Most digits of a number with a fixed number of them after the point."""


def cell_kind(
    kind: str, scale: int | None = None, precision: str | None = None, *, hierarchy: bool = False
) -> str:
    """Return the kind of a feature's cells.

    Parameters
    ----------
    kind
        The feature's: integer, decimal, fixed, date or categorical.
    scale
        Digits after the point of fixed numbers.
    precision
        Of dates: day, month, quarter or year.
    hierarchy
        Whether cells hold one name each, of a value or of a group of values.

    Examples
    --------
    >>> cell_kind("fixed", 2), cell_kind("date", precision="day"), cell_kind("categorical", hierarchy=True)
    ('fixed_2', 'date_day', 'grouped')
    """
    if kind == "fixed":
        return f"fixed_{scale}"
    if kind == "date":
        return f"date_{precision}"
    return "grouped" if hierarchy else kind


CELL_KINDS = (
    "integer",
    "decimal",
    *(cell_kind("fixed", scale) for scale in range(1, DIGITS + 1)),
    *(cell_kind("date", precision=precision) for precision in PRECISIONS),
    "categorical",
    "grouped",
)
"""Every kind that a feature's cells can have."""

CATEGORIES = ("categorical", "grouped")
"""Those of features whose values are texts."""


def bound_type(kind: str) -> str:
    """Return the type of the bounds of numeric cells."""
    family, _, scale = kind.partition("_")
    return f"DECIMAL({DIGITS},{scale})" if family == "fixed" else TYPES[family]


def parquet_type(kind: str) -> str | None:
    """Return the type of a column in a Parquet file; None where any will do.

    Examples
    --------
    >>> parquet_type("fixed_2")
    'STRUCT(lower DECIMAL(18,2), upper DECIMAL(18,2), missing BOOLEAN)'
    """
    if kind in CATEGORIES:
        return "VARCHAR[]"
    if kind in CELL_KINDS:
        return f"STRUCT(lower {bound_type(kind)}, upper {bound_type(kind)}, missing BOOLEAN)"
    return "VARCHAR" if kind in {"class", "sensitive"} else None


_NUMERIC = r"""
CREATE MACRO {kind}_bounds(t) AS ltrim(replace(t, ' or missing', ''), '[');
CREATE MACRO {kind}_cell(t) AS {{
    'lower': TRY_CAST(split_part({kind}_bounds(t), ', ', 1) AS {type}),
    'upper': TRY_CAST(rtrim(split_part({kind}_bounds(t), ', ', -1), ']') AS {type}),
    'missing': t = '' OR ends_with(t, ' or missing')}};
CREATE MACRO {kind}_sound(t, v) AS t = '' OR (
    regexp_full_match(t, '(?:{number}|\[(?:{number}), (?:{number})\])(?: or missing)?'){unless}
    AND {kind}_value_sound(v) AND v.lower IS NOT NULL AND (v.lower < v.upper OR NOT starts_with(t, '[')));
"""


def _numeric_macros(kind: str, number: str, unless: str = "") -> str:
    """Return the macros of cells of numbers that the pattern describes, unless they hold another text."""
    excluded = f"\n    AND NOT contains(t, '{unless}')" if unless else ""
    return _NUMERIC.format(kind=kind, type=bound_type(kind), number=number, unless=excluded)


_ALWAYS = r"""
CREATE MACRO integer_value_sound(v) AS coalesce(
    CASE WHEN v.lower IS NULL AND v.upper IS NULL THEN v.missing
         ELSE v.lower <= v.upper AND v.missing IS NOT NULL END, false);
CREATE MACRO decimal_value_sound(v) AS coalesce(
    integer_value_sound(v) AND (v.lower IS NULL OR (isfinite(v.lower) AND isfinite(v.upper))), false);
CREATE MACRO without_suffix(t) AS regexp_replace(t, ' or missing$', '');
CREATE MACRO needs_braces(t) AS
    t = '' OR starts_with(t, '[') OR starts_with(t, '{') OR ends_with(t, ' or missing');
CREATE MACRO is_braced(t) AS
    regexp_full_match(t, '\{"(?:[^"\\]|\\.)*"(?:, "(?:[^"\\]|\\.)*")*\}', 's');
CREATE MACRO set_members(t) AS
    TRY(from_json('[' || substring(t, 2, length(t) - 2) || ']', '["VARCHAR"]'));
CREATE MACRO categories(t) AS CASE WHEN is_braced(t) THEN set_members(t) ELSE [t] END;
CREATE MACRO categorical_cell(t) AS CASE
    WHEN t = '' THEN [NULL::VARCHAR]
    WHEN ends_with(t, ' or missing') THEN list_append(categories(without_suffix(t)), NULL)
    ELSE categories(t) END;
CREATE MACRO categorical_value_sound(v) AS coalesce(len(v) > 0 AND (
    v IS NOT DISTINCT FROM list_sort(list_distinct(v))
    OR v IS NOT DISTINCT FROM list_append(list_sort(list_distinct(v)), NULL)), false);
CREATE MACRO categorical_sound(t, v) AS t = '' OR CASE
    WHEN is_braced(without_suffix(t))
    THEN categorical_value_sound(v) AND (len(list_distinct(v)) > 1 OR needs_braces(v[1]))
    ELSE NOT needs_braces(without_suffix(t)) END;
CREATE MACRO grouped_cell(t) AS categorical_cell(t);
CREATE MACRO grouped_value_sound(v) AS coalesce(
    len(v) = 1 OR (len(v) = 2 AND v[1] IS NOT NULL AND v[2] IS NULL), false);
CREATE MACRO grouped_sound(t, v) AS t = '' OR (grouped_value_sound(v) AND CASE
    WHEN is_braced(without_suffix(t)) THEN needs_braces(v[1])
    ELSE NOT needs_braces(without_suffix(t)) END);
CREATE MACRO class_cell(t) AS nullif(t, '');
CREATE MACRO class_sound(t, v) AS true;
CREATE MACRO class_value_sound(v) AS v IS NULL OR v <> '';
CREATE MACRO sensitive_cell(t) AS nullif(t, '');
CREATE MACRO sensitive_sound(t, v) AS true;
CREATE MACRO sensitive_value_sound(v) AS v IS NULL OR v <> '';
CREATE MACRO undeclared_cell(t) AS t;
CREATE MACRO undeclared_sound(t, v) AS true;
CREATE MACRO undeclared_value_sound(v) AS true;
"""


def macros(kinds: Iterable[str]) -> str:
    """Return the SQL text that makes the macros of cells of these kinds.

    Parameters
    ----------
    kinds
        Of the columns of a release.
    """
    return _ALWAYS + "".join(_macros_of(kind) for kind in sorted(set(kinds)))


def _macros_of(kind: str) -> str:
    family, _, detail = kind.partition("_")
    if family == "integer":
        return _numeric_macros(kind, "0|-?[1-9][0-9]*")
    if family == "decimal":
        return _numeric_macros(kind, r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?")
    if family == "fixed":
        number = rf"-?(?:0|[1-9][0-9]*)\.[0-9]{{{detail}}}"
        sound = f"CREATE MACRO {kind}_value_sound(v) AS integer_value_sound(v);"
        return sound + _numeric_macros(kind, number, unless=f"-0.{'0' * int(detail)}")
    return date_macros(detail) if family == "date" else ""
