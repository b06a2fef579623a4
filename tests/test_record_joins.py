"""What a record's own equivalence classes tell together is what joining their lines gives, by definition."""

import itertools
import json
import math
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from gate_oracles import distance, level
from hypothesis import given, settings
from hypothesis import strategies as st
from protected_release import DISTINCT, broken, check, fragment_of, one_class
from published_folder import Fragment, build, write_store

from flows.release import release
from tasks.read_config import parse_config
from validations import record_joins
from validations.gather import gather_evidence
from validations.promises import read_promises
from validations.protection import Closeness, Diversity, ProtectedPromise

ORDER = ("c", "a", "d", "b")
TREE = {
    "a": ("vowel", "*"),
    "b": ("other", "*"),
    "c": ("other", "*"),
    "d": ("other", "*"),
}
MODELS = [Diversity("distinct", 2, None), Diversity("entropy", 1.5, None), Diversity("recursive", 2, 1.5)]
DISTANCES = [Closeness(0.5, name) for name in ("equal", "ordered", "hierarchical")]


def protected(name):
    order, hierarchy = (ORDER if name == "ordered" else None), (TREE if name == "hierarchical" else None)
    return (ProtectedPromise("class", None, order, hierarchy),)


def sets(fragments):
    """Return the sets of fragments that are joined."""
    sizes = range(2, fragments + 1) if fragments <= 4 else (2, fragments)
    return [chosen for size in sizes for chosen in itertools.combinations(range(fragments), size)]


def joined_lines(ecs, classes, chosen, record):
    """Return the class values of the join of a record's own equivalence classes: the lines, really merged."""
    lines = None
    for place in chosen:
        own = pd.DataFrame({"class": classes[place][ecs[place] == ecs[place][record]]})
        lines = own if lines is None else lines.merge(own, on="class")
    return Counter(lines["class"].tolist())


def by_definition(ecs, classes, diversity, closeness, **ground):
    """Return the smallest l and largest t over records and sets of fragments; everything is an array."""
    levels, distances = [], []
    for chosen in sets(len(ecs)):
        overall = Counter(classes[chosen[0]].tolist())
        for record in range(len(ecs[0])):
            joined = joined_lines(ecs, classes, chosen, record)
            if joined:
                levels.append(level(joined, diversity.model, diversity.c))
                distances.append(distance(joined, overall, closeness.distance, **ground))
    return min(levels, default=None), max(distances, default=None)


def gathered(ecs, classes, asked):
    """Return what the gate finds on files of these records and the store of their run."""
    names = [f"x{number}" for number in range(len(ecs))]
    fragments = [
        fragment_of(name, list(zip(own.tolist(), values.tolist(), strict=True)))
        for name, own, values in zip(names, ecs, classes, strict=True)
    ]
    members = [np.searchsorted(np.unique(own), own).tolist() for own in ecs]
    with tempfile.TemporaryDirectory() as name:
        folder = build(fragments, k=2, protection=DISTINCT).write(Path(name) / "release")
        store = write_store(Path(name) / "store", fragments, members, [0] * len(ecs[0]))
        promises = read_promises(folder)
        return [
            gather_evidence(folder, replace(promises, **each), store).figures.within_segments.of_records
            for each in asked
        ]


@st.composite
def tables(draw):
    """Draw equivalence classes and class values of each record per fragment; some values were changed."""
    fragments, records = draw(st.integers(2, 5)), draw(st.integers(1, 9))
    ecs = [
        np.array(draw(st.lists(st.integers(0, 2), min_size=records, max_size=records)))
        for _ in range(fragments)
    ]
    label = draw(st.lists(st.sampled_from("abcd"), min_size=records, max_size=records))
    other = st.lists(st.sampled_from([None, None, None, *"abcd"]), min_size=records, max_size=records)
    changed = [draw(other) for _ in range(fragments)]
    classes = [np.array([new or old for new, old in zip(each, label, strict=True)]) for each in changed]
    return ecs, classes


