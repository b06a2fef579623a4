"""Evidence queries for people: each runs by itself in DuckDB, started inside the published folder."""

import itertools
from collections.abc import Callable

from validations.promises import FragmentPromise, Promises
from validations.published_files import identifier

LARGEST_SET = 4
"""Joins of up to this many fragments are spelled out in the join query."""

CSV_OPTIONS = "header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"'"


def rows(promises: Promises) -> str:
    """Return a query of the number of rows of every file."""
    return _for_each(
        _sources(promises), lambda file, source: f"SELECT '{file}' AS file, count(*) AS rows FROM {source}"
    )


def columns(promises: Promises) -> str:
    """Return a query of the columns of every Parquet file."""
    files = [(fragment.parquet, f"parquet_schema('{fragment.parquet}')") for fragment in promises.fragments]
    return _for_each(files, lambda file, source: f"SELECT '{file}' AS file, name, type FROM {source}")


def order(promises: Promises) -> str:
    """Return a query of the number of rows that sort before the row above them, for every CSV file."""
    files = [
        (fragment.csv, f"read_csv('{fragment.csv}', {CSV_OPTIONS}, nullstr = '(no cell is null)')")
        for fragment in promises.fragments
    ]
    return _for_each(
        files,
        lambda file, source: (
            f"SELECT '{file}' AS file, count(*) FILTER (above > cells) AS misplaced\n"
            "FROM (SELECT cells, lag(cells) OVER () AS above\n"
            f"      FROM (SELECT row(*COLUMNS(*)) AS cells FROM {source}))"
        ),
    )


def class_sizes(promises: Promises) -> str:
    """Return a query of the smallest equivalence class and the number of classes of every file."""
    return _for_each(
        _sources(promises),
        lambda file, source: (
            f"SELECT '{file}' AS file, min(records) AS smallest_class, count(*) AS equivalence_classes\n"
            f"FROM (SELECT count(*) AS records\n      FROM {_rows(promises, source)} GROUP BY cells)"
        ),
    )


def blank_classes(promises: Promises) -> str:
    """Return a query of the records without a class value of every file."""
    return _for_each(
        _sources(promises),
        lambda file, source: (
            f"SELECT '{file}' AS file, count(*) - count(value) AS blank\nFROM {_rows(promises, source)}"
        ),
    )


def faulty_classes(promises: Promises) -> str:
    """Return a query of the equivalence classes that list no class value, or one twice, of every file."""
    return _for_each(
        _sources(promises),
        lambda file, source: (
            f"SELECT '{file}' AS file, count_if(listed = 0 OR listed > different) AS faults\n"
            "FROM (SELECT count(value) AS listed, count(DISTINCT value) AS different\n"
            f"      FROM {_rows(promises, source)} GROUP BY cells)"
        ),
    )


def class_values(promises: Promises) -> str:
    """Return a query of the smallest equivalence class with each set of class values; eta follows from it."""
    return _for_each(
        [(fragment.csv, _csv(fragment)) for fragment in promises.fragments],
        lambda file, source: (
            f"SELECT '{file}' AS file, listed, min(records) AS smallest_class\n"
            "FROM (SELECT list_sort(list(value) FILTER (value IS NOT NULL)) AS listed, count(*) AS records\n"
            f"      FROM {_rows(promises, source)} GROUP BY cells)\n"
            "GROUP BY listed"
        ),
    )


def joins(promises: Promises) -> str | None:
    """Return a query of the smallest join with rows, per set of fragments; None for a single fragment.

    Sets of more than `LARGEST_SET` fragments are left out; they are written in the same way.
    """
    numbers = range(1, len(promises.fragments) + 1)
    sets = [
        chosen
        for size in range(2, min(len(numbers), LARGEST_SET) + 1)
        for chosen in itertools.combinations(numbers, size)
    ]
    if not sets:
        return None
    counts = ",\n".join(_class_counts(promises, number) for number in numbers)
    return f"WITH {counts}\n" + "\nUNION ALL\n".join(_smallest_join(chosen) for chosen in sets)


def _class_counts(promises: Promises, number: int) -> str:
    return (
        f"f{number} AS (SELECT cells, value, count(*) AS n\n"
        f"  FROM {_rows(promises, _csv(promises.fragments[number - 1]))} GROUP BY cells, value)"
    )


def _smallest_join(chosen: tuple[int, ...]) -> str:
    first, *others = chosen
    joined = " ".join(f"JOIN f{number} USING (value)" for number in others)
    product = " * ".join(f"f{number}.n" for number in chosen)
    classes = ", ".join(f"f{number}.cells" for number in chosen)
    return (
        f"SELECT '{', '.join(map(str, chosen))}' AS fragments, min(n) AS smallest_join\n"
        f"FROM (SELECT sum({product}) AS n FROM f{first} {joined} GROUP BY {classes})"
    )


def _for_each(files: list[tuple[str, str]], query: Callable[[str, str], str]) -> str:
    return "\nUNION ALL\n".join(query(file, source) for file, source in files)


def _sources(promises: Promises) -> list[tuple[str, str]]:
    sources = []
    for fragment in promises.fragments:
        sources.append((fragment.csv, _csv(fragment)))
        sources.append((fragment.parquet, f"'{fragment.parquet}'"))
    return sources


def _csv(fragment: FragmentPromise) -> str:
    return f"read_csv('{fragment.csv}', {CSV_OPTIONS})"


def _rows(promises: Promises, source: str) -> str:
    name = identifier(promises.class_attribute)
    return f"(SELECT row(*COLUMNS(* EXCLUDE ({name}))) AS cells, {name} AS value FROM {source})"
