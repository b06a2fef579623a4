"""What an attacker reads in published files is what is in them, whatever their order."""

from decimal import Decimal

import duckdb
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from published_folder import Categories, ClassOf, Fragment, Range, Span, build

from tasks.errors import InputError
from validations.attacks.cells import LARGEST, Numbers
from validations.attacks.covering import seen
from validations.attacks.files import read_files
from validations.attacks.targets import Targets, draw_targets, require_fit
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


KINDS = Fragment(
    {"price": "fixed_2", "month": "date_month", "dx": "grouped"},
    [
        ClassOf(
            [
                Range(Decimal("9007199254740993.01"), Decimal("9007199254740993.02")),
                Span("2024-01", "2024-02"),
                Categories(("250*",)),
            ],
            {"a": 4},
        ),
        ClassOf(
            [
                Range(Decimal("-0.50"), Decimal("9007199254740993.00"), missing=True),
                Span("2024-03", "2024-03", missing=True),
                Categories(("250.1",), missing=True),
            ],
            {"b": 5},
        ),
    ],
)


@pytest.fixture
def store():
    """Return a connection to a table of four records, as it is loaded."""
    with duckdb.connect() as connection:
        connection.execute("""
            CREATE TABLE columns AS FROM (VALUES
                (1, 'price', 'feature', 'fixed', 2, NULL), (2, 'month', 'feature', 'date', 0, 'month'),
                (3, 'dx', 'feature', 'categorical', 0, NULL), (4, 'class', 'class', 'categorical', 0, NULL)
            ) AS c(position, name, role, kind, scale, precision);
            CREATE TABLE source (price DECIMAL(18, 2), month DATE, dx VARCHAR, class VARCHAR);
            INSERT INTO source VALUES
                (9007199254740993.01, '2024-02-01', '250.1', 'a'),
                (9007199254740993.00, '2024-03-01', '250.1', 'b'),
                (-0.50, NULL, NULL, 'b'), (NULL, '2024-03-01', '250.2', 'b');
            CREATE TABLE hierarchies ("column" VARCHAR, value VARCHAR, ancestors VARCHAR[]);
            INSERT INTO hierarchies VALUES
                ('dx', '250.1', ['250*', '*']), ('dx', '250.2', ['250*', '*']),
                ('dx', '401', ['401*', '*'])""")
        yield connection


def test_records_of_every_kind_are_aimed_at_as_they_are(store, tmp_path):
    targets = draw_targets(store, 9, 0)
    assert targets.number == 4
    assert targets.groups == {"dx": {"250.1": ["250*", "*"], "250.2": ["250*", "*"]}}
    assert targets.values["price"].tolist() == [900719925474099301, 900719925474099300, -50, None]
    assert targets.values["month"].tolist() == [19754, 19783, None, 19783]
    release = build([KINDS], k=4)
    release.manifest["records"] = 9
    release.write(tmp_path)
    (fragment,) = read_files(tmp_path, read_promises(tmp_path), targets)
    assert seen(fragment).rows.tolist() == [4, 5, 5, 0]
    price, month, dx = fragment.features
    first, second = np.argsort(fragment.sizes)
    assert (price.lower[first], price.upper[first]) == (900719925474099301, 900719925474099302)
    assert month.distance(np.array([1, 0]), np.array([first, second])).tolist() == [1 / 90, 29 / 90]
    assert dx.distance(np.array([3, 3]), np.array([first, second])).tolist() == [0, 1]


def test_a_table_fits_a_release_of_its_kinds(store, tmp_path):
    release = build([KINDS], k=4)
    release.manifest["records"] = 4
    release.write(tmp_path)
    require_fit(store, read_promises(tmp_path))
    store.execute("UPDATE columns SET scale = 3 WHERE name = 'price'")
    store.execute("UPDATE columns SET precision = 'year' WHERE name = 'month'")
    store.execute("DELETE FROM hierarchies")
    with pytest.raises(InputError) as refused:
        require_fit(store, read_promises(tmp_path))
    by_name = dict(line.split(": ", 1) for line in str(refused.value).splitlines()[1:])
    assert by_name == {
        "column 'price'": "a feature (fixed, scale 3) in the configuration, "
        "a feature (fixed, scale 2) in the release",
        "column 'month'": "a feature (date, precision year) in the configuration, "
        "a feature (date, precision month) in the release",
        "column 'dx'": "a feature (categorical) in the configuration, "
        "a feature (categorical, with a hierarchy) in the release",
    }


def test_distances_of_the_largest_numbers_are_finite():
    bounds, one = np.array([-1.7e308, 1.7e308]), np.array([True, True])
    numbers = Numbers(bounds, bounds, one, ~one, np.array([1.7e308]), one[:1], LARGEST)
    far, near = numbers.distance(np.array([0, 0]), np.array([0, 1]))
    assert np.isfinite(far)
    assert (far > 0, near) == (True, 0)