@settings(max_examples=12, deadline=None)
@given(tables(), st.sampled_from(MODELS), st.sampled_from(DISTANCES))
def test_joins_of_records_are_those_of_the_definition(table, model, close):
    asked = {"diversity": model, "closeness": close, "protected": protected(close.distance)}
    (found,) = gathered(*table, [asked])
    lowest, furthest = by_definition(*table, model, close, order=ORDER, hierarchy=TREE)
    if lowest is None:
        assert found == (None, None)
        return
    assert found.l == math.floor((lowest + 1e-9) * 10**6) / 10**6
    assert furthest - 1e-8 <= found.t <= furthest + 1.1e-6


def two_classes(*counts):
    """Return a fragment of one equivalence class for each count of class values, and the class values."""
    fragment = Fragment({"x": "integer"}, [one_class(place, each) for place, each in enumerate(counts)])
    ecs = [place for place, each in enumerate(counts) for _ in range(sum(each.values()))]
    return (
        fragment,
        np.array(ecs),
        np.array([v for each in counts for v, n in each.items() for _ in range(n)]),
    )


def test_fragments_tell_more_together_than_each_by_itself():
    ecs = [np.repeat([0, 1], 8), np.repeat([0, 1], 8)]
    label = np.array([*"aaaaaabb", *"aabbbbbb"])
    asked = {"diversity": MODELS[1], "closeness": DISTANCES[0], "protected": protected("equal")}
    ((lowest, furthest),) = gathered(ecs, [label, label], [asked])
    shares = 36 / 40, 4 / 40
    assert lowest == pytest.approx(math.exp(-sum(p * math.log(p) for p in shares)), abs=1e-6)
    assert lowest < math.exp(-sum(p * math.log(p) for p in (0.75, 0.25)))
    assert furthest == pytest.approx(0.4, abs=1e-6)


def test_a_join_without_rows_is_left_out():
    ecs = [np.repeat([0, 1], 4), np.repeat([0, 1], 4)]
    classes = [np.array([*"aaaabbcc"]), np.array([*"bbbbbbcc"])]
    asked = {"diversity": MODELS[0], "closeness": DISTANCES[0], "protected": protected("equal")}
    assert gathered(ecs, classes, [asked]) == [(2, 0.5)]
    assert gathered(ecs, [np.array(["a"] * 8), np.array(["b"] * 8)], [asked]) == [(None, None)]


def test_what_is_not_asked_is_not_stated():
    ecs, classes = [np.zeros(4, int)] * 2, [np.array([*"aabb"])] * 2
    asked = [{"diversity": None, "closeness": DISTANCES[0]}, {"diversity": MODELS[0], "closeness": None}]
    assert gathered(ecs, classes, asked) == [(None, 0.0), (2, None)]


@pytest.mark.parametrize(
    ("distance", "ground"),
    [
        ("ordered", {"order": ("a",), "hierarchy": None}),
        ("ordered", {"order": None, "hierarchy": None}),
        ("hierarchical", {"order": None, "hierarchy": {"a": ("*",)}}),
        ("hierarchical", {"order": None, "hierarchy": None}),
    ],
)
def test_values_without_a_place_leave_the_distance_open(distance, ground):
    ecs, classes = [np.zeros(4, int)] * 2, [np.array([*"aabb"])] * 2
    of_class = (ProtectedPromise("class", None, **ground),)
    asked = {"diversity": MODELS[0], "closeness": Closeness(0.5, distance), "protected": of_class}
    assert gathered(ecs, classes, [asked]) == [(2, None)]


@pytest.mark.parametrize(
    ("bound", "least"),
    [("LARGEST_CELLS", 2 * 2), ("LARGEST_CELLS_IN_ALL", 2 * 2), ("LARGEST_COUNT", 6**2 + 2**2)],
)
def test_what_is_too_costly_is_not_computed(bound, least, monkeypatch):
    ecs, label = [np.repeat([0, 1], 8)] * 2, np.array([*"aaaaaabb", *"aabbbbbb"])
    asked = [{"diversity": MODELS[0], "closeness": None}]
    monkeypatch.setattr(record_joins, bound, least)
    assert gathered(ecs, [label, label], asked) == [(2, None)]
    monkeypatch.setattr(record_joins, bound, least - 1)
    assert gathered(ecs, [label, label], asked) == [(None, None)]


