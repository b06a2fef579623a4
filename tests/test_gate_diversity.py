"""The gate on l, t, sensitive attributes and segments: what it finds is what the definitions give."""

import contextlib
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from gate_oracles import distance, largest_distance, level, smallest_level
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from protected_release import (
    DISTINCT,
    FIRST,
    MEMBERS,
    ORDER,
    PROTECTIONS,
    SECOND,
    SEGMENTS,
    TREE,
    achieved,
    broken,
    change,
    check,
    everything,
    fragment_of,
)
from published_folder import ClassOf, Fragment, Protection, Range, build, write_store

from validations.distances import largest_hierarchical, largest_ordered, write_nodes, write_ranks
from validations.diversity_levels import smallest_level as level_in_sql
from validations.gate import check_folder, write_validation
from validations.gather import gather_evidence
from validations.promises import read_promises
from validations.protection import Diversity


@pytest.fixture
def two():
    return build([FIRST, SECOND], k=5, protection=DISTINCT)


counted = st.dictionaries(st.sampled_from([*TREE, None]), st.integers(1, 9), min_size=1)
several = st.lists(counted, min_size=1, max_size=5)


def values_only(classes):
    return [Counter({value: n for value, n in each.items() if value is not None}) for each in classes]


@contextlib.contextmanager
def value_counts(classes):
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE value_counts (ec BIGINT, value VARCHAR, n BIGINT)")
        rows = [[ec, value, n] for ec, each in enumerate(classes) for value, n in each.items()]
        connection.executemany("INSERT INTO value_counts VALUES (?, ?, ?)", rows)
        yield connection


@settings(max_examples=30, deadline=None)
@given(several, st.sampled_from([0.1, 0.9, 1, 1.1, 1.5, 2.0, 3.25, 1e-30, 1e15]))
def test_levels_are_those_of_the_definitions(classes, c):
    with value_counts(classes) as connection:
        for model in ("distinct", "entropy", "recursive"):
            found = level_in_sql(connection, Diversity(model, 2, c if model == "recursive" else None))
            wanted = min(level(each, model, c) for each in values_only(classes))
            assert found == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(("c", "reached"), [(1.5, 1), (1.5000001, 2), (0.6, 0), (0.61, 1)])
def test_a_recursive_level_needs_strictly_fewer(c, reached):
    with value_counts([{"1": 3, "2": 2}]) as connection:
        assert level_in_sql(connection, Diversity("recursive", 2, c)) == reached


@settings(max_examples=30, deadline=None)
@given(several)
def test_distances_are_those_of_the_definitions(classes):
    counts = values_only(classes)
    overall = sum(counts, Counter())
    with value_counts(classes) as connection:
        found = {
            "equal": largest_hierarchical(connection, write_nodes(connection, None)[0]),
            "ordered": largest_ordered(connection, write_ranks(connection, ORDER)[0]),
            "hierarchical": largest_hierarchical(connection, write_nodes(connection, TREE)[0]),
        }
    for name, largest in found.items():
        wanted = [distance(each, overall, name, order=ORDER, hierarchy=TREE) for each in counts if each]
        assert largest == (pytest.approx(max(wanted), abs=1e-9) if wanted else None)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.dictionaries(st.integers(-30, 30), st.integers(1, 9), min_size=1), min_size=1, max_size=4))
def test_numbers_are_ordered_as_numbers(classes):
    counts = [Counter({str(value): n for value, n in each.items()}) for each in classes]
    overall = sum(counts, Counter())
    with value_counts(counts) as connection:
        values, absent = write_ranks(connection, None)
        largest = largest_ordered(connection, values)
    assert (values, absent) == (len(overall), 0)
    assert largest == pytest.approx(max(distance(each, overall, "ordered") for each in counts), abs=1e-9)


@pytest.mark.parametrize("text", ["", " ", "x", "nan", "inf", "-Infinity", "1,5"])
def test_what_is_no_finite_number_has_no_place_among_numbers(text):
    with value_counts([{"1": 2, text: 1}]) as connection:
        assert write_ranks(connection, None) == (1, 1)


records = st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.sampled_from([*TREE, None]))


