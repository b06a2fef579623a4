"""Mondrian by information gain: against a recursive reference in exact arithmetic."""

from itertools import combinations
from math import prod

import numpy as np
import oracles
import pytest
import segment_oracles as gains
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from test_mondrian import at_least, boxes, groups, modes, one_column, protected_tables, small_k, wide_table

from tasks.config import Anonymization
from tasks.domain import Domain
from tasks.errors import InfeasibleError
from tasks.partitions import blocks, gain_cuts
from tasks.partitions.anonymize import divide
from tasks.partitions.mondrian import partition
from tasks.partitions.requirements import DistinctDiversity, KAnonymity

quick = settings(deadline=None, max_examples=60)


def run(table, k, mode="strict"):
    return partition(table.codes, table.domains, table.classes, KAnonymity(k), mode, "infogain")


def leaves_of(found):
    return list(zip(groups(found), boxes(found), strict=True))


def median_cut(table, rows, holds, mode):
    """Return the two sides of the widest feature's allowed cut at the median, with their bounds, or none."""
    for feature in oracles.by_width(table.codes[rows], table.domains):
        column = table.codes[:, feature]
        if mode == "relaxed":
            ordered = sorted(rows, key=lambda row: (column[row], row))
            left, right = sorted(ordered[: len(rows) // 2]), sorted(ordered[len(rows) // 2 :])
            if holds(left) and holds(right):
                return feature, left, right, int(column[left].max()), int(column[right].min())
            continue
        for code in oracles.strict_cuts(column[rows]):
            left, right = gains.divided(table, rows, (feature, code))
            if holds(left) and holds(right):
                return feature, left, right, code, code + 1
    return None


def gain_cut(table, rows, holds):
    found = gains.best_cut(table, rows, holds, 1)
    return found and (found[0], *gains.divided(table, rows, found), found[1], found[1] + 1)


def infogain_mondrian(table, holds, mode="strict"):
    """Return the rows and the box of every leaf, left before right."""

    def leaves(rows, box):
        cut = gain_cut(table, rows, holds) or median_cut(table, rows, holds, mode)
        if cut is None:
            return [(rows, box)]
        feature, left, right, upper, lower = cut
        below, above = (box[feature][0], upper), (lower, box[feature][1])
        return leaves(left, oracles.narrowed(box, feature, below)) + leaves(
            right, oracles.narrowed(box, feature, above)
        )

    box = tuple((0, domain.size - 1) for domain in table.domains)
    return leaves(list(range(len(table.codes))), box)


@modes
@given(table=oracles.tables(max_rows=40), k=small_k)
@quick
def test_leaves_are_those_of_the_recursive_definition(table, k, mode):
    k = min(k, len(table.codes))
    assert leaves_of(run(table, k, mode)) == infogain_mondrian(table, at_least(k), mode)


@modes
@given(drawn=protected_tables())
@quick
def test_leaves_under_l_and_t_of_several_attributes_are_those_of_the_recursive_definition(drawn, mode):
    (table, _, codes, _), requirement, holds = drawn
    if not holds(range(len(codes))):
        with pytest.raises(InfeasibleError):
            partition(table.codes, table.domains, codes, requirement, mode, "infogain")
        return
    found = partition(table.codes, table.domains, codes, requirement, mode, "infogain")
    of_class = oracles.Table(table.codes, table.domains, codes[:, 0])
    assert leaves_of(found) == infogain_mondrian(of_class, holds, mode)


def classed(values, classes, kind="integer"):
    return one_column(values, kind)._replace(classes=np.array(classes, dtype=np.int32))


@given(oracles.tables(max_rows=50), small_k, st.randoms(use_true_random=False))
@quick
def test_strict_does_not_depend_on_the_order_of_rows(table, k, random):
    k, order = min(k, len(table.codes)), list(range(len(table.codes)))
    random.shuffle(order)
    shuffled = oracles.Table(table.codes[order], table.domains, table.classes[order])
    found, again = run(table, k), run(shuffled, k)
    assert_array_equal(again.labels, found.labels[order])
    assert_array_equal(again.lower, found.lower)
    assert_array_equal(again.upper, found.upper)


@given(oracles.tables(max_rows=50, max_columns=6), small_k)
@quick
def test_strict_classes_reach_k_are_separated_and_can_be_cut_no_further(table, k):
    k = min(k, len(table.codes))
    found = run(table, k)
    assert oracles.is_valid_partition(table.codes, found.labels, at_least(k))
    for one, other in combinations(range(len(found.lower)), 2):
        assert ((found.upper[one] < found.lower[other]) | (found.upper[other] < found.lower[one])).any()
    volumes = (found.upper - found.lower + 1).prod(axis=1)
    assert volumes.sum() == prod(domain.size for domain in table.domains)


@pytest.mark.parametrize(
    "mode, rest", [("strict", [[3, 4, 5, 6], [7, 8, 9]]), ("relaxed", [[3, 4, 5], [6, 7, 8, 9]])]
)
def test_class_values_are_told_apart_first_and_what_is_pure_is_cut_at_medians(mode, rest):
    assert groups(run(classed(range(10), [0] * 3 + [1] * 7), 3, mode)) == [[0, 1, 2], *rest]


def test_a_table_of_one_class_value_is_cut_at_medians():
    table = oracles.Table(*wide_table()[0][:2], np.zeros(3000, dtype=np.int32))
    found = partition(*table, KAnonymity(7), "strict", "median")
    assert_array_equal(run(table, 7).labels, found.labels)


def test_a_cut_that_tells_nothing_can_lead_to_cuts_that_do():
    pairs = [(x, y) for x in (0, 1) for y in (0, 1)] * 2
    columns = [classed(column, [x ^ y for x, y in pairs]) for column in zip(*pairs, strict=True)]
    codes = np.hstack([column.codes for column in columns])
    found = run(oracles.Table(codes, [column.domains[0] for column in columns], columns[0].classes), 2)
    assert groups(found) == [[0, 4], [1, 5], [2, 6], [3, 7]]


@pytest.mark.parametrize("k, left", [(3, 3), (4, 4), (5, 5)])
def test_the_best_cut_leaves_k_records_on_both_sides(k, left):
    found = run(classed(range(10), [0] * 3 + [1] * 7), k)
    assert len(groups(found)[0]) == left


def test_the_best_of_the_cuts_that_keep_diversity_is_taken():
    table = classed(range(8), [0, 0, 0, 1, 1, 1, 1, 1])
    found = partition(*table, DistinctDiversity(2), "strict", "infogain")
    assert groups(found) == [list(range(8))]
    table = classed(range(9), [0, 0, 0, 1, 1, 1, 0, 1, 1])
    found = partition(*table, DistinctDiversity(2), "strict", "infogain")
    assert groups(found) == [[0, 1, 2, 3], [4, 5, 6, 7, 8]]


def test_missing_is_a_value_that_can_tell_the_class():
    found = run(classed([None, None, 3, 4, 9, 9], [1, 1, 0, 0, 0, 0]), 2)
    assert groups(found) == [[0, 1], [2, 3], [4, 5]]
    assert boxes(found)[0] == ((0, 0),)


@pytest.mark.parametrize("limits", [{"BLOCK_CELLS": 1}, {"TRIED_CELLS": 1}, {"BLOCK_CELLS": 1 << 30}])
def test_leaves_do_not_depend_on_how_much_is_looked_at_together(limits, monkeypatch):
    table, codes, requirement, _ = wide_table()
    assert max(domain.size for domain in table.domains) <= 255
    expected = partition(table.codes, table.domains, codes, requirement, "strict", "infogain")
    for name, value in limits.items():
        monkeypatch.setattr(blocks if hasattr(blocks, name) else gain_cuts, name, value)
    found = partition(table.codes, table.domains, codes, requirement, "strict", "infogain")
    assert len(groups(expected)) > 20
    assert list(zip(groups(found), boxes(found), strict=True)) == leaves_of(expected)


@pytest.mark.parametrize("missing", [False, True])
def test_big_nodes_are_cut_between_bins_of_many_values(missing, monkeypatch):
    values = [*[None] * 400 * missing, *range(2000 - 400 * missing)]
    table = classed(values, [0] * 1000 + [1] * 1000)
    assert [len(group) for group in groups(run(table, 700))] == [1000, 1000]
    monkeypatch.setattr(blocks, "BLOCK_CELLS", 1)
    found = run(table, 700)
    (below, above) = map(len, groups(found))
    assert 0 < abs(below - 1000) < 8
    assert below + above == 2000
    assert boxes(found) == [
        ((0, below - 1 - 399 * missing),),
        ((below - 399 * missing, table.domains[0].size - 1),),
    ]


def test_codes_of_many_nodes_side_by_side_may_exceed_32_bits():
    rows, size = 12_000, 3_000_000
    rng = np.random.default_rng(3)
    codes = np.sort(rng.choice(size, rows, replace=False))[:, None].astype(np.int32)
    classes = rng.integers(0, 3, rows).astype(np.int32)
    domain = Domain("x", "integer", np.arange(size), missing=False)
    found = partition(codes, [domain], classes, KAnonymity(5), "strict", "infogain")
    assert_array_equal(found.labels, run(classed(list(range(rows)), classes), 5).labels)


@modes
@pytest.mark.parametrize("split, sizes", [("median", [5, 5]), ("infogain", [3, 3, 4])])
def test_the_setting_reaches_the_algorithm(mode, split, sizes):
    table = classed(range(10), [0] * 3 + [1] * 7)
    asked = Anonymization(mode=mode, split=split)
    found = divide(table.codes, table.domains, table.classes, KAnonymity(3), asked, seed=0)
    assert sorted(np.bincount(found.labels)) == sizes
