"""Attacks succeed on releases that are broken on purpose, and not on sound ones."""

import ast
import itertools
from collections import Counter
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_folder import Categories, ClassOf, Fragment, Range, build
from test_attack_files import read, targets_of

import validations.attacks
from validations.attacks.class_join import isolated, isolating, joined_candidates
from validations.attacks.combination import combined, without
from validations.attacks.covering import seen
from validations.attacks.linkage import linked, rebuilt
from validations.attacks.success import attack, candidates, rate
from validations.attacks.try_attacks import try_attacks
from validations.promises import read_promises

# --- rates ---------------------------------------------------------------------------------------


def first(successes, attempts):
    return np.arange(attempts) < successes


def rate_of(successes, attempts):
    return rate(first(successes, attempts))


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_bounds_of_a_rate_are_just_as_likely_as_the_score_interval_allows(counts):
    successes, attempts = counts
    found = rate_of(successes, attempts)
    assert found.value == successes / attempts
    assert 0 <= found.low <= found.value <= found.high <= 1
    for bound in (found.low, found.high):
        if 0 < bound < 1:
            deviation = abs(found.value - bound) / sqrt(bound * (1 - bound) / attempts)
            assert deviation == pytest.approx(1.959963984540054)


@pytest.mark.parametrize(
    ("success", "baseline", "excess"),
    [(750, 500, 0.5), (500, 500, 0), (400, 500, 0), (1000, 0, 1), (1000, 1000, 0), (999, 1000, 0), (0, 0, 0)],
)
def test_the_excess_is_the_share_of_what_was_left_to_gain(success, baseline, excess):
    found = attack("linkage", "fragments 1 and 2", first(success, 1000), first(baseline, 1000))
    assert (found.success, found.baseline) == (rate_of(success, 1000), rate_of(baseline, 1000))
    assert found.excess == pytest.approx(excess)
    assert 0 <= found.excess_low <= found.excess <= found.excess_high <= 1
    assert (found.excess_low > 0) == (success > baseline)


def test_records_for_whom_one_way_alone_succeeds_are_counted():
    succeeded, otherwise = np.array([[1, 1, 1, 0, 0, 1], [1, 0, 0, 1, 0, 0]], dtype=np.bool_)
    found = attack("inference", "class", succeeded, otherwise)
    assert (found.success.successes, found.baseline.successes) == (4, 2)
    assert (found.only_with, found.only_without) == (3, 1)


def test_candidates_are_quartiles_over_targets():
    assert candidates(2, np.array([5.0, 1, 2, 3, 4])) == (2, 1, 2, 3, 4, 5)


# --- the class -----------------------------------------------------------------------------------


def beliefs_of(counts, totals):
    return combined(
        [np.array([each], dtype=float) for each in counts], [np.array([each], float) for each in totals]
    )


def test_the_combination_is_that_of_independent_fragments():
    belief = beliefs_of([[3, 1, 0], [1, 1, 2]], [[6, 2, 4], [6, 2, 4]])
    shares = np.exp(belief.scores[0]) / np.exp(belief.scores[0]).sum()
    by_hand = np.array([3 / 4 * 1 / 4 / (6 / 12), 1 / 4 * 1 / 4 / (2 / 12), 0])
    assert shares == pytest.approx(by_hand / by_hand.sum())
    assert belief.guesses.tolist() == [0]
    assert not belief.certain(np.array([0]))


def test_of_equally_likely_values_the_more_frequent_is_guessed_then_the_first():
    assert beliefs_of([[2, 2, 0]], [[4, 6, 1]]).guesses.tolist() == [1]
    assert beliefs_of([[0, 2, 2]], [[4, 6, 6]]).guesses.tolist() == [1]


def test_without_rows_or_without_a_possible_value_the_most_frequent_is_guessed():
    for counts in ([[0, 0], [0, 0]], [[3, 0], [0, 2]]):
        belief = beliefs_of(counts, [[3, 5], [3, 5]])
        assert belief.guesses.tolist() == [1]
        assert not belief.certain(np.array([0]))
        assert not belief.certain(np.array([1]))


