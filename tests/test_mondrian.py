"""Mondrian: against a recursive reference and against what makes a partition valid."""

from fractions import Fraction
from functools import partial
from itertools import combinations
from math import prod

import diversity_oracles as definitions
import numpy as np
import oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.domain import Domain
from tasks.errors import InfeasibleError
from tasks.partitions import blocks, cuts, mondrian
from tasks.partitions.closeness import Hierarchy
from tasks.partitions.mondrian import partition
from tasks.partitions.requirements import (
    All,
    AllValues,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    Of,
    RecursiveDiversity,
    TCloseness,
)

quick = settings(deadline=None, max_examples=100)
small_k = st.integers(1, 6)
modes = pytest.mark.parametrize("mode", ["strict", "relaxed"])


def one_column(values, kind="integer"):
    codes, domain = oracles.encode(values, kind)
    return oracles.Table(codes[:, None], [domain], np.zeros(len(values), dtype=np.int32))


def at_least(k):
    return lambda rows: len(rows) >= k


def run(table, k, mode="strict"):
    return partition(table.codes, table.domains, table.classes, KAnonymity(k), mode)


def groups(found):
    return [np.flatnonzero(found.labels == label).tolist() for label in range(len(found.lower))]


def boxes(found):
    return [
        tuple(zip(lower, upper, strict=True))
        for lower, upper in zip(found.lower.tolist(), found.upper.tolist(), strict=True)
    ]


def random_table(seed, rows, columns, values):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(rows, 1))
    raw = np.round(values * (latent + rng.normal(size=(rows, columns)))).astype(int)
    encoded = [oracles.encode(column, "integer") for column in raw.T.tolist()]
    classes = oracles.ranks((latent[:, 0] > rng.normal(size=rows)).tolist())
    return oracles.Table(np.column_stack([codes for codes, _ in encoded]), [d for _, d in encoded], classes)


@given(oracles.tables(), small_k)
@example(one_column([1, 1, 1, 1, 1, 2, 2, 3]), 2)
@quick
def test_strict_leaves_are_those_of_the_recursive_definition(table, k):
    found = run(table, min(k, len(table.codes)))
    expected = oracles.strict_mondrian(table.codes, table.domains, at_least(min(k, len(table.codes))))
    assert list(zip(groups(found), boxes(found), strict=True)) == expected


@given(oracles.tables(), small_k)
@quick
def test_relaxed_leaves_are_those_of_the_recursive_definition(table, k):
    found = run(table, min(k, len(table.codes)), "relaxed")
    expected = oracles.relaxed_mondrian(table.codes, table.domains, at_least(min(k, len(table.codes))))
    assert list(zip(groups(found), boxes(found), strict=True)) == expected


@given(oracles.tables(max_rows=50, max_columns=6), small_k)
@quick
def test_strict_classes_reach_k_are_separated_and_can_be_cut_no_further(table, k):
    k = min(k, len(table.codes))
    assert oracles.is_valid_partition(table.codes, run(table, k).labels, at_least(k))


@given(oracles.tables(), small_k)
@quick
def test_strict_boxes_cover_every_combination_of_codes_once(table, k):
    found = run(table, min(k, len(table.codes)))
    for one, other in combinations(range(len(found.lower)), 2):
        apart = (found.upper[one] < found.lower[other]) | (found.upper[other] < found.lower[one])
        assert apart.any()
    volumes = (found.upper - found.lower + 1).prod(axis=1)
    assert volumes.sum() == prod(domain.size for domain in table.domains)


@modes
@given(table=oracles.tables(max_rows=50), k=small_k)
@quick
def test_every_row_lies_in_its_box(table, k, mode):
    found = run(table, min(k, len(table.codes)), mode)
    assert (found.lower[found.labels] <= table.codes).all()
    assert (table.codes <= found.upper[found.labels]).all()


@given(oracles.tables(), small_k, st.randoms(use_true_random=False))
@quick
def test_strict_does_not_depend_on_the_order_of_rows(table, k, random):
    k, order = min(k, len(table.codes)), list(range(len(table.codes)))
    random.shuffle(order)
    shuffled = oracles.Table(table.codes[order], table.domains, table.classes[order])
    found, again = run(table, k), run(shuffled, k)
    assert_array_equal(again.labels, found.labels[order])
    assert_array_equal(again.lower, found.lower)
    assert_array_equal(again.upper, found.upper)


@given(oracles.tables(max_rows=50), st.integers(1, 3))
@quick
def test_any_requirement_on_class_counts_is_kept(table, least):
    least = min(least, len(set(table.classes)))

    def holds(rows):
        return len(set(table.classes[rows])) >= least

    found = partition(table.codes, table.domains, table.classes, DistinctDiversity(least), "strict")
    expected = oracles.strict_mondrian(table.codes, table.domains, holds)
    assert groups(found) == [rows for rows, _ in expected]