@settings(max_examples=6, deadline=None)
@given(st.lists(records, min_size=1, max_size=20), st.sampled_from(PROTECTIONS))
def test_a_folder_shows_what_its_rows_hold_and_every_query_shows_the_same(listed, asked):
    assume(any(value for *_, value in listed))
    release = build([fragment_of("x", listed, ("diag",))], k=2, protection=asked)
    rows = release.tables[0].csv
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        verdict = check(release, Path(name))
        evidence = gather_evidence(Path(name), read_promises(Path(name)))
        shown = {o.name: duckdb.sql(o.query).fetchall() for o in verdict.promises if o.name in {"l", "t"}}
    for place, column in ((2, "class"), (1, "diag")):
        lowest = smallest_level(rows, 1, place, asked.l_model, asked.c)
        ground = {"order": asked.orders.get(column), "hierarchy": asked.hierarchies.get(column)}
        furthest = largest_distance(rows, 1, place, asked.t_distance, **ground)
        for file in evidence.files:
            values = next(each for each in file.values if each.column == column)
            assert values.level == pytest.approx(lowest, abs=1e-12)
            assert values.distance == pytest.approx(furthest, abs=1e-9)
            assert (file.file, column, pytest.approx(lowest, abs=1e-9)) in shown["l"]
            assert (file.file, column, pytest.approx(furthest, abs=1e-9)) in shown["t"]


def test_numbers_need_no_stated_order(tmp_path, monkeypatch):
    classes = [
        each._replace(values=[("3" if value == "none" else value,) for (value,) in each.values])
        for each in FIRST.classes
    ]
    asked = Protection(t=0.4, t_distance="ordered", orders={"class": ["b", "a"]})
    verdict = check(build([FIRST._replace(classes=classes)], k=5, protection=asked), tmp_path)
    assert verdict.success
    monkeypatch.chdir(tmp_path)
    query = next(outcome.query for outcome in verdict.promises if outcome.name == "t")
    shown = [largest for _, column, largest in duckdb.sql(query).fetchall() if column == "diag"]
    assert shown == [pytest.approx(verdict.figures.protected[0][1].t, abs=1e-6)] * 2


ALWAYS = {"hashes", "fragments", "records", "order", "formats", "k", "classes", "joins", "manifest"}


@pytest.mark.parametrize("asked", PROTECTIONS)
def test_a_sound_folder_keeps_every_promise(asked, tmp_path):
    release = build([FIRST, SECOND], k=5, protection=asked, scope="segments")
    store = write_store(tmp_path / "store", [FIRST, SECOND], MEMBERS, SEGMENTS)
    verdict = check(release, tmp_path / "alone")
    assert {outcome.name for outcome in verdict.promises} == ALWAYS | {"l", "t"}
    assert verdict.success
    assert verdict.figures.within_segments is None
    verdict = check(release, tmp_path / "beside the store", store)
    assert {outcome.name for outcome in verdict.promises} == ALWAYS | {"l", "t", "segments"}
    assert verdict.success
    duckdb.connect(store).close()


def test_the_figures_are_those_of_the_files(tmp_path):
    asked = replace(PROTECTIONS[1], l=1.2)
    release = build([FIRST, SECOND], k=5, protection=asked)
    figures = check(release, tmp_path).figures
    guarantees = release.manifest["guarantees"]
    assert figures.smallest_l == guarantees["l"]["achieved"] == 1.889881
    assert figures.largest_t == guarantees["t"]["achieved"]
    stated = [entry["protected"] for entry in release.manifest["fragments"]]
    assert [[each._asdict() for each in fragment] for fragment in figures.protected] == stated


def test_sensitive_values_change_no_figure_of_the_class(tmp_path):
    plain = FIRST._replace(sensitive=(), classes=[each._replace(values=()) for each in FIRST.classes])
    without = check(build([plain, SECOND], k=5), tmp_path / "without").figures
    beside = check(build([FIRST, SECOND], k=5, protection=DISTINCT), tmp_path / "with").figures
    for name in ("equivalence_classes", "smallest_class", "smallest_join", "smallest_records", "choices"):
        assert getattr(without, name) == getattr(beside, name)
    evidence = gather_evidence(tmp_path / "with", read_promises(tmp_path / "with"))
    assert [file.class_cells for file in evidence.files] == [(0, 0, 4)] * 4


@pytest.mark.parametrize(("l", "kept"), [(2, True), (3, False)])
def test_l_is_the_fewest_values_that_are_allowed(l, kept, two, tmp_path):  # noqa: E741
    two.manifest["guarantees"]["l"]["asked"] = l
    verdict = check(two, tmp_path)
    assert broken(verdict) == (set() if kept else {"l"})
    assert achieved(verdict, "l") == "smallest l: 2 (class), 3 (diag)"


