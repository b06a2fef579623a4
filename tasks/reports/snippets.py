"""Short programs that read a release, made to fit its columns and to run in its folder."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tasks.reports.pictures import visible_text
from tasks.store import quoted

PLAIN_LENGTH = 40

Form = Literal["numbers", "dates", "group", "set"]


class Snippet(NamedTuple):
    """A program that runs as it stands, started in the folder of a release.

    Attributes
    ----------
    title
        What it does.
    language
        Python needs pandas with pyarrow, and scikit-learn for learning; SQL needs DuckDB.
    text
        The program.
    """

    title: str
    language: Literal["python", "sql"]
    text: str


def reading_snippets(manifest: Mapping[str, Any]) -> tuple[Snippet, ...]:
    """Return how to read a feature of numbers, dates, groups and sets, whichever there are, and the class.

    Parameters
    ----------
    manifest
        The content of release.json.
    """
    columns, own = manifest["columns"], manifest["class"]
    per_class = manifest["class_values"] == "per_class"
    snippets: list[Snippet] = []
    for form, read in READERS.items():
        held = [column for column in columns if _form(column) == form]
        if held:
            column = plainest(held)
            file = manifest["fragments"][column["fragment"] - 1]["parquet"]
            snippets += read(file, column["name"], None if per_class else own)
    if per_class:
        snippets += _listed_classes(manifest["fragments"][0]["parquet"], own)
    return tuple(snippets)


def _form(column: Mapping[str, Any]) -> Form:
    """Return what the cells of a column are read as."""
    if column["kind"] == "categorical":
        return "group" if "hierarchy" in column else "set"
    return "dates" if column["kind"] == "date" else "numbers"


def plainest(columns: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the first column whose name is short and shows all it holds, else the first."""
    plain = (
        column
        for column in columns
        if visible_text(column["name"]) == column["name"] and len(column["name"]) <= PLAIN_LENGTH
    )
    return next(plain, columns[0])


def _ranges(file: str, name: str, own: str | None) -> list[Snippet]:
    by = "" if own is None else f".groupby(rows[{text_of(own)}])"
    python = f"""import pandas as pd

rows = pd.read_parquet("{file}")
bounds = pd.json_normalize(rows[{text_of(name)}])  # columns lower, upper, missing
middle = bounds[["lower", "upper"]].astype(float).mean(axis=1)
print(middle{by}.agg(["count", "mean"]))"""
    sql = f"""SELECT {"" if own is None else "class, "}count(*) AS records,
       min(x.lower) AS lowest, max(x.upper) AS highest,
       avg(x.lower / 2 + x.upper / 2) AS mean_middle
FROM (SELECT {"" if own is None else f"{quoted(own)} AS class, "}{quoted(name)} AS x
      FROM '{file}'){"" if own is None else chr(10) + "GROUP BY class ORDER BY class"};"""
    what = "Read a range as its bounds or its midpoint"
    return [Snippet(what, "python", python), Snippet(what, "sql", sql)]


def _dates(file: str, name: str, own: str | None) -> list[Snippet]:
    by = "" if own is None else f".groupby(rows[{text_of(own)}])"
    python = f"""import pandas as pd

rows = pd.read_parquet("{file}")
bounds = pd.json_normalize(rows[{text_of(name)}])[["lower", "upper"]]  # the first and the last day
middle = bounds.astype("datetime64[s]").mean(axis=1)
print(middle{by}.agg(["count", "mean"]))"""
    sql = f"""SELECT {"" if own is None else "class, "}count(*) AS records,
       min(x.lower) AS first_day, max(x.upper) AS last_day,
       make_timestamp(avg(epoch_us(x.lower) / 2 + epoch_us(x.upper) / 2)::BIGINT)::DATE AS mean_middle
FROM (SELECT {"" if own is None else f"{quoted(own)} AS class, "}{quoted(name)} AS x
      FROM '{file}'){"" if own is None else chr(10) + "GROUP BY class ORDER BY class"};"""
    what = "Read a range of dates as its first and last day or its midpoint"
    return [Snippet(what, "python", python), Snippet(what, "sql", sql)]


def _groups(file: str, name: str, own: str | None) -> list[Snippet]:
    keys = "group" if own is None else f"group, rows[{text_of(own)}]"
    python = f"""import pandas as pd

rows = pd.read_parquet("{file}")
group = rows[{text_of(name)}].str[0]  # the name of a value, or of the smallest group that holds it
print(rows.groupby([{keys}], dropna=False).size())"""
    sql = f"""SELECT x[1] AS group_name, {"" if own is None else "class, "}count(*) AS records
FROM (SELECT {quoted(name)} AS x{"" if own is None else f", {quoted(own)} AS class"}
      FROM '{file}')
GROUP BY ALL ORDER BY ALL;"""
    what = "Read a group of a hierarchy"
    return [Snippet(what, "python", python), Snippet(what, "sql", sql)]


def _sets(file: str, name: str, own: str | None) -> list[Snippet]:
    keys = text_of(name) if own is None else f"{text_of(name)}, {text_of(own)}"
    python = f"""import pandas as pd

rows = pd.read_parquet("{file}")  # a set is a list of categories
each = rows.explode({text_of(name)})  # one line per category that a record may have
print(each.groupby([{keys}], dropna=False).size())"""
    sql = f"""SELECT category, {"" if own is None else "class, "}count(*) AS records_that_may_have_it
FROM (SELECT unnest({quoted(name)}) AS category{"" if own is None else f", {quoted(own)} AS class"}
      FROM '{file}')
GROUP BY ALL ORDER BY ALL;"""
    what = "Read a set of categories"
    return [Snippet(what, "python", python), Snippet(what, "sql", sql)]


READERS: dict[Form, Callable[[str, str, str | None], list[Snippet]]] = {
    "numbers": _ranges,
    "dates": _dates,
    "group": _groups,
    "set": _sets,
}


def _listed_classes(file: str, own: str) -> list[Snippet]:
    python = f"""import pandas as pd

rows = pd.read_parquet("{file}")
ec = rows.drop(columns={text_of(own)}).astype(str).agg("|".join, axis=1)  # rows with the same cells
listed = rows.groupby(ec)[{text_of(own)}].agg(records="size", class_values=lambda own: list(own.dropna()))
print(listed.reset_index(drop=True))"""
    sql = f"""SELECT count(*) AS records, list(class) FILTER (class IS NOT NULL) AS class_values
FROM (SELECT row(*COLUMNS(* EXCLUDE ({quoted(own)}))) AS cells, {quoted(own)} AS class
      FROM '{file}')
GROUP BY cells
ORDER BY records;"""
    what = "Read which class values a group of records has"
    return [Snippet(what, "python", python), Snippet(what, "sql", sql)]


def text_of(name: str) -> str:
    """Return a name as it is written in Python."""
    plain = name.isprintable() and '"' not in name and "\\" not in name
    return f'"{name}"' if plain else repr(name)
