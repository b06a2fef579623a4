"""The gate on joins within segments, from the files alone and beside the private store."""

import json
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest
from gate_oracles import choices, joined, without_partner
from hypothesis import given, settings
from hypothesis import strategies as st
from protected_release import (
    DISTINCT,
    FIRST,
    MEMBERS,
    ORDER,
    SECOND,
    SEGMENTS,
    WITHIN,
    achieved,
    broken,
    check,
    everything,
    fragment_of,
    one_class,
)
from published_folder import Fragment, Protection, build, write_store

from tasks.errors import GateError
from tasks.read_config import parse_config
from validations import segment_joins
from validations.check_release import promised_by_run
from validations.class_counts import ClassCounts, write_distinct
from validations.gate import check_folder
from validations.gather import gather_evidence
from validations.manifest import statements
from validations.partners import holds_rows, records_without_partner
from validations.promises import read_promises
from validations.protection import Diversity


@pytest.fixture
def two():
    return build([FIRST, SECOND], k=5, protection=DISTINCT)


def segmented(own, other):
    """Return two fragments of two segments: the first with `own` class counts, the second with `other`."""
    return [
        Fragment({name: "integer"}, [one_class(place, each) for place, each in enumerate((own, other))])
        for name in "xy"
    ]


def test_small_joins_across_segments_are_allowed_where_so_promised(tmp_path):
    fragments = segmented({"a": 5, "b": 5, "c": 3}, {"c": 1, "d": 5, "e": 5})
    store = write_store(tmp_path / "store", fragments, [[0] * 13 + [1] * 11] * 2, [0] * 13 + [1] * 11)
    release = build(fragments, k=5, protection=DISTINCT, scope="segments")
    verdict = check(release, tmp_path / "segments", store)
    assert verdict.success
    assert verdict.figures.smallest_join == 3
    assert verdict.figures.within_segments[:3] == (5, 3, ())
    (joins,) = (each for each in verdict.promises if each.name == "joins")
    assert "checked at release with the private store, and cannot be checked from the files" in joins.asked
    assert achieved(verdict, "joins") == (
        "3 rows in the smallest join, of 4 choices, segments unknown; in every pair of fragments, all "
        "records can be in joins of at least 5 rows"
    )
    release.manifest["joins"]["scope"] = "all"
    assert broken(check(release, tmp_path / "all", store)) == {"joins"}


def test_a_record_without_a_fit_class_breaks_the_joins(tmp_path):
    counts = (
        [{"a": 5, "b": 5, "c": 1}, {"c": 3, "d": 5, "e": 5}],
        [{"a": 5, "b": 5}, {"c": 4, "d": 5, "e": 5}],
    )
    fragments = [
        Fragment({name: "integer"}, [one_class(place, each) for place, each in enumerate(own)])
        for name, own in zip("xy", counts, strict=True)
    ]
    release = build(fragments, k=5, protection=DISTINCT, scope="segments")
    verdict = check(release, tmp_path)
    assert broken(verdict) == {"joins"}
    assert "1 record without joins of at least 5 rows in some pair" in achieved(verdict, "joins")
    release.manifest["enforcement"] = "dependency_graph"
    release.manifest["changed_class_values"] = {"total": 1, "share": 1 / 48, "per_fragment": [0, 1]}
    verdict = check(release, tmp_path)
    assert verdict.success
    assert "all records but those of changed class" in achieved(verdict, "joins")


def test_changed_class_values_excuse_as_many_records(tmp_path):
    counts = {"a": 4, "b": 1}, {"b": 4, "c": 1}
    fragments = [
        Fragment({name: "integer"}, [one_class(0, each)]) for name, each in zip("xy", counts, strict=True)
    ]
    release = build(fragments, k=5)
    folder = release.write(tmp_path)
    promises = replace(read_promises(folder), diversity=Diversity("distinct", 2, None), join_scope="segments")
    for changed, alone in (((0, 0), 10), ((1, 0), 8), ((2, 2), 2), ((3, 2), 0)):
        evidence = gather_evidence(folder, replace(promises, changed=changed))
        assert evidence.joins.without_partner == alone


counts_of_classes = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 6), min_size=1)
families = st.lists(st.lists(counts_of_classes, min_size=1, max_size=6), min_size=2, max_size=3)


