"""The grammar of published cells as SQL macros: what a CSV cell says, and whether a cell is well formed.

`<kind>_cell(t)` is the value that the CSV cell `t` stands for, in the type the Parquet file holds.
`<kind>_sound(t, v)` is true if the CSV cell `t`, read as `v`, is well formed, `<kind>_value_sound(v)` if the
Parquet value `v` is.
The kinds are integer, decimal, categorical, sensitive, class, and undeclared for columns that nobody
promised.
"""

KIND_TYPES = {
    "integer": "STRUCT(lower BIGINT, upper BIGINT, missing BOOLEAN)",
    "decimal": "STRUCT(lower DOUBLE, upper DOUBLE, missing BOOLEAN)",
    "categorical": "VARCHAR[]",
    "sensitive": "VARCHAR",
    "class": "VARCHAR",
}

_NUMERIC = r"""
CREATE MACRO {kind}_bounds(t) AS ltrim(replace(t, ' or missing', ''), '[');
CREATE MACRO {kind}_cell(t) AS {{
    'lower': TRY_CAST(split_part({kind}_bounds(t), ', ', 1) AS {type}),
    'upper': TRY_CAST(rtrim(split_part({kind}_bounds(t), ', ', -1), ']') AS {type}),
    'missing': t = '' OR ends_with(t, ' or missing')}};
CREATE MACRO {kind}_sound(t, v) AS t = '' OR (
    regexp_full_match(t, '(?:{number}|\[(?:{number}), (?:{number})\])(?: or missing)?')
    AND {kind}_value_sound(v) AND v.lower IS NOT NULL AND (v.lower < v.upper OR NOT starts_with(t, '[')));
"""

_MACROS = [
    """
CREATE MACRO integer_value_sound(v) AS coalesce(
    CASE WHEN v.lower IS NULL AND v.upper IS NULL THEN v.missing
         ELSE v.lower <= v.upper AND v.missing IS NOT NULL END, false);
CREATE MACRO decimal_value_sound(v) AS coalesce(
    integer_value_sound(v) AND (v.lower IS NULL OR (isfinite(v.lower) AND isfinite(v.upper))), false);
""",
    _NUMERIC.format(kind="integer", number="0|-?[1-9][0-9]*", type="BIGINT"),
    _NUMERIC.format(kind="decimal", number=r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?", type="DOUBLE"),
    r"""
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
CREATE MACRO class_cell(t) AS nullif(t, '');
CREATE MACRO class_sound(t, v) AS true;
CREATE MACRO class_value_sound(v) AS v IS NULL OR v <> '';
CREATE MACRO sensitive_cell(t) AS nullif(t, '');
CREATE MACRO sensitive_sound(t, v) AS true;
CREATE MACRO sensitive_value_sound(v) AS v IS NULL OR v <> '';
CREATE MACRO undeclared_cell(t) AS t;
CREATE MACRO undeclared_sound(t, v) AS true;
CREATE MACRO undeclared_value_sound(v) AS true;
""",
]

MACROS = "".join(_MACROS)
