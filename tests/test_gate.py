"""The gate finds the damage that was done to a published folder, and nothing that does not follow from it."""

import ast
import copy
import json
import os
from pathlib import Path

import duckdb
import pytest
from published_folder import Categories, ClassOf, Fragment, Range, build, sha256, smallest

from tasks.errors import InputError
from validations import suites
from validations.findings import Finding, evidence_frame
from validations.gate import check_folder, write_validation
from validations.k_anonymity import ExpectEveryClassToHoldK
from validations.promises import read_promises

SQL = '\'; DROP TABLE "x"; --\n{}'
FIRST = Fragment(
    {"age": "integer", 'a"b, c': "categorical"},
    [
        ClassOf((Range(20, 30), Categories(("x", "y"))), {"a": 3, "b": 2}),
        ClassOf((Range(31, 31), Categories(("[x",))), {"a": 3, "b": 1, "c": 1}),
        ClassOf((Range(None, None, missing=True), Categories(("no", "yes"), missing=True)), {"b": 3, "c": 2}),
    ],
)
SECOND = Fragment(
    {"weight": "decimal", SQL: "categorical"},
    [
        ClassOf((Range(1e-05, 17.99), Categories(())), {"a": 4, "b": 2, "c": 1}),
        ClassOf((Range(18.0, 18.0, missing=True), Categories(('say "hé"', "z"))), {"a": 2, "b": 4, "c": 2}),
    ],
)


def one_feature(name, *counts):
    classes = [ClassOf((Range(place, place),), each) for place, each in enumerate(counts)]
    return Fragment({name: "integer"}, classes)


@pytest.fixture
def two():
    return build([FIRST, SECOND], k=5)


@pytest.fixture
def crossing():
    """Two fragments that one changed class value makes joinable in a single row."""
    counts = {"a": 5}, {"b": 4, "c": 1}
    return build([one_feature("x", *counts), one_feature("y", *counts)], k=5)


@pytest.fixture
def per_class():
    return build([FIRST, SECOND], k=5, delta=0.5)


def check(release, folder):
    release.write(folder)
    return check_folder(folder, read_promises(folder))


def broken(verdict):
    found = {outcome.name for outcome in verdict.promises if not outcome.success}
    assert verdict.success == (not found)
    return found


def texts(verdict):
    return " ".join(f"{o.title} {o.asked} {o.achieved}" for o in verdict.promises) + " ".join(
        document.result + document.suite for document in verdict.documents
    )


ALWAYS = {"hashes", "fragments", "records", "order", "formats", "k", "classes", "manifest"}
SOUND = {
    "two fragments": ([FIRST, SECOND], None),
    "three fragments": ([FIRST, SECOND, one_feature("z", {"a": 6, "b": 6, "c": 3})], None),
    "one fragment": ([FIRST], None),
    "class values per class": ([FIRST, SECOND], 0.5),
    "one fragment, per class": ([SECOND], 0.9),
    "no common class value": ([one_feature("x", {"a": 5}), one_feature("y", {"b": 5})], None),
}


@pytest.mark.parametrize(("fragments", "delta"), SOUND.values(), ids=SOUND)
def test_a_sound_folder_keeps_every_promise(fragments, delta, tmp_path):
    verdict = check(build(fragments, k=5, delta=delta), tmp_path)
    assert broken(verdict) == set()
    assert {outcome.name for outcome in verdict.promises} == ALWAYS | {"joins" if delta is None else "delta"}


def test_the_figures_are_those_of_the_files(two, tmp_path):
    figures = check(two, tmp_path).figures
    assert figures.equivalence_classes == (3, 2)
    assert figures.smallest_class == (5, 7)
    assert [figures.smallest_join, figures.smallest_records] == smallest([FIRST, SECOND]) == [8, 3]
    assert figures.choices == 6
    assert figures.smallest_eta is None


def test_one_fragment_has_no_joins(tmp_path):
    figures = check(build([FIRST], k=5), tmp_path).figures
    assert (figures.smallest_join, figures.smallest_records, figures.choices) == (None, None, 0)