@settings(max_examples=20, deadline=None)
@given(families, st.integers(2, 40), st.integers(0, 3))
def test_records_without_a_partner_are_those_of_the_definition(family, k, changed):
    family = [[Counter(each) for each in fragment] for fragment in family]
    with duckdb.connect() as connection:
        for number, fragment in enumerate(family, 1):
            connection.execute(
                f"CREATE TABLE class_counts_{number} (ec BIGINT, v0 BIGINT, v1 BIGINT, v2 BIGINT, v3 BIGINT)"
            )
            rows = [[ec, *(each[value] for value in "abcd")] for ec, each in enumerate(fragment)]
            connection.executemany(f"INSERT INTO class_counts_{number} VALUES (?, ?, ?, ?, ?)", rows)
            write_distinct(connection, number, f"class_counts_{number}")
        counts = ClassCounts(connection, len(family), 4)
        every = [changed] * len(family)
        assert records_without_partner(counts, holds_rows, k, every) == without_partner(family, k, every)


segment_records = st.lists(
    st.builds(
        lambda segment, places, first, second, value: (segment, *places, first, second or first, value),
        st.integers(0, 2),
        st.tuples(st.integers(0, 2), st.integers(0, 2)),
        st.sampled_from("abc"),
        st.sampled_from(["a", "b", "c", None, None]),
        st.sampled_from(["1", "2", None]),
    ),
    min_size=1,
    max_size=14,
)


def by_definition(classes, members, segments, k):
    """Return the fewest rows of a join, proven or counted, and the smallest set of shared class values."""
    rows, shared_values, safe = [], [], True
    for segment in set(segments):
        within = [
            [
                own[place]
                for place in {member for member, at in zip(of, segments, strict=True) if at == segment}
            ]
            for own, of in zip(classes, members, strict=True)
        ]
        shared = set.intersection(*(set(counts) for own in within for counts in own))
        sizes = [n for n in map(joined, choices(within)) if n]
        proven = all(sum(counts[value] for value in shared) >= k for own in within for counts in own)
        rows += [k] if proven else [min(sizes)] if sizes else []
        safe &= all(n >= k for n in sizes)
        shared_values.append(shared)
    return min(rows, default=None), min(map(len, shared_values)), safe


@settings(max_examples=15, deadline=None)
@given(segment_records, st.integers(2, 5))
def test_joins_within_segments_are_those_of_the_definition(listed, k):
    first = fragment_of("x", [(x, one, value) for _, x, _, one, _, value in listed], ("diag",))
    second = fragment_of("y", [(y, other) for _, _, y, _, other, _ in listed])
    places = [sorted({each[fragment] for each in listed}) for fragment in (1, 2)]
    members = [[own.index(each[place]) for each in listed] for place, own in enumerate(places, 1)]
    segments = [segment for segment, *_ in listed]
    classes = [[Counter(each.counts) for each in fragment.classes] for fragment in (first, second)]
    rows, values, safe = by_definition(classes, members, segments, k)
    with tempfile.TemporaryDirectory() as name:
        folder = build([first, second], k=k, protection=DISTINCT).write(Path(name) / "release")
        store = write_store(Path(name) / "store", [first, second], members, segments)
        promises = replace(read_promises(folder), k=k)
        figures = gather_evidence(folder, promises, store).figures.within_segments
    assert (figures.at_least, figures.l) == (rows, values)
    assert (rows is None or rows >= k) == safe
    assert figures.sensitive == (("diag", fewest_values(first, classes, members, segments)),)


def fewest_values(fragment, classes, members, segments):
    found = []
    for segment in set(segments):
        within = [
            {member for member, at in zip(of, segments, strict=True) if at == segment} for of in members
        ]
        shared = set.intersection(
            *(set(own[place]) for own, places in zip(classes, within, strict=True) for place in places)
        )
        for place in within[0]:
            each = fragment.classes[place]
            listed = [value for value, n in each.counts.items() for _ in range(n)]
            kept = {own for (own,), value in zip(each.values, listed, strict=True) if value in shared and own}
            found.append(len(kept))
    return min(found)


def test_a_join_that_is_too_small_within_a_segment(tmp_path):
    fragments = segmented({"a": 5, "b": 5, "c": 1}, {"c": 5, "d": 5})
    members = [[0] * 11 + [1] * 10] * 2
    release = build(fragments, k=6, protection=DISTINCT, scope="segments")
    apart = write_store(tmp_path / "apart", fragments, members, members[0])
    verdict = check(release, tmp_path / "release", apart)
    assert broken(verdict) == set()
    assert verdict.figures.within_segments[:3] == (6, 2, ())
    together = write_store(tmp_path / "together", fragments, members, [0] * 21)
    verdict = check(release, tmp_path / "release", together)
    assert broken(verdict) == {"segments"}
    assert verdict.figures.within_segments[:3] == (5, 1, ())
    assert achieved(verdict, "segments") == "at least 5 rows, 1 class value"


