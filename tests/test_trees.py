"""Features with a hierarchy: groups, cuts, cells and loss are those of the definition."""

from fractions import Fraction
from itertools import chain

import numpy as np
import pytest
import tree_oracles as definitions
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tasks.measures import information_loss
from tasks.partitions import blocks, cuts
from tasks.partitions.cells import parse_cell
from tasks.partitions.mondrian import partition
from tasks.partitions.partition import Partition
from tasks.partitions.person_requirements import KPersons
from tasks.partitions.regions import named_groups, regions
from tasks.partitions.requirements import DistinctDiversity, KAnonymity, Of

quick = settings(deadline=None, max_examples=30)
modes = pytest.mark.parametrize("mode", ["strict", "relaxed"])
small_k = st.integers(1, 5)

ICD = [
    ("250.0", "250*", "2*"),
    ("250.1", "250*", "2*"),
    ("25", "25", "2*"),
    ("401", "401*", "4*"),
    ("414", "414*", "4*"),
    ("V45", "V45*", "V*"),
]


def codes_of(table):
    return np.column_stack([column.codes for column in table])


def domains_of(table):
    return [column.domain for column in table]


def run(table, k, mode="strict", split="median", classes=None):
    rows = len(table[0].cells)
    classes = np.zeros(rows, dtype=np.int32) if classes is None else classes
    return partition(codes_of(table), domains_of(table), classes, KAnonymity(min(k, rows)), mode, split)


def leaves_of(found):
    return [np.flatnonzero(found.labels == label).tolist() for label in range(len(found.lower))]


def alone(records):
    """Each record a class of its own."""
    return Partition(np.arange(records, dtype=np.int32), *np.zeros((2, records, 1), dtype=np.int32))


def draw_classes(data, rows):
    return np.array(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)), dtype=np.int32)


def cell_of(feature, held):
    """Return the name of the smallest group of some cells, and whether missing is covered."""
    values, present = frozenset(feature.domain.values.tolist()), frozenset(held - {None})
    if not present:
        return (), True
    group = definitions.smallest_group(feature.rows, values, present)
    return (definitions.name_of(feature.rows, values, group),), None in held


@given(definitions.hierarchies(), st.data())
@quick
def test_leaves_keep_groups_together_in_the_order_of_rows(rows, data):
    values = data.draw(st.lists(st.sampled_from([row[0] for row in rows]), min_size=1))
    order = definitions.grown(rows, values).domain.values.tolist()
    assert set(order) == set(values)
    places = {
        name: [order.index(value) for value in held]
        for name, held in definitions.groups(rows, frozenset(values)).items()
        if held
    }
    assert all(max(held) - min(held) == len(held) - 1 for held in places.values())
    for siblings in {row[1:] for row in rows}:
        expected = [row[0] for row in rows if row[1:] == siblings and row[0] in order]
        assert [value for value in order if value in expected] == expected
    tops = [next(row[-1] for row in rows if row[0] == value) for value in order]
    occurring = dict.fromkeys(row[-1] for row in rows if row[-1] in tops)
    assert list(dict.fromkeys(tops)) == list(occurring)


@given(definitions.features(records=12), st.data())
@quick
def test_the_smallest_group_of_some_leaves_and_its_name_are_those_of_the_rows(feature, data):
    tree, values = feature.domain.tree, feature.domain.values.tolist()
    if tree is None:
        assert not values
        return
    lower, upper = sorted(data.draw(st.tuples(*[st.integers(0, len(values) - 1)] * 2)))
    start, stop = (bound[0] for bound in tree.group(np.array([lower]), np.array([upper])))
    held = definitions.smallest_group(feature.rows, frozenset(values), frozenset(values[lower : upper + 1]))
    assert set(values[start : stop + 1]) == held
    assert tree.label(lower, upper) == definitions.name_of(feature.rows, frozenset(values), held)
    assert tree.named()[tree.label(lower, upper)] == (start, stop)


