"""min_distortion: valid over every subset of fragments, with as few changed records as can be."""

from math import inf

import enforcement_oracles
import numpy as np
import oracles
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.config import Privacy
from tasks.enforcement import take_back as taking_back
from tasks.enforcement.compiled_joins import JoinTree
from tasks.enforcement.dependency_graph import nodes_of
from tasks.enforcement.keep_records import keep_records
from tasks.enforcement.larger_joins import violating_larger
from tasks.enforcement.least_counts import least_counts
from tasks.enforcement.min_distortion import _Enforcement, _taken_back, min_distortion
from tasks.enforcement.moves import Moves
from tasks.enforcement.nested_supports import nested_supports
from tasks.enforcement.penalised_search import PenalisedSearch
from tasks.enforcement.strategies import enforce
from tasks.enforcement.take_back import _binding, first_safe, take_back
from tasks.joins.record_witnesses import record_witnesses

quick = settings(deadline=None, max_examples=12)
families = oracles.families(max_fragments=4, max_values=5, max_k=6, max_records=14)
guarantees = pytest.mark.parametrize("guarantee", ["join", "records"])

TRIPLE = oracles.Family([np.array([[1, 2, 2, 0]]), np.array([[1, 2, 0, 2]]), np.array([[1, 0, 2, 2]])], 5)
ONE_SHARED_VALUE = oracles.Family([np.array([[1, 1, 0]]), np.array([[1, 0, 1]])], 2)


def small_case(seed, guarantee):
    """Draw few small classes, so that the optimum can be found by trying everything."""
    random = np.random.default_rng(seed)
    fragments = 2 + (seed % 3 == 0)
    ecs, values = (4 if fragments == 2 else 3, 4) if guarantee == "join" else (2, 3)
    k = int(random.integers(3, 6))
    shares = random.dirichlet(np.full(values, 0.6), size=(fragments, ecs))
    return [random.multinomial(random.integers(k, 2 * k, size=ecs), of_fragment) for of_fragment in shares], k


def changed(before, after):
    return sum(map(oracles.changed_records, before, after))


def is_sound(family, guarantee):
    if guarantee == "records":
        return oracles.meets_record_condition(family.counts, family.k)
    return not oracles.violating_choices(family.counts, family.k)


@guarantees
@given(family=families)
@example(family=TRIPLE)
@example(family=ONE_SHARED_VALUE)
@quick
def test_no_choice_of_any_subset_of_fragments_violates_afterwards(family, guarantee):
    before = [fragment.copy() for fragment in family.counts]
    after = min_distortion(family.counts, family.k, guarantee)
    assert enforcement_oracles.is_valid(after, family.k, guarantee)
    assert is_sound(oracles.Family(list(after), family.k), guarantee)
    for old, new, kept in zip(before, after, family.counts, strict=True):
        assert new.dtype == np.int64
        assert new.min() >= 0
        assert_array_equal(new.sum(axis=1), old.sum(axis=1))
        assert_array_equal(old, kept)


@guarantees
@given(family=families)
@quick
def test_nothing_changes_where_nothing_is_violated(family, guarantee):
    if is_sound(family, guarantee):
        assert changed(family.counts, min_distortion(family.counts, family.k, guarantee)) == 0


@guarantees
def test_the_same_counts_give_the_same_result(guarantee):
    for seed in range(5):
        counts, k = small_case(seed, guarantee)
        first, again = min_distortion(counts, k, guarantee), min_distortion(counts, k, guarantee)
        for one, other in zip(first, again, strict=True):
            assert_array_equal(one, other)


@guarantees
def test_small_cases_are_within_five_percent_of_the_optimum(guarantee):
    cases = [small_case(seed, guarantee) for seed in range(15)]
    fewest = sum(enforcement_oracles.fewest_changed(counts, k, guarantee) for counts, k in cases)
    found = sum(changed(counts, min_distortion(counts, k, guarantee)) for counts, k in cases)
    assert fewest > 0
    assert fewest <= found <= 1.05 * fewest


