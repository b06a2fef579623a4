"""The programs that a report prints run in the published folder, and read and learn what is there."""

import contextlib
import html
import io
import json
import re
from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from published_folder import Categories, ClassOf, Fragment, Range, Span, build
from report_releases import VARIANTS, published

from tasks.partitions.cells import parse_cell
from tasks.reports.learning_snippets import learning_snippet, short_learning_snippets
from tasks.reports.snippets import reading_snippets

NAMES = ("it's", 'a "b", c', "back\\slash", "line\nbreak", "right\u202eleft", "größe 血圧", "{x}", "class")


def by_hand(name, own, delta=None):
    features = {name: "integer", name + "2": "categorical"}
    classes = [
        ClassOf((Range(1, 3), Categories(("x", "y"))), {"a": 3, "b": 2}),
        ClassOf((Range(4, 4, missing=True), Categories(("y",), missing=True)), {"a": 3, "[c": 2}),
        ClassOf((Range(None, None, missing=True), Categories(("{z}",))), {"b": 5}),
    ]
    other = {"other": "decimal"}
    more = [ClassOf((Range(0.5, 1.5),), {"a": 6, "[c": 2}), ClassOf((Range(2.5, 2.5),), {"b": 7})]
    return build([Fragment(features, classes), Fragment(other, more)], k=5, class_attribute=own, delta=delta)


def of_every_kind(delta=None):
    """A price, two months and a diagnosis by which a and b are told apart; the last of each is missing."""
    classes = [
        ClassOf(
            (
                Range(Decimal("1.50"), Decimal("2.50")),
                Span("2024-01", "2024-02"),
                Span("2023", "2023"),
                Categories(("250*",)),
            ),
            {"a": 6},
        ),
        ClassOf(
            (
                Range(Decimal("3.00"), Decimal("3.00")),
                Span("2024-04", "2024-04"),
                Span("2024", "2024"),
                Categories(("[b",)),
            ),
            {"b": 5},
        ),
        ClassOf(
            (
                Range(None, None, missing=True),
                Span(None, None, missing=True),
                Span("2024", "2024", missing=True),
                Categories(("250*",), missing=True),
            ),
            {"b": 5},
        ),
    ]
    features = {"price": "fixed_2", "it's when": "date_month", "year": "date_year", "dx": "grouped"}
    return build([Fragment(features, classes)], k=5, delta=delta)


def run_python(text):
    shown, names = io.StringIO(), {}
    with contextlib.redirect_stdout(shown):
        exec(text, names)  # noqa: S102 - the report's own program
    return shown.getvalue(), names


def run_all(manifest):
    found = {}
    for snippet in reading_snippets(manifest):
        found[snippet.title, snippet.language] = (
            run_python(snippet.text) if snippet.language == "python" else duckdb.sql(snippet.text).fetchall()
        )
    return found


RANGES = "Read a range as its bounds or its midpoint"
SETS = "Read a set of categories"
DATES = "Read a range of dates as its first and last day or its midpoint"
GROUPS = "Read a group of a hierarchy"
LISTED = "Read which class values a group of records has"


