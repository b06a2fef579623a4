"""Next month's file under the same configuration: what is different is told, or refused."""

import datetime as dt
import json
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.audit import audit
from flows.release import release
from flows.terminal import progress_shown
from tasks.compare_earlier import compare_earlier
from tasks.domain import Domain
from tasks.drift.earlier import Earlier, EarlierColumn, find_release, read_earlier
from tasks.drift.findings import Finding, Held, findings
from tasks.errors import ConfigurationError, DriftError
from tasks.events import listening, remark
from tasks.load import load_table
from tasks.loading.encode import encode
from tasks.read_config import parse_config, read_config
from tasks.store import create_workspace, open_store
from tasks.tree import Tree

NEW = "Zanzibar4711"


def held(values, kind="integer", role="feature", **more):
    codes, distinct, missing = encode(np.ma.masked_equal(np.array(values), values.dtype.type(-99)))
    domain = Domain("x", kind, distinct, missing, **more)
    return Held(role, domain, np.bincount(codes, minlength=domain.size))


def numbers(*values):
    """A column of whole numbers; -99 is missing."""
    return held(np.array(values))


def texts(*values, role="feature"):
    counts = Counter(values)
    names = np.array(sorted(name for name in counts if name is not None), dtype=object)
    missing = None in counts
    records = [*[counts[None]] * missing, *(counts[name] for name in names)]
    return Held(role, Domain("x", "categorical", names, missing), np.array(records))


def told(before, now, aside=()):
    found = findings(Earlier(int(now.records.sum()), (before,)), [now], dict(aside))
    return [finding.line for finding in found]


def test_numbers_on_the_edge_of_the_earlier_range_belong_to_it():
    before = EarlierColumn("x", "feature", "integer", lowest=3, highest=7)
    assert told(before, numbers(3, 7, 5)) == []
    assert told(before, numbers(2, 2, 3, 7)) == ["column 'x': 2 numbers are below all of the earlier release"]
    assert told(before, numbers(3, 7, 8)) == ["column 'x': 1 number is above all of the earlier release"]


def test_integers_beyond_2_to_53_are_told_apart():
    before = EarlierColumn("x", "feature", "integer", lowest=0, highest=2**53)
    assert told(before, numbers(0, 2**53)) == []
    assert len(told(before, numbers(0, 2**53 + 1))) == 1


def test_dates_are_before_or_after():
    before = EarlierColumn("x", "feature", "date", lowest=100, highest=200)
    now = Held("feature", Domain("x", "date", np.array([99, 150, 201]), missing=False), np.array([1, 5, 2]))
    assert told(before, now) == [
        "column 'x': 1 date is before all of the earlier release",
        "column 'x': 2 dates are after all of the earlier release",
    ]


def test_numbers_where_there_were_none():
    before = EarlierColumn("x", "feature", "integer", missing=True)
    assert told(before, numbers(-99, 4)) == ["column 'x': has 1 number, and the earlier release has none"]
    assert told(before, numbers(-99, -99)) == []


def test_missing_values_are_new_only_where_there_were_none():
    before = EarlierColumn("x", "feature", "integer", lowest=0, highest=9)
    assert told(before, numbers(1, -99, -99)) == [
        "column 'x': is missing in 2 records, and never was in the earlier release"
    ]
    with_gaps = EarlierColumn("x", "feature", "integer", lowest=0, highest=9, missing=True)
    assert told(with_gaps, numbers(1, -99)) == []


@pytest.mark.parametrize(
    "role, noun", [("feature", "categories"), ("sensitive", "values"), ("class", "class values")]
)
def test_categories_that_are_new_and_gone_are_counted_and_kept_apart_from_what_is_told(role, noun):
    before = EarlierColumn("x", role, names=frozenset({"a", "b", "c"}))
    now = texts("a", NEW, NEW, "Y", role=role)
    new, gone = findings(Earlier(4, (before,)), [now], {})
    assert new == Finding("x", f"2 {noun} in 3 records are new", ("Y", NEW))
    assert gone == Finding("x", f"2 {noun} of the earlier release are gone", ("b", "c"))


def tree():
    """Leaves a1, a2, b1 below a*, b1 below *."""
    whole = np.array([0, 0, 0]), np.array([2, 2, 2])
    starts = np.array([[0, 1, 2], [0, 0, 2], whole[0]])
    stops = np.array([[0, 1, 2], [1, 1, 2], whole[1]])
    return Tree(starts, stops, (("a1", "a2", "b1"), ("a*", "a*", "b1"), ("*", "*", "*")))


