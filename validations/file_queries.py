"""Evidence queries for people on the files themselves and on what release.json states; see `queries`.

What is stated is read from release.json, so that the queries show the two side by side.
"""

from collections.abc import Iterator

from validations.cell_grammar import CATEGORIES, bound_type, parquet_type
from validations.date_cells import first_day, last_day
from validations.promises import FragmentPromise, Promises
from validations.published_files import identifier
from validations.queries import as_one, csv_source, rows_of, sources

STATED = "stated AS (SELECT content::JSON AS content FROM read_text('release.json'))"

DOCUMENTS = r"'release\.json|report\.html|validation/(suites/)?[a-z_]+\.json'"

RANGE = """{{'lower': {lower},
     'upper': {upper},
     'missing': cell IS NULL OR ends_with(cell, ' or missing')}}"""

LOWER = r"regexp_extract(cell, '^\[?([^], ]+)', 1)"
UPPER = r"regexp_extract(cell, '([^[, ]+?)\]?( or missing)?$', 1)"

SET = r"""CASE WHEN cell IS NULL THEN [NULL]
     WHEN starts_with(cell, '{')
     THEN from_json('[' || regexp_extract(cell, '^\{(.*)\}( or missing)?$', 1, 's') || ']', '["VARCHAR"]')
     ELSE [regexp_replace(cell, ' or missing$', '')] END
     || CASE WHEN ends_with(cell, ' or missing') THEN [NULL] ELSE [] END"""

HASHES = rf"""WITH {STATED},
fragments AS (SELECT unnest((content->'$.fragments')::JSON[]) AS fragment FROM stated),
documents AS (
  SELECT unnest(map_entries((content->'$.documents')::MAP(VARCHAR, VARCHAR))) AS document FROM stated),
digests AS (SELECT fragment->>'$.csv' AS file, fragment->>'$.sha256.csv' AS digest FROM fragments
  UNION ALL SELECT fragment->>'$.parquet', fragment->>'$.sha256.parquet' FROM fragments
  UNION ALL SELECT document.key, document.value FROM documents
  UNION ALL SELECT content->>'$.signature.file', NULL FROM stated
            WHERE content->>'$.signature.file' IS NOT NULL),
found AS (
  SELECT replace(filename, '\', '/') AS file, sha256(content) AS digest FROM read_blob('**'))
SELECT file, count_if(found.digest IS NULL OR found.digest <> digests.digest) AS deviations
FROM digests LEFT JOIN found USING (file) GROUP BY file
UNION ALL
SELECT 'undeclared files', count(*) FROM found
WHERE file <> 'release.json' AND file NOT IN (SELECT file FROM digests)
  AND (EXISTS (FROM documents) OR NOT regexp_full_match(file, {DOCUMENTS}));"""
"""Compares every file's SHA-256 with the stated one, and counts files that are not stated."""

TOTALS = f"""WITH {STATED},
changes AS (SELECT unnest(n) AS n, generate_subscripts(n, 1) AS fragment
  FROM (SELECT (content->'$.changed_class_values.per_fragment')::BIGINT[] AS n FROM stated)),
totals AS (
  {{totals}}),
every AS (SELECT fragment, value, coalesce(totals.n, 0) AS n, changes.n AS changed
  FROM changes CROSS JOIN (SELECT DISTINCT value FROM totals) LEFT JOIN totals USING (fragment, value))
{{blank}}
UNION ALL
SELECT 'class totals of fragments ' || one || ' and ' || other,
       greatest(differing - changed, 0), differing, changed
FROM (SELECT a.fragment AS one, b.fragment AS other, any_value(a.changed + b.changed) AS changed,
             least(sum(greatest(a.n - b.n, 0)), sum(greatest(b.n - a.n, 0))) AS differing
      FROM every AS a JOIN every AS b ON a.value = b.value AND a.fragment < b.fragment
      GROUP BY one, other);"""