def test_a_removed_row(two, tmp_path):
    for rows in (two.tables[1].csv, two.tables[1].parquet):
        del rows[3]  # of the class value b, in the larger class
    assert broken(check(two, tmp_path)) == {"records"}


def test_a_row_removed_from_the_csv_alone(two, tmp_path):
    del two.tables[1].csv[3]
    assert broken(check(two, tmp_path)) == {"records", "formats"}


def test_a_changed_class_value_that_opens_a_join(crossing, tmp_path):
    for rows in (crossing.tables[0].csv, crossing.tables[0].parquet):
        rows[4][-1] = "c"
    verdict = check(crossing, tmp_path)
    assert broken(verdict) == {"classes", "joins", "manifest"}
    assert verdict.figures.smallest_join == 1


TOTALS = "class totals of fragments differ by more than changed class values explain"


@pytest.mark.parametrize(
    ("changed", "kept"), [([0, 3, 1], True), ([1, 2, 0], True), ([0, 2, 1], False), ([2, 0, 0], False)]
)
def test_class_totals_differ_by_changed_class_values_only(changed, kept, tmp_path):
    counts = {"a": 8, "b": 5, "c": 5}, {"a": 5, "b": 6, "c": 7}, {"a": 7, "b": 6, "c": 5}
    release = build([one_feature(name, each) for name, each in zip("xyz", counts, strict=True)], k=5)
    assert release.manifest["changed_class_values"]["per_fragment"] == [0, 3, 1]
    total = sum(changed)
    release.manifest["changed_class_values"] = {
        "total": total,
        "share": total / 54,
        "per_fragment": changed,
    }
    verdict = check(release, tmp_path)
    assert broken(verdict) == (set() if kept else {"classes"})
    assert any(TOTALS in outcome.achieved for outcome in verdict.promises) != kept
    assert any("unexplained" in document.suite for document in verdict.documents)


def test_class_totals_per_class_are_no_records(tmp_path):
    release = build([one_feature("x", {"a": 6}), one_feature("y", {"a": 3, "b": 3})], k=5, delta=0.5)
    assert "classes" not in broken(check(release, tmp_path))


@pytest.mark.parametrize(("enforcement", "fragments"), [("none", 2), ("dependency_graph", 1)])
def test_nothing_is_changed_without_enforcement_or_other_fragments(enforcement, fragments, tmp_path):
    release = build([FIRST, SECOND][:fragments], k=5)
    per_fragment = [1, *[0] * (fragments - 1)]
    changed = {"total": 1, "share": 1 / 15 / fragments, "per_fragment": per_fragment}
    release.manifest |= {"enforcement": enforcement, "changed_class_values": changed}
    release.write(tmp_path)
    with pytest.raises(InputError, match="changed only by an enforcement"):
        read_promises(tmp_path)


def test_a_class_split_below_k(two, tmp_path):
    table = two.tables[1]
    for row in (0, 1):
        table.csv[row][0], table.parquet[row][0] = "17.5", Range(17.5, 17.5).value
    assert table.csv == sorted(table.csv)
    assert broken(check(two, tmp_path)) == {"k", "manifest"}


@pytest.mark.parametrize(("size", "kept"), [(4, False), (5, True)])
def test_k_is_the_smallest_size_that_is_allowed(size, kept, tmp_path):
    release = build([one_feature("x", {"a": size}, {"a": 9})], k=5)
    assert broken(check(release, tmp_path)) == (set() if kept else {"k"})


@pytest.mark.parametrize(("rows", "kept"), [(4, False), (5, True)])
def test_k_is_the_smallest_join_that_is_allowed(rows, kept, tmp_path):
    fragments = [
        one_feature("x", {"a": 2, "b": 3}, {"c": 5}),
        one_feature("y", {"a": rows - 2, "c": 8}, {"b": 5}),
    ]
    fragments[0].classes[0].counts.update(a=1, b=4)
    fragments[1].classes[0].counts.update(a=rows)
    release = build(fragments, k=5)
    release.manifest["records"] = 10
    assert smallest(fragments)[0] == rows
    assert broken(check(release, tmp_path)) - {"records"} == (set() if kept else {"joins"})


