"""The gate on persons: beside the private store, and what the files alone can tell of them."""

import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from person_releases import Row, credit, credit_diag, figures, release_of, store_of
from protected_release import DISTINCT, achieved, broken, check

from tasks.errors import InputError
from validations.gather import gather_evidence
from validations.manifest import statements
from validations.persons import finding
from validations.promises import read_promises, read_published

K = 3
ROWS = [
    Row(0, (0, 0), ("a", "a"), "1"),
    Row(0, (0, 1), ("b", "b"), "2"),
    Row(1, (0, 1), ("a", "a"), "2"),
    Row(1, (0, 0), ("a", "a"), "1"),
    Row(2, (0, 0), ("b", "b"), "1"),
    Row(3, (1, 1), ("a", "a"), "1"),
    Row(3, (1, 0), ("b", "b"), "1"),
    Row(4, (1, 0), ("b", "b"), None),
    Row(5, (1, 1), ("a", "b"), "2"),
    Row(5, (1, 1), ("a", "a"), "1"),
]
"""Six persons in ten records; one class value is another in the second fragment."""
CREDITS = [credit(ROWS, 0), credit(ROWS, 1)]
DIAGS = credit_diag(ROWS)
PLAIN = figures(ROWS, CREDITS, DIAGS, diverse=False)
DIVERSE = figures(ROWS, CREDITS, DIAGS, diverse=True)


