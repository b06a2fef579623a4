"""Whether the two files of a fragment say the same, cell by cell, compared as values rather than as text."""

from typing import NamedTuple

from validations.groups import Groups


class Agreement(NamedTuple):
    """How the Parquet file compares with the CSV file.

    Attributes
    ----------
    differing
        Groups of rows with the same values whose number differs between the files, and equivalence classes
        of one file that have the same values as another one of it.
    misplaced
        Groups of the Parquet file that are torn apart, or stand before one that the CSV's order puts first.
    """

    differing: int
    misplaced: int


def agreement(csv: Groups, parquet: Groups, *, in_order: bool) -> Agreement:
    """Compare the groups of the two files of a fragment, which must have the same columns in the same order.

    Parameters
    ----------
    csv, parquet
        The groups; the Parquet columns have the types that `validations.cell_grammar.parquet_type`
        gives.
    in_order
        Whether every group of the CSV file stands where the order by its own cells puts it.
    """
    values = [f"v{place}" for place in csv.values]
    beside = "".join(f", {value}" for value in values)
    place = "first_line" if in_order else f"row_number() OVER (ORDER BY {csv.columns})"
    row = csv.row(f"""
        WITH {_equal_classes(csv, parquet)},
        all_groups AS (
            SELECT 'csv' AS format, ec{_values_as(csv, values)}, n, NULL AS first_line, NULL AS last_line,
                   {place} AS place
            FROM {csv.table if in_order else csv.rows}
            UNION ALL
            SELECT 'parquet', ec{_values_as(parquet, values)}, n, first_line, last_line, NULL
            FROM {parquet.table}),
        paired AS (
            SELECT sum(n) FILTER (format = 'csv') AS csv_rows, sum(n) FILTER (format = 'parquet') AS rows,
                   min(first_line) AS first_line, max(last_line) AS last_line, min(place) AS place
            FROM all_groups JOIN equal_classes USING (format, ec) GROUP BY equal{beside}),
        in_order AS (
            SELECT first_line > lag(first_line, 1, -1) OVER (ORDER BY place) AS after FROM paired
            WHERE csv_rows > 0 AND rows > 0)
        SELECT (SELECT count(*) FROM paired WHERE csv_rows IS DISTINCT FROM rows)
               + (SELECT count(*) - count(DISTINCT (format, equal)) FROM equal_classes),
               (SELECT count(*) FROM paired WHERE last_line - first_line + 1 <> rows)
               + (SELECT count(*) FROM in_order WHERE NOT after)""")
    return Agreement(differing=int(row[0]), misplaced=int(row[1]))


def _equal_classes(csv: Groups, parquet: Groups) -> str:
    """Return a CTE that gives the ECs of both files that have equal cells the same number."""
    return f"""equal_classes AS (
            SELECT format, ec, min(2 * ec + (format = 'csv')::INTEGER)
                                   OVER (PARTITION BY {", ".join(csv.cells) or "true"}) AS equal
            FROM (SELECT 'csv' AS format, ec{_cells_as_values(csv)} FROM {csv.classes}
                  UNION ALL
                  SELECT 'parquet', ec{_cells_as_values(parquet)} FROM {parquet.classes}))"""


def _values_as(groups: Groups, names: list[str]) -> str:
    """Return the class and the sensitive columns as values of these names, each after a comma."""
    values = _values(groups)
    return "".join(f", {values[place]} AS {name}" for place, name in zip(groups.values, names, strict=True))


def _cells_as_values(groups: Groups) -> str:
    """Return the cells of an EC as values, each after a comma."""
    values = zip(groups.columns.split(", "), _values(groups), strict=True)
    return "".join(f", {value} AS {column}" for column, value in values if column in groups.cells)


def _values(groups: Groups) -> list[str]:
    columns = groups.columns.split(", ")
    if groups.format == "csv":
        return [f"{kind}_cell({column})" for kind, column in zip(groups.kinds, columns, strict=True)]
    return [
        f"coalesce({column}::VARCHAR, '')" if kind == "undeclared" else column
        for kind, column in zip(groups.kinds, columns, strict=True)
    ]