def test_nothing_is_guessed_from_files_without_any_value():
    assert beliefs_of([[0, 0]], [[0, 0]]).guesses.tolist() == [-1]


def test_certain_is_one_possible_value_that_is_the_true_one():
    belief = beliefs_of([[3, 1], [0, 2]], [[3, 5], [3, 5]])
    assert belief.certain(np.array([1]))
    assert not belief.certain(np.array([0]))


def test_leaving_out_a_record_takes_one_of_its_value_if_there_is_one():
    counts = np.array([[2.0, 1], [0, 3], [1, 0]])
    assert without(counts, np.array([0, 0, 0])).tolist() == [[1, 1], [0, 3], [0, 0]]


@given(
    st.integers(2, 4).flatmap(
        lambda m: st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=m, max_size=m)
    ),
    st.integers(2, 12),
)
def test_every_set_of_fragments_is_joined(counts, k):
    sums = [
        int(np.prod(several, axis=0).sum())
        for size in range(2, len(counts) + 1)
        for several in itertools.combinations(counts, size)
    ]
    found = isolating([np.array([each], dtype=float) for each in counts], k)
    assert found.tolist() == [any(0 < rows < k for rows in sums)]


def test_three_fragments_can_isolate_where_no_two_do():
    first, second, third = ([[1.0, 2, 2, 0]], [[1.0, 2, 0, 2]], [[1.0, 0, 2, 2]])
    assert isolating([np.array(each) for each in (first, second, third)], 5).tolist() == [True]
    assert isolating([np.array(each) for each in (first, second)], 5).tolist() == [False]
    assert isolating([np.array(each) for each in (first, second, third)], 1).tolist() == [False]


# --- whole releases ------------------------------------------------------------------------------


def one_feature(name, *classes, kind="integer"):
    return Fragment({name: kind}, [ClassOf([Range(n, n)], counts) for n, counts in enumerate(classes)])


def tried(release, folder, records, seed=0):
    """Return what came of every attack, by its name and subject."""
    return {(each.name, each.subject): each for each in all_tried(release, folder, records, seed).attacks}


def all_tried(release, folder, records, seed=0):
    release.write(folder)
    return try_attacks(folder, read_promises(folder), targets_of(records), seed)


def gaining(found):
    """Return the names and subjects of the attacks that gained."""
    judged = zip(found.attacks, found.verdicts, strict=True)
    return {(each.name, each.subject) for each, verdict in judged if verdict.gained}


CERTAIN, ISOLATED, GUESSED = (
    ("class_join", "class, certain"),
    ("class_join", "isolated"),
    ("inference", "class"),
)
POSITION, LINKED, LINKED_BY_K = (
    ("position", "all fragments"),
    ("linkage", "fragments 1 and 2"),
    ("linkage", "fragments 1 and 2, 5 nearest rows"),
)


def successes(found):
    return found.success.successes, found.baseline.successes, found.success.attempts


def test_a_class_join_that_isolates(tmp_path):
    crossing = [one_feature("x", {"a": 1, "b": 4}), one_feature("y", {"a": 1, "c": 4})]
    target = {"x": 0, "y": 0, "class": "a"}
    found = tried(build(crossing, k=5), tmp_path, [target] * 20)
    assert successes(found[ISOLATED]) == (20, 0, 20)
    assert successes(found[CERTAIN]) == successes(found[GUESSED]) == (20, 0, 20)
    assert found[CERTAIN].excess == found[ISOLATED].excess == 1


@pytest.mark.parametrize(("k", "few"), [(4, 0), (5, 0), (6, 20)])
def test_a_join_of_k_rows_isolates_nobody(k, few, tmp_path):
    fragments = [one_feature("x", {"a": 1, "b": 5}), one_feature("y", {"a": 5, "c": 1})]
    found = tried(build(fragments, k=k), tmp_path, [{"x": 0, "y": 0, "class": "a"}] * 20)
    assert found[ISOLATED].success.successes == few