def closeness(draw, values, overall):
    t, order = (
        draw(st.sampled_from(["0", "0.1", "0.2", "0.25", "0.4", "0.5", "0.75"])),
        sorted({*values} - {None}),
    )
    ground, distance = draw(
        st.sampled_from([("equal", definitions.equal_distance), ("ordered", definitions.ordered_distance)])
    )
    if order and draw(st.booleans()):
        paths = draw(definitions.paths(order))
        ground = Hierarchy(definitions.ancestors(paths, order))
        distance = partial(definitions.hierarchical_distance, paths=paths)
    requirement = TCloseness(float(t), overall, ground)
    return requirement, partial(definitions.is_close, everyone=values, t=Fraction(t), distance=distance)


def protection(draw, values, overall):
    """Draw a requirement on an attribute, for the codes of its values, and its definition for some values."""
    least, c = draw(st.integers(1, 3)), draw(st.sampled_from(["0.5", "1.1", "2", "3"]))
    level, held = draw(st.sampled_from([1, 1.5, 2, 3])), sorted({*values} - {None})[:least]
    return draw(
        st.sampled_from(
            [
                (DistinctDiversity(least), lambda some: definitions.distinct_level(some) >= least),
                (AllValues(tuple(range(len(held)))), lambda some: {*held} <= {*some}),
                (EntropyDiversity(level), partial(definitions.is_entropy_diverse, l=level)),
                (
                    RecursiveDiversity(float(c), least),
                    partial(definitions.is_recursively_diverse, c=Fraction(c), l=least),
                ),
                closeness(draw, values, overall),
            ]
        )
    )


@st.composite
def protected_tables(draw):
    """Draw a table, a requirement on each of its attributes, and their definition for some rows."""
    given = draw(definitions.protected())
    k, parts = draw(st.integers(1, 3)), []
    wanted = [Of("class", *given.ranges[0], KAnonymity(k))]
    for number, (values, (start, stop)) in enumerate(zip(given.attributes, given.ranges, strict=True)):
        overall = np.bincount(given.codes[:, number], minlength=stop)[start:stop]
        requirement, holds = protection(draw, values, overall)
        wanted.append(Of(f"attribute {number}", start, stop, requirement))
        parts.append((values, holds))

    def holds_for(rows):
        return len(rows) >= k and all(holds([values[row] for row in rows]) for values, holds in parts)

    return given, All(tuple(wanted)), holds_for


@modes
@given(drawn=protected_tables())
@settings(deadline=None, max_examples=200)
def test_leaves_under_l_and_t_of_several_attributes_are_those_of_the_recursive_definition(drawn, mode):
    (table, _, codes, _), requirement, holds = drawn
    if not holds(range(len(codes))):
        with pytest.raises(InfeasibleError):
            partition(table.codes, table.domains, codes, requirement, mode)
        return
    found = partition(table.codes, table.domains, codes, requirement, mode)
    reference = oracles.strict_mondrian if mode == "strict" else oracles.relaxed_mondrian
    expected = reference(table.codes, table.domains, holds)
    assert list(zip(groups(found), boxes(found), strict=True)) == expected