def test_of_many_fragments_pairs_and_all_are_joined():
    ecs, label = [np.zeros(4, int)] * 2, np.array([*"aabb"])
    for fragments, number in ((2, 1), (4, 11), (5, 11), (6, 16)):
        assert len(record_joins.sets_of_fragments(fragments)) == number
    assert gathered(ecs[:1] * 5, [label] * 5, [{"diversity": MODELS[0]}]) == [(2, None)]


@pytest.mark.parametrize(("figure", "lie"), [("l", 1), ("t", 0.39)])
def test_a_lie_is_found_beside_the_store_only(figure, lie, tmp_path):
    counts = {"a": 6, "b": 2}, {"a": 2, "b": 6}
    fragments = [two_classes(*counts)[0]._replace(features={name: "integer"}) for name in "xy"]
    members = [two_classes(*counts)[1].tolist()] * 2
    store = write_store(tmp_path / "store", fragments, members, members[0])
    asked = replace(DISTINCT, t=0.5, t_distance="equal")
    made = build(fragments, k=2, protection=asked, scope="segments")
    own = {"l": 2, "t": 0.4}
    made.manifest["joins"]["within_segments"] = {"at_least": 2, "l": 2, "sensitive": [], "of_records": own}
    assert check(made, tmp_path / "release", store).success
    own[figure] = lie
    assert broken(check(made, tmp_path / "release", store)) == {"manifest"}
    assert check(made, tmp_path / "release").success


def test_a_release_states_what_its_records_classes_tell(tmp_path):
    model, close = MODELS[1], DISTANCES[1]
    privacy = {"l": 1.3, "l_model": "entropy", "t": 0.45, "t_distance": "ordered"}
    rng = np.random.default_rng(3)
    label = rng.choice(4, size=240, p=[0.4, 0.3, 0.2, 0.1])
    columns = {f"x{place}": rng.integers(0, 9, 240) + 4 * label for place in range(6)}
    pd.DataFrame(columns | {"grade": label}).to_csv(tmp_path / "table.csv", index=False)
    folder = release.fn(
        parse_config(
            {
                "input": {"path": str(tmp_path / "table.csv")},
                "columns": {"class": "grade", "features": "rest"},
                "privacy": {"k": 6, **privacy},
                "fragmentation": {"fragments": 3},
                "output": {"directory": str(tmp_path / "releases"), "name": "people"},
                "run": {
                    "workspace": str(tmp_path / "workspace"),
                    "engine": "plain",
                    "keep_workspace": True,
                },
            }
        )
    )
    stated = json.loads((folder / "release.json").read_text())["joins"]["within_segments"]["of_records"]
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    ecs, classes = published(folder, store)
    lowest, furthest = by_definition(ecs, classes, model, close)
    assert stated["l"] == pytest.approx(lowest, abs=1.1e-6)
    assert stated["t"] == pytest.approx(furthest, abs=1.1e-6)


def published(folder, store):
    """Return the equivalence class of each record, and for as many lines of the files theirs and their class.

    Lines are put in an order in which line and record are of the same equivalence class.
    """
    ecs, classes = [], []
    with duckdb.connect(store, read_only=True) as connection:
        members = connection.execute("FROM members").df()
        for number, name in enumerate(members, 1):
            regions = connection.execute(f"FROM regions_{number}").df().fillna("")
            lines = pd.read_csv(folder / f"fragment_{number}.csv", dtype=str, keep_default_na=False)
            cells = regions.agg("\n".join, axis=1).tolist()
            held = lines.iloc[:, :-1].agg("\n".join, axis=1)
            places = members[name].map(dict(enumerate(cells))).to_numpy()
            label = np.empty(len(lines), dtype=object)
            label[np.argsort(places, kind="stable")] = lines["grade"].iloc[np.argsort(held, kind="stable")]
            ecs.append(places)
            classes.append(label)
    return ecs, classes
