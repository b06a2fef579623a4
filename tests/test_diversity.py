"""Releases that promise l or t, from the table to the audit, and what they publish, by definition."""

import itertools
import json
import math

import diversity_oracles as by_definition
import duckdb
import numpy as np
import pandas as pd
import pytest

from flows.audit import audit
from flows.release import release
from tasks.errors import InfeasibleError, InputError
from tasks.read_config import parse_config

K = 8
SENSITIVE = ["illness", "income"]
ILLNESSES = ["asthma", "flu", "gout", 'a "rare" one', ""]
CLOSE = 1e-9


@pytest.fixture(scope="module")
def table():
    """Return 900 records: a class of five values that features tell, and two attributes to protect."""
    rng = np.random.default_rng(5)
    rows = 900
    label = rng.choice(5, size=rows, p=[0.35, 0.25, 0.2, 0.12, 0.08])
    return pd.DataFrame(
        {
            "age": rng.integers(20, 40, rows) + 12 * label,
            "weight": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(70, 6, rows).round(1) + 4 * label),
            "city": rng.choice(["Bonn", "Oslo", "Rome", "Ulm"], rows),
            "segment": rng.normal(0, 1, rows).round(2) - label,
            "record": rng.poisson(3 + label),
            "illness": rng.choice(
                ["asthma", "flu", "gout", 'a "rare" one', ""], rows, p=[0.4, 0.3, 0.2, 0.05, 0.05]
            ),
            "income": rng.integers(1, 9, rows) * 1000,
            "grade": label * 5 + 5,
        }
    )


def settings(folder, table, privacy, sensitive=(), **more):
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "table.csv", index=False)
    others = [name for name in SENSITIVE if name not in sensitive]
    columns = {"class": "grade", "features": "rest", "sensitive": list(sensitive), "drop": others}
    return {
        "input": {"path": str(folder / "table.csv")},
        "columns": columns | more.pop("columns", {}),
        "privacy": {"k": K, **privacy},
        "fragmentation": {"fragments": 2} | more.pop("fragmentation", {}),
        "segmentation": {"min_segment": K} | more.pop("segmentation", {}),
        "output": {"directory": str(folder / "releases"), "name": "people"},
        "run": {"workspace": str(folder / "workspace"), "engine": "plain", "keep_workspace": True},
    }


def publish(folder, table, privacy, sensitive=(), **more):
    return release.fn(parse_config(settings(folder, table, privacy, sensitive, **more)))


def read(path):
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def fragments(folder):
    manifest = json.loads((folder / "release.json").read_text())
    return [(read(folder / each["csv"]), each["features"]) for each in manifest["fragments"]]


def protected(folder):
    """Yield, per fragment and protected column, all its values and those of each equivalence class."""
    for lines, features in fragments(folder):
        for column in [name for name in lines if name not in features]:
            held = lines[lines[column] != ""]
            groups = lines.groupby(features)[column].apply(
                lambda values: [each for each in values if each != ""]
            )
            yield column, held[column].tolist(), groups.tolist()


def assert_audited(folder, table):
    verdict = audit(folder)
    assert verdict.success, [outcome for outcome in verdict.promises if not outcome.success]
    for lines, features in fragments(folder):
        assert len(lines) == len(table)
        assert lines.groupby(features).size().min() >= K
    return json.loads((folder / "release.json").read_text())


LEVELS = {
    "distinct": ({"l": 3}, by_definition.distinct_level),
    "entropy": ({"l": 1.7, "l_model": "entropy"}, by_definition.entropy_level),
    "recursive": (
        {"l": 2, "l_model": "recursive", "c": 2.5},
        lambda values: by_definition.recursive_level(values, 2.5),
    ),
}


@pytest.mark.parametrize("level", ["exact", "floor"])
@pytest.mark.parametrize("sensitive", [(), SENSITIVE], ids=["class", "beside"])
@pytest.mark.parametrize("model", LEVELS)
def test_every_equivalence_class_is_as_diverse_as_asked(tmp_path, table, model, sensitive, level):
    privacy, level_of = LEVELS[model]
    folder = publish(tmp_path, table, privacy, sensitive, segmentation={"level": level})
    manifest = assert_audited(folder, table)
    reached = [level_of(group) for _, _, groups in protected(folder) for group in groups]
    assert min(reached) >= privacy["l"] - CLOSE
    assert manifest["guarantees"]["l"]["achieved"] == pytest.approx(min(reached), abs=1e-6)
    assert {column for column, _, _ in protected(folder)} == {"grade", *sensitive}


ORDER = {"columns": {"orders": {"illness": ["flu", "asthma", 'a "rare" one', "gout"]}}}


