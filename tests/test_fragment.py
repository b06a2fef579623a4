"""Fragmentation: against FMRMR evaluated from scratch at every step."""

import duckdb
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.fragment import Fragmentation, fmrmr, fragment, fragment_features, place_sensitive
from tasks.load import load_table
from tasks.mutual_information import measure_mutual_information, mutual_information_matrix
from tasks.read_config import parse_config
from tasks.store import create_workspace
from tasks.tables import read_fragments, read_matrix, read_sensitive

quick = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 2**32 - 1)


def random_matrix(seed, features):
    values = np.random.default_rng(seed).random((features + 1, features + 1))
    return (values + values.T) / 2


def of_table(table):
    return mutual_information_matrix([*table.codes.T, table.classes])


@given(seeds, st.integers(1, 9), st.integers(1, 5))
@quick
def test_fragments_are_those_of_the_greedy_search_evaluated_from_scratch(seed, features, fragments):
    matrix = random_matrix(seed, features)
    found = fragment(matrix, min(fragments, features)).fragments
    expected = oracles.greedy_fragmentation(matrix.tolist(), min(fragments, features))
    assert found == tuple(map(tuple, expected))


@given(seeds, st.integers(2, 9), st.integers(1, 4))
@quick
def test_fmrmr_is_relevance_minus_redundancy(seed, features, fragments):
    matrix = random_matrix(seed, features)
    found = fragment(matrix, min(fragments, features)).fragments
    assert fmrmr(matrix, found) == pytest.approx(oracles.fmrmr(matrix.tolist(), found))


@given(oracles.tables(max_columns=6), st.integers(1, 5))
@quick
def test_every_feature_is_in_exactly_one_fragment(table, fragments):
    features = table.codes.shape[1]
    found = fragment(of_table(table), min(fragments, features))
    assert len(found.fragments) == min(fragments, features)
    assert all(members and list(members) == sorted(members) for members in found.fragments)
    assert sorted(sum(found.fragments, ())) == list(range(features))
    assert [placement.feature for placement in found.placements] == list(range(features))
    for placement in found.placements:
        assert placement.feature in found.fragments[placement.fragment]


@given(oracles.tables(max_columns=6).filter(lambda table: table.codes.shape[1] > 1))
@quick
def test_every_placement_was_a_best_one_and_its_contribution_is_true(table):
    matrix = of_table(table)
    seeds, steps = placements_by_step(fragment(matrix, 2))
    pairs = np.triu(matrix[:-1, :-1], 1)
    assert matrix[seeds[0].feature, seeds[1].feature] == pytest.approx(pairs.max(), abs=1e-9)
    halves = [[seed.feature] for seed in seeds]
    rest = {step.feature for step in steps}
    for step in steps:
        options = [
            oracles.contribution(matrix, halves, feature, target) for feature in rest for target in (0, 1)
        ]
        made = oracles.contribution(matrix, halves, step.feature, step.fragment)
        assert made == pytest.approx(step.contribution, abs=1e-9)
        assert made == pytest.approx(max(options), abs=1e-9)
        halves[step.fragment].append(step.feature)
        rest.remove(step.feature)


def placements_by_step(found):
    in_order = sorted(found.placements, key=lambda placement: (placement.step, placement.fragment))
    assert [placement.step for placement in in_order] == [0, 0, *range(1, len(in_order) - 1)]
    return in_order[:2], in_order[2:]


def test_ties_go_to_the_lowest_feature_then_to_the_lowest_fragment():
    assert fragment(np.ones((5, 5)), 2).fragments == ((0, 2, 3), (1,))


@pytest.mark.parametrize("features, expected", [(2, ((0,), (1,))), (3, ((0, 2), (1,)))])
def test_features_without_any_information_are_fragmented_all_the_same(features, expected):
    assert fragment(np.zeros((features + 1, features + 1)), 2).fragments == expected


def test_negative_contributions_end():
    matrix = np.full((7, 7), 5.0)
    matrix[-1, :] = matrix[:, -1] = 0
    found = fragment(matrix + np.diag([9.0] * 7), 2)
    assert sum(map(len, found.fragments)) == 6
    assert min(placement.contribution for placement in found.placements) < 0


def test_two_copies_of_each_feature_are_parted():
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, 4, 400).astype(np.int32) for _ in range(4)]
    classes = (columns[0] > 1).astype(np.int32)
    found = fragment(mutual_information_matrix([*columns, *columns, classes]), 2)
    assert [sorted(feature % 4 for feature in members) for members in found.fragments] == [[0, 1, 2, 3]] * 2


def test_one_fragment_holds_all_features_in_order():
    found = fragment(random_matrix(5, 4), 1)
    assert found.fragments == ((0, 1, 2, 3),)
    assert {placement.fragment for placement in found.placements} == {0}


