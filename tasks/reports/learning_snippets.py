"""Programs that learn from a release, made to fit its columns and to run in its folder."""

from collections.abc import Mapping
from typing import Any

from tasks.reports.snippets import Snippet, plainest, text_of
from tasks.store import quoted

TREE = """import pandas as pd
from sklearn.tree import DecisionTreeClassifier, export_text
rows = pd.read_parquet("{file}").dropna(subset=[{own}]).reset_index(drop=True)
{known}
tree = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(known.to_numpy(), rows[{own}])
print(export_text(tree, feature_names=list(map(str, known))), tree.score(known.to_numpy(), rows[{own}]))"""

MIDPOINTS = """ranges = [name for name in rows if isinstance(rows[name][0], dict)]
bounds = [pd.json_normalize(rows[name])[["lower", "upper"]].astype(float) for name in ranges]
known = pd.concat([each.mean(axis=1) for each in bounds], axis=1, keys=ranges)"""

MIDPOINTS_WITH_DATES = """\
number = lambda x: x.toordinal() if hasattr(x, "toordinal") else x  # a date counts in days
bounds = {{x: pd.json_normalize(rows[x])[["lower", "upper"]] for x in rows if isinstance(rows[x][0], dict)}}
known = pd.DataFrame({{x: each.map(number).astype(float).mean(axis=1) for x, each in bounds.items()}})"""

SHARES = """each = rows[{name}].explode()  # one line per category that a record may have
known = pd.get_dummies(each, dummy_na=True, dtype=float).groupby(level=0).mean()"""

RULE = """SELECT released, max_by(class, n) AS likely_class, max(n) / sum(n) AS share, sum(n) AS {lines}
FROM (SELECT {name} AS released, {own} AS class, count(*) AS n
      FROM '{file}' WHERE {own} IS NOT NULL GROUP BY ALL)
GROUP BY released ORDER BY released;"""

LEARNING = '''import json
from pathlib import Path
{numpy}import pandas as pd
from sklearn.ensemble import RandomForestClassifier

release = json.loads(Path("release.json").read_text(encoding="utf-8"))

{number}def numbers(cells):
    """A range becomes its midpoint, a set the share of each category; exact values stay as they are."""
{exact}    if isinstance(cells.iloc[0], dict):
        bounds = pd.json_normalize(cells)[["lower", "upper"]]{mapped}.astype(float)
        return bounds.mean(axis=1).rename(json.dumps(cells.name))
    if pd.api.types.is_numeric_dtype(cells):
        return cells.rename(json.dumps(cells.name))
    shares = pd.get_dummies(cells.explode(), prefix=json.dumps(cells.name), prefix_sep=" = ", dtype=float)
    return shares.groupby(level=0).mean()

models = []
for fragment in release["fragments"]:
    features, rows = fragment["features"], pd.read_parquet(fragment["parquet"])
    known = pd.concat([numbers(rows[name]) for name in features], axis=1)
{classes}
    model = RandomForestClassifier(random_state=0).fit(known, classes)
    models.append((features, known.columns, model))

def classify(people):
    """The likely class of each row of a table of exact values, its columns named as in the release.{also}"""
    votes = []
    for features, columns, model in models:
        known = pd.concat([numbers(people[name]) for name in features], axis=1)
        shares = model.predict_proba(known.reindex(columns=columns, fill_value=0))
        votes.append(pd.DataFrame(shares, people.index, model.classes_))
    return pd.concat(votes).groupby(level=0).sum().idxmax(axis=1)

person = {}  # made up: in the middle of every range, of the most frequent category
for fragment in release["fragments"]:
    rows = pd.read_parquet(fragment["parquet"])
    for name in fragment["features"]:
        known = numbers(rows[name])
        person[name] = known.median() if known.ndim == 1 else rows[name].explode().mode(dropna=False)[0]
print("likely class:", classify(pd.DataFrame([person]))[0])'''

NUMBER = '''def number(value):
    """A date counts in days."""
    return value.toordinal() if hasattr(value, "toordinal") else value

'''
EXACT = '    cells = cells.map(number, na_action="ignore")\n'
MAPPED = ".map(number)"
ALSO = "\n\n    Of a feature with a hierarchy it has the names of groups, as the release has them.\n    "

PER_RECORD = '    classes = rows[release["class"]]'
PER_CLASS = """    ec = rows[features].astype(str).agg("|".join, axis=1)
    listed = rows[release["class"]].groupby(ec)  # the rows of a group take its class values in turn
    classes = listed.transform(lambda own: np.resize(own.dropna().to_numpy(), len(own)))"""


def short_learning_snippets(manifest: Mapping[str, Any]) -> tuple[Snippet, Snippet]:
    """Return how to learn from one fragment: a tree, and the likely class of each released cell.

    Parameters
    ----------
    manifest
        The content of release.json.
    """
    columns, own = manifest["columns"], manifest["class"]
    numeric = [column for column in columns if column["kind"] != "categorical"]
    column = plainest(numeric or columns)
    file, name = manifest["fragments"][column["fragment"] - 1]["parquet"], column["name"]
    midpoints = MIDPOINTS_WITH_DATES if _has_dates(manifest) else MIDPOINTS
    known = (midpoints if numeric else SHARES).format(name=text_of(name))
    lines = "groups" if manifest["class_values"] == "per_class" else "records"
    tree = TREE.format(file=file, own=text_of(own), known=known)
    rule = RULE.format(file=file, own=quoted(own), name=quoted(name), lines=lines)
    what = "Learn from one fragment"
    return Snippet(what, "python", tree), Snippet(what, "sql", rule)


def learning_snippet(manifest: Mapping[str, Any]) -> Snippet:
    """Return how to train one classifier per fragment and to add up what they say.

    Parameters
    ----------
    manifest
        The content of release.json.
    """
    per_class = manifest["class_values"] == "per_class"
    parts = {
        "{numpy}": "import numpy as np\n" if per_class else "",
        "{classes}": PER_CLASS if per_class else PER_RECORD,
        "{also}": ALSO if any("hierarchy" in column for column in manifest["columns"]) else "",
    }
    of_dates = {"{number}": NUMBER, "{exact}": EXACT, "{mapped}": MAPPED}
    parts |= of_dates if _has_dates(manifest) else dict.fromkeys(of_dates, "")
    text = LEARNING
    for part, written in parts.items():
        text = text.replace(part, written)
    return Snippet("Learn from all fragments", "python", text)


def _has_dates(manifest: Mapping[str, Any]) -> bool:
    return any(column["kind"] == "date" for column in manifest["columns"])
