"""What an attacker reads in published files is what is in them, whatever their order."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from published_folder import Categories, ClassOf, Fragment, Range, build

from validations.attacks.cells import LARGEST, Numbers
from validations.attacks.covering import seen
from validations.attacks.files import read_files
from validations.attacks.targets import Targets
from validations.promises import read_promises
from validations.published_files import UnreadableError

FIRST = Fragment(
    {"age": "integer", "city": "categorical"},
    [
        ClassOf([Range(20, 29), Categories(("Bonn", "Oslo"))], {"a": 3, "b": 1}),
        ClassOf([Range(30, 49, missing=True), Categories(("Oslo",))], {"b": 4}),
        ClassOf([Range(None, None, missing=True), Categories(("{x", "[y"), missing=True)], {"a": 2, "c": 2}),
    ],
)
SECOND = Fragment(
    {"weight": "decimal"},
    [ClassOf([Range(50.5, 60.0)], {"a": 5, "c": 1}), ClassOf([Range(60.5, 90.0)], {"b": 5, "c": 1})],
)


def masked(values):
    kind = object if any(isinstance(value, str) for value in values) else float
    missing = [value is None for value in values]
    filler = "" if kind is object else 0
    present = [filler if value is None else value for value in values]
    return np.ma.array(np.array(present, dtype=kind), mask=missing)


def targets_of(records):
    """Return records, dicts of one kind, as targets."""
    return Targets({name: masked([row[name] for row in records]) for name in records[0]}, len(records))


def read(release, folder, records):
    if not folder.joinpath("release.json").exists():
        release.write(folder)
    return read_files(folder, read_promises(folder), targets_of(records))


def person(age=25, city="Oslo", weight=55.0, label="a"):
    return {"age": age, "city": city, "weight": weight, "class": label}


@pytest.fixture
def two():
    return build([FIRST, SECOND], k=4)


def sizes_and_counts(fragment):
    counts = fragment.of_class.counts.toarray()
    return sorted(zip(fragment.sizes.tolist(), map(tuple, counts.tolist()), strict=True))


@pytest.mark.parametrize("order", ["as written", "reversed", "mixed"])
def test_equivalence_classes_and_their_values_are_counted_in_any_order(order, two, tmp_path):
    places = {
        "as written": range(12),
        "reversed": range(11, -1, -1),
        "mixed": [*range(0, 12, 2), *range(1, 12, 2)],
    }
    for table in two.tables:
        table.csv, table.parquet = (
            [rows[place] for place in places[order]] for rows in (table.csv, table.parquet)
        )
    first, second = read(two, tmp_path, [person()])
    assert first.of_class.domain == second.of_class.domain == ("a", "b", "c")
    assert sizes_and_counts(first) == [(4, (0, 4, 0)), (4, (2, 0, 2)), (4, (3, 1, 0))]
    assert sizes_and_counts(second) == [(6, (0, 5, 1)), (6, (5, 0, 1))]
    assert_array_equal(np.bincount(first.lines), [4, 4, 4])
    labels = [row[-1] for row in two.tables[1].csv]
    assert [second.of_class.domain[value] for value in second.of_class.lines] == labels


@pytest.mark.parametrize(
    ("target", "rows"),
    [
        (person(), 4),
        (person(age=20), 4),
        (person(age=29, city="Bonn"), 4),
        (person(age=30, city="Bonn"), 0),
        (person(age=30), 4),
        (person(age=49), 4),
        (person(age=50), 0),
        (person(age=None), 4),
        (person(age=None, city=None), 4),
        (person(age=None, city="[y"), 4),
        (person(age=None, city="Rome"), 0),
        (person(age=25, city=None), 0),
    ],
)
def test_bounds_categories_and_missing_values_cover(target, rows, two, tmp_path):
    first, _ = read(two, tmp_path, [target])
    assert seen(first).rows.tolist() == [rows]


def test_all_targets_are_covered_as_each_would_be_alone(two, tmp_path, monkeypatch):
    people = [person(age, city) for age in (20, 35, None, 90) for city in ("Bonn", "Oslo", None)]
    together = seen(read(two, tmp_path, people)[0]).rows
    alone = [seen(read(two, tmp_path, [each])[0]).rows[0] for each in people]
    assert_array_equal(together, alone)
    monkeypatch.setattr("validations.attacks.covering.CELLS_PER_BLOCK", 1)
    assert_array_equal(seen(read(two, tmp_path, people)[0]).rows, alone)


def test_an_equivalence_class_on_a_bound_covers_beside_its_neighbour(tmp_path):
    touching = Fragment(
        {"age": "integer"}, [ClassOf([Range(1, 5)], {"a": 4}), ClassOf([Range(5, 9)], {"b": 4})]
    )
    (fragment,) = read(build([touching], k=4), tmp_path, [{"age": 5, "class": "a"}])
    assert seen(fragment).rows.tolist() == [8]
    assert seen(fragment).counts(fragment.of_class).tolist() == [[4, 4]]


def test_large_integers_are_compared_exactly(tmp_path):
    large = 2**53
    near = Fragment(
        {"number": "integer"},
        [ClassOf([Range(large, large)], {"a": 4}), ClassOf([Range(large + 1, large + 1)], {"b": 4})],
    )
    target = Targets({"number": np.ma.array([large + 1]), "class": masked(["b"])}, 1)
    build([near], k=4).write(tmp_path)
    (fragment,) = read_files(tmp_path, read_promises(tmp_path), target)
    assert seen(fragment).counts(fragment.of_class).tolist() == [[0, 4]]


def test_many_class_values_are_told_apart(tmp_path):
    values = {f"value {number}": 1 for number in range(200)}
    fragment = Fragment({"age": "integer"}, [ClassOf([Range(1, 1)], values), ClassOf([Range(2, 2)], values)])
    (found,) = read(build([fragment], k=4), tmp_path, [{"age": 1, "class": "value 7"}])
    assert_array_equal(found.of_class.counts.toarray(), np.full((2, 200), 1))


def test_values_published_once_count_for_equal_parts(two, tmp_path):
    release = build([FIRST, SECOND], k=4, delta=0.5)
    first, second = read(release, tmp_path, [person()])
    assert first.of_class.even
    assert sizes_and_counts(first) == [(4, (0, 4, 0)), (4, (2, 0, 2)), (4, (2, 2, 0))]
    assert sizes_and_counts(second) == [(6, (0, 3, 3)), (6, (3, 0, 3))]
    assert (first.of_class.lines == -1).sum() == 12 - 5


def test_a_class_value_that_no_file_tells_is_known_all_the_same(two, tmp_path):
    first, _ = read(two, tmp_path, [person(label="zz"), person()])
    assert first.of_class.domain == ("a", "b", "c", "zz")
    assert first.of_class.own.tolist() == [3, 0]


def without_parquet(release, folder):
    release.write(folder)
    (folder / "fragment_2.parquet").unlink()


def of_another_type(release, folder):
    release.tables[1].types[0] = "VARCHAR"
    for row in release.tables[1].parquet:
        row[0] = "1"
    release.write(folder)


def renamed(release, folder):
    release.tables[1].names[0] = "size"
    release.write(folder)


def with_fewer_rows(release, folder):
    del release.tables[1].csv[0], release.tables[1].parquet[0]
    release.write(folder)


@pytest.mark.parametrize("damage", [without_parquet, of_another_type, renamed, with_fewer_rows])
def test_files_that_are_not_as_promised_are_refused(damage, two, tmp_path):
    damage(two, tmp_path)
    with pytest.raises(UnreadableError):
        read_files(tmp_path, read_promises(tmp_path), targets_of([person()]))


def test_distances_of_the_largest_numbers_are_finite():
    bounds, one = np.array([-1.7e308, 1.7e308]), np.array([True, True])
    numbers = Numbers(bounds, bounds, one, ~one, np.array([1.7e308]), one[:1], LARGEST)
    far, near = numbers.distance(np.array([0, 0]), np.array([0, 1]))
    assert np.isfinite(far)
    assert (far > 0, near) == (True, 0)
