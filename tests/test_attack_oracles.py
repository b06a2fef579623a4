from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import attack_oracles as oracle
import linkage_oracles
import pytest
import rate_oracles
import tiny_releases
from hypothesis import given, settings
from hypothesis import strategies as st
from published_folder import Categories, ClassOf, Fragment, Range, build

ONE = Fragment(
    {"age": "integer", "town": "categorical"},
    [
        ClassOf((Range(20, 39), Categories(("Rome",))), {"a": 2, "b": 1}),
        ClassOf((Range(40, 60, missing=True), Categories(("Oslo", "Rome"), missing=True)), {"b": 2}),
    ],
)
TWO = Fragment(
    {"income": "decimal"},
    [ClassOf((Range(1.5, 3.5),), {"a": 1, "b": 1}), ClassOf((Range(3.5, 9.0),), {"a": 1, "b": 2})],
)
DAY = date(2024, 2, 1).toordinal()
ANNA = {"age": 30, "town": "Rome", "income": 2.0}
BERT = {"age": 40, "town": None, "income": 3.5}


@pytest.fixture
def fragments(tmp_path):
    return oracle.read(build([ONE, TWO], k=2).write(tmp_path / "folder"))


@pytest.fixture
def sets(tmp_path):
    return oracle.read(build([ONE, TWO], k=2, delta=0.5).write(tmp_path / "folder"))


@pytest.mark.parametrize(
    ("text", "kind", "inside", "outside"),
    [
        ("[-3, 5]", "integer", [-3, 5, 0], [-4, 6, None]),
        ("7", "integer", [7], [6, None]),
        ("[1.5, 1e+30] or missing", "decimal", [1.5, 1e30, None], [1.25]),
        ('{"a, \\"b", "c"}', "categorical", ['a, "b', "c"], ["a", None]),
        ("x or missing", "categorical", ["x", None], ["x or missing"]),
        ("[-0.50, 1.00]", "fixed", [Decimal("-0.50"), Decimal("1.00")], [Decimal("1.01"), None]),
        ("2024-02", "date", [DAY, DAY + 28], [DAY - 1, DAY + 29, None]),
        ("[2024-Q1, 2024-Q2] or missing", "date", [DAY - 31, DAY + 150, None], [DAY - 32, DAY + 151]),
        ("", "integer", [None], [0]),
        ("", "categorical", [None], [""]),
    ],
)
def test_a_cell_covers_what_it_says(text, kind, inside, outside):
    cell = oracle.read_cell(text, kind)
    assert all(map(cell.covers, inside))
    assert not any(map(cell.covers, outside))