@pytest.mark.parametrize(("l", "kept"), [(2.0, True), (2.000001, False)])
def test_an_entropy_that_is_just_reached(l, kept, tmp_path):  # noqa: E741
    fragment = Fragment({"x": "integer"}, [ClassOf((Range(1, 1),), {"a": 7, "b": 7})])
    release = build([fragment], k=5, protection=Protection(l=l, l_model="entropy"))
    assert release.manifest["guarantees"]["l"]["achieved"] == 2
    assert broken(check(release, tmp_path)) == (set() if kept else {"l"})


@pytest.mark.parametrize("name", ["equal", "ordered"])
@pytest.mark.parametrize(("less", "kept"), [(0, True), (0.000002, False)])
def test_t_is_the_largest_distance_that_is_allowed(name, less, kept, tmp_path):
    asked = Protection(
        t=0.9, t_distance=name, orders={"diag": ORDER, "class": ["a", "b"]} if name == "ordered" else {}
    )
    release = build([FIRST, SECOND], k=5, protection=asked)
    stated = release.manifest["guarantees"]["t"]
    stated["asked"] = stated["achieved"] - less
    assert broken(check(release, tmp_path)) == (set() if kept else {"t"})


def blank(release, row, *rows):
    for lines, nothing in ((release.tables[0].csv, ""), (release.tables[0].parquet, None)):
        for number in (row, *rows):
            lines[number][1] = nothing
        lines.sort(key=lambda line: [str(line[0]), line[1] or "", line[2]])
        lines.sort(key=lambda line: line[0] if isinstance(line[0], str) else str(line[0]["lower"]))


def test_a_blanked_value_counts_for_k_but_not_for_l(two, tmp_path):
    two.manifest["guarantees"]["l"]["asked"] = 2
    blank(two, *[row for row in range(5) if two.tables[0].csv[row][1] in {"10", "2"}])
    verdict = check(two, tmp_path)
    assert broken(verdict) == {"l", "manifest"}
    assert verdict.figures.smallest_class == (5, 5)


@pytest.mark.parametrize("asked", [DISTINCT, Protection(t=0.99, t_distance="equal")])
def test_a_class_without_any_value_satisfies_nothing(asked, tmp_path):
    release = build([FIRST, SECOND], k=5, protection=asked)
    blank(release, *range(5))
    verdict = check(release, tmp_path)
    assert broken(verdict) == {"l" if asked.l else "t", "manifest"}
    assert verdict.figures.largest_t is None
    assert "1 equivalence class without a value" in achieved(verdict, "l" if asked.l else "t")


def test_formats_that_differ_in_a_sensitive_value(two, tmp_path):
    row = next(row for row in two.tables[0].parquet if row[1] == "10")
    row[1] = "100"
    assert broken(check(two, tmp_path)) == {"formats"}


def test_a_missing_value_and_an_empty_text_are_not_the_same_in_parquet(two, tmp_path):
    row = next(row for row in two.tables[0].parquet if row[1] is None)
    row[1] = ""
    assert broken(check(two, tmp_path)) == {"formats"}


@pytest.mark.parametrize("rows", ["csv", "parquet"])
def test_sensitive_values_out_of_order(rows, two, tmp_path):
    lines = getattr(two.tables[0], rows)
    lines[1], lines[2] = lines[2], lines[1]
    assert broken(check(two, tmp_path)) == {"order"}


def test_a_sensitive_attribute_before_the_features(two, tmp_path):
    table = two.tables[0]
    for row in (table.names, table.types, *table.csv, *table.parquet):
        row[0], row[1] = row[1], row[0]
    order = sorted(range(len(table.csv)), key=lambda row: [text.encode() for text in table.csv[row]])
    table.csv, table.parquet = ([rows[row] for row in order] for rows in (table.csv, table.parquet))
    assert broken(check(two, tmp_path)) == {"fragments"}


def test_a_sensitive_attribute_that_is_not_there(two, tmp_path):
    table = two.tables[0]
    for row in (table.names, table.types, *table.csv, *table.parquet):
        del row[1]
    table.csv, table.parquet = (
        sorted(rows, key=lambda row: [str(row[0]), row[1]]) for rows in (table.csv, table.parquet)
    )
    verdict = check(two, tmp_path)
    assert broken(verdict) == {"fragments", "l", "manifest"}
    assert "not there" in achieved(verdict, "l")