def made(folder, *, stated=PLAIN, k=K, rows=ROWS, credited=CREDITS, diags=DIAGS, **asked):
    """Return the release and the private store of some rows."""
    fragments, release = release_of(rows, k, stated=stated, **asked)
    release.manifest["enforcement"] = "min_distortion"
    return release, store_of(folder / "store", fragments, rows, credited, diags)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return two written releases, the second diverse, each with its store."""
    folders = tmp_path_factory.mktemp("plain"), tmp_path_factory.mktemp("diverse")
    asked = {"stated": PLAIN}, {"stated": DIVERSE, "protection": DISTINCT}
    releases = [made(folder, **each) for folder, each in zip(folders, asked, strict=True)]
    return [
        (release.write(folder / "release"), store)
        for folder, (release, store) in zip(folders, releases, strict=True)
    ]


def damaged(store, folder, damage):
    """Return a copy of a store in which something was done."""
    copy = shutil.copy(store, folder / "damaged")
    with duckdb.connect(copy) as connection:
        connection.execute(damage)
    return Path(copy)


def found(folder, store=None):
    """Return the finding on persons alone, and whether it holds: nothing lacking, wrong, or unknown."""
    promises = read_promises(folder)
    judged = finding(promises, gather_evidence(folder, promises, store))
    columns = judged.evidence[[judgement.column for judgement in judged.judgements]]
    return judged, len(columns) == judged.lines and bool((columns == 0).all(axis=None))


def persons_of(verdict):
    return next(outcome for outcome in verdict.promises if outcome.name == "persons")


def test_the_example_is_what_it_seems():
    assert PLAIN == (6, 3, 7, 3, None)
    assert DIVERSE == (6, 3, 7, 3, 2)


@pytest.mark.parametrize("guarantee", ["join", "records"])
def test_persons_are_counted_beside_the_store(guarantee, tmp_path):
    release, store = made(tmp_path, guarantee=guarantee)
    verdict = check(release, tmp_path / "release", store)
    assert verdict.success
    assert verdict.figures.persons == PLAIN
    outcome = persons_of(verdict)
    assert outcome.achieved.startswith("of 6 persons, at least 3 persons in every equivalence class, ")
    assert "counted with the private store" in outcome.note


def test_persons_bear_values_of_their_own(tmp_path):
    release, store = made(tmp_path, stated=DIVERSE, protection=DISTINCT)
    verdict = check(release, tmp_path / "release", store)
    assert broken(verdict) == set()
    assert verdict.figures.persons == DIVERSE
    assert "2 values of diag that persons of their own have" in persons_of(verdict).achieved


def test_the_files_alone_tell_what_is_possible(tmp_path):
    release, _ = made(tmp_path)
    verdict = check(release, tmp_path / "release")
    assert verdict.success
    assert verdict.figures.persons is None
    outcome = persons_of(verdict)
    assert "as far as the files can tell" in outcome.title
    assert "counted at release with the private store, and cannot be counted from the files" in outcome.asked


def test_without_persons_nothing_is_said_of_them(tmp_path):
    release, _ = made(tmp_path, stated=None)
    verdict = check(release, tmp_path / "release")
    assert verdict.success
    assert "persons" not in {outcome.name for outcome in verdict.promises}


def test_silence_on_persons_is_refused_beside_a_store_that_counts_them(tmp_path):
    release, store = made(tmp_path, stated=None)
    with pytest.raises(InputError, match="says nothing of persons, whom the private store counts"):
        check(release, tmp_path / "release", store)


rows_of_tables = st.lists(
    st.builds(
        lambda person, places, first, second, diag: Row(person, places, (first, second or first), diag),
        st.integers(0, 4),
        st.tuples(st.integers(0, 1), st.integers(0, 1)),
        st.sampled_from("abc"),
        st.sampled_from(["a", "b", None, None, None]),
        st.sampled_from(["1", "2", "3", None]),
    ),
    min_size=2,
    max_size=12,
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(rows_of_tables, st.integers(2, 4), st.booleans(), st.sampled_from(["join", "records"]))
def test_what_is_found_of_persons_is_what_it_is_by_definition(rows, k, diverse, guarantee):
    assume({row.classes[1] for row in rows} <= {row.classes[0] for row in rows})
    credited = [credit(rows, fragment) for fragment in range(2)]
    assume(all(each is not None for each in credited))
    diags = credit_diag(rows)
    expected = figures(rows, credited, diags, diverse=diverse)
    asked = {"protection": DISTINCT} if diverse else {}
    fragments, release = release_of(rows, k, guarantee=guarantee, **asked)
    release.manifest["enforcement"] = "min_distortion"
    release.manifest["validation"]["success"] = None
    release.manifest["persons"] = dict.fromkeys(expected._fields) | {"number": expected.number}
    with tempfile.TemporaryDirectory() as name:
        store = store_of(Path(name) / "store", fragments, rows, credited, diags)
        folder = release.write(Path(name) / "release")
        promises = read_promises(folder)
        evidence = gather_evidence(folder, promises, store)
    assert evidence.figures.persons == expected
    lines = finding(promises, evidence).evidence
    assert not lines["miscredited"].any()
    enough = expected.smallest_class >= k and (expected.smallest_join or k) >= k
    enough &= guarantee == "join" or (expected.smallest_records or k) >= k
    enough &= not diverse or expected.l >= 2
    assert lines["lacking"].any() != enough
    if enough:
        assert evidence.figures.smallest_records is None or (evidence.figures.smallest_join or k) >= k
        assert min(evidence.figures.smallest_class) >= k


def test_one_fragment_needs_no_credit_for_every_class_value(tmp_path):
    rows = [Row(person, (0,), (value,)) for person, value in ((0, "a"), (0, "b"), (1, "a"), (2, "a"))]
    credited = [{(0, 0): "a", (0, 1): "a", (0, 2): "a"}]
    stated = PLAIN._replace(number=3, smallest_class=3, smallest_join=None, smallest_records=None)
    release, store = made(tmp_path, stated=stated, rows=rows, credited=credited, diags={})
    release.manifest["enforcement"] = "none"
    verdict = check(release, tmp_path / "release", store)
    assert verdict.success
    assert verdict.figures.persons == stated


@pytest.mark.parametrize(("k", "holds"), [(3, True), (4, False)])
def test_k_is_of_persons_not_of_records(k, holds, tmp_path):
    release, store = made(tmp_path, k=k, stated=PLAIN if holds else PLAIN._replace(smallest_class=None))
    release.manifest["validation"]["success"] = True if holds else None
    assert found(release.write(tmp_path / "release"), store)[1] == holds


DAMAGE = {
    "a person becomes another": ("UPDATE persons SET person = 0 WHERE rowid = 4", "at least 2 persons"),
    "a person less": ("DELETE FROM counted WHERE fragment = 1 AND person = 5", "wrong or missing"),
    "a person twice": ("INSERT INTO counted FROM counted WHERE rowid = 0", "wrong or missing"),
    "a person twice, otherwise": ("INSERT INTO counted VALUES (1, 0, 0, 'b')", "wrong or missing"),
    "a stranger": ("INSERT INTO counted VALUES (1, 0, 99, 'a')", "wrong or missing"),
    "a class value of nobody": ("UPDATE counted SET class_value = 'c' WHERE rowid = 0", "wrong or missing"),
    "a class value of others": (
        "UPDATE counted SET class_value = 'b' WHERE fragment = 1 AND person = 1",
        "wrong or missing",
    ),
    "no class value": ("UPDATE counted SET class_value = NULL WHERE rowid = 0", "wrong or missing"),
    "a fragment that is none": ("INSERT INTO counted VALUES (3, 0, 0, 'a')", "wrong or missing"),
    "an equivalence class that is none": ("INSERT INTO counted VALUES (1, 7, 0, 'a')", "wrong or missing"),
    "no certificate": ("DROP TABLE counted", "could not be checked"),
    "no persons": ("DROP TABLE persons", "could not be checked"),
    "a person too many": ("INSERT INTO persons VALUES (0)", "could not be checked"),
    "nobody": ("UPDATE persons SET person = NULL WHERE rowid = 0", "could not be checked"),
    "a record less": ("DELETE FROM published_classes WHERE rowid = 0", "could not be checked"),
    "another class value": (
        "UPDATE published_classes SET fragment_1 = 1 - fragment_1 WHERE rowid = 5",
        "could not be checked",
    ),
    "no class value of a record": (
        "UPDATE published_classes SET fragment_2 = NULL WHERE rowid = 5",
        "could not be checked",
    ),
    "two names of a class value": ("UPDATE codes SET class = 0", "could not be checked"),
    "a record elsewhere": ("UPDATE members SET fragment_1 = 1 WHERE rowid = 0", "could not be checked"),
    "another cell": ("UPDATE regions_2 SET f1 = 'SECRET' WHERE rowid = 0", "could not be checked"),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGE.values(), ids=DAMAGE)
def test_a_store_that_was_tampered_with_proves_nothing(damage, words, sound, tmp_path):
    folder, store = sound[0]
    judged, holds = found(folder, damaged(store, tmp_path, damage))
    assert not holds
    assert words in judged.achieved
    assert "SECRET" not in judged.achieved + str(judged.evidence)


def test_a_class_value_that_nobody_is_credited_with_could_be_joined_on(tmp_path):
    rows = [Row(person, (0, 0), (value,) * 2) for person, value in ((0, "a"), (0, "b"), (1, "a"), (2, "a"))]
    own = [{(0, 0): "a", (0, 1): "a", (0, 2): "a"}] * 2
    stated = PLAIN._replace(number=3, smallest_join=9)
    release, store = made(tmp_path, stated=stated, rows=rows, credited=own, diags={})
    verdict = check(release, tmp_path / "release", store)
    assert broken(verdict) == {"persons"}
    assert achieved(verdict, "persons").endswith("; 2 credits wrong or missing")


OF_VALUES = {
    "a value less": ("DELETE FROM counted_sensitive WHERE value = '2'", "1 values of diag"),
    "a value twice": ("INSERT INTO counted_sensitive FROM counted_sensitive", "wrong or missing"),
    "a value of nobody": ("UPDATE counted_sensitive SET value = 'SECRET'", "wrong or missing"),
    "a value of others": (
        "UPDATE counted_sensitive SET value = '2' WHERE person = 2",
        "wrong or missing",
    ),
    "a missing value": ("UPDATE counted_sensitive SET value = NULL WHERE rowid = 0", "wrong or missing"),
    "another attribute": ("INSERT INTO counted_sensitive VALUES (1, 0, 0, 'x', '1')", "wrong or missing"),
    "another fragment": ("INSERT INTO counted_sensitive VALUES (2, 0, 0, 'diag', '1')", "wrong or missing"),
    "another value of a record": ("UPDATE source SET diag = '2' WHERE rowid = 7", "could not be checked"),
    "no certificate": ("DROP TABLE counted_sensitive", "could not be checked"),
}


@pytest.mark.parametrize(("damage", "words"), OF_VALUES.values(), ids=OF_VALUES)
def test_values_that_were_tampered_with_prove_nothing(damage, words, sound, tmp_path):
    folder, store = sound[1]
    judged, holds = found(folder, damaged(store, tmp_path, damage))
    assert not holds
    assert words in judged.achieved
    assert "SECRET" not in judged.achieved + str(judged.evidence)


def test_files_of_other_records_prove_nothing(tmp_path):
    _, store = made(tmp_path)
    other = [row._replace(classes=("b", row.classes[1])) if row.person == 3 else row for row in ROWS]
    _, changed = release_of(other, K, stated=PLAIN)
    changed.manifest["enforcement"] = "min_distortion"
    verdict = check(changed, tmp_path / "release", store)
    assert "persons" in broken(verdict)
    assert "could not be checked: fragment 1: records have other values" in achieved(verdict, "persons")


WRONG = {
    "more persons than records": {"number": 11},
    "fewer persons than in a class": {"number": 2},
    "more persons than records in a class": {"smallest_class": 6},
    "fewer than k persons": {"smallest_class": 2},
    "an unknown class": {"smallest_class": None},
    "a join of fewer than k": {"smallest_join": 2},
    "a join of more than its rows": {"smallest_join": 99},
    "more persons than records in a join": {"smallest_records": 6},
    "more persons than combinations in a join": {"smallest_join": 4, "smallest_records": 5},
    "values that were not asked": {"l": 2},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_contradicts_the_records_is_refused(wrong, tmp_path):
    release, _ = made(tmp_path)
    release.manifest["persons"] |= wrong
    folder = release.write(tmp_path / "release")
    with pytest.raises(InputError, match="persons"):
        read_published(folder)


@pytest.mark.parametrize("wrong", [{"l": None}, {"l": 1}, {"l": 3}])
def test_values_of_persons_are_those_asked_and_no_more_than_those_of_records(wrong, tmp_path):
    release, _ = made(tmp_path, stated=DIVERSE, protection=DISTINCT)
    release.manifest["joins"]["within_segments"] = {
        "at_least": 3,
        "l": 2,
        "sensitive": [{"column": "diag", "l": 2}],
        "of_records": {"l": 2, "t": None},
    }
    release.manifest["validation"]["success"] = True
    read_published(release.write(tmp_path / "sound"))
    release.manifest["persons"] |= wrong
    with pytest.raises(InputError, match=r"persons\.l"):
        read_published(release.write(tmp_path / "wrong"))


@pytest.mark.parametrize("key", ["number", "smallest_class", "smallest_join", "smallest_records"])
def test_stated_figures_that_are_possible_are_compared_beside_the_store_only(key, tmp_path):
    rows = [*ROWS, *(row._replace(person=row.person + 10) for row in ROWS)]
    credited = [credit(rows, 0), credit(rows, 1)]
    stated = figures(rows, credited, {}, diverse=False)
    release, store = made(tmp_path, stated=stated, rows=rows, credited=credited, diags={})
    release.manifest["persons"][key] = getattr(stated, key) - 1
    folder = release.write(tmp_path / "release")
    assert found(folder)[1]
    promises = read_promises(folder)
    evidence = gather_evidence(folder, promises, store)

    def untrue(promises):
        return [each.name for each in statements(promises, evidence) if each.stated != each.found]

    name = f"{key.replace('_', ' ')}, in persons"
    assert untrue(promises) == ([name] if key == "number" else [])
    more = stated._replace(**{key: getattr(stated, key) + 1})
    assert untrue(replace(promises, stated_persons=more)) == [name]


def test_more_persons_than_the_files_have_records_for_are_not_believed(tmp_path):
    release, _ = made(tmp_path)
    release.manifest["fragments"][0]["smallest_class"] = None
    release.manifest["fragments"][1]["smallest_class"] = None
    release.manifest["persons"]["smallest_class"] = 6
    verdict = check(release, tmp_path / "release")
    assert broken(verdict) == {"persons"}
    assert "more than the files allow: persons of the smallest" in achieved(verdict, "persons")


def test_the_evidence_holds_aggregates_only(tmp_path):
    release, store = made(tmp_path)
    folder = release.write(tmp_path / "release")
    evidence = gather_evidence(folder, read_promises(folder), store)
    assert evidence.persons.figures == PLAIN
    document = next(each for each in check(release, folder, store).documents if each.name == "persons")
    assert "who?" not in document.result
    assert json.loads(document.result)["success"] is True