def test_a_group_covers_the_values_that_it_holds():
    cell = oracle.read_cell("a*", "categorical", {"a*": {"a1", "a2"}})
    assert [cell.covers(value) for value in ("a1", "a2", "b1", "a*", None)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_covering_rows_by_hand(fragments):
    # The file of fragment 1 in the order of its text: [20, 39] three times, [40, 60] twice.
    assert [row.told for row in fragments[0].rows] == ["a", "a", "b", "b", "b"]
    assert [oracle.covering_lines(each, ANNA) for each in fragments] == [[0, 1, 2], [0, 1]]
    assert [oracle.covering_lines(each, BERT) for each in fragments] == [[3, 4], [0, 1, 2, 3, 4]]


def test_what_covers_nobody_is_no_evidence(fragments):
    nobody = {"age": 39.5, "town": "Rome", "income": 0.0}
    assert oracle.covering_lines(fragments[0], nobody) == []
    assert oracle.smallest_join(fragments, nobody) is None


def test_the_combination_by_hand_with_and_without_the_target(fragments):
    before = oracle.prior([oracle.told(each, per_class=False) for each in fragments])
    assert before == {"a": Fraction(2, 5), "b": Fraction(3, 5)}
    told = [oracle.evidence(each, ANNA, per_class=False) for each in fragments]
    assert told == [{"a": 2, "b": 1}, {"a": 1, "b": 1}]
    assert oracle.combination(told, before) == {"a": Fraction(3, 4), "b": Fraction(1, 4)}
    fewer = [oracle.without_record(each, ANNA, "a") for each in fragments]
    assert [len(each.rows) for each in fewer] == [4, 4]
    left = [oracle.evidence(each, ANNA, per_class=False) for each in fewer]
    assert left == [{"a": 1, "b": 1}, {"b": 1}]
    assert oracle.combination(left, before) == {"b": 1}
    assert oracle.combination([{"a": 1}, {"b": 1}], before) is None
    assert oracle.combination([{"a": 1, "b": 1}, {}], before) == {"a": Fraction(1, 2), "b": Fraction(1, 2)}


def test_a_record_that_no_covering_row_can_be_is_not_left_out(fragments):
    assert oracle.without_record(fragments[0], BERT, "a") == fragments[0]


def test_a_guess_among_equals_is_the_most_frequent():
    half = Fraction(1, 2)
    assert oracle.guesses({"a": half, "b": half}, {"a": 1, "b": 2}) == {"b"}
    assert oracle.guesses({"b": half, "a": half}, {"a": 1, "b": 1}) == {"a", "b"}
    assert oracle.guesses(None, {"a": 1, "b": 2}) == {"b"}
    assert oracle.guesses(None, {}) == set()


def test_sets_of_class_values_tell_each_value_as_likely(sets):
    told = [oracle.evidence(each, ANNA, per_class=True) for each in sets]
    assert told == [{"a": Fraction(3, 2), "b": Fraction(3, 2)}, {"a": 1, "b": 1}]
    # EC 2 of fragment 1 tells only b: a 3/2, b 3/2 + 2
    assert oracle.told(sets[0], per_class=True) == {"a": Fraction(3, 2), "b": Fraction(7, 2)}
    assert oracle.smallest_join(sets, ANNA, per_class=True) == Fraction(3, 2) * 2


def test_the_smallest_join_takes_one_covering_ec_of_each(fragments):
    assert oracle.smallest_join(fragments, ANNA) == 2 * 1 + 1 * 1
    # BERT: {b2} with {a1 b1} or {a1 b2}: 2 rows or 4
    assert oracle.smallest_join(fragments, BERT) == 2
    assert oracle.joined_rows(fragments, BERT) == oracle.smallest_joined(fragments, BERT) == 2 + 4
    assert oracle.joined_rows(fragments, ANNA) == 3


def test_the_smallest_join_can_be_a_triple():
    counts = [{"a": 1, "b": 2, "c": 2}, {"a": 1, "b": 2, "d": 2}, {"a": 1, "c": 2, "d": 2}]
    cell = (oracle.read_cell("1", "integer"),)
    fragments = [
        oracle.Fragment(
            [str(i)], [], [oracle.Row(cell, value, ()) for value, n in each.items() for _ in range(n)]
        )
        for i, each in enumerate(counts)
    ]
    person = {"0": 1, "1": 1, "2": 1}
    assert oracle.smallest_join(fragments, person) == oracle.smallest_joined(fragments, person) == 1


def test_position_by_hand(fragments):
    # ANNA: lines 0 to 2 of the first file, of which 0 and 1 cover her in the second
    assert oracle.position_success(fragments, ANNA) == Fraction(2, 3)
    assert oracle.position_by_chance(fragments, ANNA) == Fraction(2, 5)
    assert oracle.position_success(fragments, BERT) == 1


def test_linkage_by_hand(fragments):
    # Paired: a: lines 0, 1 with lines 0, 2; b: lines 2, 3, 4 with lines 1, 3, 4.
    # ANNA is covered in pairs 0, 1, 2 by age and town, in pairs 0, 2 by income.
    assert linkage_oracles.linkage_success(*fragments, ANNA) == Fraction(2, 3 * 2)
    # Two of three and both of two: always one in common.
    assert linkage_oracles.linkage_success(*fragments, ANNA, neighbours=2) == 1
    assert linkage_oracles.linkage_by_chance(5) == Fraction(1, 5)
    assert linkage_oracles.linkage_by_chance(5, 2) == 1 - Fraction(3, 10)


def test_distance_is_zero_inside_and_the_way_to_the_nearer_bound_outside(fragments):
    row = fragments[0].rows[0]
    assert linkage_oracles.row_distance(fragments[0], row, ANNA) == 0
    # 41 is 2 beyond 39 on a span of 20 to 60; Oslo is not Rome
    assert (
        linkage_oracles.row_distance(fragments[0], row, ANNA | {"age": 41, "town": "Oslo"})
        == Fraction(2, 40) + 1
    )
    assert linkage_oracles.row_distance(fragments[0], row, ANNA | {"age": None}) == 1


def test_an_ec_whose_values_are_rows_in_one_order_links_rightly():
    rows = [oracle.Row((oracle.read_cell(str(i), "integer"),), value, ()) for i, value in enumerate("aab")]
    one, other = oracle.Fragment(["x"], [], rows), oracle.Fragment(["y"], [], rows)
    assert linkage_oracles.linkage_success(one, other, {"x": 1, "y": 1}) == 1
    assert linkage_oracles.linkage_success(one, other, {"x": 1, "y": 0}) == 0


@pytest.mark.parametrize(("successes", "attempts"), [(0, 10), (3, 10), (10, 10), (1, 1), (400, 1000)])
def test_wilson_is_the_known_formula(successes, attempts):
    z, n = 1.959963984540054, attempts
    centre = (successes + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * sqrt(successes * (n - successes) / n + z**2 / 4)
    assert rate_oracles.wilson(successes, attempts) == pytest.approx((centre - half, centre + half), abs=1e-9)


def test_residual_by_hand():
    assert rate_oracles.residual(0.75, 0.5) == 0.5
    # slopes 1 / 0.5 and -0.25 / 0.25
    assert rate_oracles.residual_error(0.75, 0.5, 0.03, 0.08) == pytest.approx(
        sqrt(0.06**2 + 0.08**2), rel=1e-5
    )


@settings(max_examples=25, deadline=None)
@given(tiny_releases.releases(changed=False), st.booleans())
def test_every_record_of_a_random_release_is_covered_by_what_is_read(tiny, per_class):
    with TemporaryDirectory() as folder:
        release = build(tiny.fragments, k=1, delta=0.5 if per_class else None)
        read = oracle.read(release.write(Path(folder)), tiny_releases.GROUPS)
    for record in tiny.records:
        found = [oracle.evidence(fragment, record, per_class=per_class) for fragment in read]
        assert all(each.get(record["class"]) for each in found)
        assert oracle.combination(found, oracle.prior(found))
        beside = oracle.sensitive_counts(oracle.covering_rows(read[0], record), 0)
        assert record["s"] is None or beside[record["s"]]