def test_a_class_that_follows_from_the_combination_follows_without_the_target_too(tmp_path):
    halves = [{"a": 5, "b": 5}, {"c": 5, "d": 5}], [{"a": 5, "c": 5}, {"b": 5, "d": 5}]
    people = [
        {"x": x, "y": y, "class": label}
        for (x, y), label in zip(itertools.product((0, 1), repeat=2), "abcd", strict=True)
    ]
    fragments = [one_feature(name, *classes) for name, classes in zip("xy", halves, strict=True)]
    found = tried(build(fragments, k=5), tmp_path / "both", people)
    assert successes(found[CERTAIN]) == successes(found[GUESSED]) == (4, 4, 4)
    assert found[CERTAIN].excess == 0
    alone = tried(build(fragments[:1], k=5), tmp_path / "alone", people)
    assert set(alone) == {CERTAIN, GUESSED}
    assert successes(alone[CERTAIN]) == (0, 0, 4)
    assert successes(alone[GUESSED]) == (2, 0, 4)


def test_equivalence_classes_of_one_record_tell_its_class_and_nobody_elses(tmp_path):
    labels = "abc" * 10
    fragments = [one_feature(name, *({label: 1} for label in labels)) for name in "xy"]
    people = [{"x": place, "y": place, "class": label} for place, label in enumerate(labels)]
    found = tried(build(fragments, k=5), tmp_path, people)
    assert successes(found[CERTAIN]) == (30, 0, 30)
    assert (found[CERTAIN].only_with, found[CERTAIN].only_without) == (30, 0)
    assert found[GUESSED].success.value == 1
    assert found[GUESSED].excess_low > 0.5
    assert found[ISOLATED].success.value == 1


def records_in(rows, share=0.5):
    """Return records of two features and two class values that have nothing to do with each other."""
    rng = np.random.default_rng(3)
    x, y = rng.permutation(rows), rng.permutation(rows)
    labels = np.where(rng.random(rows) < share, "a", "b")
    return [
        {"x": int(own_x), "y": int(own_y), "class": str(label)}
        for own_x, own_y, label in zip(x, y, labels, strict=True)
    ]