def test_the_largest_fragment_is_split_again_and_its_halves_take_its_place():
    matrix = np.diag([1.0] * 5)
    matrix[0, 1] = matrix[1, 0] = 0.9
    matrix[2, 3] = matrix[3, 2] = 0.8
    assert fragment(matrix, 3).fragments == ((0,), (2,), (1, 3))


# Sensitive attributes


def with_sensitive(seed, features, sensitive, fragments):
    """Return a matrix of features, sensitive attributes and the class, and where the features go."""
    matrix = random_matrix(seed, features + sensitive)
    kept = [*range(features), -1]
    return matrix, fragment(matrix[np.ix_(kept, kept)], min(fragments, features))


@given(seeds, st.integers(1, 6), st.integers(0, 4), st.integers(1, 4))
@quick
def test_sensitive_attributes_follow_the_features_by_the_same_rule(seed, features, sensitive, fragments):
    matrix, found = with_sensitive(seed, features, sensitive, fragments)
    parts = [list(members) for members in found.fragments]
    last = max(placement.step for placement in found.placements)
    rest, expected = list(range(features, features + sensitive)), {}
    while rest:
        moves = [(attribute, target) for attribute in rest for target in range(len(parts))]
        made = {move: oracles.contribution(matrix.tolist(), parts, *move) for move in moves}
        attribute, target = max(moves, key=lambda move: made[move])
        expected[attribute] = (target, last + len(expected) + 1, made[attribute, target])
        parts[target].append(attribute)
        rest.remove(attribute)
    placed = place_sensitive(matrix, features, found)
    assert [placement.feature for placement in placed] == list(range(features, features + sensitive))
    for placement in placed:
        assert (placement.fragment, placement.step) == expected[placement.feature][:2]
        assert placement.contribution == pytest.approx(expected[placement.feature][2])


def test_of_equal_placements_the_lowest_attribute_goes_first_into_the_lowest_fragment():
    matrix = np.zeros((6, 6))
    placed = place_sensitive(matrix, 3, fragment(matrix[2:, 2:], 3))
    assert [(placement.fragment, placement.step) for placement in placed] == [(0, 1), (0, 2)]


def test_one_fragment_takes_all_sensitive_attributes():
    matrix, found = with_sensitive(3, 4, 3, 1)
    placed = place_sensitive(matrix, 4, found)
    assert [placement.fragment for placement in placed] == [0, 0, 0]
    assert sorted(placement.step for placement in placed) == [1, 2, 3]


def test_two_sensitive_attributes_that_tell_of_each_other_are_parted():
    matrix = np.diag([1.0, 1.0, 1.0, 1.0, 0.0])
    matrix[2, 3] = matrix[3, 2] = 0.9
    found = Fragmentation(((0,), (1,)), fragment(matrix[[0, 1, 4]][:, [0, 1, 4]], 2).placements)
    assert [placement.fragment for placement in place_sensitive(matrix, 2, found)] == [0, 1]


@pytest.fixture
def fragmented(tmp_path):
    """Load and fragment a table whose sensitive columns stand among the others; return its store."""
    rng = np.random.default_rng(8)
    names = ["r", "x0", "class", "x1", "s", "x2", "x3"]
    rows = rng.integers(0, 4, (80, len(names)))
    rows[:, 5] = rows[:, 3]
    lines = "\n".join(",".join(map(str, row)) for row in rows)
    (tmp_path / "table.csv").write_text(",".join(names) + "\n" + lines + "\n")
    config = parse_config(
        {
            "input": {"path": tmp_path / "table.csv"},
            "columns": {"class": "class", "features": "rest", "sensitive": ["s", "r"]},
            "privacy": {"k": 2, "l": 2},
            "fragmentation": {"fragments": 2},
            "output": {"name": "trial"},
        }
    )
    store = create_workspace(tmp_path / "workspace")
    load_table(store, config)
    assert measure_mutual_information(store, config) == 21
    sizes = fragment_features(store, config)
    assert sum(sizes) == 4
    return store


def test_sensitive_attributes_are_stored_with_their_fragments(fragmented):
    with duckdb.connect(fragmented, read_only=True) as connection:
        matrix = read_matrix(connection)
        features, sensitive = read_fragments(connection), read_sensitive(connection)
        rows = connection.execute(
            "SELECT feature, fragment, step, contribution, relevance FROM fragments"
        ).fetchall()
    names = ["x0", "x1", "x2", "x3", "r", "s"]
    assert [name for name, *_ in rows] == names
    kept = [0, 1, 2, 3, -1]
    found = fragment(matrix[np.ix_(kept, kept)], 2)
    placed = place_sensitive(matrix, 4, found)
    assert features == [[names[feature] for feature in members] for members in found.fragments]
    expected = [
        (names[feature], fragment + 1, step, contribution, relevance)
        for (feature, fragment, step, contribution), relevance in zip(
            (*found.placements, *placed), matrix[:-1, -1], strict=True
        )
    ]
    assert rows == expected
    assert sensitive == [
        [names[attribute] for attribute, fragment, *_ in placed if fragment == number] for number in (0, 1)
    ]