@pytest.mark.parametrize(
    "names, lines",
    [
        ({"a*", "b1"}, []),
        ({"*"}, []),
        ({"a1", "a2"}, ["column 'x': 1 category in 7 records is in no group of the earlier release"]),
        (
            {"a*", "c*"},
            [
                "column 'x': 1 category in 7 records is in no group of the earlier release",
                "column 'x': 1 group of the earlier release is gone",
            ],
        ),
    ],
)
def test_a_category_in_a_published_group_is_not_new(names, lines):
    made = {"made": "prefix", "prefix": [1]}
    before = EarlierColumn("x", "feature", hierarchy=made, names=frozenset(names))
    domain = Domain("x", "categorical", np.array(["a1", "a2", "b1"], object), missing=False, tree=tree())
    assert told(before, Held("feature", domain, np.array([1, 2, 7]), made)) == lines


def test_groups_made_in_another_way_are_not_compared():
    before = EarlierColumn("x", "feature", hierarchy={"made": "file"}, names=frozenset({"z"}))
    assert told(before, texts("a")) == ["column 'x': is grouped in another way than it was"]


@pytest.mark.parametrize(
    "before, now, words",
    [
        (
            EarlierColumn("x", "feature", "integer"),
            texts("a"),
            "held whole numbers, and holds categories now",
        ),
        (
            EarlierColumn("x", "feature", "fixed", scale=2),
            Held("feature", Domain("x", "fixed", np.array([1]), missing=False, scale=1), np.array([1])),
            "held numbers with 2 decimals, and holds numbers with 1 decimal now",
        ),
        (
            EarlierColumn("x", "feature", "date", precision="month"),
            Held("feature", Domain("x", "date", np.array([1]), missing=False), np.array([1])),
            "held months, and holds days now",
        ),
        (EarlierColumn("x", "feature"), texts("a", role="class"), "was a feature, and is the class now"),
    ],
)
def test_a_column_of_another_sort_is_one_finding(before, now, words):
    assert told(before, now) == [f"column 'x': {words}"]


def test_columns_that_came_went_or_are_released_no_more():
    before = [EarlierColumn(name, "feature", names=frozenset("a")) for name in ("gone", "hidden")]
    found = findings(Earlier(2, tuple(before)), [texts("a", "a")], {"hidden": "drop"})
    assert [finding.line for finding in found] == [
        "column 'x': is new: the earlier release has no column of that name, and it is a feature",
        "column 'gone': was a feature, and the table does not have it any more",
        "column 'hidden': was a feature, and is under columns.drop now",
    ]


@pytest.mark.parametrize("before, found", [(5, 0), (20, 0), (4, 1), (21, 1)])
def test_a_table_of_twice_or_half_the_size_is_usual(before, found):
    known = EarlierColumn("x", "feature", names=frozenset("a"))
    lines = [each.line for each in findings(Earlier(before, (known,)), [texts(*"a" * 10)], {})]
    assert lines == [f"the table has 10 records, the earlier release {before}"] * found


cells = st.lists(st.none() | st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=12)


@given(cells, cells)
def test_findings_of_categories_are_differences_of_sets(before, now):
    published = {value for value in before if value is not None}
    known = EarlierColumn("x", "feature", names=frozenset(published), missing=None in before)
    values = {value for value in now if value is not None}
    found = list(findings(Earlier(len(now), (known,)), [texts(*now)], {}))
    assert {value for each in found for value in each.values} == values ^ published
    assert any("never was" in each.told for each in found) == (None in now and None not in before)
    assert bool(found) == bool(values ^ published or (None in now and None not in before))


@given(st.lists(st.integers(-9, 9), min_size=1), st.lists(st.integers(-9, 9), min_size=1))
def test_findings_of_numbers_count_what_lies_outside(before, now):
    known = EarlierColumn("x", "feature", "integer", lowest=min(before), highest=max(before))
    outside = [sum(n < min(before) for n in now), sum(n > max(before) for n in now)]
    counts = [int(line.split()[2]) for line in told(known, numbers(*now))]
    assert counts == [count for count in outside if count]


