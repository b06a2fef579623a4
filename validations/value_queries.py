"""Evidence queries for people on the values of the class and of sensitive attributes; see `queries`.

What distances rest on is read from release.json: no value of the data is part of a query.
"""

from collections.abc import Callable

from validations.promises import Promises
from validations.protection import Closeness, Diversity, ProtectedPromise
from validations.queries import Source, as_one, rows_of, sources

DISTINCT = "SELECT count(DISTINCT value) AS level FROM {rows} GROUP BY cells"

ENTROPY = """SELECT CASE WHEN count(value) = 0 THEN 0 ELSE pow(2, entropy(value)) END AS level
      FROM {rows} GROUP BY cells"""

RECURSIVE = """SELECT count(*) FILTER (largest < {c} * from_here_on) AS level
      FROM (SELECT cells, max(n) OVER (PARTITION BY cells) AS largest,
                   sum(n) OVER (PARTITION BY cells ORDER BY n ROWS UNBOUNDED PRECEDING) AS from_here_on
            FROM (SELECT cells, count(value) AS n FROM {rows} GROUP BY cells, value))
      GROUP BY cells"""

GAPS = """WITH held AS (
        SELECT cells, value, count(*) AS n FROM {rows} WHERE value IS NOT NULL GROUP BY ALL),
      classes AS (SELECT cells, sum(n) AS records FROM held GROUP BY cells),
      whole AS (SELECT value, sum(n) / sum(sum(n)) OVER () AS share FROM held GROUP BY value),
      gaps AS (
        SELECT cells, value, coalesce(n, 0) / records - share AS gap
        FROM classes CROSS JOIN whole LEFT JOIN held USING (cells, value))"""

EQUAL = "SELECT sum(abs(gap)) / 2 AS distance FROM gaps GROUP BY cells"

ORDERED = """SELECT sum(abs(moved)) / greatest(count(*) - 1, 1) AS distance
      FROM (SELECT cells, sum(gap) OVER (PARTITION BY cells ORDER BY {place}, value) AS moved FROM gaps)
      GROUP BY cells"""

PLACE = "list_position((SELECT (content->'$.protected[{place}].order')::VARCHAR[] FROM stated), value)"

HIERARCHICAL = """SELECT sum(abs(moved)) / (2 * max(level)) AS distance
      FROM (SELECT cells, level, node, sum(gap) AS moved FROM gaps JOIN nodes USING (value) GROUP BY ALL)
      GROUP BY cells"""

STATED = "stated AS (SELECT content::JSON AS content FROM read_text('release.json'))"

NODES = """paths AS (
        SELECT unnest(map_entries(hierarchy::MAP(VARCHAR, VARCHAR[]))) AS path
        FROM (SELECT content->'$.protected[{place}].hierarchy' AS hierarchy FROM stated)),
      nodes AS (
        SELECT path.key AS value, unnest([path.key] || path.value) AS node,
               generate_subscripts([path.key] || path.value, 1) - 1 AS level
        FROM paths)"""


def levels(promises: Promises, asked: Diversity) -> str:
    """Return a query of the smallest level of diversity, for every file and protected attribute."""
    models = {"distinct": DISTINCT, "entropy": ENTROPY, "recursive": RECURSIVE}
    return _for_each_attribute(
        promises,
        "min(level) AS smallest_level",
        lambda rows, _: models[asked.model].format(rows=rows, c=asked.c),
    )


def distances(promises: Promises, asked: Closeness) -> str:
    """Return a query of the largest distance, for every file and protected attribute."""

    def of_classes(rows: str, protected: ProtectedPromise) -> str:
        gaps = GAPS.format(rows=rows)
        place = promises.protected.index(protected)
        if asked.distance == "equal":
            return f"{gaps}\n      {EQUAL}"
        if asked.distance == "hierarchical":
            return f"{gaps},\n      {STATED},\n      {NODES.format(place=place)}\n      {HIERARCHICAL}"
        if protected.order is None:
            return f"{gaps}\n      {ORDERED.format(place='value::DOUBLE')}"
        return f"{gaps},\n      {STATED}\n      {ORDERED.format(place=PLACE.format(place=place))}"

    return _for_each_attribute(promises, "max(distance) AS largest_distance", of_classes)


def _for_each_attribute(
    promises: Promises, figure: str, of_classes: Callable[[str, ProtectedPromise], str]
) -> str:
    return as_one(
        f"SELECT '{source.file}' AS file, {_literal(protected.column)} AS attribute, {figure}\n"
        f"FROM ({of_classes(rows_of(promises, source, protected.column), protected)})"
        for source, protected in _attributes(promises)
    )


def _attributes(promises: Promises) -> list[tuple[Source, ProtectedPromise]]:
    numbers = {fragment.csv: number for number, fragment in enumerate(promises.fragments, 1)}
    return [
        (source, protected)
        for source in sources(promises)
        for protected in promises.protected_in(numbers[source.fragment.csv])
    ]


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