@pytest.mark.parametrize("rows", ["csv", "parquet"])
@pytest.mark.parametrize("places", [(0, 5), (0, 1), (0, 14)])
def test_two_swapped_rows(rows, places, two, tmp_path):
    lines = getattr(two.tables[0], rows)
    lines[places[0]], lines[places[1]] = lines[places[1]], lines[places[0]]
    alike = lines[places[0]] == lines[places[1]]
    assert broken(check(two, tmp_path)) == (set() if alike else {"order"})


def test_both_formats_in_another_order(two, tmp_path):
    two.tables[0].csv.reverse()
    two.tables[0].parquet.reverse()
    assert broken(check(two, tmp_path)) == {"order"}


def test_an_undeclared_column(two, tmp_path):
    table = two.tables[0]
    table.names.insert(0, "record")
    table.types.insert(0, "VARCHAR")
    for row in (*table.csv, *table.parquet):
        row.insert(0, "1")
    assert broken(check(two, tmp_path)) == {"fragments"}


def test_a_column_that_numbers_the_records_breaks_k_as_well(two, tmp_path):
    table = two.tables[0]
    table.names.insert(0, "record")
    table.types.insert(0, "VARCHAR")
    for rows in (table.csv, table.parquet):
        for number, row in enumerate(rows):
            row.insert(0, f"{number:02}")
    assert {"fragments", "k"} <= broken(check(two, tmp_path))


def test_a_feature_in_two_fragments(two, tmp_path):
    table = two.tables[1]
    table.names.insert(0, "age")
    table.types.insert(0, two.tables[0].types[0])
    for row in table.csv:
        row.insert(0, "7")
    for row in table.parquet:
        row.insert(0, Range(7, 7).value)
    two.manifest["fragments"][1]["features"].insert(0, "age")
    assert broken(check(two, tmp_path)) == {"fragments"}


def test_columns_in_another_order(two, tmp_path):
    table = two.tables[0]
    for row in (table.names, table.types, *table.csv, *table.parquet):
        row[0], row[1] = row[1], row[0]
    order = sorted(range(len(table.csv)), key=lambda row: [text.encode() for text in table.csv[row]])
    table.csv, table.parquet = ([rows[row] for row in order] for rows in (table.csv, table.parquet))
    assert broken(check(two, tmp_path)) == {"fragments"}


def test_a_renamed_class_column(two, tmp_path):
    two.tables[0].names[-1] = "label"
    assert broken(check(two, tmp_path)) == {"fragments", "k", "classes", "joins", "manifest"}


def test_a_parquet_column_of_another_type(two, tmp_path):
    table = two.tables[0]
    table.types[0] = "VARCHAR"
    for row in table.parquet:
        row[0] = str(row[0])
    assert broken(check(two, tmp_path)) == {"fragments", "formats", "order"}


def test_three_fragments_that_are_safe_in_pairs_only(tmp_path):
    counts = {"a": 1, "b": 2, "c": 2}, {"a": 1, "b": 2, "d": 2}, {"a": 1, "c": 2, "d": 2}
    verdict = check(
        build([one_feature(name, each) for name, each in zip("xyz", counts, strict=True)], k=5), tmp_path
    )
    assert broken(verdict) == {"joins"}
    assert verdict.figures.smallest_join == 1


def test_formats_that_differ_in_a_bound(two, tmp_path):
    for row in two.tables[0].parquet:
        if row[0]["upper"] == 30:
            row[0]["upper"] = 29
    assert broken(check(two, tmp_path)) == {"formats"}


def test_formats_that_differ_in_missing(two, tmp_path):
    for row in two.tables[1].parquet:
        row[0]["missing"] = False
    assert broken(check(two, tmp_path)) == {"formats"}