def test_an_undeclared_sensitive_attribute_makes_classes_smaller(two, tmp_path):
    table = two.tables[1]
    table.names.insert(1, "other")
    table.types.insert(1, "VARCHAR")
    for rows in (table.csv, table.parquet):
        for number, row in enumerate(rows):
            row.insert(1, f"{number:02}")
    assert {"fragments", "k", "l"} <= broken(check(two, tmp_path))


def test_a_file_that_cannot_be_read_breaks_l_and_t(tmp_path):
    asked = Protection(l=2, l_model="distinct", t=0.5, t_distance="equal")
    folder = build([FIRST, SECOND], k=5, protection=asked).write(tmp_path)
    (folder / "fragment_1.parquet").unlink()
    verdict = check_folder(folder, read_promises(folder))
    assert {"l", "t"} <= broken(verdict)
    assert "missing" in achieved(verdict, "l")


def test_an_empty_fragment_breaks_l_and_t(tmp_path):
    asked = Protection(l=2, l_model="distinct", t=0.5, t_distance="ordered", orders=PROTECTIONS[1].orders)
    release = build([FIRST, SECOND], k=5, protection=asked)
    release.tables[0].csv.clear()
    release.tables[0].parquet.clear()
    assert {"l", "t", "records"} <= broken(check(release, tmp_path))


GROUNDS = {
    "another order": (PROTECTIONS[1], ("order",), ["10", "none", "1", "2"], {"manifest"}),
    "no order, though values are no numbers": (PROTECTIONS[1], ("order",), None, {"t", "manifest"}),
    "an order without a value": (PROTECTIONS[1], ("order",), ["10", "none", "1"], {"t", "manifest"}),
    "another hierarchy": (
        PROTECTIONS[2],
        ("hierarchy",),
        TREE | {"2": ["high", "number", "*"]},
        {"manifest"},
    ),
    "a hierarchy without a value": (
        PROTECTIONS[2],
        ("hierarchy",),
        {value: TREE[value] for value in ("1", "2", "none")},
        {"t", "manifest"},
    ),
}


@pytest.mark.parametrize(("asked", "place", "value", "found"), GROUNDS.values(), ids=GROUNDS)
def test_what_a_distance_rests_on(asked, place, value, found, tmp_path):
    release = build([FIRST, SECOND], k=5, protection=asked)
    release.manifest["protected"][1][place[0]] = value
    verdict = check(release, tmp_path)
    assert broken(verdict) == found
    if "t" in found:
        assert "could not be checked: diag: 1 of its values" in achieved(verdict, "t")


def test_the_documents_hold_no_value(tmp_path):
    values = {"1": "SECRET1", "2": "SECRET2", "10": "SECRET10", "none": "SECRETNONE"}
    classes = [
        each._replace(values=[(values.get(value),) for (value,) in each.values]) for each in FIRST.classes
    ]
    tree = {values[value]: [*path[:2], "*"] for value, path in TREE.items()}
    tree = {value: [f"SECRET{path[0]}", f"SECRET{path[1]}", "*"] for value, path in tree.items()}
    release = build(
        [FIRST._replace(classes=classes), SECOND],
        k=5,
        protection=replace(PROTECTIONS[2], hierarchies=PROTECTIONS[2].hierarchies | {"diag": tree}),
        scope="segments",
    )
    store = write_store(tmp_path / "store", [FIRST, SECOND], MEMBERS, SEGMENTS)
    verdict = check(release, tmp_path / "release", store)
    assert verdict.success
    assert "SECRET" not in everything(verdict)
    write_validation(verdict, tmp_path / "release")
    for name in ("l", "t", "segments"):
        assert (tmp_path / "release" / "validation" / f"{name}.json").is_file()
    assert check_folder(tmp_path / "release", read_promises(tmp_path / "release")).success


FIGURES = {
    "l": (["guarantees", "l", "achieved"], 3),
    "t": (["guarantees", "t", "achieved"], 0.06),
    "l of a fragment": (["fragments", 0, "protected", 1, "l"], 2),
    "t of a fragment": (["fragments", 1, "protected", 0, "t"], 0.1),
}


@pytest.mark.parametrize(("place", "value"), FIGURES.values(), ids=FIGURES)
def test_a_wrong_figure_in_the_manifest(place, value, tmp_path):
    release = build([FIRST, SECOND], k=5, protection=PROTECTIONS[0])
    change(release.manifest, place, value)
    assert broken(check(release, tmp_path)) == {"manifest"}