def distance_of(distance, column, group, everyone):
    if distance == "equal":
        return by_definition.equal_distance(group, everyone)
    order = ORDER["columns"]["orders"].get(column) or sorted(set(everyone), key=int)
    ranks = {value: rank for rank, value in enumerate(order)}
    return by_definition.ordered_distance([ranks[each] for each in group], [ranks[each] for each in everyone])


@pytest.mark.parametrize(
    ("distance", "sensitive", "more"),
    [("equal", SENSITIVE, {}), ("ordered", ("income",), {}), ("ordered", ("illness",), ORDER)],
)
def test_every_equivalence_class_is_as_close_as_asked(tmp_path, table, distance, sensitive, more):
    folder = publish(tmp_path, table, {"t": 0.3, "t_distance": distance}, sensitive, **more)
    manifest = assert_audited(folder, table)
    reached = [
        distance_of(distance, column, group, everyone)
        for column, everyone, groups in protected(folder)
        for group in groups
    ]
    assert max(reached) <= 0.3 + CLOSE
    assert manifest["guarantees"]["t"]["achieved"] == pytest.approx(max(reached), abs=1e-6)


def test_a_hierarchy_says_how_far_values_are_apart(tmp_path, table):
    paths = {value: [group, "*"] for value, group in zip((5, 10, 15, 20, 25), "aabbb", strict=True)}
    tmp_path.mkdir(exist_ok=True)
    text = "\n".join(f"{value};{';'.join(levels)}" for value, levels in paths.items())
    (tmp_path / "grades.csv").write_text(text + "\n")
    more = {"columns": {"hierarchies": {"grade": str(tmp_path / "grades.csv")}}}
    folder = publish(tmp_path, table, {"t": 0.25, "t_distance": "hierarchical"}, **more)
    manifest = assert_audited(folder, table)
    ancestors = {str(value): levels for value, levels in paths.items()}
    reached = [
        by_definition.hierarchical_distance(group, everyone, ancestors)
        for _, everyone, groups in protected(folder)
        for group in groups
    ]
    assert max(reached) <= 0.25 + CLOSE
    assert manifest["guarantees"]["t"]["achieved"] == pytest.approx(max(reached), abs=1e-6)
    assert manifest["protected"][0]["hierarchy"] == ancestors


def test_joining_the_chunks_of_a_segment_leaves_k_rows_and_l_values(tmp_path, table):
    """Theorem 5.1, with the records of every chunk really joined."""
    folder = publish(tmp_path, table, {"l": 2}, SENSITIVE, fragmentation={"fragments": 3})
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    verdict = audit(folder, store)
    assert verdict.success
    assert "segments" in {outcome.name for outcome in verdict.promises}
    with duckdb.connect(store, read_only=True) as connection:
        members = connection.execute("FROM members").df()
        segments = connection.execute("FROM segments").df()["segment"]
        source = connection.execute("FROM source").df()
    assert segments.nunique() > 3
    records = pd.concat([members, source[["grade", *SENSITIVE]].replace("", None)], axis=1)
    joins = 0
    for _, segment in records.groupby(segments):
        chunks = [segment[[f"fragment_{i}", "grade"]] for i in (1, 2, 3)]
        for size in (2, 3):
            for chosen in itertools.combinations(range(3), size):
                joined = chunks[chosen[0]]
                for other in chosen[1:]:
                    joined = joined.merge(chunks[other], on="grade")
                classes = joined.groupby([f"fragment_{i + 1}" for i in chosen])["grade"]
                assert classes.size().min() >= K
                assert (classes.nunique() == segment["grade"].nunique()).all()
                joins += classes.ngroups
        for i, column in itertools.product((1, 2, 3), SENSITIVE):
            if column in read(folder / f"fragment_{i}.csv"):
                assert segment.groupby(f"fragment_{i}")[column].nunique().min() >= 2
    assert joins > 50
    within = json.loads((folder / "release.json").read_text())["joins"]["within_segments"]
    assert within["at_least"] >= K
    assert within["l"] >= 2


def test_segments_leave_no_trace_in_the_published_folder(tmp_path, table):
    folder = publish(
        tmp_path,
        table,
        {"l": 2},
        columns={"features": ["age", "weight", "city", "record"], "drop": [*SENSITIVE, "segment"]},
    )
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix == ".json":
            assert '"segment"' not in path.read_text()
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    with duckdb.connect(store, read_only=True) as connection:
        ((several,),) = connection.execute("""
            SELECT count(*) FROM (
                SELECT fragment_1 FROM members JOIN segments ON members.rowid = segments.rowid
                GROUP BY fragment_1 HAVING count(DISTINCT segment) > 1)
        """).fetchall()
        ((classes,),) = connection.execute(
            "SELECT count(*) FROM equivalence_classes WHERE fragment = 1"
        ).fetchall()
    lines, features = fragments(folder)[0]
    assert lines.groupby(features).ngroups == classes
    assert several > 0