@pytest.mark.parametrize("name", NAMES)
def test_programs_read_columns_of_any_name(name, tmp_path, monkeypatch):
    own = "class" if name != "class" else "x"
    manifest = by_hand(name, own).manifest
    by_hand(name, own).write(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = run_all({**manifest, "columns": manifest["columns"][:2]})
    means = {"[c": (2, 4, 4, 4.0), "a": (6, 1, 4, 3.0), "b": (7, 1, 3, 2.0)}
    assert {row[0]: row[1:] for row in found[RANGES, "sql"]} == means
    names = found[RANGES, "python"][1]
    assert names["middle"].groupby(names["rows"][own]).mean().to_dict() == {"[c": 4.0, "a": 3.0, "b": 2.0}
    sets = {("x", "a"): 3, ("x", "b"): 2, ("y", "a"): 6, ("y", "b"): 2, ("y", "[c"): 2, ("{z}", "b"): 5}
    sets |= {(None, "a"): 3, (None, "[c"): 2}
    assert {row[:2]: row[2] for row in found[SETS, "sql"]} == sets
    names = found[SETS, "python"][1]
    counts = names["each"].groupby([name + "2", own]).size().to_dict()
    assert counts == {key: number for key, number in sets.items() if key[0] is not None}


def test_programs_read_every_kind(tmp_path, monkeypatch):
    release = of_every_kind()
    monkeypatch.chdir(release.write(tmp_path / "folder"))
    found = run_all(release.manifest)
    assert found[RANGES, "sql"] == [
        ("a", 6, Decimal("1.50"), Decimal("2.50"), 2.0),
        ("b", 10, Decimal("3.00"), Decimal("3.00"), 3.0),
    ]
    assert found[RANGES, "python"][1]["middle"].value_counts().to_dict() == {2.0: 6, 3.0: 5}
    days = [("a", 6, date(2024, 1, 1), date(2024, 2, 29), date(2024, 1, 30))]
    days += [("b", 10, date(2024, 4, 1), date(2024, 4, 30), date(2024, 4, 15))]
    assert found[DATES, "sql"] == days
    middles = {pd.Timestamp("2024-01-30 12:00"): 6, pd.Timestamp("2024-04-15 12:00"): 5}
    assert found[DATES, "python"][1]["middle"].value_counts().to_dict() == middles
    assert found[GROUPS, "sql"] == [("250*", "a", 6), ("250*", "b", 5), ("[b", "b", 5)]
    names = found[GROUPS, "python"][1]
    assert names["group"].value_counts().to_dict() == {"250*": 11, "[b": 5}


def test_programs_learn_from_every_kind(tmp_path, monkeypatch):
    release = of_every_kind()
    monkeypatch.chdir(release.write(tmp_path / "folder"))
    tree, rule = short_learning_snippets(release.manifest)
    assert tree.text.count("\n") < 8
    shown, names = run_python(tree.text)
    assert list(names["known"]) == ["price", "it's when", "year"]
    assert names["known"]["year"].max() == (date(2024, 1, 1).toordinal() + date(2024, 12, 31).toordinal()) / 2
    assert float(shown.split()[-1]) == 1.0
    assert [tuple(row[1:]) for row in duckdb.sql(rule.text).fetchall()] == [
        ("a", 1, 6),
        ("b", 1, 5),
        ("b", 1, 5),
    ]
    shown, names = run_python(learning_snippet(release.manifest).text)
    assert shown.startswith("likely class: ")
    people = pd.DataFrame(
        {
            "price": [2.0, 3.0],
            "it's when": [date(2024, 2, 3), date(2024, 4, 9)],
            "year": pd.to_datetime(["2023-05-06", "2024-07-08"]),
            "dx": ["250*", "[b"],
        }
    )
    assert names["classify"](people).tolist() == ["a", "b"]
    assert "names of groups" in names["classify"].__doc__


def test_programs_read_every_kind_where_class_values_stand_once(tmp_path, monkeypatch):
    release = of_every_kind(delta=0.5)
    monkeypatch.chdir(release.write(tmp_path / "folder"))
    found = run_all(release.manifest)
    assert found[DATES, "sql"][0][:3] == (16, date(2024, 1, 1), date(2024, 4, 30))
    assert found[GROUPS, "sql"] == [("250*", 11), ("[b", 5)]
    assert found[GROUPS, "python"][1]["group"].size == 16
    run_python(learning_snippet(release.manifest).text)


@pytest.mark.parametrize("name", NAMES[:2])
def test_programs_read_the_class_values_of_groups(name, tmp_path, monkeypatch):
    release = by_hand("x", name, delta=0.5)
    release.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = run_all(release.manifest)
    listed = [(5, ["[c", "a"]), (5, ["a", "b"]), (5, ["b"])]
    assert sorted((records, sorted(values)) for records, values in found[LISTED, "sql"]) == listed
    frame = found[LISTED, "python"][1]["listed"]
    lines = frame[["records", "class_values"]].itertuples(index=False)
    assert sorted((records, sorted(values)) for records, values in lines) == listed
    assert found[RANGES, "sql"] == [(15, 1, 4, 3.0)]


@pytest.mark.parametrize("name", NAMES)
def test_short_programs_learn_from_columns_of_any_name(name, tmp_path, monkeypatch):
    own = "class" if name != "class" else "x"
    release = by_hand(name, own)
    release.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    tree, rule = short_learning_snippets({**release.manifest, "columns": release.manifest["columns"][:2]})
    shown, names = run_python(tree.text)
    assert list(names["known"]) == [name]
    assert float(shown.split()[-1]) == pytest.approx((3 + 3 + 5) / 15)
    likely = {
        (lower, upper): rest for (lower, upper, _), *rest in map(cells, duckdb.sql(rule.text).fetchall())
    }
    assert likely == {(1, 3): ["a", 0.6, 5], (4, 4): ["a", 0.6, 5], (None, None): ["b", 1.0, 5]}


def cells(line):
    released, *rest = line
    return tuple(released.values()), *rest


def test_short_programs_learn_from_sets_where_there_are_no_ranges(tmp_path, monkeypatch):
    classes = [ClassOf((Categories(("x", "y")),), {"a": 3, "b": 2}), ClassOf((Categories(()),), {"b": 5})]
    release = build([Fragment({"colour": "categorical"}, classes)], k=5)
    release.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    tree, rule = short_learning_snippets(release.manifest)
    shown, names = run_python(tree.text)
    assert names["known"].to_numpy().tolist() == [[0, 0, 1]] * 5 + [[0.5, 0.5, 0]] * 5
    assert float(shown.split()[-1]) == 0.8
    shown = sorted(duckdb.sql(rule.text).fetchall(), key=str)
    assert shown == [(["x", "y"], "a", 0.6, 5), ([None], "b", 1.0, 5)]


def test_the_rule_counts_each_class_value_of_a_group_once(tmp_path, monkeypatch):
    release = by_hand("x", "class", delta=0.5)
    release.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    tree, rule = short_learning_snippets(release.manifest)
    assert "AS groups" in rule.text
    assert sorted(groups for *_, groups in duckdb.sql(rule.text).fetchall()) == [1, 2, 2]
    assert len(run_python(tree.text)[1]["rows"]) == 5


def test_learning_takes_the_class_values_of_a_group_in_turn(tmp_path, monkeypatch):
    release = by_hand("x", "class", delta=0.5)
    release.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    names = run_python(learning_snippet(release.manifest).text)[1]
    people = pd.DataFrame({"x": [2, 4], "x2": ["x", "y"], "other": [2.5, 1.0]})
    assert names["classify"](people).tolist() == ["b", "a"]
    first = pd.read_parquet("fragment_1.parquet")
    listed = names["classes"].groupby(names["ec"]).agg(Counter)
    assert names["ec"].value_counts().tolist() == [8, 7]
    assert sorted(map(sorted, (counts.values() for counts in listed))) == [[4, 4], [7]]
    assert len(first) == 15


@pytest.mark.parametrize("variant", VARIANTS)
def test_programs_run_as_the_page_prints_them(variant, monkeypatch):
    folder, table = published(variant)
    monkeypatch.chdir(folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    printed = [html.unescape(code) for code in re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)]
    manifest = json.loads(Path("release.json").read_text(encoding="utf-8"))
    tree, rule = short_learning_snippets(manifest)
    snippets = (*reading_snippets(manifest), tree, rule, learning_snippet(manifest))
    assert [snippet.text in printed for snippet in snippets] == [True] * len(snippets)
    assert all(snippet.text.count("\n") < 8 for snippet in snippets[:-1])
    run_all(manifest)
    shown, names = run_python(tree.text)
    assert float(shown.split()[-1]) >= names["rows"][manifest["class"]].value_counts(normalize=True).iloc[0]
    assert all(0 < share <= 1 for _, _, share, _ in duckdb.sql(rule.text).fetchall())
    shown, names = run_python(snippets[-1].text)
    classify = names["classify"]
    assert shown.startswith("likely class: ")
    assert shown.split(": ")[1].strip() in set(table[manifest["class"]])
    features = [column["name"] for column in manifest["columns"]]
    truth = table[manifest["class"]]
    right = (classify(table[features].replace("", None)) == truth).mean()
    assert right > truth.value_counts(normalize=True).iloc[0]


def test_the_midpoints_are_those_of_the_cells(monkeypatch):
    folder, _ = published("demo")
    monkeypatch.chdir(folder)
    cells = pd.read_csv("fragment_1.csv", dtype=str, keep_default_na=False)
    names = run_all(json.loads(Path("release.json").read_text(encoding="utf-8")))[RANGES, "python"][1]
    parsed = [parse_cell(text, "decimal") for text in cells["mean radius"]]
    assert names["middle"].tolist() == pytest.approx([(cell.lower + cell.upper) / 2 for cell in parsed])


def test_the_first_column_with_a_plain_name_is_the_example():
    columns = [
        {"name": name, "kind": "decimal", "fragment": 1}
        for name in ("right\u202eleft", "long " * 20, "plain")
    ]
    manifest = {
        "columns": columns,
        "class": "c",
        "class_values": "per_record",
        "fragments": [{"parquet": "fragment_1.parquet"}],
    }
    assert all('"plain"' in snippet.text for snippet in reading_snippets(manifest))
    manifest["columns"] = columns[:1]
    assert "\u202e" not in reading_snippets(manifest)[0].text


def test_no_two_columns_are_taken_for_one(tmp_path, monkeypatch):
    features = {"a": "categorical", "a = b": "categorical", '"a" = b = c': "integer"}
    classes = [
        ClassOf((Categories(("b = c",)), Categories(("c",)), Range(1, 2)), {"x": 6}),
        ClassOf((Categories(("b = c", "z")), Categories(("c", "w")), Range(3, 5)), {"y": 6}),
    ]
    released = build([Fragment(features, classes)], k=5, class_attribute="class")
    monkeypatch.chdir(released.write(tmp_path / "folder"))
    shown, names = run_python(learning_snippet(released.manifest).text)
    assert shown.startswith("likely class: ")
    ((_, columns, _),) = names["models"]
    assert len(set(columns)) == len(columns) == 5