@modes
@given(table=definitions.tables(), k=small_k)
@quick
def test_leaves_are_those_of_the_recursive_definition(mode, table, k):
    rows = len(table[0].cells)
    expected = definitions.mondrian(table, lambda side: len(side) >= min(k, rows), mode)
    assert leaves_of(run(table, k, mode)) == expected


@modes
@given(table=definitions.tables(), least=st.integers(1, 3), data=st.data())
@quick
def test_leaves_keep_any_requirement_as_the_definition_does(mode, table, least, data):
    classes = draw_classes(data, len(table[0].cells))
    least = min(least, len(set(classes.tolist())))
    found = partition(codes_of(table), domains_of(table), classes, DistinctDiversity(least), mode)
    expected = definitions.mondrian(table, lambda side: len(set(classes[side].tolist())) >= least, mode)
    assert leaves_of(found) == expected


@modes
@given(table=definitions.tables(), k=st.integers(1, 3), data=st.data())
@quick
def test_leaves_hold_persons_as_the_definition_does(mode, table, k, data):
    rows = len(table[0].cells)
    persons = np.sort(data.draw(st.lists(st.integers(0, rows // 2), min_size=rows, max_size=rows)))
    k, places = min(k, len(set(persons.tolist()))), np.tile([0, 1], (rows, 1)).astype(np.int32)
    asked = Of("anyone", 1, 2, KPersons(k))
    found = partition(codes_of(table), domains_of(table), places, asked, mode, "median", persons)
    expected = definitions.mondrian(table, lambda side: len(set(persons[side].tolist())) >= k, mode)
    assert leaves_of(found) == expected


@pytest.mark.parametrize("limits", [{"BLOCK_CELLS": 8}, {"BATCH_ROWS": 4}, {"BLOCK_CELLS": 1}])
@given(table=definitions.tables(), k=small_k)
@quick
def test_leaves_do_not_depend_on_how_much_is_looked_at_together(limits, table, k):
    whole = run(table, k)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(blocks if hasattr(blocks, name) else cuts, name, value)
        found = run(table, k)
    assert_array_equal(found.labels, whole.labels)
    assert_array_equal(found.lower, whole.lower)


@modes
@pytest.mark.parametrize("cells", [blocks.BLOCK_CELLS, 1])
@given(data=st.data())
@quick
def test_cuts_by_gain_part_records_between_children_of_the_smallest_group_only(mode, cells, data):
    table, k = data.draw(definitions.tables()), data.draw(small_k)
    rows = len(table[0].cells)
    classes = draw_classes(data, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_CELLS", cells)
        found = run(table, k, mode, "infogain", classes)
    assert np.bincount(found.labels).min() >= min(k, rows)
    assert come_from_cuts(table, leaves_of(found), mode)


def come_from_cuts(table, leaves, mode):
    """Whether cuts, one after the other, lead to these leaves."""
    return len(leaves) == 1 or any(
        any(are_cut(column, list(chain(*leaves[:cut])), list(chain(*leaves[cut:])), mode) for column in table)
        and come_from_cuts(table, leaves[:cut], mode)
        and come_from_cuts(table, leaves[cut:], mode)
        for cut in range(1, len(leaves))
    )


def are_cut(column, left, right, mode):
    if column.rows is None:
        highest, lowest = column.codes[left].max(), column.codes[right].min()
        return highest <= lowest if mode == "relaxed" else highest < lowest
    parts = definitions.children(column, definitions.cells_of(column, left + right))
    place = {cell: number for number, part in enumerate(parts) for cell in part}
    return max(place[column.cells[row]] for row in left) < min(place[column.cells[row]] for row in right)


@pytest.mark.parametrize("cells", [blocks.BLOCK_CELLS, 1])
def test_gains_are_found_among_more_children_than_bins(cells, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_CELLS", cells)
    rows = [(f"{group:03}.{leaf}", f"{group:03}*", "*") for group in range(300) for leaf in range(2)]
    column = definitions.grown(rows, [value for value, *_ in rows for _ in range(2)])
    classes = (np.arange(1200) >= 700).astype(np.int32)
    found = run([column], 4, split="infogain", classes=classes)
    assert np.bincount(found.labels).min() >= 4
    assert all(len(set(found.labels[4 * group : 4 * group + 4])) == 1 for group in range(300))
    assert len(set(found.labels[:700]) & set(found.labels[700:])) <= 1


@modes
@pytest.mark.parametrize("bounds", ["tight", "cuts"])
@given(table=definitions.tables(), k=small_k)
@quick
def test_cells_are_the_smallest_groups_and_lose_what_the_definition_says(mode, bounds, table, k):
    found = run(table, k, mode)
    labels, released = regions(codes_of(table), domains_of(table), found, bounds)
    for number, (column, region) in enumerate(zip(table, released, strict=True)):
        if column.rows is None:
            continue
        by_code = [None] * column.domain.missing + column.domain.values.tolist()
        losses = []
        for label, text in enumerate(region.texts()):
            members = np.flatnonzero(labels == label)
            box = found.labels[members[0]]
            held = set(by_code[found.lower[box, number] : found.upper[box, number] + 1])
            if bounds == "tight":
                held = {column.cells[row] for row in members}
            assert parse_cell(text, "categorical") == cell_of(column, held)
            losses += [definitions.loss(column, held)] * len(members)
        expected = float(sum(losses, Fraction(0)) / len(labels))
        assert_allclose(information_loss([region], np.bincount(labels)), expected, atol=1e-12)


@given(definitions.features(records=10), st.data())
@quick
def test_merged_classes_release_the_smallest_group_of_all(feature, data):
    labels, (region,) = regions(feature.codes[:, None], [feature.domain], alone(10), "tight")
    drawn = data.draw(st.lists(st.integers(0, 2), min_size=10, max_size=10))
    merged = np.unique(drawn[: labels.max() + 1], return_inverse=True)[1]
    for label, text in enumerate(region.merged(merged).texts()):
        held = {feature.cells[row] for row in np.flatnonzero(merged[labels] == label)}
        assert parse_cell(text, "categorical") == cell_of(feature, held)


@given(definitions.features(records=10), st.data())
@quick
def test_names_are_read_back_as_the_groups_they_stand_for(feature, data):
    if feature.domain.tree is None:
        return
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=10, max_size=10))
    labels = np.unique(drawn, return_inverse=True)[1].astype(np.int32)
    some = alone(10)._replace(labels=labels)
    _, (region,) = regions(feature.codes[:, None], [feature.domain], some, "tight")
    names = region.values()
    read = named_groups(feature.domain, feature.domain.tree, [names[chosen] for chosen in region.chosen])
    assert read.texts() == region.texts()
    assert [read.sets[chosen] for chosen in read.chosen] == [region.sets[chosen] for chosen in region.chosen]


@given(definitions.features(records=10), st.data())
@quick
def test_the_tree_of_some_leaves_is_that_of_their_rows(feature, data):
    kept = sorted(data.draw(st.sets(st.integers(0, 9), min_size=1)))
    part = definitions.grown(feature.rows, [feature.cells[row] for row in kept])
    if part.domain.tree is None:
        return
    taken = feature.domain.tree.take(np.isin(feature.domain.values, part.domain.values))
    assert taken.labels == part.domain.tree.labels
    assert_array_equal(taken.starts, part.domain.tree.starts)
    assert_array_equal(taken.stops, part.domain.tree.stops)


def test_diagnoses_are_cut_where_their_codes_part():
    cells = ["250.0"] * 3 + ["250.1"] * 2 + ["25"] + ["401"] * 4 + ["414"] * 2 + ["V45"] * 3 + [None] * 2
    column = definitions.grown(ICD, cells)
    _, (region,) = regions(column.codes[:, None], [column.domain], run([column], 3), "tight")
    assert sorted(region.texts()) == ["2* or missing", "4*", "V45"]
