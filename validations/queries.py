"""Evidence queries for people: each runs by itself in DuckDB, started inside the published folder."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

from validations.promises import FragmentPromise, Promises
from validations.published_files import identifier

LARGEST_SET = 4
"""Joins of up to this many fragments are spelled out in the join query."""

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


def columns(promises: Promises) -> str:
    """Return a query of the columns of every Parquet file."""
    return "\nUNION ALL\n".join(
        f"SELECT '{fragment.parquet}' AS file, name, type FROM parquet_schema('{fragment.parquet}')"
        for fragment in promises.fragments
    )


def order(promises: Promises) -> str:
    """Return a query of the number of rows that sort before the row above them, for every CSV file."""
    return "\nUNION ALL\n".join(
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


def blank_classes(promises: Promises) -> str:
    """Return a query of the records without a class value of every file."""
    return for_each(
        sources(promises),
        lambda source: (
            f"SELECT '{source.file}' AS file, count(*) - count(value) AS blank\n"
            f"FROM {rows_of(promises, source)}"
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


def joins(promises: Promises) -> str | None:
    """Return a query of the smallest join with rows, per set of fragments; None for a single fragment.

    Sets of more than `LARGEST_SET` fragments are left out; they are written in the same way.
    """
    return _for_each_set(promises, _smallest_join)


def join_records(promises: Promises) -> str | None:
    """Return a query of the fewest records that a join rests on in one class, likewise."""
    return _for_each_set(promises, _fewest_records)


def _for_each_set(promises: Promises, query: Callable[[tuple[int, ...]], str]) -> str | None:
    numbers = range(1, len(promises.fragments) + 1)
    sets = [
        chosen
        for size in range(2, min(len(numbers), LARGEST_SET) + 1)
        for chosen in itertools.combinations(numbers, size)
    ]
    if not sets:
        return None
    counts = ",\n".join(_class_counts(promises, number) for number in numbers)
    return f"WITH {counts}\n" + "\nUNION ALL\n".join(query(chosen) for chosen in sets)


def _class_counts(promises: Promises, number: int) -> str:
    return (
        f"f{number} AS (SELECT cells, value, count(*) AS n\n"
        f"  FROM {rows_of(promises, csv_source(promises.fragments[number - 1]))} GROUP BY cells, value)"
    )


def _smallest_join(chosen: tuple[int, ...]) -> str:
    product = " * ".join(f"f{number}.n" for number in chosen)
    return (
        f"SELECT '{', '.join(map(str, chosen))}' AS fragments, min(n) AS smallest_join\n"
        f"FROM (SELECT sum({product}) AS n FROM {_joined(chosen)})"
    )


def _fewest_records(chosen: tuple[int, ...]) -> str:
    records = ", ".join(f"sum(f{number}.n)" for number in chosen)
    return (
        f"SELECT '{', '.join(map(str, chosen))}' AS fragments, min(n) AS fewest_records\n"
        f"FROM (SELECT least({records}) AS n FROM {_joined(chosen)})"
    )


def _joined(chosen: tuple[int, ...]) -> str:
    first, *others = chosen
    joined = " ".join(f"JOIN f{number} USING (value)" for number in others)
    return f"f{first} {joined} GROUP BY {', '.join(f'f{number}.cells' for number in chosen)}"


def for_each(files: list[Source], query: Callable[[Source], str]) -> str:
    """Return the queries of several files as one."""
    return "\nUNION ALL\n".join(query(source) for source in files)


def sources(promises: Promises) -> list[Source]:
    """Return all files, fragment after fragment, the CSV file first."""
    return [
        source
        for fragment in promises.fragments
        for source in (csv_source(fragment), Source(fragment, fragment.parquet, f"'{fragment.parquet}'"))
    ]


def csv_source(fragment: FragmentPromise) -> Source:
    """Return the CSV file of a fragment; an empty cell is read as NULL."""
    return Source(fragment, fragment.csv, f"read_csv('{fragment.csv}', {CSV_OPTIONS})")


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