COLUMNS = f"""WITH {STATED},
kinds AS (
  SELECT map(list(c->>'$.name'), list(concat_ws('_', c->>'$.kind', c->>'$.scale'))) AS kinds
  FROM (SELECT unnest((content->'$.columns')::JSON[]) AS c FROM stated)),
fragments AS (
  SELECT f->>'$.csv' AS csv, f->>'$.parquet' AS parquet, (f->'$.features')::VARCHAR[] AS features,
         (f->'$.sensitive')::VARCHAR[] || [content->>'$.class'] AS others
  FROM (SELECT unnest((content->'$.fragments')::JSON[]) AS f, content FROM stated)),
promised AS (
  SELECT csv AS file, [[name, 'VARCHAR'] for name in features || others] AS columns FROM fragments
  UNION ALL
  SELECT parquet, [[name, {{types}}[kinds[name]]] for name in features]
                  || [[name, 'VARCHAR'] for name in others] FROM fragments, kinds),
found AS (
  {{found}})
SELECT file, len([each for each in list_zip(promised.columns, found.columns)
                  if each[1] IS DISTINCT FROM each[2]]) AS deviations
FROM promised LEFT JOIN found USING (file)
UNION ALL
SELECT 'features not in exactly one fragment', count(*) FILTER (places IS DISTINCT FROM 1)
FROM (SELECT unnest(map_keys(kinds)) AS name FROM kinds)
FULL JOIN (SELECT name, count(*) AS places
           FROM (SELECT unnest(features) AS name FROM fragments) GROUP BY name) USING (name);"""


def columns(promises: Promises) -> str:
    """Return a query that compares the columns of every file, and their types, with the stated ones."""
    found = "\n  UNION ALL ".join(
        f"SELECT '{source.file}' AS file, list([column_name, replace(column_type, '\"', '')]) AS columns\n"
        f"  FROM (DESCRIBE FROM {source.text})"
        for source in sources(promises)
    )
    types = {_stated_kind(kind): parquet_type(kind) for _, kind in promises.features}
    return COLUMNS.format(found=found, types=f"map({list(types)}, {list(types.values())})")


def _stated_kind(kind: str) -> str:
    """Return a kind of cells as `columns` joins it from release.json."""
    if kind in CATEGORIES:
        return "categorical"
    return "date" if kind.startswith("date") else kind


def class_cells(promises: Promises) -> str:
    """Return a query of blank class cells, and of class totals that differ by more than stated changes."""
    blank = "\nUNION ALL\n".join(
        f"SELECT '{source.file}: blank class cells' AS compared, count(*) - count(value) AS deviations,\n"
        f"       NULL AS differing, NULL AS changed FROM {rows_of(promises, source)}"
        for source in sources(promises)
    )
    if len(promises.fragments) == 1:
        return blank + ";"
    totals = "\n  UNION ALL ".join(
        f"SELECT {number} AS fragment, value, count(*) AS n\n"
        f"  FROM {rows_of(promises, csv_source(fragment))} GROUP BY value"
        for number, fragment in enumerate(promises.fragments, 1)
    )
    return TOTALS.format(totals=totals, blank=blank)


def formats(promises: Promises) -> str:
    """Return a query of the number of groups of rows that differ between a fragment's two files."""
    return as_one(
        f"SELECT 'fragment {number}' AS fragment, count(*) AS differing FROM (\n"
        f"  (FROM ({_from_csv(promises, fragment)}) EXCEPT ALL FROM ({_from_parquet(promises, fragment)}))\n"
        "  UNION ALL\n"
        f"  (FROM ({_from_parquet(promises, fragment)}) EXCEPT ALL FROM ({_from_csv(promises, fragment)})))"
        for number, fragment in enumerate(promises.fragments, 1)
    )


def _from_csv(promises: Promises, fragment: FragmentPromise) -> str:
    columns = ",\n   ".join(
        names
        if kind is None
        else f"list_transform([COLUMNS({names})], lambda cell: {_said_by_cell(kind)})[1]"
        for kind, names in _by_kind(promises, fragment)
    )
    return f"SELECT {columns},\n   count(*) AS n FROM {csv_source(fragment).text} GROUP BY ALL"


