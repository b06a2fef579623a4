"""Every evidence query that a report prints runs in the published folder, and shows what was achieved."""

import html
import itertools
import json
import re

import duckdb
import pytest
from protected_release import FIRST as DIAGNOSES
from protected_release import PROTECTIONS, WITHIN, check
from protected_release import SECOND as WEIGHTS
from published_folder import Categories, ClassOf, Fragment, Range, build
from report_releases import VARIANTS, published

from validations.gate import check_folder
from validations.promises import read_promises

CODE = re.compile(r"<pre><code>(.*?)</code></pre>", re.DOTALL)
ODD = 'it\'s "x",\n; --'
FIRST = Fragment(
    {"age": "integer", ODD: "categorical"},
    [
        ClassOf((Range(20, 30), Categories(("{y}", "x or missing"))), {"a": 3, "b": 2}),
        ClassOf((Range(-31, -31), Categories(("[x",))), {"a": 3, "b": 1, "c": 1}),
        ClassOf((Range(None, None, missing=True), Categories(("no", "yes"), missing=True)), {"b": 3, "c": 2}),
    ],
)
SECOND = Fragment(
    {"weight": "decimal", "größe \\": "categorical"},
    [
        ClassOf((Range(1e-05, 17.99), Categories(())), {"a": 4, "b": 2, "c": 1}),
        ClassOf((Range(18.0, 1e17, missing=True), Categories(('say "hé"', "z\n"))), {"a": 2, "b": 4, "c": 2}),
    ],
)
THIRD = Fragment(
    {"size": "integer"},
    [ClassOf((Range(0, 1),), {"a": 3, "b": 3, "c": 1}), ClassOf((Range(2, 3),), {"a": 3, "b": 3, "c": 2})],
)
BY_HAND = {
    "two": build([FIRST, SECOND], k=5, class_attribute=ODD + "class"),
    "three": build([FIRST, SECOND, THIRD], k=2),
    "one": build([FIRST], k=5),
    "records": build([FIRST, SECOND], k=2, guarantee="records"),
    "per class": build([FIRST, SECOND], k=5, delta=0.5),
    **{
        str(asked.l_model): build([DIAGNOSES, WEIGHTS], k=5, protection=asked, within=WITHIN)
        for asked in PROTECTIONS
    },
}
for each in BY_HAND.values():
    each.manifest["limits"] = {"max_information_loss": 0.5, "max_changed_class_values": 0.75}


def run(query):
    return duckdb.sql(query).fetchall()


def first_number(text):
    return float(re.search(r"\d[\d,]*\.?\d*(e-\d+)?", text).group().replace(",", ""))


def shows_sizes(rows, achieved, manifest):
    assert min(smallest for _, smallest, _ in rows) == first_number(achieved)
    stated = [entry["equivalence_classes"] for entry in manifest["fragments"]]
    assert [number for *_, number in rows] == [number for number in stated for _ in ("csv", "parquet")]


def shows_rows(rows, achieved, _):
    assert {number for _, number in rows} == {first_number(achieved)}


def shows_smallest(rows, achieved, _):
    assert min(figure for _, figure in rows if figure is not None) == first_number(achieved)


def shows_no_fault(rows, achieved, manifest):
    assert len(rows) in (len(manifest["fragments"]), 2 * len(manifest["fragments"]))
    assert {faults for _, faults in rows} == {first_number(achieved)} == {0}


def shows_digests(rows, achieved, manifest):
    files = 2 * len(manifest["fragments"])
    assert len(rows) == files + len(manifest.get("documents", {})) + 1
    assert {deviations for _, deviations in rows} == {0}
    assert achieved == f"{files} of {files} fragment files as stated, 0 undeclared files"


def shows_worst(worst):
    def shows(rows, achieved, _):
        for column in {column for _, column, _ in rows}:
            stated = re.search(rf"(\S+) \({re.escape(column)}\)", achieved)[1]
            shown = worst(figure for _, other, figure in rows if other == column)
            assert shown == pytest.approx(float(stated), abs=1e-6)

    return shows


def shows_measures(rows, achieved, _):
    assert ", ".join(f"{name} {stated:.4g}" for name, stated, _ in rows) == achieved
    assert all(stated <= most for _, stated, most in rows)


def shows_stated(rows, achieved, manifest):
    assert len(rows) == 2 + 2 * len(manifest["fragments"])
    assert all(stated == found and as_stated in (True, None) for _, stated, found, as_stated in rows)
    assert "otherwise" not in achieved


def shows_classes(rows, achieved, manifest):
    fragments = len(manifest["fragments"])
    if manifest["class_values"] == "per_class":
        shows_no_fault(rows, achieved, manifest)
        return
    assert len(rows) == 2 * fragments + fragments * (fragments - 1) // 2
    assert {deviations for _, deviations, *_ in rows} == {first_number(achieved)} == {0}
    changed = manifest["changed_class_values"]["per_fragment"]
    pairs = [sum(pair) for pair in itertools.combinations(changed, 2)]
    assert sorted(allowed for *_, allowed in rows if allowed is not None) == sorted(pairs)


def shows_columns(rows, _, manifest):
    files = {entry[kind] for entry in manifest["fragments"] for kind in ("csv", "parquet")}
    assert dict(rows) == dict.fromkeys([*files, "features not in exactly one fragment"], 0)