@pytest.mark.parametrize("seed", range(8))
def test_it_changes_no_more_than_the_dependency_graph(seed):
    counts, k = small_case(seed, "join")
    privacy = Privacy.model_construct(
        k=k, enforcement="dependency_graph", delta=None, guarantee="join", l=None, t=None
    )
    graph = enforce(privacy, counts, 0)
    assert changed(counts, min_distortion(counts, k, "join")) <= sum(graph.changed)


@pytest.mark.parametrize("size", [4, 5])
def test_k_rows_are_enough(size):
    counts = [np.array([[1, 6, 0]]), np.array([[size, 0, 3]])]
    assert changed(counts, min_distortion(counts, 5, "join")) == 5 - size


def test_one_record_of_every_pure_class_is_enough_for_two_class_values():
    counts = [np.array([[1, 4], [5, 0]]), np.array([[5, 0], [0, 5], [2, 3]])]
    assert changed(counts, min_distortion(counts, 5, "records")) == 3


def test_more_classes_than_are_searched_stay_valid(monkeypatch):
    monkeypatch.setattr("tasks.enforcement.min_distortion.SEARCHED_ECS", 0)
    counts, k = small_case(1, "join")
    assert enforcement_oracles.is_valid(min_distortion(counts, k, "join"), k, "join")


@pytest.mark.parametrize(("most", "searched"), [(4, True), (3, False)])
def test_under_records_classes_of_one_value_are_searched_too(most, searched, monkeypatch):
    monkeypatch.setattr("tasks.enforcement.min_distortion.SEARCHED_ECS", most)
    ran = []
    run = _Enforcement.run
    monkeypatch.setattr(_Enforcement, "run", lambda self: ran.append(self) or run(self))
    counts = [np.array([[1, 4], [0, 7]]), np.array([[5, 0], [7, 0]])]
    assert enforcement_oracles.is_valid(min_distortion(counts, 5, "records"), 5, "records")
    assert bool(ran) == searched


@pytest.mark.parametrize(("spare", "starts"), [(0, False), (1, True)])
def test_a_search_that_would_use_up_its_work_at_the_start_is_not_begun(spare, starts):
    before = np.array([[3, 1, 0], [0, 2, 2]])
    search = PenalisedSearch(before, before, np.arange(2), 4, "join")
    assert search.start(2**40)
    work = search.work
    again = PenalisedSearch(before, before, np.arange(2), 4, "join")
    assert again.start(work + spare) == starts
    assert again.work == work * starts


@guarantees
def test_many_class_values_are_searched_among_those_that_occur(guarantee):
    narrow, k = small_case(1, guarantee)
    wide = [np.zeros((len(fragment), 60), dtype=np.int64) for fragment in narrow]
    for fragment, own in zip(wide, narrow, strict=True):
        fragment[:, 7 : 7 + 5 * own.shape[1] : 5] = own
    after = min_distortion(wide, k, guarantee)
    assert changed(wide, after) == changed(narrow, min_distortion(narrow, k, guarantee))


def test_a_search_that_learns_nothing_new_ends(monkeypatch):
    known = []
    monkeypatch.setattr(_Enforcement, "_larger", lambda *_: known.append(1) or [[0, 1, 2]])
    after = min_distortion(TRIPLE.counts, TRIPLE.k, "join")
    assert len(known) == 2
    assert enforcement_oracles.is_valid(after, TRIPLE.k, "join")


ODD = {
    "one class value": [np.array([[5], [7]]), np.array([[12]])],
    "one class of each fragment": [np.array([[1, 4, 0]]), np.array([[1, 0, 4]])],
    "a class value that nobody has": [np.array([[1, 0, 4]]), np.array([[5, 0, 0]])],
    "nothing in common": [np.array([[5, 0]]), np.array([[0, 5]])],
    "one fragment": [np.array([[1, 4, 0], [1, 0, 4]])],
}