@given(oracles.tables(max_rows=50), small_k)
@quick
def test_relaxed_classes_of_a_table_of_different_rows_hold_fewer_than_two_k(table, k):
    k, rows = min(k, len(table.codes)), len(table.codes)
    numbered = one_column(list(range(rows)))
    both = oracles.Table(
        np.hstack([table.codes, numbered.codes]), [*table.domains, *numbered.domains], table.classes
    )
    sizes = np.bincount(run(both, k, "relaxed").labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


@pytest.mark.parametrize(
    "rows, columns, values, k", [(3000, 6, 1, 10), (2000, 12, 0.3, 5), (60_000, 9, 50, 9000)]
)
def test_strict_leaves_of_larger_tables(rows, columns, values, k, monkeypatch):
    monkeypatch.setattr(mondrian, "is_worth_compiling", lambda _: False)
    table = random_table(7, rows, columns, values)
    found = run(table, k)
    expected = oracles.strict_mondrian(table.codes, table.domains, at_least(k))
    assert list(zip(groups(found), boxes(found), strict=True)) == expected


def wide_table():
    """Return a table with a class and an attribute of 40 values, and what both are asked for."""
    table, rng = random_table(9, 3000, 8, 20), np.random.default_rng(9)
    attribute = rng.integers(0, 40, 3000)
    codes = np.column_stack([table.classes, 2 + attribute]).astype(np.int32)
    close = TCloseness(0.35, np.bincount(table.classes), "equal")
    wanted = (Of("class", 0, 2, All((KAnonymity(10), close))), Of("attribute", 2, 42, DistinctDiversity(15)))

    def holds(rows):
        values = table.classes.tolist()
        some = [values[row] for row in rows]
        close = definitions.is_close(some, values, Fraction("0.35"), definitions.equal_distance)
        return len(rows) >= 10 and close and len({*attribute[rows]}) >= 15

    return table, codes, All(wanted), holds


@pytest.mark.parametrize(
    "limits",
    [{}, {"BLOCK_CELLS": 1}, {"BATCH_ROWS": 1}, {"FEW_VALUES": 0}, {"FEW_VALUES": 50}, {"BATCH_COUNTS": 1}],
)
def test_leaves_do_not_depend_on_how_much_is_looked_at_together(limits, monkeypatch):
    for name, value in limits.items():
        monkeypatch.setattr(blocks if hasattr(blocks, name) else cuts, name, value)
    table, codes, requirement, holds = wide_table()
    found = partition(table.codes, table.domains, codes, requirement, "strict")
    expected = oracles.strict_mondrian(table.codes, table.domains, holds)
    assert list(zip(groups(found), boxes(found), strict=True)) == expected


def test_codes_of_many_nodes_side_by_side_may_exceed_32_bits():
    rows, size = 12_000, 3_000_000
    codes = np.sort(np.random.default_rng(3).choice(size, rows, replace=False))[:, None].astype(np.int32)
    domain = Domain("x", "integer", np.arange(size), missing=False)
    found = partition(codes, [domain], np.zeros(rows, dtype=np.int32), KAnonymity(2), "strict")
    assert_array_equal(found.labels, run(one_column(list(range(rows))), 2).labels)


@modes
def test_a_protected_attribute_that_cannot_be_as_asked_is_named_with_what_can(mode):
    table = one_column([1, 2, 3, 4])
    codes = np.array([[0, 1], [0, 2], [0, 3], [0, 3]], dtype=np.int32)  # 1: missing
    asked = All((Of("class", 0, 1, KAnonymity(4)), Of("illness", 2, 4, DistinctDiversity(3))))
    with pytest.raises(InfeasibleError) as told:
        partition(table.codes, table.domains, codes, asked, mode)
    assert str(told.value) == (
        "Column 'illness': l = 3 (distinct) is asked, but only l = 2 can be reached: it has 2 values."
    )


@modes
@pytest.mark.parametrize("rows, classes", [(5, 1), (9, 1), (10, 2), (11, 2), (20, 4)])
def test_a_node_is_cut_from_twice_k_rows_on(rows, classes, mode):
    assert len(run(one_column(list(range(rows))), 5, mode).lower) == classes


@modes
@pytest.mark.parametrize("rows, k", [(1, 2), (4, 5), (39, 40)])
def test_fewer_rows_than_k_are_refused_with_both_named(rows, k, mode):
    with pytest.raises(InfeasibleError, match=rf"k = {k} is asked, .* {rows} record"):
        run(one_column(list(range(rows))), k, mode)


def test_a_class_requirement_that_the_table_breaks_is_refused():
    table = one_column([1, 2, 3, 4])
    with pytest.raises(InfeasibleError, match="only l = 1"):
        partition(table.codes, table.domains, table.classes, DistinctDiversity(2), "strict")


@modes
def test_one_row_is_one_class(mode):
    found = run(one_column([3]), 1, mode)
    assert found.labels.tolist() == [0]
    assert boxes(found) == [((0, 0),)]


@modes
def test_a_table_of_equal_rows_is_one_class(mode):
    constant = one_column([3] * 12)
    table = oracles.Table(np.hstack([constant.codes] * 3), constant.domains * 3, constant.classes)
    assert run(table, 2, mode).labels.tolist() == [0] * 12


def test_ties_at_the_median_leave_no_side_below_k():
    found = run(one_column([1, 1, 1, 1, 1, 2, 2, 3]), 2)
    assert groups(found) == [[0, 1, 2, 3, 4], [5, 6, 7]]


def test_missing_is_cut_off_where_both_sides_reach_k():
    found = run(one_column([None, None, 30, 30, 40]), 2)
    assert groups(found) == [[0, 1], [2, 3, 4]]


def test_a_single_missing_value_is_covered_by_its_box():
    found = run(one_column([30, 30, 30, None]), 2)
    assert groups(found) == [[0, 1, 2, 3]]
    assert boxes(found) == [((0, 1),)]


def test_a_feature_that_mixes_missing_and_values_is_cut_first():
    narrow, _ = oracles.encode([None, None, 1, 1], "integer")
    wide, _ = oracles.encode([0, 9, 0, 9], "integer")
    domains = [oracles.encode([0, 9], "integer")[1], oracles.encode([None, 1], "integer")[1]]
    table = oracles.Table(np.column_stack([wide, narrow]), domains, np.zeros(4, dtype=np.int32))
    assert groups(run(table, 2)) == [[0, 2], [1, 3]]
    shorter = oracles.encode([0, 9, 20], "integer")[1]
    narrower = oracles.Table(table.codes, [shorter, domains[1]], table.classes)
    assert groups(run(narrower, 2)) == [[0, 1], [2, 3]]


@modes
def test_inputs_are_left_as_they_were(mode):
    table = random_table(8, 200, 3, 2)
    codes, classes = table.codes.copy(), table.classes.copy()
    run(table, 5, mode)
    assert_array_equal(table.codes, codes)
    assert_array_equal(table.classes, classes)
