"""Small inputs that every release tool must survive: too few records, columns too fine, the next file."""

from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from case_releases import (
    CANARY,
    configuration,
    every_record_is_in,
    nothing_published,
    publish,
    read_fragments,
    refuse,
    unjoin,
    without_pictures,
    write_csv,
)

from flows.publish_table import publish_table

# --- too few records --------------------------------------------------------------------------------------


@pytest.mark.parametrize("records, k", [(1, 2), (4, 5), (39, 40), (3, 1000)])
def test_fewer_records_than_k_are_refused_and_both_are_named(tmp_path, records, k):
    table = {"x": [CANARY] * records, "class": ["a"] * records}
    (line,) = refuse(tmp_path, 3, table, privacy={"k": k}).faults
    assert f"{records} records" in line
    assert f"k = {k}" in line


def test_fewer_persons_than_k_are_refused_and_both_are_named(tmp_path):
    table = {"x": ["1", "2"] * 6, "who": [CANARY, "P1", "P2", "P3"] * 3, "class": ["a"] * 12}
    (line,) = refuse(tmp_path, 3, table, privacy={"k": 5}, columns={"entity": "who"}).faults
    assert "4 persons" in line
    assert "k = 5" in line


def test_as_many_records_as_k_are_one_class_of_them_all(tmp_path):
    table = {"x": ["1", "2", "3", "4", ""], "class": [CANARY] * 5}
    folder, text = publish(tmp_path, table, privacy={"k": 5})
    (fragment,) = read_fragments(folder)
    assert list(Counter(fragment.lines).values()) == [5]
    assert every_record_is_in(fragment, {"x": [*map(Decimal, "1234"), None]}, [CANARY] * 5)
    assert CANARY not in text


# --- a table in memory -------------------------------------------------------------------------------------


def test_row_labels_that_are_shuffled_and_repeated_change_nothing_and_are_not_released(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.integers(0, 5, 30) for name in "xyz"}).assign(group=list("aab") * 10)
    frame.loc[3, "x"] = None
    settings = {
        "columns": {"class": "group", "features": "rest"},
        "privacy": {"k": 3},
        "evaluation": {"attacks": 0},
        "output": {"directory": str(tmp_path / "releases"), "name": "people"},
        "run": {"engine": "plain", "workspace": str(tmp_path / "workspace")},
    }
    labels = pd.Index(rng.permutation(30) // 2 + 987650000, name=CANARY)
    with without_pictures():
        plain, labelled = (publish_table(each, settings) for each in (frame, frame.set_index(labels)))
    for path in sorted(plain.glob("fragment_*")):
        assert path.read_bytes() == (labelled / path.name).read_bytes()
    written = b"".join(path.read_bytes() for path in labelled.rglob("*") if path.is_file())
    assert CANARY.encode() not in written
    assert b"9876500" not in written


# --- rare values and leftovers -----------------------------------------------------------------------------


def test_a_leftover_of_rare_values_below_k_is_never_published_alone(tmp_path):
    # rare values: 2 records of x, one below k; as many as k of y; of z one, and everything else is one value
    table = {
        "x": ["a"] * 10 + ["r1", "r2"],
        "y": ["r1", "r2", "r3"] + ["a"] * 9,
        "z": ["a"] * 6 + ["r1"] + ["a"] * 5,
        "class": [CANARY] * 12,
    }
    trees = {name: {"rare": 3} for name in "xyz"}
    folder, _ = publish(
        tmp_path, table, privacy={"k": 3}, columns={"hierarchies": trees}, fragmentation={"fragments": 3}
    )
    sizes = {f.features[0]: Counter(cells[0] for cells in f.lines) for f in read_fragments(folder)}
    assert {name: sorted(of.values()) for name, of in sizes.items()} == {"x": [12], "y": [3, 9], "z": [12]}
    assert not any(
        value[:1] == "r" and value[1:].isdigit() for of in sizes.values() for c in of for value in c.values
    )


# --- columns that are too fine ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["P{:03}", "{}", "{}@example.org"])
def test_a_unique_column_among_the_features_is_refused_as_a_likely_identifier(tmp_path, form):
    table = {"x": ["1", "2"] * 10, "key": [form.format(7 * n + 100) for n in range(20)], "class": ["a"] * 20}
    (line,) = refuse(tmp_path, 2, table).faults
    assert "column 'key'" in line
    assert "identifier" in line
    assert form.format(100) not in line


def test_a_unique_column_is_released_where_it_is_named_and_left_out_as_an_identifier(tmp_path):
    table = {
        "x": ["1", "2"] * 5,
        "key": [f"P{n}" for n in range(10)],
        "id": [f"{CANARY}{n}" for n in range(10)],
    }
    folder, text = publish(
        tmp_path, {**table, "class": ["a"] * 10}, columns={"features": ["x", "key"], "identifiers": ["id"]}
    )
    (fragment,) = read_fragments(folder)
    assert fragment.features == ["x", "key"]
    assert every_record_is_in(fragment, {"x": [*map(Decimal, table["x"])], "key": table["key"]})
    assert min(Counter(fragment.lines).values()) >= 2
    assert "'key'" in text
    assert CANARY.encode() not in b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "values",
    [
        [f"{CANARY}{n}" for n in range(240)],
        [str(n) for n in range(240)],
        [str(n % 101) for n in range(240)],
        [f"{n % 21}.5" for n in range(240)],
        [f"c{n % 121}" for n in range(240)],
    ],
    ids=["texts", "numbers", "101 numbers", "21 decimals", "more than one per k records"],
)
def test_a_class_that_is_too_fine_is_refused_with_the_hint_to_group_it(tmp_path, values):
    (line,) = refuse(tmp_path, 2, {"x": ["1", "2"] * 120, "class": values}).faults
    assert "column 'class'" in line
    assert "group" in line