def grouped(records, size, name):
    cell = [record[name] // size for record in records]
    counts = {}
    for number, record in zip(cell, records, strict=True):
        counts.setdefault(number, Counter())[record["class"]] += 1
    ranges = {number: Range(number * size, number * size + size - 1) for number in counts}
    classes = [ClassOf([ranges[number]], dict(counts[number])) for number in sorted(counts)]
    return Fragment({name: "integer"}, classes), [ranges[number] for number in cell]


def in_input_order(release, records, ranges):
    """Break a release: every file has its rows in the order of the input."""
    for table, cells in zip(release.tables, ranges, strict=True):
        labels = [record["class"] for record in records]
        table.csv = [[cell.text, label] for cell, label in zip(cells, labels, strict=True)]
        table.parquet = [[cell.value, label] for cell, label in zip(cells, labels, strict=True)]


@pytest.mark.parametrize("broken", [False, True])
def test_one_order_in_all_files_gives_position_and_linkage_away(broken, tmp_path):
    records = records_in(400)
    fragments, ranges = zip(*(grouped(records, 5, name) for name in "xy"), strict=True)
    release = build(fragments, k=5)
    if broken:
        in_input_order(release, records, ranges)
    every = all_tried(release, tmp_path, records)
    found = {(each.name, each.subject): each for each in every.attacks}
    assert every.every_record
    assert gaining(every) - {CERTAIN, GUESSED} == ({POSITION, LINKED, LINKED_BY_K} if broken else set())
    assert (found[LINKED_BY_K].success.value == 1) == broken
    assert found[POSITION].baseline.value < 0.05
    assert found[ISOLATED].success.successes == 0


def test_a_class_that_has_nothing_to_do_with_features_is_not_guessed_better_with_the_record(tmp_path):
    records = records_in(240, share=0.7)
    fragments = [grouped(records, 60, name)[0] for name in "xy"]
    found = tried(build(fragments, k=5), tmp_path, records)
    assert found[CERTAIN].success.successes == 0
    assert found[GUESSED].excess == 0
    assert found[GUESSED].success.value > 0.5


def test_what_nobody_gains_by_is_said_of_nobody(tmp_path):
    release = build([one_feature("x", {"a": 4, "b": 1}), one_feature("y", {"a": 4, "c": 1})], k=5, delta=0.1)
    assert gaining(all_tried(release, tmp_path, [{"x": 0, "y": 0, "class": "a"}] * 4)) == set()


@pytest.mark.parametrize(("aimed_at", "gained"), [(10, {CERTAIN, GUESSED}), (1, set())])
def test_a_gain_for_every_record_is_a_fact_and_for_one_drawn_it_is_not(aimed_at, gained, tmp_path):
    labels = "abcdefghij"
    release = build([one_feature("x", *({label: 1} for label in labels))], k=5)
    people = [{"x": place, "class": label} for place, label in enumerate(labels)]
    found = all_tried(release, tmp_path, people[:aimed_at])
    assert found.every_record == (aimed_at == len(labels))
    assert gaining(found) == gained
    assert [verdict.by_chance is None for verdict in found.verdicts] == [found.every_record] * 2


def three(counts, **asked):
    return build([one_feature(name, *each) for name, each in zip("xyz", counts, strict=True)], **asked)


def test_three_fragments_are_joined_and_linked_in_pairs(tmp_path):
    release = three([[{"a": 5, "b": 5}], [{"a": 5, "b": 5}], [{"a": 5}, {"b": 5}]], k=5)
    found = tried(release, tmp_path, [{"x": 0, "y": 0, "z": 1, "class": "b"}] * 10)
    pairs = ["1 and 2", "1 and 3", "2 and 3"]
    assert [subject for name, subject in found if name == "linkage"] == [
        f"fragments {pair}{nearest}" for pair in pairs for nearest in ("", ", 5 nearest rows")
    ]
    assert successes(found[CERTAIN]) == (10, 10, 10)


def test_values_published_once_are_the_same_without_the_target(tmp_path):
    release = build([one_feature("x", {"a": 4, "b": 1}), one_feature("y", {"a": 4, "c": 1})], k=5, delta=0.1)
    found = tried(release, tmp_path, [{"x": 0, "y": 0, "class": "a"}] * 10)
    assert successes(found[CERTAIN]) == successes(found[GUESSED]) == (10, 10, 10)
    assert successes(found[ISOLATED]) == (0, 0, 10)
    assert ("linkage", "fragments 1 and 2, 5 nearest rows") not in found


def test_a_sensitive_value_that_all_rows_have_is_guessed(tmp_path):
    values = [("flu",)] * 5, [("flu",), ("cold",), ("asthma",), (None,), (None,)]
    classes = [ClassOf([Range(n, n)], {"a": 5}, own) for n, own in enumerate(values)]
    fragment = Fragment({"x": "integer"}, classes, ("illness",))
    people = [
        {"x": 0, "illness": "flu", "class": "a"},
        {"x": 1, "illness": "asthma", "class": "a"},
        {"x": 1, "illness": None, "class": "a"},
    ]
    found = tried(build([fragment], k=5, protection=_some_protection()), tmp_path, people)
    assert successes(found["inference", "illness"]) == (1, 1, 2)


def test_the_only_record_with_a_sensitive_value_gives_itself_away(tmp_path):
    classes = [
        ClassOf([Range(n, n)], {"a": 1}, [(value,)]) for n, value in enumerate(["flu", "cold", "flu", "flu"])
    ]
    fragment = Fragment({"x": "integer"}, classes, ("illness",))
    people = [
        {"x": n, "illness": value, "class": "a"} for n, value in enumerate(["flu", "cold", "flu", "flu"])
    ]
    found = tried(build([fragment], k=5, protection=_some_protection()), tmp_path, people)
    assert found["inference", "illness"].success.value == 1
    assert found["inference", "illness"].baseline.successes == 3  # by flu, the most frequent of the others


def _some_protection():
    from published_folder import Protection

    return Protection(l=2, l_model="distinct")


def test_what_is_left_to_chance_is_chosen_by_the_seed(tmp_path):
    records = records_in(60)
    release = build([grouped(records, 5, name)[0] for name in "xy"], k=5)
    runs = [tried(release, tmp_path, records, seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


# --- candidates and linkage in small -------------------------------------------------------------


def test_candidates_are_the_rows_that_cover_and_the_rows_of_their_join(tmp_path):
    release = build([one_feature("x", {"a": 2, "b": 4}), one_feature("y", {"a": 5, "c": 1})], k=5)
    fragments = [seen(each) for each in read(release, tmp_path, [{"x": 0, "y": 0, "class": "a"}])]
    assert joined_candidates(fragments) == [(1, *[6] * 5), (2, *[6] * 5), (None, *[10] * 5)]


def test_rows_of_all_covering_equivalence_classes_are_joined(tmp_path):
    touching = Fragment(
        {"x": "integer"}, [ClassOf([Range(0, 1)], {"a": 6}), ClassOf([Range(1, 2)], {"a": 1, "b": 5})]
    )
    release = build([touching, one_feature("y", {"a": 3, "c": 9})], k=5)
    people = [{"x": x, "y": 0, "class": "a"} for x in (0, 1, 2)]
    fragments = [seen(each) for each in read(release, tmp_path, people)]
    assert isolated(fragments, 5).tolist() == [False, False, True]


def test_rows_are_paired_within_their_class_value_in_file_order(tmp_path):
    first = one_feature("x", {"a": 2}, {"b": 2}, {"a": 1})
    second = one_feature("y", {"a": 1, "b": 1}, {"a": 3})
    fragments = [
        seen(each) for each in read(build([first, second], k=2), tmp_path, [{"x": 0, "y": 0, "class": "a"}])
    ]
    one, other = rebuilt(*fragments)
    pairs = np.full((2, len(one.rows.order)), -1)
    for side, (grouped_rows, fragment) in enumerate(((one.rows, fragments[0]), (other.rows, fragments[1]))):
        lower = fragment.fragment.features[0].lower
        for ec, start in enumerate(grouped_rows.starts[:-1]):
            pairs[side, grouped_rows.order[start : grouped_rows.starts[ec + 1]]] = lower[ec]
    assert pairs.T.tolist() == [[0, 0], [0, 1], [2, 1], [1, 0]]


@pytest.mark.parametrize(
    ("target", "neighbours", "is_linked"),
    [
        ({"x": 0, "y": 0}, 1, True),
        ({"x": 0, "y": 9}, 1, False),
        ({"x": 4, "y": 3}, 1, True),  # nearest to 0 by both
        ({"x": 4, "y": 6}, 1, False),
        ({"x": 4, "y": 6}, 2, True),
        ({"x": None, "y": None}, 2, True),
    ],
)
def test_a_target_that_nothing_covers_is_nearest_by_distance(target, neighbours, is_linked, tmp_path):
    apart = [
        Fragment({name: "integer"}, [ClassOf([Range(n, n)], {label: 1}) for n, label in ((0, "a"), (9, "b"))])
        for name in "xy"
    ]
    sides = rebuilt(*(seen(each) for each in read(build(apart, k=2), tmp_path, [{**target, "class": "a"}])))
    assert linked(sides, neighbours, np.random.default_rng(0)).tolist() == [is_linked]


def test_categories_are_at_distance_one_from_any_other(tmp_path):
    classes = [
        ClassOf([Range(0, 0), Categories(("red",))], {"a": 1}),
        ClassOf([Range(9, 9), Categories(("blue", "green"))], {"b": 1}),
    ]
    first, second = (Fragment({name: "integer", f"{name} colour": "categorical"}, classes) for name in "xy")
    target = {"x": 1, "x colour": "green", "y": 9, "y colour": "blue", "class": "b"}
    sides = rebuilt(*(seen(each) for each in read(build([first, second], k=2), tmp_path, [target])))
    assert linked(sides, 1, np.random.default_rng(0)).tolist() == [True]  # 8 / 9 is less than 1 / 9 + 1


def test_the_attacks_share_no_code_with_what_anonymizes():
    allowed = {"tasks.errors", "tasks.config", "tasks.store", "tasks.steps"}
    for module in Path(validations.attacks.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("tasks", "flows")):
                assert node.module in allowed, module.name
            if isinstance(node, ast.Import):
                assert not any(name.name.startswith(("tasks", "flows")) for name in node.names), module.name