@pytest.mark.parametrize(
    ("column", "text"),
    [(0, "[30, 20]"), (0, "20 - 30"), (0, "[20, 30] or gone"), (1, "[x"), (1, '{"y", "x"}')],
)
def test_a_cell_of_no_known_form(column, text, two, tmp_path):
    for row in two.tables[0].csv[5:10]:
        row[column] = text
    two.tables[0].csv[5:] = sorted(two.tables[0].csv[5:])
    assert "formats" in broken(check(two, tmp_path)) <= {"formats", "order"}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_wrong_hash(kind, two, tmp_path):
    two.write(tmp_path)
    two.manifest["fragments"][0]["sha256"][kind] = "f" * 64
    (tmp_path / "release.json").write_text(json.dumps(two.manifest))
    assert broken(check_folder(tmp_path, read_promises(tmp_path))) == {"hashes"}


def test_an_empty_fragment(two, tmp_path):
    two.tables[1].csv.clear()
    two.tables[1].parquet.clear()
    assert broken(check(two, tmp_path)) == {"records", "k", "joins", "manifest"}


def test_a_blank_class(two, tmp_path):
    two.tables[0].csv[5][-1], two.tables[0].parquet[5][-1] = "", None
    assert two.tables[0].csv == sorted(two.tables[0].csv)
    assert broken(check(two, tmp_path)) == {"classes"}