PUBLISHED = """
SELECT {'lower': 1, 'upper': 4, 'missing': false} AS "whole 'n\"\"um",
    {'lower': 0.5::DOUBLE, 'upper': 0.5::DOUBLE, 'missing': false} AS ratio,
    {'lower': -0.50::DECIMAL(18, 2), 'upper': 12.5::DECIMAL(18, 2), 'missing': true} AS price,
    {'lower': DATE '0001-01-01', 'upper': DATE '2024-03-31', 'missing': false} AS day,
    ['b', 'a', NULL] AS ward, 'secret' AS disease, 'yes' AS class
UNION ALL
SELECT {'lower': -3, 'upper': 2, 'missing': false},
    {'lower': 0.1::DOUBLE, 'upper': 0.2::DOUBLE, 'missing': false},
    {'lower': NULL, 'upper': NULL, 'missing': true},
    {'lower': DATE '2020-02-01', 'upper': DATE '9999-12-31', 'missing': false},
    ['c'], NULL, NULL
"""


@pytest.fixture
def published(tmp_path):
    """A release of two lines, by hand, with a column of every kind; its folder has a name like a pattern."""
    folder = tmp_path / "people [1]*" / "20260101T000000Z"
    folder.mkdir(parents=True)
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({PUBLISHED}) TO '{folder / 'fragment_1.parquet'}' (FORMAT parquet)")
    kinds = [
        {"name": "whole 'n\"um", "kind": "integer"},
        {"name": "ratio", "kind": "decimal"},
        {"name": "price", "kind": "fixed", "scale": 2},
        {"name": "day", "kind": "date", "precision": "month"},
        {"name": "ward", "kind": "categorical", "hierarchy": {"made": "rare", "rare": 5}},
    ]
    names = [column["name"] for column in kinds]
    manifest = {
        "records": 2,
        "class": "class",
        "columns": [column | {"fragment": 1} for column in kinds],
        "fragments": [{"parquet": "fragment_1.parquet", "features": names, "sensitive": ["disease"]}],
    }
    (folder / "release.json").write_text(json.dumps(manifest))
    (folder.parent / "latest").symlink_to(folder.name)
    return folder


def day(text):
    return (dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days


def test_the_files_of_a_release_show_what_its_columns_held(published):
    earlier = read_earlier(published)
    assert earlier.records == 2
    assert {column.name: column for column in earlier.columns} == {
        "whole 'n\"um": EarlierColumn("whole 'n\"um", "feature", "integer", lowest=-3, highest=4),
        "ratio": EarlierColumn("ratio", "feature", "decimal", lowest=0.1, highest=0.5),
        "price": EarlierColumn("price", "feature", "fixed", 2, missing=True, lowest=-50, highest=1250),
        "day": EarlierColumn(
            "day", "feature", "date", precision="month", lowest=day("0001-01-01"), highest=day("9999-12-31")
        ),
        "ward": EarlierColumn(
            "ward",
            "feature",
            hierarchy={"made": "rare", "rare": 5},
            missing=True,
            names=frozenset("abc"),
        ),
        "disease": EarlierColumn("disease", "sensitive", missing=True, names=frozenset({"secret"})),
        "class": EarlierColumn("class", "class", names=frozenset({"yes"})),
    }


def test_an_earlier_release_is_named_by_its_folder_or_by_that_of_its_name(published):
    assert find_release(published) == published.resolve()
    assert find_release(published.parent) == published.resolve()


def test_before_the_first_release_there_is_none(tmp_path):
    assert find_release(tmp_path / "none") is None
    (tmp_path / ".staging-20260101T000000Z").mkdir()
    assert find_release(tmp_path) is None


def _without_latest(folder):
    (folder.parent / "latest").unlink()


def _no_manifest(folder):
    (folder / "release.json").unlink()


def _a_file(folder):
    _without_latest(folder)
    _no_manifest(folder)


@pytest.mark.parametrize("damage", [_without_latest, _no_manifest, _a_file])
def test_a_folder_that_is_no_release_is_refused(published, damage):
    damage(published)
    with pytest.raises(ConfigurationError, match=r"^drift\.earlier: .* holds neither release\.json nor"):
        find_release(published.parent)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"^drift\.earlier: .* cannot be read \(Not a directory\)$"):
        find_release(tmp_path / "file")