def shows_class_values(rows, _, manifest):
    assert {file for file, *_ in rows} == {entry["csv"] for entry in manifest["fragments"]}
    assert all(listed for _, listed, _ in rows)


SHOWS = {
    "k": shows_sizes,
    "records": shows_rows,
    "joins": shows_smallest,
    "join_records": shows_smallest,
    "classes": shows_classes,
    "order": shows_no_fault,
    "formats": shows_no_fault,
    "hashes": shows_digests,
    "l": shows_worst(min),
    "t": shows_worst(max),
    "limits": shows_measures,
    "manifest": shows_stated,
    "fragments": shows_columns,
    "delta": shows_class_values,
}
"""What is expected of the lines that each promise's query shows."""


@pytest.mark.parametrize("variant", BY_HAND)
def test_every_query_shows_what_is_achieved(variant, tmp_path, monkeypatch):
    release = BY_HAND[variant]
    verdict = check(release, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert verdict.success, [outcome for outcome in verdict.promises if not outcome.success]
    for outcome in verdict.promises:
        if outcome.query is None:
            assert (outcome.name, variant) == ("joins", "one")
            assert outcome.note is not None
        else:
            assert outcome.query.endswith(";")
            SHOWS[outcome.name](run(outcome.query), outcome.achieved, release.manifest)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_query_runs_as_the_page_prints_it(variant, monkeypatch):
    folder, _ = published(variant)
    monkeypatch.chdir(folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    printed = [html.unescape(code) for code in CODE.findall(page)]
    manifest = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    asked = 0
    for path in (folder / "validation").glob("*.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        query = result["meta"]["query"]
        if query is not None:
            asked += 1
            assert query in printed
            SHOWS[path.stem](run(query), result["meta"]["achieved"], manifest)
        else:
            assert path.stem == "segments"
    assert asked >= 9


def test_the_queries_show_damage(tmp_path, monkeypatch):
    release = BY_HAND["three"]
    check(release, tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    text = (tmp_path / "fragment_1.csv").read_text(encoding="utf-8")
    (tmp_path / "fragment_1.csv").write_text(text.replace("[20, 30]", "[20, 31]", 1), encoding="utf-8")
    verdict = check_folder(tmp_path, read_promises(tmp_path))
    monkeypatch.chdir(tmp_path)
    shown = {outcome.name: dict(row[:2] for row in run(outcome.query)) for outcome in verdict.promises}
    assert shown["hashes"]["fragment_1.csv"] == 1
    assert shown["hashes"]["undeclared files"] == 1
    assert shown["hashes"]["fragment_2.csv"] == 0
    assert shown["formats"]["fragment 1"] > 0
    assert shown["formats"]["fragment 2"] == 0
    manifest = next(outcome for outcome in verdict.promises if outcome.name == "manifest")
    differing = {name for name, *_, as_stated in run(manifest.query) if not as_stated}
    assert differing == {"k", "equivalence classes of fragment 1", "smallest class of fragment 1", "choices"}


def shown_of(name, release, folder, monkeypatch):
    release.write(folder)
    monkeypatch.chdir(folder)
    verdict = check_folder(folder, read_promises(folder))
    outcome = next(outcome for outcome in verdict.promises if outcome.name == name)
    assert not outcome.success
    return {line[0]: line[1] for line in run(outcome.query)}


def test_the_query_of_columns_shows_other_names_types_and_places(tmp_path, monkeypatch):
    release = build([FIRST, SECOND], k=5)
    release.tables[0].names[:2] = reversed(release.tables[0].names[:2])
    release.tables[1].types[0] = "STRUCT(lower FLOAT, upper FLOAT, missing BOOLEAN)"
    shown = shown_of("fragments", release, tmp_path, monkeypatch)
    assert shown == {
        "fragment_1.csv": 2,
        "fragment_1.parquet": 2,
        "fragment_2.csv": 0,
        "fragment_2.parquet": 1,
        "features not in exactly one fragment": 0,
    }


def test_the_query_of_columns_shows_a_feature_that_was_lost(tmp_path, monkeypatch):
    release = build([FIRST, SECOND], k=5)
    query = next(
        outcome.query for outcome in check(release, tmp_path).promises if outcome.name == "fragments"
    )
    release.manifest["columns"].append({"name": "lost", "kind": "integer", "fragment": 1})
    release.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    shown = dict(run(query))
    assert shown.pop("features not in exactly one fragment") == 1
    assert set(shown.values()) == {0}


def test_the_query_of_classes_shows_blank_cells_and_totals_that_nothing_explains(tmp_path, monkeypatch):
    release = build([FIRST, THIRD], k=2)
    release.tables[0].csv[0][-1] = ""
    release.tables[0].parquet[0][-1] = None
    shown = shown_of("classes", release, tmp_path, monkeypatch)
    assert [shown[f"fragment_{number}.csv: blank class cells"] for number in (1, 2)] == [1, 0]
    other = Fragment({"size": "integer"}, [ClassOf((Range(0, 1),), {"a": 5, "b": 7, "c": 3})])
    release = build([FIRST, other], k=2)
    release.manifest["changed_class_values"] = {"total": 0, "share": 0.0, "per_fragment": [0, 0]}
    shown = shown_of("classes", release, tmp_path / "totals", monkeypatch)
    assert shown["class totals of fragments 1 and 2"] == 1
