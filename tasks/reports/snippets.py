"""Short programs that read a release and learn from it, made to fit its columns and to run in its folder."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tasks.reports.pictures import visible_text
from tasks.store import quoted

PLAIN_LENGTH = 40

LEARNING = '''import json
from pathlib import Path
{numpy}import pandas as pd
from sklearn.ensemble import RandomForestClassifier

release = json.loads(Path("release.json").read_text(encoding="utf-8"))

def numbers(cells):
    """A range becomes its midpoint, a set the share of each category; exact values stay as they are."""
    if isinstance(cells.iloc[0], dict):
        bounds = pd.json_normalize(cells)[["lower", "upper"]].astype(float)
        return bounds.mean(axis=1).rename(cells.name)
    if pd.api.types.is_numeric_dtype(cells):
        return cells
    shares = pd.get_dummies(cells.explode(), prefix=cells.name, prefix_sep=" = ", dtype=float)
    return shares.groupby(level=0).mean()

models = []
for fragment in release["fragments"]:
    features, rows = fragment["features"], pd.read_parquet(fragment["parquet"])
    known = pd.concat([numbers(rows[name]) for name in features], axis=1)
{classes}
    model = RandomForestClassifier(random_state=0).fit(known, classes)
    models.append((features, known.columns, model))

def classify(people):
    """The likely class of each row of a table of exact values; its columns are named as in the release."""
    votes = []
    for features, columns, model in models:
        known = pd.concat([numbers(people[name]) for name in features], axis=1)
        shares = model.predict_proba(known.reindex(columns=columns, fill_value=0))
        votes.append(pd.DataFrame(shares, people.index, model.classes_))
    return pd.concat(votes).groupby(level=0).sum().idxmax(axis=1)'''

PER_RECORD = '    classes = rows[release["class"]]'
PER_CLASS = """    ec = rows[features].astype(str).agg("|".join, axis=1)
    listed = rows[release["class"]].groupby(ec)  # the rows of a group take its class values in turn
    classes = listed.transform(lambda own: np.resize(own.dropna().to_numpy(), len(own)))"""


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
    """Return how to read a numeric and a categorical feature, whichever there are, and the class.

    Parameters
    ----------
    manifest
        The content of release.json.
    """
    columns, own = manifest["columns"], manifest["class"]
    per_class = manifest["class_values"] == "per_class"
    numeric = _plainest([column for column in columns if column["kind"] != "categorical"])
    categorical = _plainest([column for column in columns if column["kind"] == "categorical"])
    snippets: list[Snippet] = []
    for column, read in ((numeric, _ranges), (categorical, _sets)):
        if column is not None:
            file = manifest["fragments"][column["fragment"] - 1]["parquet"]
            snippets += read(file, column["name"], None if per_class else own)
    if per_class:
        snippets += _listed_classes(manifest["fragments"][0]["parquet"], own)
    return tuple(snippets)


def learning_snippet(manifest: Mapping[str, Any]) -> Snippet:
    """Return how to train one classifier per fragment and to add up what they say.

    Parameters
    ----------
    manifest
        The content of release.json.
    """
    per_class = manifest["class_values"] == "per_class"
    text = LEARNING.replace("{numpy}", "import numpy as np\n" if per_class else "")
    return Snippet(
        "Learn from all fragments",
        "python",
        text.replace("{classes}", PER_CLASS if per_class else PER_RECORD),
    )


def _plainest(columns: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the first column whose name is short and shows all it holds, else the first."""
    plain = (
        column
        for column in columns
        if visible_text(column["name"]) == column["name"] and len(column["name"]) <= PLAIN_LENGTH
    )
    return next(plain, columns[0] if columns else None)


def _ranges(file: str, name: str, own: str | None) -> list[Snippet]:
    by = "" if own is None else f".groupby(rows[{_text(own)}])"
    python = f"""import pandas as pd

rows = pd.read_parquet("{file}")
bounds = pd.json_normalize(rows[{_text(name)}])  # columns lower, upper, missing
middle = bounds[["lower", "upper"]].astype(float).mean(axis=1)
print(middle{by}.agg(["count", "mean"]))"""
    sql = f"""SELECT {"" if own is None else "class, "}count(*) AS records,
       min(x.lower) AS lowest, max(x.upper) AS highest,
       avg(x.lower / 2 + x.upper / 2) AS mean_middle
FROM (SELECT {"" if own is None else f"{quoted(own)} AS class, "}{quoted(name)} AS x
      FROM '{file}'){"" if own is None else chr(10) + "GROUP BY class ORDER BY class"};"""
    what = "Read a range as its bounds or its midpoint"
    return [Snippet(what, "python", python), Snippet(what, "sql", sql)]


def _sets(file: str, name: str, own: str | None) -> list[Snippet]:
    keys = _text(name) if own is None else f"{_text(name)}, {_text(own)}"
    python = f"""import pandas as pd

rows = pd.read_parquet("{file}")  # a set is a list of categories
each = rows.explode({_text(name)})  # one line per category that a record may have
print(each.groupby([{keys}], dropna=False).size())"""
    sql = f"""SELECT category, {"" if own is None else "class, "}count(*) AS records_that_may_have_it
FROM (SELECT unnest({quoted(name)}) AS category{"" if own is None else f", {quoted(own)} AS class"}
      FROM '{file}')
GROUP BY ALL ORDER BY ALL;"""
    what = "Read a set of categories"
    return [Snippet(what, "python", python), Snippet(what, "sql", sql)]


def _listed_classes(file: str, own: str) -> list[Snippet]:
    python = f"""import pandas as pd

rows = pd.read_parquet("{file}")
ec = rows.drop(columns={_text(own)}).astype(str).agg("|".join, axis=1)  # rows with the same cells
listed = rows.groupby(ec)[{_text(own)}].agg(records="size", class_values=lambda own: list(own.dropna()))
print(listed.reset_index(drop=True))"""
    sql = f"""SELECT count(*) AS records, list(class) FILTER (class IS NOT NULL) AS class_values
FROM (SELECT row(*COLUMNS(* EXCLUDE ({quoted(own)}))) AS cells, {quoted(own)} AS class
      FROM '{file}')
GROUP BY cells
ORDER BY records;"""
    what = "Read which class values a group of records has"
    return [Snippet(what, "python", python), Snippet(what, "sql", sql)]


def _text(name: str) -> str:
    """Return a name as it is written in Python."""
    plain = name.isprintable() and '"' not in name and "\\" not in name
    return f'"{name}"' if plain else repr(name)