DAMAGED = {
    "no JSON": lambda _: "{",
    "no records": lambda manifest: manifest | {"records": None},
    "an unknown kind": lambda manifest: manifest | {"columns": [{"name": "ward", "kind": "blob"}]},
    "a column that the file has not": lambda manifest: manifest | {"class": "another"},
    "another kind than the file": lambda manifest: (
        manifest | {"columns": [{"name": "ward", "kind": "integer"}]}
    ),
    "a number that is a category": lambda manifest: (
        manifest | {"columns": [{"name": "ratio", "kind": "categorical"}]}
    ),
    "another folder": lambda manifest: (
        manifest | {"fragments": [{"parquet": "../fragment_1.parquet", "features": []}]}
    ),
    "no such file": lambda manifest: (
        manifest | {"fragments": [{"parquet": "fragment_9.parquet", "features": []}]}
    ),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_release_is_refused_in_one_line(published, damage):
    manifest = damage(json.loads((published / "release.json").read_text()))
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (published / "release.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"^drift\.earlier: [^\n]* are not those of a release$"):
        read_earlier(published)


def settings(folder, table, **drift):
    table.to_csv(folder / "table.csv", index=False)
    return parse_config(
        {
            "input": {"path": str(folder / "table.csv"), "dates": {"day": "%d.%m.%Y"}},
            "columns": {
                "class": "group",
                "features": "rest",
                "identifiers": ["patient"],
                "precision": {"day": "month"},
                "hierarchies": {"icd": {"prefix": [2, 1]}},
            },
            "privacy": {"k": 10},
            "evaluation": {"attacks": 0},
            "repeats": {"check": "off", "keep": False},
            "output": {"directory": str(folder / "releases"), "name": "people"},
            "run": {"workspace": str(folder / "workspace"), "engine": "plain"},
            "drift": drift,
        }
    )


def publish(config):
    """Return the published folder, and what was told on the way."""
    remarks = []
    with listening(lambda event: remarks.append(event.text) if is_of_drift(event) else None):
        return release.fn(config), remarks


def is_of_drift(event):
    return event.kind == "remark" and event.step == "compare with the earlier release"


def compared(config):
    """Load the table and compare it; return what is told, and the rows of the store's table `drift`."""
    store = create_workspace(config.run.workspace)
    load_table(store, config)
    remarks = []
    with listening(lambda event: remarks.append(event.text) if event.kind == "remark" else None):
        compare_earlier(store, config)
    with open_store(store) as connection:
        tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        rows = connection.execute("SELECT * FROM drift").fetchall() if "drift" in tables else None
    return remarks, rows


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(6)
    return pd.DataFrame(
        {
            "patient": [f"P{number}" for number in range(200)],
            "age": rng.integers(20, 60, 200),
            "size": rng.integers(100, 200, 200) / 8,
            "city": rng.choice(["Bonn", 'Sankt "A", {b}', "Oslo", "[x", "Ulm or missing"], 200),
            "colour, eyes": rng.choice(["brown", "blue", "", "NA"], 200),
            "price": [f"{cents / 100:.2f}" for cents in rng.integers(0, 999, 200)],
            "day": [f"{day + 1:02}.{day % 12 + 1:02}.2025" for day in rng.integers(0, 28, 200)],
            "icd": [
                f"{letter}{n:02}" for letter, n in zip("AB" * 100, rng.integers(0, 30, 200), strict=True)
            ],
            "group": rng.choice(["a", "b"], 200),
        }
    )


@pytest.fixture(scope="module")
def first(tmp_path_factory, table):
    """The folder of the first release, and what was told."""
    folder = tmp_path_factory.mktemp("first")
    return publish(settings(folder, table, earlier=str(folder / "releases" / "people"), refuse=True))


@pytest.fixture
def next_month(table):
    """The same table with new cities, an age and sizes out of range, and without its eyes' colour."""
    changed = table.drop(columns="colour, eyes")
    changed["height"] = np.arange(len(table)) % 7
    changed.loc[:2, "city"] = [NEW, NEW, f"{NEW} b"]
    changed.loc[5, "age"] = 400
    changed.loc[[7, 8], "size"] = -1.125
    changed.loc[9, "price"] = "10.00"
    changed.loc[10, "day"] = "01.01.2026"
    changed.loc[11, "day"] = "31.12.2025"
    return changed


DRIFT = [
    "column 'age': 1 number is above all of the earlier release",
    "column 'size': 2 numbers are below all of the earlier release",
    "column 'city': 2 categories in 3 records are new",
    "column 'price': 1 number is above all of the earlier release",
    "column 'day': 1 date is after all of the earlier release",
    "column 'height': is new: the earlier release has no column of that name, and it is a feature",
    "column 'colour, eyes': was a feature, and the table does not have it any more",
]


def test_the_first_release_has_none_before_it(first):
    folder, remarks = first
    assert remarks == [f"there is no earlier release in {folder.parent} yet"]


def test_the_same_table_again_has_not_drifted(first, tmp_path, table):
    assert compared(settings(tmp_path, table, earlier=str(first[0]))) == ([], [])


def test_the_next_file_is_published_and_its_drift_told(first, tmp_path, next_month):
    folder, remarks = publish(settings(tmp_path, next_month, earlier=str(first[0].parent)))
    assert remarks == DRIFT
    assert audit(folder).success
    assert not list((tmp_path / "workspace").iterdir())
    assert not any("drift" in path.read_text() for path in folder.glob("*.json"))


def test_the_next_file_is_refused_where_that_is_asked(first, tmp_path, next_month):
    config = settings(tmp_path, next_month, earlier=str(first[0].parent), refuse=True)
    with pytest.raises(DriftError) as caught:
        publish(config)
    *lines, last = str(caught.value).splitlines()
    assert (lines, caught.value.exit_code) == (DRIFT, 2)
    assert NEW not in str(caught.value)
    assert not list((tmp_path / "releases").iterdir())
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    assert last.startswith(f"drift.refuse: nothing was published; {store}, which holds the table")
    with open_store(store) as connection:
        rows = connection.execute('SELECT "column", value FROM drift WHERE value IS NOT NULL').fetchall()
        ((kept,),) = connection.execute(
            "SELECT count(*) FROM (SELECT DISTINCT * EXCLUDE (value) FROM drift)"
        ).fetchall()
    assert rows == [
        ("age", "400"),
        ("size", "-1.125"),
        ("city", NEW),
        ("city", f"{NEW} b"),
        ("price", "10.00"),
        ("day", "2026-01"),
    ]
    assert kept == len(DRIFT)


def test_many_findings_are_cut_short(first, tmp_path, table):
    wide = pd.concat([table, pd.DataFrame({f"n{i}": np.arange(200) % 3 for i in range(25)})], axis=1)
    remarks, rows = compared(settings(tmp_path, wide, earlier=str(first[0])))
    assert (len(remarks), remarks[20], len(rows)) == (21, "and 5 more", 25)
    assert (rows[9][2], rows[9][0]) == (None, "n9")


def test_what_the_configuration_changed_is_told_too(first, tmp_path, table):
    asked = settings(tmp_path, table, earlier=str(first[0]))
    update = {"drop": ("age",), "types": {"size": "categorical"}, "precision": {}, "hierarchies": {}}
    columns = asked.columns.model_copy(update=update)
    remarks, _ = compared(asked.model_copy(update={"columns": columns}))
    assert remarks == [
        "column 'size': held numbers, and holds categories now",
        "column 'day': held months, and holds days now",
        "column 'icd': is grouped in another way than it was",
        "column 'age': was a feature, and is under columns.drop now",
    ]


def test_a_wrong_place_is_refused_where_the_table_must_be_like_a_release(tmp_path, table):
    (tmp_path / "releases" / "people" / "latest").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="holds no release, but"):
        compared(settings(tmp_path, table, earlier=str(tmp_path / "misspelt"), refuse=True))


def test_without_an_earlier_release_nothing_is_compared(tmp_path, table):
    assert compared(settings(tmp_path, table)) == ([], None)


def test_the_place_of_the_earlier_release_starts_from_the_folder_of_the_configuration(tmp_path):
    (tmp_path / "release.toml").write_text(
        '[input]\npath = "t.csv"\n[columns]\nclass = "c"\nfeatures = "rest"\n[privacy]\nk = 2\n'
        '[output]\nname = "t"\n[drift]\nearlier = "releases/t"\n'
    )
    assert read_config(tmp_path / "release.toml").drift.earlier == tmp_path.resolve() / "releases" / "t"


def test_what_is_told_is_a_line_in_the_terminal(capsys):
    with progress_shown():
        remark("column '[bold]x': 1 category in 2 records is new")
    assert capsys.readouterr().err == "note    column '[bold]x': 1 category in 2 records is new\n"