@guarantees
@pytest.mark.parametrize("counts", ODD.values(), ids=ODD)
def test_odd_inputs_are_made_safe(counts, guarantee):
    after = min_distortion(counts, 5, guarantee)
    nodes = nodes_of(counts)
    keep_records(nodes, 5, 0)
    kept = np.split(nodes.counts, np.cumsum([len(fragment) for fragment in counts])[:-1])
    for safe in (after, nested_supports(counts, 5, guarantee), kept):
        assert enforcement_oracles.is_valid(safe, 5, guarantee)
        for old, new in zip(counts, safe, strict=True):
            assert new.min() >= 0
            assert_array_equal(new.sum(axis=1), old.sum(axis=1))


def test_a_search_without_success_leaves_a_valid_result(monkeypatch):
    monkeypatch.setattr("tasks.enforcement.min_distortion.MOST_WORK", 0)
    counts, k = small_case(1, "join")
    assert enforcement_oracles.is_valid(min_distortion(counts, k, "join"), k, "join")


@given(families)
@quick
def test_least_counts_are_safe_by_one_shared_value(family):
    after = least_counts(family.counts, family.k)
    assert not oracles.violating_choices(list(after), family.k)
    for old, new in zip(family.counts, after, strict=True):
        assert new.min() >= 0
        assert_array_equal(new.sum(axis=1), old.sum(axis=1))


@pytest.mark.parametrize(("few", "kept"), [(3, True), (2, False)])
def test_values_that_occur_often_enough_are_kept(few, kept):
    counts = [np.array([[6, few, 0]]), np.array([[0, 3, 6]])]
    after = least_counts(counts, 9)
    assert (changed(counts, after) == 0) == kept


@pytest.mark.parametrize("start", [nested_supports, least_counts])
@given(family=families)
@quick
def test_what_is_taken_back_stays_safe_and_changes_no_more(family, start):
    if start is nested_supports:
        after = nested_supports(family.counts, family.k, "join")
    else:
        after = least_counts(family.counts, family.k)
    fewer = take_back(family.counts, after, family.k)
    assert not oracles.violating_choices(list(fewer), family.k)
    assert changed(family.counts, fewer) <= changed(family.counts, after)
    for old, new in zip(family.counts, fewer, strict=True):
        assert new.min() >= 0
        assert_array_equal(new.sum(axis=1), old.sum(axis=1))


def test_needless_changes_are_taken_back_but_not_the_needed_ones():
    counts = [np.array([[1, 6, 0], [0, 6, 0]]), np.array([[4, 0, 3]])]
    after = [np.array([[0, 7, 0], [6, 0, 0]]), np.array([[0, 0, 7]])]
    assert changed(counts, take_back(counts, after, 5)) == 1


@given(families)
@quick
def test_larger_choices_are_found_once_all_pairs_are_safe(family):
    counts = np.concatenate(family.counts).astype(np.float32)
    fragments = np.repeat(np.arange(len(family.counts)), [len(fragment) for fragment in family.counts])
    found = violating_larger(counts, fragments, family.k)
    choices = oracles.violating_choices(family.counts, family.k)
    if all(len(choice) > 2 for choice in choices):
        assert bool(found) == bool(choices)
    for choice in found:
        assert len(choice) > 2
        assert 0 < counts[choice].prod(axis=0).sum() < family.k


def test_a_violating_triple_of_safe_pairs_is_found():
    counts = np.concatenate(TRIPLE.counts).astype(np.float32)
    assert violating_larger(counts, np.arange(3), 5) == [[0, 1, 2]]
    assert violating_larger(counts, np.arange(3), 1) == []


@given(families)
@quick
def test_record_witnesses_are_found_where_there_are_any(family):
    found = list(record_witnesses(family.counts, family.k))
    assert bool(found) != oracles.meets_record_condition(family.counts, family.k)
    for choice in found:
        vectors = [tuple(family.counts[fragment][ec].tolist()) for fragment, ec in choice]
        assert not enforcement_oracles.keeps(vectors, family.k, "records")