def test_too_few_values_within_a_segment(tmp_path):
    classes = [
        one_class(0, {"a": 3, "b": 3}, "1", "1", "1", "2", "2", "1"),
        one_class(1, {"a": 6}, *"121212"),
    ]
    first = Fragment({"x": "integer"}, classes, ("diag",))
    second = Fragment({"y": "integer"}, [one_class(0, {"a": 9, "b": 3})])
    members = [[0] * 6 + [1] * 6, [0] * 12]
    store = write_store(tmp_path / "store", [first, second], members, [0] * 12)
    release = build([first, second], k=3, protection=DISTINCT, scope="segments")
    verdict = check(release, tmp_path / "release", store)
    assert broken(verdict) == {"l", "segments"}
    assert verdict.figures.within_segments[:3] == (3, 1, (("diag", 1),))


def test_entropy_and_t_promise_no_number_of_class_values(tmp_path):
    fragments = segmented({"a": 5, "b": 5}, {"c": 5, "d": 5})
    store = write_store(tmp_path / "store", fragments, [[0] * 10 + [1] * 10] * 2, [0] * 20)
    asked = Protection(l=1.9, l_model="entropy", t=0.6, t_distance="equal")
    verdict = check(build(fragments, k=5, protection=asked, scope="segments"), tmp_path / "release", store)
    assert verdict.success
    assert verdict.figures.within_segments[:3] == (50, 0, ())


STATED = WITHIN | {"of_records": {"l": 2, "t": None}}


@pytest.mark.parametrize(
    ("wrong", "possible"),
    [
        ({"at_least": 36}, True),
        ({"at_least": 37}, False),
        ({"l": 3}, False),
        ({"sensitive": [{"column": "diag", "l": 2}]}, True),
        ({"sensitive": [{"column": "diag", "l": 4}]}, True),
        ({"sensitive": [{"column": "diag", "l": 5}]}, False),
        ({"of_records": {"l": 1, "t": None}}, True),
        ({"of_records": {"l": 3, "t": None}}, False),
    ],
)
def test_stated_figures_of_segments_that_the_files_allow_are_compared_beside_the_store_only(
    wrong, possible, two, tmp_path
):
    store = write_store(tmp_path / "store", [FIRST, SECOND], MEMBERS, SEGMENTS)
    two.manifest["joins"]["within_segments"] = STATED
    two.manifest["validation"]["success"] = True
    folder = two.write(tmp_path / "release")
    promises = read_promises(folder)
    evidence = gather_evidence(folder, promises, store)
    assert all(each.stated == each.found for each in statements(promises, evidence))
    two.manifest["joins"]["within_segments"] = STATED | wrong
    assert broken(check(two, folder, store)) == {"manifest"}
    assert broken(check(two, folder)) == (set() if possible else {"manifest"})


STORES = {
    "no store": lambda path: path.unlink(),
    "no database": lambda path: path.write_text("SECRET"),
    "no segments": "DROP TABLE segments",
    "a segment too few": "DELETE FROM segments WHERE rowid = 0",
    "a member too many": "INSERT INTO members VALUES (0, 0)",
    "no segment of a record": "UPDATE segments SET segment = NULL WHERE rowid = 3",
    "a class that is not in the file": "INSERT INTO regions_1 VALUES ('SECRET')",
    "another class": "UPDATE regions_2 SET f1 = 'SECRET' WHERE rowid = 0",
    "one class too few": "DELETE FROM regions_1 WHERE rowid = 1",
    "another column": "ALTER TABLE regions_1 ADD COLUMN f2 VARCHAR",
    "a record elsewhere": "UPDATE members SET fragment_1 = 0 WHERE rowid = 7",
    "a record nowhere": "UPDATE members SET fragment_2 = NULL WHERE rowid = 7",
}


@pytest.mark.parametrize("damage", STORES.values(), ids=STORES)
def test_a_store_that_does_not_fit_proves_nothing(damage, two, tmp_path):
    store = write_store(tmp_path / "store", [FIRST, SECOND], MEMBERS, SEGMENTS)
    if callable(damage):
        damage(store)
    else:
        with duckdb.connect(store) as connection:
            connection.execute(damage)
    verdict = check(two, tmp_path / "release", store)
    assert broken(verdict) == {"segments"}
    assert verdict.figures.within_segments is None
    assert "could not be checked" in achieved(verdict, "segments")
    assert "SECRET" not in everything(verdict)


def test_classes_that_release_the_same_are_one(two, tmp_path):
    store = write_store(tmp_path / "store", [FIRST, SECOND], MEMBERS, SEGMENTS)
    with duckdb.connect(store) as connection:
        connection.execute("INSERT INTO regions_1 FROM regions_1 WHERE rowid = 0")
        connection.execute("UPDATE members SET fragment_1 = 2 WHERE rowid IN (0, 1)")
    verdict = check(two, tmp_path / "release", store)
    assert verdict.success
    assert verdict.figures.within_segments[:3] == (5, 2, (("diag", 3),))