# --- the next file ------------------------------------------------------------------------------------------

FIRST = {"size": ["3", "4", "5", "6"] * 5, "town": ["Bonn", "Oslo"] * 10, "class": list("abba") * 5}
NEXT = {"size": ["2", *FIRST["size"][1:]], "town": [CANARY, *FIRST["town"][1:]], "class": FIRST["class"]}


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return publish(tmp_path_factory.mktemp("first"), FIRST)[0]


def test_the_next_file_is_published_and_what_is_new_in_it_is_told(first, tmp_path):
    folder, text = publish(tmp_path, NEXT, drift={"earlier": str(first)})
    (fragment,) = read_fragments(folder)
    assert every_record_is_in(fragment, {"size": [*map(Decimal, NEXT["size"])], "town": NEXT["town"]})
    told = [line for line in text.splitlines() if line.startswith("note")]
    assert any("column 'size'" in line for line in told)
    assert any("column 'town'" in line for line in told)
    assert CANARY not in text


@pytest.mark.parametrize(
    "change, named",
    [
        ({"town": NEXT["town"]}, "column 'town'"),
        ({"size": NEXT["size"]}, "column 'size'"),
        ({"size": ["7", *FIRST["size"][1:]]}, "column 'size'"),
        ({"size": ["3.5", *FIRST["size"][1:]]}, "column 'size'"),
        ({"size": ["", *FIRST["size"][1:]]}, "column 'size'"),
        ({"class": ["c", *FIRST["class"][1:]]}, "column 'class'"),
        ({"extra": ["1", "2"] * 10}, "column 'extra'"),
        ({"town": None}, "column 'town'"),
    ],
)
def test_the_next_file_is_refused_where_that_is_asked(first, tmp_path, change, named):
    table = {name: column for name, column in (FIRST | change).items() if column}
    config = configuration(
        tmp_path, write_csv(tmp_path, table), drift={"earlier": str(first), "refuse": True}
    )
    ended = unjoin("release", config)
    assert ended.code == 2, ended.text
    assert named in ended.text
    assert CANARY not in ended.text
    assert nothing_published(tmp_path)
