"""Evidence queries for people: each runs by itself in DuckDB, started inside the published folder."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from validations.promises import FragmentPromise, Promises
from validations.published_files import identifier

CSV_OPTIONS = "header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"'"


class Source(NamedTuple):
    """A file to query.

    Attributes
    ----------
    fragment
        Whose file it is.
    file
        Its name.
    text
        The SQL text that reads it.
    """

    fragment: FragmentPromise
    file: str
    text: str


def rows(promises: Promises) -> str:
    """Return a query of the number of rows of every file."""
    return for_each(
        sources(promises),
        lambda source: f"SELECT '{source.file}' AS file, count(*) AS rows FROM {source.text}",
    )


def order(promises: Promises) -> str:
    """Return a query of the number of rows that sort before the row above them, for every CSV file."""
    return as_one(
        f"SELECT '{fragment.csv}' AS file, count(*) FILTER (above > cells) AS misplaced\n"
        "FROM (SELECT cells, lag(cells) OVER () AS above\n"
        "      FROM (SELECT row(*COLUMNS(*)) AS cells\n"
        f"            FROM read_csv('{fragment.csv}', {CSV_OPTIONS}, nullstr = '(no cell is null)')))"
        for fragment in promises.fragments
    )


def class_sizes(promises: Promises) -> str:
    """Return a query of the smallest equivalence class and the number of classes of every file."""
    return for_each(
        sources(promises),
        lambda source: (
            f"SELECT '{source.file}' AS file, min(records) AS smallest_class,\n"
            "       count(*) AS equivalence_classes\n"
            f"FROM (SELECT count(*) AS records\n      FROM {rows_of(promises, source)} GROUP BY cells)"
        ),
    )


def faulty_classes(promises: Promises) -> str:
    """Return a query of the equivalence classes that list no class value, or one twice, of every file."""
    return for_each(
        sources(promises),
        lambda source: (
            f"SELECT '{source.file}' AS file, count_if(listed = 0 OR listed > different) AS faults\n"
            "FROM (SELECT count(value) AS listed, count(DISTINCT value) AS different\n"
            f"      FROM {rows_of(promises, source)} GROUP BY cells)"
        ),
    )


def class_values(promises: Promises) -> str:
    """Return a query of the smallest equivalence class with each set of class values; eta follows from it."""
    return for_each(
        [csv_source(fragment) for fragment in promises.fragments],
        lambda source: (
            f"SELECT '{source.file}' AS file, listed, min(records) AS smallest_class\n"
            "FROM (SELECT list_sort(list(value) FILTER (value IS NOT NULL)) AS listed, count(*) AS records\n"
            f"      FROM {rows_of(promises, source)} GROUP BY cells)\n"
            "GROUP BY listed"
        ),
    )


def for_each(files: Sequence[Source], query: Callable[[Source], str]) -> str:
    """Return the queries of several files as one."""
    return as_one(query(source) for source in files)


def as_one(queries: Iterable[str]) -> str:
    """Return one query that shows the lines of all."""
    return "\nUNION ALL\n".join(queries) + ";"


def sources(promises: Promises) -> list[Source]:
    """Return all files, fragment after fragment, the CSV file first."""
    return [
        source
        for fragment in promises.fragments
        for source in (csv_source(fragment), parquet_source(fragment))
    ]


def csv_source(fragment: FragmentPromise) -> Source:
    """Return the CSV file of a fragment; an empty cell is read as NULL."""
    return Source(fragment, fragment.csv, f"read_csv('{fragment.csv}', {CSV_OPTIONS})")


def parquet_source(fragment: FragmentPromise) -> Source:
    """Return the Parquet file of a fragment."""
    return Source(fragment, fragment.parquet, f"'{fragment.parquet}'")


def rows_of(promises: Promises, source: Source, column: str | None = None) -> str:
    """Return a query of a file's rows: the `cells` that make their equivalence class, and a `value`.

    Parameters
    ----------
    promises
        Name the columns.
    source
        The file.
    column
        Whose value; the class's unless given.
    """
    values = [*source.fragment.sensitive, promises.class_attribute]
    excluded = ", ".join(identifier(name) for name in values)
    value = identifier(column or promises.class_attribute)
    return f"(SELECT row(*COLUMNS(* EXCLUDE ({excluded}))) AS cells, {value} AS value FROM {source.text})"