def test_too_many_segments_to_look_at_prove_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(segment_joins, "LARGEST_SEGMENTS", 0)
    fragments = segmented({"a": 5, "b": 5, "c": 1}, {"c": 5, "d": 5})
    store = write_store(tmp_path / "store", fragments, [[0] * 11 + [1] * 10] * 2, [0] * 21)
    release = build(fragments, k=5, protection=DISTINCT, scope="segments")
    verdict = check(release, tmp_path / "release", store)
    assert broken(verdict) == {"segments"}
    assert "too costly" in achieved(verdict, "segments")


def test_nothing_tells_how_many_segments_there_are(tmp_path):
    fragments = segmented({"a": 6, "b": 6}, {"a": 6, "b": 6})
    found = set()
    for number, segments in enumerate(([0] * 24, [0, 1, 2, 3, 4, 5] * 4)):
        store = write_store(tmp_path / f"{number}", fragments, [[0] * 12 + [1] * 12] * 2, segments)
        release = build(fragments, k=5, protection=DISTINCT, scope="segments")
        verdict = check(release, tmp_path / "release", store)
        document = next(each for each in verdict.documents if each.name == "segments")
        result = json.loads(document.result)
        for each in result["results"]:
            each["expectation_config"]["kwargs"].pop("batch_id", None)
        found.add(json.dumps([result["results"], result["meta"]["achieved"], result["statistics"]]))
    assert len(found) == 1


def config(folder, **columns):
    return parse_config(
        {
            "input": {"path": str(folder / "table.csv")},
            "columns": {"class": "class", "features": "rest", "sensitive": ["diag"], **columns},
            "privacy": {"k": 5, "t": 0.4, "t_distance": "ordered"},
            "output": {"directory": str(folder), "name": "people"},
        }
    )


@pytest.fixture
def run(tmp_path):
    """A staged release and the store of its run."""
    asked = Protection(t=0.4, t_distance="ordered", orders={"diag": ORDER, "class": ["b", "a"]})
    release = build([FIRST, SECOND], k=5, protection=asked)
    store = write_store(tmp_path / "store", [FIRST, SECOND], MEMBERS, SEGMENTS)
    columns = [("age", "feature"), ("weight", "feature"), ("diag", "sensitive"), ("class", "class")]
    with duckdb.connect(store) as connection:
        connection.execute("CREATE TABLE source AS FROM range(11)")
        connection.execute(
            "CREATE TABLE columns (position INTEGER, name VARCHAR, kind VARCHAR, role VARCHAR, scale INTEGER)"
        )
        for position, (name, role) in enumerate(columns):
            kind = "integer" if role == "feature" else "categorical"
            connection.execute("INSERT INTO columns VALUES (?, ?, ?, ?, 0)", [position, name, kind, role])
    return SimpleNamespace(store=store, release=release, folder=tmp_path / "staging")


ORDERS = {"diag": ["x", "none", "2", "y", "10", "1"], "class": ["b", "a"]}


def test_a_run_promises_what_its_configuration_asks(run):
    for key in ("l", "t", "t_distance"):
        run.release.manifest["guarantees"][key] = {"asked": None, "achieved": None}
    run.release.manifest["guarantees"]["l"] = {"asked": 2, "achieved": None}
    run.release.manifest["guarantees"]["l_model"] = {"asked": "distinct", "achieved": None}
    for each in run.release.manifest["protected"]:
        each["order"] = None
    run.release.manifest["joins"]["scope"] = "all"
    for entry in run.release.manifest["fragments"]:
        for each in entry["protected"]:
            each["t"] = None
    run.release.write(run.folder)
    promises = promised_by_run(run.store, config(run.folder), run.folder)
    assert promises.diversity is None
    assert promises.closeness == (0.4, "ordered")
    assert promises.join_scope == "segments"
    assert promises.sensitive == ("diag",)


def test_a_run_holds_its_files_against_its_own_order(run):
    run.release.write(run.folder)
    promises = promised_by_run(run.store, config(run.folder, orders=ORDERS), run.folder)
    assert promises.protected[1].order == tuple(ORDER)
    verdict = check_folder(run.folder, promises, run.store)
    assert verdict.success
    other = config(run.folder, orders=ORDERS | {"diag": ["2", "none", "10", "1"]})
    with pytest.raises(GateError, match="diag"):
        promised_by_run(run.store, other, run.folder)
    with pytest.raises(GateError, match="class"):
        promised_by_run(run.store, config(run.folder, orders={"diag": ORDER}), run.folder)
