"""Evidence queries for people on the files themselves and on what release.json states; see `queries`.

What is stated is read from release.json, so that the queries show the two side by side.
"""

from collections.abc import Iterator

from validations.promises import FragmentPromise, Promises
from validations.published_files import identifier
from validations.queries import csv_source, rows_of

STATED = "stated AS (SELECT content::JSON AS content FROM read_text('release.json'))"

DOCUMENTS = r"'release\.json|report\.html|validation/(suites/)?[a-z_]+\.json'"

NUMBER = r"""{{'lower': TRY_CAST(regexp_extract(cell, '^\[?([^], ]+)', 1) AS {type}),
     'upper': TRY_CAST(regexp_extract(cell, '([^[, ]+?)\]?( or missing)?$', 1) AS {type}),
     'missing': cell IS NULL OR ends_with(cell, ' or missing')}}"""

CATEGORIES = r"""CASE WHEN cell IS NULL THEN [NULL]
     WHEN starts_with(cell, '{')
     THEN from_json('[' || regexp_extract(cell, '^\{(.*)\}( or missing)?$', 1, 's') || ']', '["VARCHAR"]')
     ELSE [regexp_replace(cell, ' or missing$', '')] END
     || CASE WHEN ends_with(cell, ' or missing') THEN [NULL] ELSE [] END"""

VALUES = {
    "integer": NUMBER.format(type="BIGINT"),
    "decimal": NUMBER.format(type="DOUBLE"),
    "categorical": CATEGORIES,
}
"""What a CSV cell of each kind says, as the Parquet file holds it."""


def hashes(promises: Promises) -> str:
    """Return a query that compares every file's SHA-256 with the stated one, and counts undeclared files."""
    files = ", ".join(
        f"'{file}'" for fragment in promises.fragments for file in (fragment.csv, fragment.parquet)
    )
    return (
        f"WITH {STATED},\n"
        "fragments AS (SELECT unnest((content->'$.fragments')::JSON[]) AS fragment FROM stated),\n"
        "digests AS (SELECT fragment->>'$.csv' AS file, fragment->>'$.sha256.csv' AS digest FROM fragments\n"
        "  UNION ALL SELECT fragment->>'$.parquet', fragment->>'$.sha256.parquet' FROM fragments)\n"
        "SELECT file, count_if(sha256(content) IS DISTINCT FROM digest) AS deviations\n"
        f"FROM digests LEFT JOIN read_blob([{files}]) ON filename = file GROUP BY file\n"
        "UNION ALL\n"
        "SELECT 'undeclared files', count(*)\n"
        "FROM (SELECT replace(file, '\\', '/') AS file FROM glob('**'))\n"
        f"WHERE file NOT IN ({files}) AND NOT regexp_full_match(file, {DOCUMENTS})"
    )


def formats(promises: Promises) -> str:
    """Return a query of the number of groups of rows that differ between a fragment's two files."""
    return "\nUNION ALL\n".join(
        f"SELECT 'fragment {number}' AS fragment, count(*) AS differing FROM (\n"
        f"  (FROM ({_from_csv(promises, fragment)}) EXCEPT ALL FROM ({_from_parquet(promises, fragment)}))\n"
        "  UNION ALL\n"
        f"  (FROM ({_from_parquet(promises, fragment)}) EXCEPT ALL FROM ({_from_csv(promises, fragment)})))"
        for number, fragment in enumerate(promises.fragments, 1)
    )


def _from_csv(promises: Promises, fragment: FragmentPromise) -> str:
    columns = ",\n   ".join(
        f"list_transform([COLUMNS({names})], lambda cell: {VALUES[kind]})[1]" if kind in VALUES else names
        for kind, names in _by_kind(promises, fragment)
    )
    return f"SELECT {columns},\n   count(*) AS n FROM {csv_source(fragment).text} GROUP BY ALL"


def _from_parquet(promises: Promises, fragment: FragmentPromise) -> str:
    columns = ", ".join(
        f"COLUMNS({names})" if kind in VALUES else names for kind, names in _by_kind(promises, fragment)
    )
    return f"SELECT {columns}, count(*) AS n FROM '{fragment.parquet}' GROUP BY ALL"


def _by_kind(promises: Promises, fragment: FragmentPromise) -> Iterator[tuple[str, str]]:
    """Yield the features of each kind as a list of texts, then the other columns as identifiers."""
    kinds = promises.kinds
    columns = (*fragment.features, *fragment.sensitive, promises.class_attribute)
    for kind in VALUES:
        names = [name for name in columns if kinds.get(name) == kind]
        if names:
            yield kind, "[" + ", ".join("'" + name.replace("'", "''") + "'" for name in names) + "]"
    yield "text", ", ".join(identifier(name) for name in columns if kinds.get(name) not in VALUES)


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
    ones = " * ".join(f"(1.0 + (SELECT count(*) FROM f{number}))" for number in numbers)
    all_classes = " - ".join(f"(SELECT count(*) FROM f{number})" for number in numbers)
    lines.append(("choices", "joins.choices", f"{ones} - 1 - {all_classes}"))
    return f"WITH {STATED},\n{sizes}\n" + "\nUNION ALL\n".join(
        f"SELECT '{name}' AS figure, (content->>'$.{place}')::DOUBLE AS stated, ({found})::DOUBLE AS found\n"
        "FROM stated"
        for name, place, found in lines
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
    return f"WITH {STATED}\n" + "\nUNION ALL\n".join(
        f"SELECT '{name}' AS measure, (content->>'$.{place}')::DOUBLE AS stated,\n"
        f"       (content->>'$.limits.{limit}')::DOUBLE AS most\n"
        "FROM stated"
        for name, place, limit in measures
        if asked[limit] is not None
    )