@pytest.mark.parametrize(
    "name", ["fragment_3.csv", "original.csv", "validation/records.csv", ".store.duckdb"]
)
def test_an_undeclared_file(name, two, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("age\n20\n")
    assert broken(check(two, tmp_path)) == {"hashes"}


def test_what_a_release_adds_to_its_fragments_is_declared(two, tmp_path):
    (tmp_path / "report.html").write_text("<html></html>")
    write_validation(check(two, tmp_path), tmp_path)
    assert broken(check(two, tmp_path)) == set()


def test_a_fragment_that_is_a_link_to_elsewhere(two, tmp_path):
    folder = two.write(tmp_path / "release")
    (folder / "fragment_1.csv").rename(tmp_path / "elsewhere.csv")
    (folder / "fragment_1.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert broken(check_folder(folder, read_promises(folder))) == {"hashes", "formats"}


def damaged(release, folder, name, damage):
    """Check a release one of whose files was damaged; the manifest's hash is made to fit."""
    path = release.write(folder) / name
    path.write_bytes(damage(path.read_bytes()))
    number, kind = int(path.stem[-1]), path.suffix[1:]
    release.manifest["fragments"][number - 1]["sha256"][kind] = sha256(path)
    (folder / "release.json").write_text(json.dumps(release.manifest))
    return check_folder(folder, read_promises(folder))


@pytest.mark.parametrize("place", ["date=2026", "cls=zz/age=3"])
def test_names_of_folders_above_add_no_columns(place, two, tmp_path):
    assert broken(check(two, tmp_path / place)) == set()


REWRITTEN = {
    "needless quotes": lambda text: text.replace(b"\n31,", b'\n"31",', 1),
    "quotes around nothing": lambda text: text.replace(b"\n,", b'\n"",', 1),
    "no final newline": lambda text: text[:-1],
    "a quoted header": lambda text: text.replace(b"age", b'"age"', 1),
}


@pytest.mark.parametrize("damage", REWRITTEN.values(), ids=REWRITTEN)
def test_a_csv_that_is_not_written_plainly(damage, two, tmp_path):
    assert broken(damaged(two, tmp_path, "fragment_1.csv", damage)) == {"formats"}


@pytest.mark.parametrize("damage", [lambda text: text + b"\n", lambda text: b"\xef\xbb\xbf" + text])
def test_a_csv_with_a_blank_line_or_a_byte_order_mark(damage, two, tmp_path):
    assert "formats" in broken(damaged(two, tmp_path, "fragment_1.csv", damage))


def respelled(release, column, old, new, rows):
    for row in [row for row in release.tables[1].csv if row[column] == old][:rows]:
        row[column] = new
    release.tables[1].csv.sort(key=lambda row: [text.encode() for text in row])
    return release


@pytest.mark.parametrize("text", ["18.00 or missing", "1.8e+01 or missing"])
def test_another_spelling_of_a_number(text, two, tmp_path):
    assert (
        "formats"
        in broken(check(respelled(two, 0, "18.0 or missing", text, 9), tmp_path))
        <= {
            "formats",
            "order",
        }
    )


def test_another_spelling_of_a_category(two, tmp_path):
    old = two.tables[1].csv[0][1]
    assert broken(check(respelled(two, 1, old, old.replace("z", r"\u007a"), 9), tmp_path)) == {"formats"}


def test_two_zeros_are_one_value(tmp_path):
    cells = (Range(-0.0, -0.0),), (Range(0.0, 0.0),)
    release = build([Fragment({"x": "decimal"}, [ClassOf(each, {"a": 5}) for each in cells])], k=5)
    assert "formats" in broken(check(release, tmp_path))


def test_metadata_in_a_parquet_file(two, tmp_path):
    two.write(tmp_path)
    path = tmp_path / "fragment_1.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE kept AS FROM '{path}'")
        connection.execute(f"COPY kept TO '{path}' (FORMAT parquet, KV_METADATA {{note: 'SECRET'}})")
    verdict = damaged(two, tmp_path / "again", "fragment_1.parquet", lambda _: path.read_bytes())
    assert broken(verdict) == {"formats"}
    assert "SECRET" not in texts(verdict)


def test_a_long_cell_is_read(tmp_path):
    cell = Categories(("x" * 3_000_000,))
    release = build([Fragment({"x": "categorical"}, [ClassOf((cell,), {"a": 5})])], k=5)
    assert broken(check(release, tmp_path)) == set()


@pytest.mark.parametrize("name", ["report.html", "validation"])
def test_links_are_undeclared(name, two, tmp_path):
    folder = two.write(tmp_path / "release")
    (tmp_path / "elsewhere").mkdir()
    (folder / name).symlink_to(tmp_path / "elsewhere")
    assert broken(check_folder(folder, read_promises(folder))) == {"hashes"}


def test_pipes_and_misplaced_folders_are_undeclared(two, tmp_path):
    folder = two.write(tmp_path)
    (folder / "report.html").mkdir()
    assert broken(check_folder(folder, read_promises(folder))) == {"hashes"}
    (folder / "fragment_1.csv").unlink()
    os.mkfifo(folder / "fragment_1.csv")
    assert {"hashes", "records"} <= broken(check_folder(folder, read_promises(folder)))


def test_a_huge_number_of_choices_is_compared_exactly(two, tmp_path):
    two.manifest["joins"]["choices"] = 10**400
    assert broken(check(two, tmp_path)) == {"manifest"}


MANIFEST_FIGURES = [
    ("guarantees", "k", "achieved"),
    ("fragments", 1, "equivalence_classes"),
    ("fragments", 1, "smallest_class"),
    ("joins", "smallest_join"),
    ("joins", "smallest_records"),
    ("joins", "choices"),
]


@pytest.mark.parametrize("place", MANIFEST_FIGURES, ids=lambda place: place[-1])
def test_a_wrong_figure_in_the_manifest(place, two, tmp_path):
    *way, last = place
    entry = two.manifest
    for step in way:
        entry = entry[step]
    entry[last] += 1
    assert broken(check(two, tmp_path)) == {"manifest"}


def test_a_wrong_number_of_records_in_the_manifest(two, tmp_path):
    two.manifest["records"] += 1
    assert broken(check(two, tmp_path)) == {"records"}


def test_limits_are_checked_when_asked(two, tmp_path):
    two.manifest["limits"] = {"max_information_loss": 0.25, "max_changed_class_values": 0.0}
    assert broken(check(two, tmp_path)) == set()
    two.manifest["limits"]["max_information_loss"] = 0.24
    assert broken(check(two, tmp_path)) == {"limits"}


def test_a_class_value_listed_twice(per_class, tmp_path):
    table = per_class.tables[0]
    blank = max(row for row in range(5, 10) if table.csv[row][-1] == "")
    table.csv[blank][-1] = table.parquet[blank][-1] = table.csv[blank + 1][-1]
    assert broken(check(per_class, tmp_path)) == {"classes"}


def test_a_class_that_lists_no_value(per_class, tmp_path):
    table = per_class.tables[0]
    for row in range(5, 10):
        table.csv[row][-1], table.parquet[row][-1] = "", None
    assert broken(check(per_class, tmp_path)) == {"classes"}


def test_a_delta_that_is_not_reached(tmp_path):
    counts = {"a": 1, "b": 1, "c": 3}, {"c": 1, "d": 1, "e": 3}
    fragments = [one_feature("x", counts[0]), one_feature("y", counts[1])]
    release = build(fragments, k=5, delta=0.138)
    release.manifest["guarantees"]["delta"]["achieved"] = 0.138888
    assert broken(check(release, tmp_path)) == set()
    release.manifest["guarantees"]["delta"]["asked"] = 0.14
    verdict = check(release, tmp_path)
    assert broken(verdict) == {"delta"}
    assert verdict.figures.smallest_eta == 0.138888 < 5 / 36
    release.manifest["guarantees"]["delta"] = {"asked": 0.1, "achieved": 0.15}
    assert broken(check(release, tmp_path)) == {"manifest"}


UNREADABLE = ALWAYS - {"fragments", "hashes"} | {"joins"}


def test_a_missing_file(two, tmp_path):
    two.write(tmp_path)
    (tmp_path / "fragment_1.csv").unlink()
    assert broken(check_folder(tmp_path, read_promises(tmp_path))) == UNREADABLE | {"fragments", "hashes"}


@pytest.mark.parametrize("damage", ["SECRET\n", "1,2,SECRET,4\n", '1,"SECRET\n', "\xff,SECRET,a\n"])
def test_a_csv_whose_rows_cannot_be_read(damage, two, tmp_path):
    two.write(tmp_path)
    path = tmp_path / "fragment_1.csv"
    path.write_bytes(path.read_bytes() + damage.encode("latin-1"))
    two.manifest["fragments"][0]["sha256"]["csv"] = sha256(path)
    (tmp_path / "release.json").write_text(json.dumps(two.manifest))
    verdict = check_folder(tmp_path, read_promises(tmp_path))
    assert broken(verdict) == UNREADABLE
    assert "SECRET" not in texts(verdict)


def test_files_that_are_something_else(two, tmp_path):
    two.write(tmp_path)
    (tmp_path / "fragment_1.parquet").write_bytes(b"SECRET" * 100)
    (tmp_path / "fragment_2.csv").write_bytes(b"")
    verdict = check_folder(tmp_path, read_promises(tmp_path))
    assert broken(verdict) == UNREADABLE | {"fragments", "hashes"}
    assert "SECRET" not in texts(verdict)


def test_a_folder_in_place_of_a_file(two, tmp_path):
    two.write(tmp_path)
    (tmp_path / "fragment_1.parquet").unlink()
    (tmp_path / "fragment_1.parquet").mkdir()
    verdict = check_folder(tmp_path, read_promises(tmp_path))
    assert broken(verdict) == {"hashes", "fragments", "records", "order", "formats", "k", "classes"}


def test_a_csv_with_other_line_ends(two, tmp_path):
    two.write(tmp_path)
    path = tmp_path / "fragment_1.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert {"records", "hashes"} <= broken(check_folder(tmp_path, read_promises(tmp_path)))


@pytest.mark.parametrize("name", ["a, b", "[x]", "st*r", "quo'te", "naïve"])
def test_the_folder_may_have_any_name(name, two, tmp_path):
    check(build([SECOND, FIRST], k=5), tmp_path / "x")
    check(build([SECOND, FIRST], k=5), tmp_path / "star")
    assert broken(check(two, tmp_path / name)) == set()


def test_every_query_runs_inside_the_folder_and_shows_the_evidence(two, per_class, tmp_path, monkeypatch):
    for release, folder in ((two, tmp_path / "records"), (per_class, tmp_path / "classes")):
        verdict = check(release, folder)
        monkeypatch.chdir(folder)
        shown = {o.name: duckdb.sql(o.query).fetchall() for o in verdict.promises if o.query}
        assert {row[1:] for row in shown["records"]} == {(15,)}
        assert {row[1] for row in shown["order"]} == {0}
        assert {row[1] for row in shown["classes"]} == {0}
        assert sorted({row[1:] for row in shown["k"]}) == [(5, 3), (7, 2)]
        if "joins" in shown:
            assert shown["joins"] == [("1, 2", verdict.figures.smallest_join)]


def test_the_join_query_covers_every_set_of_three(tmp_path, monkeypatch):
    counts = {"a": 1, "b": 2, "c": 2}, {"a": 1, "b": 2, "d": 2}, {"a": 1, "c": 2, "d": 2}
    release = build([one_feature(name, each) for name, each in zip("xyz", counts, strict=True)], k=5)
    verdict = check(release, tmp_path)
    monkeypatch.chdir(tmp_path)
    query = next(outcome.query for outcome in verdict.promises if outcome.name == "joins")
    assert dict(duckdb.sql(query).fetchall()) == {"1, 2": 5, "1, 3": 5, "2, 3": 5, "1, 2, 3": 1}


def test_the_documents_are_complete_and_hold_no_cell(two, tmp_path):
    verdict = check(two, tmp_path)
    write_validation(verdict, tmp_path)
    names = {outcome.name for outcome in verdict.promises}
    assert {path.stem for path in (tmp_path / "validation").glob("*.json")} == names
    assert {path.stem for path in (tmp_path / "validation" / "suites").glob("*.json")} == names
    for name in names:
        result = json.loads((tmp_path / "validation" / f"{name}.json").read_text())
        suite = json.loads((tmp_path / "validation" / "suites" / f"{name}.json").read_text())
        assert result["success"]
        assert result["statistics"]["evaluated_expectations"] == len(suite["expectations"]) > 2
        assert all(each["description"] for each in suite["expectations"])
    for cell in ("17.99", "[20, 30]", "yes", "1e-05"):
        assert cell not in texts(verdict)


def test_the_gate_writes_nothing_but_the_documents(two, tmp_path, monkeypatch, capfd):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    before = sorted(two.write(tmp_path / "release").iterdir())
    check_folder(tmp_path / "release", read_promises(tmp_path / "release"))
    assert sorted((tmp_path / "release").iterdir()) == before
    assert not list((tmp_path / "elsewhere").iterdir())
    assert capfd.readouterr() == ("", "")


def change(manifest, place, value):
    changed = copy.deepcopy(manifest)
    *way, last = place
    entry = changed
    for step in way:
        entry = entry[step]
    if value is KeyError:
        del entry[last]
    else:
        entry[last] = value
    return changed


MALFORMED = {
    "k missing": (["guarantees", "k"], KeyError),
    "k as text": (["guarantees", "k", "asked"], "SECRET"),
    "k of zero": (["guarantees", "k", "asked"], 0),
    "k true": (["guarantees", "k", "asked"], True),
    "another guarantee": (["guarantees", "guarantee", "asked"], "records"),
    "l asked": (["guarantees", "l", "asked"], 3),
    "delta above one": (["guarantees", "delta", "asked"], 1.5),
    "delta without per class": (["guarantees", "delta", "asked"], 0.5),
    "per class without delta": (["class_values"], "per_class"),
    "no fragments": (["fragments"], []),
    "a file elsewhere": (["fragments", 0, "csv"], "../SECRET.csv"),
    "a pattern as file": (["fragments", 0, "parquet"], "*.parquet"),
    "a hash that is none": (["fragments", 0, "sha256", "csv"], "SECRET"),
    "a kind that is none": (["columns", 0, "kind"], "SECRET"),
    "the class among the features": (["columns", 0, "name"], "class"),
    "a feature twice": (["columns", 0, "name"], SQL),
    "a negative count": (["records"], -1),
    "k of one": (["guarantees", "k", "asked"], 1),
    "a huge k": (["guarantees", "k", "asked"], 2**31),
    "a huge count": (["records"], 2**63),
    "a loss above one": (["measures", "information_loss", "fragmented"], 1.5),
    "an infinite loss": (["measures", "information_loss", "fragmented"], 1e999),
    "suppressed records": (["suppressed_records"], 1),
    "another guarantee achieved": (["guarantees", "guarantee", "achieved"], "SECRET"),
    "a failed validation": (["validation", "success"], False),
    "another fragment's feature": (["columns", 0, "fragment"], 2),
    "a fragment that is none": (["columns", 0, "fragment"], 9),
    "a total that is no sum": (["changed_class_values", "total"], 3),
    "a share that is none": (["changed_class_values", "share"], 0.1),
    "an unknown enforcement": (["enforcement"], "SECRET"),
    "per class by enforcement alone": (["enforcement"], "delta_selectivity"),
    "not an object": ([], None),
}


@pytest.mark.parametrize(("place", "value"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_manifest_is_refused_in_one_line(place, value, two, tmp_path):
    two.write(tmp_path)
    changed = change(two.manifest, place, value) if place else [1]
    (tmp_path / "release.json").write_text(json.dumps(changed))
    with pytest.raises(InputError) as refused:
        read_promises(tmp_path)
    assert "release.json" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff", b"NaN", b'{"records": NaN}', b"[" * 100_000])
def test_a_manifest_that_is_no_json_is_refused(content, tmp_path):
    if content is not None:
        (tmp_path / "release.json").write_bytes(content)
    with pytest.raises(InputError, match=r"release\.json"):
        read_promises(tmp_path)
    with pytest.raises(InputError, match="folder"):
        read_promises(tmp_path / "nowhere")


def test_a_manifest_that_says_one_thing_twice_is_refused(two, tmp_path):
    path = two.write(tmp_path) / "release.json"
    path.write_text('{"records": 1, ' + path.read_text()[1:])
    with pytest.raises(InputError, match="two entries"):
        read_promises(tmp_path)


def test_a_path_that_cannot_be_looked_up_is_refused(tmp_path):
    with pytest.raises(InputError):
        read_promises(tmp_path / ("x" * 5000))


def judged_alone(finding):
    context = suites.quiet_context()
    return suites.validate(context, finding).success


def finding_of(sizes, lines):
    return Finding(
        name="k",
        title="",
        asked="",
        achieved="",
        evidence=evidence_frame([str(place) for place in range(len(sizes))], smallest_class=sizes),
        lines=lines,
        judgements=(ExpectEveryClassToHoldK(column="smallest_class", min_value=3, description="-"),),
    )


def test_missing_evidence_never_passes():
    assert judged_alone(finding_of([3, 5], 2))
    assert not judged_alone(finding_of([2, 5], 2))
    assert not judged_alone(finding_of([None, 5], 2))
    assert not judged_alone(finding_of([None, None], 2))
    assert not judged_alone(finding_of([5], 2))
    assert not judged_alone(finding_of([], 2))
    assert not judged_alone(finding_of([], 0))


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_suite_that_lost_expectations_never_passes(kept, monkeypatch):
    suite = suites.gx.ExpectationSuite
    monkeypatch.setattr(
        suites.gx,
        "ExpectationSuite",
        lambda name, expectations: suite(name=name, expectations=expectations[:kept]),
    )
    assert not judged_alone(finding_of([3, 5], 2))


def test_the_gate_shares_no_code_with_what_it_checks():
    allowed = {"tasks.errors", "tasks.config", "tasks.store", "tasks.steps", "tasks.events", "tasks.memory"}
    for module in Path(suites.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tasks"):
                assert node.module in allowed, module.name
            if isinstance(node, ast.Import):
                assert not any(name.name.startswith("tasks") for name in node.names), module.name