def test_moves_take_a_few_records_or_all_to_another_value():
    moves = Moves(2).from_counts(np.array([5.0, 1.0]))
    assert {tuple(move) for move in moves.tolist()} == {(4, 2), (3, 3), (2, 4), (0, 6), (6, 0)}


@pytest.mark.parametrize("guarantee", ["join", "records"])
def test_the_oracle_refuses_what_violates(guarantee):
    assert not enforcement_oracles.is_valid(ONE_SHARED_VALUE.counts, 2, guarantee)
    assert enforcement_oracles.fewest_changed(ONE_SHARED_VALUE.counts, 2, guarantee) == 1


def looked_at(rng, values=4, k=9):
    """Return owners, vectors of each and joins, of which few, many or all rule a vector out."""
    vectors = rng.integers(0, rng.integers(2, 12), size=(rng.integers(1, 300), values))
    joins = rng.integers(0, rng.integers(2, k + 1), size=(rng.integers(1, 200), values))
    owners = rng.integers(0, rng.integers(1, 60), size=len(vectors))
    return owners, vectors.astype(np.float32), joins.astype(np.float32), k


@pytest.mark.parametrize("leaf", [1, 32])
@pytest.mark.parametrize("seed", range(60))
def test_compiled_code_finds_the_same_first_safe_vector_of_each_owner(seed, leaf, monkeypatch):
    monkeypatch.setattr("tasks.joins.count_tree.LEAF", leaf)
    owners, vectors, joins, k = looked_at(np.random.default_rng(seed))
    joined = vectors @ joins.T
    safe = ~((joined > 0) & (joined < k)).any(axis=1)
    expected = [min(np.flatnonzero(safe & (owners == owner))) for owner in sorted(set(owners[safe].tolist()))]
    assert first_safe(owners, vectors, joins, k).tolist() == expected
    assert JoinTree.of(joins).first_safe(owners, vectors, k).tolist() == expected


def test_what_starts_from_too_many_changes_is_not_taken_back():
    before = [np.array([[9, 1], [5, 5]]), np.array([[8, 2]])]
    near, far = (before[0], np.array([[9, 1]])), (np.array([[10, 0], [10, 0]]), np.array([[10, 0]]))
    assert len(_taken_back(before, [near, far], 10, inf)) == 2
    assert len(_taken_back(before, [near, far], 10, 2)) == 1
    assert len(_taken_back(before, [near, near], 10, 2)) == 2


def test_compiled_code_takes_back_the_same_changes(monkeypatch):
    rng = np.random.default_rng(3)
    before = [rng.integers(0, 9, size=(40, 4)) for _ in range(3)]
    after = [np.zeros_like(each) for each in before]
    for each, was in zip(after, before, strict=True):
        each[:, 0] = was.sum(axis=1)
    plain = take_back(before, after, 5)
    monkeypatch.setattr("tasks.enforcement.take_back.COMPILED_JOINS", 0)
    for one, other in zip(plain, take_back(before, after, 5), strict=True):
        assert_array_equal(one, other)


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=30), st.integers(1, 4), st.integers(1, 4))
@settings(deadline=None, max_examples=60)
def test_of_joins_of_one_support_those_bind_that_no_lower_one_bounds(vectors, k, compared):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(taking_back, "MANY", 0)
        patch.setattr(taking_back, "COMPARED", compared)
        found = _binding(np.array(vectors, dtype=np.float32).reshape(-1, 3), k)
    suspect = {vector for vector in vectors if any(0 < count < k for count in vector)}
    expected = [
        vector
        for vector in suspect
        if not any(
            other != vector and all(a <= b and (a > 0) == (b > 0) for a, b in zip(other, vector, strict=True))
            for other in suspect
        )
    ]
    assert sorted(map(tuple, found.tolist())) == sorted(expected)