def test_one_fragment_is_the_baseline_with_one_segment(tmp_path, table):
    folder = publish(tmp_path, table, {"l": 3, "t": 0.4}, SENSITIVE, fragmentation={"fragments": 1})
    manifest = assert_audited(folder, table)
    loss = manifest["measures"]["information_loss"]
    assert loss["fragmented"] == loss["unfragmented"]
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    with duckdb.connect(store, read_only=True) as connection:
        assert connection.execute("SELECT DISTINCT segment FROM segments").fetchall() == [(0,)]


def test_strict_segments_make_every_join_safe(tmp_path, table):
    privacy = {"t": 0.45, "strict_segments": True}
    folder = publish(tmp_path, table, privacy)
    manifest = assert_audited(folder, table)
    assert manifest["joins"]["scope"] == "all"
    smallest = manifest["joins"]["smallest_join"]
    assert smallest is None or smallest >= K


@pytest.mark.parametrize(
    ("privacy", "sensitive", "reachable"),
    [
        ({"l": 6}, (), "l = 5"),
        ({"l": 5}, ("illness",), "l = 4"),
        ({"l": 4.9, "l_model": "entropy"}, (), "at most l = 4.36"),
        ({"l": 5, "l_model": "recursive", "c": 1}, (), "only l = 3"),
    ],
)
def test_what_cannot_be_reached_is_refused_with_what_can(tmp_path, table, privacy, sensitive, reachable):
    with pytest.raises(InfeasibleError) as refused:
        publish(tmp_path, table, privacy, sensitive)
    column = sensitive[0] if sensitive else "grade"
    assert repr(column) in str(refused.value)
    assert reachable in str(refused.value)
    assert not list((tmp_path / "releases").glob("people/*"))
    assert refused.value.exit_code == 3


def test_exact_entropy_asks_of_chunks_what_their_segment_has(tmp_path, table):
    privacy = {"l": 1.5, "l_model": "entropy"}
    publish(tmp_path, table, privacy, segmentation={"level": "exact", "min_segment": 200})
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    with duckdb.connect(store, read_only=True) as connection:
        members = connection.execute("FROM members").df()
        segments = connection.execute("FROM segments").df()["segment"]
        grades = connection.execute("SELECT grade FROM source").df()["grade"]
    several = 0
    for number, own in grades.groupby(segments):
        level = by_definition.entropy_level(own.tolist())
        within = members[segments == number]
        for fragment in ("fragment_1", "fragment_2"):
            for _, group in own.groupby(within[fragment]):
                assert by_definition.entropy_level(group.tolist()) >= level - CLOSE or math.isclose(level, 1)
        several += 1
    assert several > 1


def test_fragments_without_a_sensitive_attribute_hold_all_class_values_too(tmp_path, table):
    """Otherwise a join could rest on a part of the other fragment's classes, and of its sensitive values."""
    privacy = {"l": 1.5, "l_model": "entropy"}
    segmentation = {"min_segment": len(table)}
    folder = publish(tmp_path, table, privacy, ["illness"], segmentation=segmentation)
    assert_audited(folder, table)
    for lines, features in fragments(folder):
        assert (lines.groupby(features)["grade"].nunique() == table["grade"].nunique()).all()


def test_class_values_changed_for_joins_are_held_against_t_again(tmp_path):
    """Majority values mend joins of crossing classes, which t does not bear; distinct l needs none."""
    rng = np.random.default_rng(2)
    label = rng.choice(8, 400)
    features = {
        name: label * (3 + number) + rng.integers(0, 8 * (3 + number), 400)
        for number, name in enumerate("abcd")
    }
    told = pd.DataFrame(features | {"illness": "x", "income": 1, "grade": label * 5 + 5})
    privacy, one = {"k": 6, "t": 0.6}, {"min_segment": 400}
    with pytest.raises(InfeasibleError, match=r"joins safe leaves .* short of t = 0\.6 .*privacy\.l = 2"):
        publish(tmp_path / "t", told, privacy, segmentation=one)
    folder = publish(tmp_path / "l", told, privacy | {"l": 2}, segmentation=one)
    assert audit(folder).success


def test_an_audit_refuses_drafts_and_stores_that_are_not_there(tmp_path, table):
    folder = publish(tmp_path, table, {"l": 2})
    with pytest.raises(InputError, match="there is no such store"):
        audit(folder, tmp_path / "store.duckdb")
    manifest = json.loads((folder / "release.json").read_text())
    manifest["validation"]["success"] = None
    (folder / "release.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="is a draft"):
        audit(folder)