def _from_parquet(promises: Promises, fragment: FragmentPromise) -> str:
    columns = ", ".join(
        names if kind is None else f"COLUMNS({names})" for kind, names in _by_kind(promises, fragment)
    )
    return f"SELECT {columns}, count(*) AS n FROM '{fragment.parquet}' GROUP BY ALL"


def _said_by_cell(kind: str) -> str:
    """Return what a CSV cell of a kind says, as the Parquet file holds it."""
    if kind in CATEGORIES:
        return SET
    family, _, precision = kind.partition("_")
    if family == "date":
        return RANGE.format(lower=first_day(precision, LOWER), upper=last_day(precision, UPPER))
    lower, upper = (f"TRY_CAST({bound} AS {bound_type(kind)})" for bound in (LOWER, UPPER))
    return RANGE.format(lower=lower, upper=upper)


def _by_kind(promises: Promises, fragment: FragmentPromise) -> Iterator[tuple[str | None, str]]:
    """Yield the features of each kind as a list of texts, then the other columns as identifiers."""
    kinds, names = dict(promises.features), (*fragment.features, *fragment.sensitive)
    columns = (*names, promises.class_attribute)
    for kind in sorted({kinds[name] for name in columns if name in kinds}):
        held = [name for name in columns if kinds.get(name) == kind]
        yield kind, "[" + ", ".join("'" + name.replace("'", "''") + "'" for name in held) + "]"
    yield None, ", ".join(identifier(name) for name in columns if name not in kinds)


def figures(promises: Promises) -> str:
    """Return a query of what is stated of equivalence classes and choices, beside what the files show."""
    numbers = range(1, len(promises.fragments) + 1)
    sizes = ",\n".join(
        f"f{number} AS (SELECT count(*) AS records FROM {rows_of(promises, csv_source(fragment))} "
        "GROUP BY cells)"
        for number, fragment in enumerate(promises.fragments, 1)
    )
    smallest = ", ".join(f"(SELECT min(records) FROM f{number})" for number in numbers)
    lines = [("k", "guarantees.k.achieved", f"least({smallest})")]
    for number in numbers:
        place = f"fragments[{number - 1}]"
        count, least = f"(SELECT count(*) FROM f{number})", f"(SELECT min(records) FROM f{number})"
        lines.append((f"equivalence classes of fragment {number}", f"{place}.equivalence_classes", count))
        lines.append((f"smallest class of fragment {number}", f"{place}.smallest_class", least))
    ones = " * ".join(f"(1e0 + (SELECT count(*) FROM f{number}))" for number in numbers)
    all_classes = " - ".join(f"(SELECT count(*) FROM f{number})" for number in numbers)
    lines.append(("choices", "joins.choices", f"{ones} - 1 - {all_classes}"))
    compared = "\n  UNION ALL ".join(
        f"SELECT '{name}' AS figure, (content->>'$.{place}')::DOUBLE AS stated, ({found})::DOUBLE AS found\n"
        "  FROM stated"
        for name, place, found in lines
    )
    return (
        f"WITH {STATED},\n{sizes}\n"
        "SELECT *, abs(found - stated) <= 1e-9 * stated AS as_stated FROM (\n"
        f"  {compared});"
    )


def limits(promises: Promises) -> str:
    """Return a query of the measures that release.json states, beside their limits."""
    measures = [
        ("information loss", "measures.information_loss.fragmented", "max_information_loss"),
        ("share of changed class values", "changed_class_values.share", "max_changed_class_values"),
    ]
    asked = {
        "max_information_loss": promises.max_information_loss,
        "max_changed_class_values": promises.max_changed_class_values,
    }
    return f"WITH {STATED}\n" + as_one(
        f"SELECT '{name}' AS measure, (content->>'$.{place}')::DOUBLE AS stated,\n"
        f"       (content->>'$.limits.{limit}')::DOUBLE AS most\n"
        "FROM stated"
        for name, place, limit in measures
        if asked[limit] is not None
    )
