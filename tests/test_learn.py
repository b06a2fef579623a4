"""Learning: features by definition, neighbours record by record, trees as scikit-learn grows them."""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

from tasks.domain import Domain
from tasks.learning import cell_numbers, learn, learners
from tasks.learning.cell_numbers import features_of, references, spread_features
from tasks.learning.learn import (
    Learnable,
    Rows,
    class_probabilities,
    equal_shares,
    evaluate,
    exact_regions,
    most_likely,
    weighted_f,
    with_own_domains,
)
from tasks.learning.learners import forest, neighbours, tree
from tasks.partitions.partition import Partition
from tasks.partitions.regions import regions

quick = settings(deadline=None, max_examples=60)
cells = pytest.mark.parametrize("cell", ["bounds", "midpoints"])
forms = pytest.mark.parametrize("form", ["bounds", "midpoints", "spread"])
each_learner = pytest.mark.parametrize("learner", ["tree", "neighbours", "forest"])


def released(codes, domains, labels):
    groups = [codes[labels == label] for label in range(max(labels) + 1)]
    lower, upper = [group.min(axis=0) for group in groups], [group.max(axis=0) for group in groups]
    boxes = Partition(np.asarray(labels, dtype=np.int32), np.array(lower), np.array(upper))
    return regions(codes, domains, boxes, "tight")


def counts_of(labels, classes, class_values):
    counts = np.zeros((max(labels) + 1, class_values), dtype=np.int64)
    np.add.at(counts, (labels, classes), 1)
    return counts


def numeric_domains(*columns):
    return [
        Domain(str(i), "decimal", np.unique(column).astype(float), missing=False)
        for i, column in enumerate(columns)
    ]


def one_ec_per_record(values, classes, class_values):
    domains = numeric_domains(*values.T)
    codes = np.column_stack([np.searchsorted(d.values, c) for d, c in zip(domains, values.T, strict=True)])
    regions_of_rows = exact_regions(Rows(codes.astype(np.int32), domains))
    return Learnable(regions_of_rows, np.eye(class_values, dtype=np.int64)[classes])


def rows_of(values):
    domains = numeric_domains(*values.T)
    codes = np.column_stack([np.searchsorted(d.values, c) for d, c in zip(domains, values.T, strict=True)])
    return Rows(codes.astype(np.int32), domains)


# --- features -----------------------------------------------------------------------------------


def position(value, domain):
    lowest, highest = (Fraction(domain.values[end]) for end in (0, -1))
    return float((Fraction(value) - lowest) / (highest - lowest)) if highest > lowest else 0.0


def bounds_by_definition(groups, domain):
    """Lower and upper position of each group, the mean midpoint of all records where there is none."""
    bounds = [
        (position(min(numbers), domain), position(max(numbers), domain)) if numbers else None
        for numbers in ([value for value in group if value is not None] for group in groups)
    ]
    midpoints = [
        sum(pair) / 2 for pair, group in zip(bounds, groups, strict=True) if pair for _ in range(len(group))
    ]
    mean = sum(midpoints) / max(len(midpoints), 1)
    return [pair or (mean, mean) for pair in bounds]


def columns_by_definition(groups, domain, form):
    if not domain.numeric:
        names = [None] * domain.missing + list(domain.values)
        return [[(name in group) / len(set(group)) for name in names] for group in groups]
    columns = [
        list(pair) if form == "bounds" else [sum(pair) / 2] for pair in bounds_by_definition(groups, domain)
    ]
    if domain.missing:
        for row, group in zip(columns, groups, strict=True):
            row.append(0.0 if None not in group else 0.5 if set(group) != {None} else 1.0)
    return columns


def members(column, domain, labels):
    names = [None] * domain.missing + domain.values.tolist()
    return [[names[code] for code in column[np.asarray(labels) == label]] for label in range(max(labels) + 1)]


@cells
@given(table=oracles.tables(), data=st.data())
@quick
def test_features_are_what_the_definition_says(cell, table, data):
    rows = len(table.codes)
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    labels, shown = released(table.codes, table.domains, oracles.ranks(drawn))
    expected = [
        columns_by_definition(members(column, domain, labels), domain, cell)
        for column, domain in zip(table.codes.T, table.domains, strict=True)
    ]
    features = features_of(shown, references(shown, np.bincount(labels)), cell)
    assert_allclose(features, np.concatenate(expected, axis=1), atol=1e-9)


@given(oracles.tables())
@quick
def test_exact_records_are_classes_of_their_own(table):
    codes = np.unique(table.codes, axis=0)
    _, shown = released(codes, table.domains, np.arange(len(codes)))
    relative_to = references(shown, np.ones(len(codes)))
    exact = exact_regions(Rows(codes, table.domains))
    for form in ("bounds", "midpoints"):
        assert_array_equal(
            np.sort(features_of(exact, relative_to, form), axis=0),
            np.sort(features_of(shown, relative_to, form), axis=0),
        )


@given(table=oracles.tables(), data=st.data())
@quick
def test_points_lie_evenly_in_their_cells(table, data):
    rows = len(table.codes)
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    labels, shown = released(table.codes, table.domains, oracles.ranks(drawn))
    relative_to, points = references(shown, np.bincount(labels)), 60  # 60 divides by the size of any set
    ecs = max(labels) + 1
    found = spread_features(shown, relative_to, points, seed=1).reshape(ecs, points, -1)
    middles = features_of(shown, relative_to, "midpoints")
    place = 0
    for column, domain, reference in zip(table.codes.T, table.domains, relative_to, strict=True):
        width = 1 + domain.missing if domain.numeric else domain.size
        of_feature = found[:, :, place : place + width]
        if domain.numeric:
            groups = members(column, domain, labels)
            for group, (lower, upper), some in zip(
                groups, bounds_by_definition(groups, domain), of_feature, strict=True
            ):
                numbers = some[some[:, 1] == 0, 0] if domain.missing else some[:, 0]
                held = 0 if {*group} == {None} else points // 2 if None in group else points
                steps = (np.arange(held) + 0.5) / max(held, 1)
                assert_allclose(np.sort(numbers), lower + (upper - lower) * steps, atol=1e-9)
                if domain.missing:
                    assert_allclose(some[some[:, 1] == 1, 0], reference.mean)
        else:
            assert_allclose(of_feature.sum(axis=2), 1)
            sizes = (middles[:, place : place + width] > 0).sum(axis=1)
            if all(points % size == 0 for size in sizes):
                assert_allclose(of_feature.mean(axis=1), middles[:, place : place + width])
        place += width


@given(table=oracles.tables(), data=st.data())
@quick
def test_one_point_is_the_midpoint(table, data):
    numeric = [place for place, domain in enumerate(table.domains) if domain.numeric and not domain.missing]
    if not numeric:
        return
    rows = len(table.codes)
    labels = oracles.ranks(data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
    labels, shown = released(table.codes[:, numeric], [table.domains[i] for i in numeric], labels)
    relative_to = references(shown, np.bincount(labels))
    assert_allclose(spread_features(shown, relative_to, 1, 0), features_of(shown, relative_to, "midpoints"))


def test_values_beyond_the_release_keep_their_distance_and_new_categories_share_nothing():
    old = [oracles.encode([10, 20], "integer"), oracles.encode(["a", "c"], "categorical")]
    new = [oracles.encode([0, 15, 30, None], "integer"), oracles.encode(["a", "b", None, "c"], "categorical")]
    shown = exact_regions(Rows(np.column_stack([codes for codes, _ in old]), [domain for _, domain in old]))
    rows = Rows(np.column_stack([codes for codes, _ in new]), [domain for _, domain in new])
    features = features_of(exact_regions(rows), references(shown, np.ones(2)), "midpoints")
    assert_array_equal(features, [[-1, 1, 0], [0.5, 0, 0], [2, 0, 0], [0.5, 0, 1]])


@pytest.mark.parametrize("categories, columns", [(63, 63), (64, 64), (65, 65), (300, 65)])
def test_of_many_categories_the_most_frequent_have_columns_and_the_rest_share_one(categories, columns):
    codes, domain = oracles.encode([f"v{number:03d}" for number in range(categories)], "categorical")
    order = np.random.default_rng(0).permutation(categories)
    shown = exact_regions(Rows(codes[:, None], [domain]))
    relative_to = references(shown, 1 + order)  # records of each category
    features = features_of(shown, relative_to, "midpoints")
    assert features.shape == (categories, columns)
    assert_array_equal(features.sum(axis=1), 1)
    rare = order < categories - 64
    if categories > 64:
        assert_array_equal(features[:, -1], rare)
        assert_array_equal(features[~rare, :-1], np.eye(64))
    unknown, other = oracles.encode(["new"], "categorical")
    assert not features_of(exact_regions(Rows(unknown[:, None], [other])), relative_to, "bounds").any()


def test_a_set_shares_its_records_among_its_categories_and_the_rest(monkeypatch):
    monkeypatch.setattr(cell_numbers, "CATEGORIES", 2)
    codes, domain = oracles.encode(["a", "b", "c", "d", "a", "b"], "categorical")
    labels, shown = released(codes[:, None], [domain], np.array([0, 0, 0, 1, 2, 1]))
    relative_to = references(shown, np.bincount(labels))  # a 2, b 2, c 1, d 1
    assert_allclose(
        features_of(shown, relative_to, "midpoints"), [[1 / 3, 1 / 3, 1 / 3], [0, 1 / 2, 1 / 2], [1, 0, 0]]
    )
    spread = spread_features(shown, relative_to, 6, 0).reshape(3, 6, 3)
    assert_allclose(spread.mean(axis=1), features_of(shown, relative_to, "midpoints"))


def test_many_categorical_features_have_no_more_columns_than_there_may_be(monkeypatch):
    monkeypatch.setattr(cell_numbers, "COLUMNS", 12)
    codes, domain = oracles.encode(list("abcdefgh"), "categorical")
    shown = exact_regions(Rows(np.column_stack([codes] * 4), [domain] * 4))
    assert features_of(shown, references(shown, np.ones(8)), "bounds").shape == (8, 4 * (3 + 1))


@each_learner
def test_values_far_beyond_the_release_are_classified(learner):
    fragment = one_ec_per_record(np.arange(8.0)[:, None] * 1e-300, np.repeat([0, 1], 4), 2)
    found = class_probabilities(fragment, rows_of(np.array([[-1e308], [1e308]])), learner, "midpoints")
    assert_array_equal(found.argmax(axis=1), [0, 1])


@given(oracles.tables())
@quick
def test_own_domains_hold_the_values_of_the_records_alone(table):
    rows = Rows(table.codes[::2], table.domains)
    own = with_own_domains(rows)
    for before, after, domain, mine in zip(rows.codes.T, own.codes.T, rows.domains, own.domains, strict=True):
        values = members(before, domain, np.zeros(len(before), dtype=int))
        assert members(after, mine, np.zeros(len(after), dtype=int)) == values
        assert len(np.unique(after)) == mine.size


# --- learners -----------------------------------------------------------------------------------


def votes_by_definition(features, counts, test):
    """Shares of the classes of the five nearest records, with all at the distance of the fifth."""
    records = [(ec, value) for ec, value in np.ndindex(*counts.shape) for _ in range(counts[ec, value])]
    distances = [sum((a - b) ** 2 for a, b in zip(point, test, strict=True)) for point in features]
    fifth = sorted(distances[ec] for ec, _ in records)[:5][-1]
    near = [value for ec, value in records if distances[ec] <= fifth]
    return [near.count(value) / len(near) for value in range(counts.shape[1])]


grid = st.integers(0, 6).map(lambda step: Fraction(step, 6))


@st.composite
def learning_tasks(draw):
    columns, class_values = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    points = st.lists(st.lists(grid, min_size=columns, max_size=columns), min_size=1, max_size=12)
    features, test = draw(points), draw(points)
    counts = [
        draw(st.lists(st.integers(0, 4), min_size=class_values, max_size=class_values).filter(any))
        for _ in features
    ]
    return features, np.array(counts), test


@given(learning_tasks())
@quick
def test_neighbours_are_records_and_all_at_the_last_distance_vote(task):
    features, counts, test = task
    found = neighbours(np.array(features, dtype=float), counts)(np.array(test, dtype=float))
    assert_allclose(found, [votes_by_definition(features, counts, row) for row in test])


def test_neighbours_stop_at_five_records():
    features = np.array([[0.0], [0.1], [0.2]])
    counts = np.array([[4, 0, 0], [0, 1, 0], [0, 0, 9]])
    assert_allclose(neighbours(features, counts)(np.zeros((1, 1))), [[0.8, 0.2, 0.0]])
    assert_allclose(
        neighbours(features, counts - [[1, 0, 0], [0] * 3, [0] * 3])(np.zeros((1, 1)))[0, 2], 9 / 13
    )


def test_neighbours_take_shares_of_records_for_counts():
    found = neighbours(np.array([[0.0], [1.0]]), np.array([[2.5, 2.5], [8.0, 0.0]]))(np.zeros((1, 1)))
    assert_allclose(found, [[0.5, 0.5]])


@pytest.mark.parametrize("share", [1, 2, 4, 20])
def test_neighbours_take_as_many_points_as_hold_five_records(share):
    points = np.arange(200.0)[:, None]
    counts = np.repeat([[1, 0], [0, 1]], [3 * share, 200 - 3 * share], axis=0) / share
    assert_allclose(neighbours(points, counts)(np.zeros((1, 1))), [[3 / 5, 2 / 5]])


@pytest.mark.parametrize("records", [1, 2, 3, 4])
@each_learner
def test_few_records_are_learnt_from(learner, records):
    fragment = one_ec_per_record(np.arange(float(records))[:, None], np.arange(records) % 2, 2)
    found = class_probabilities(fragment, rows_of(np.array([[0.0], [1.0]])), learner, "bounds")
    assert_allclose(found.sum(axis=1), 1)


@each_learner
def test_many_class_values_are_learnt_without_a_word(learner):
    fragment = one_ec_per_record(np.arange(40.0)[:, None], np.arange(40), 40)
    found = class_probabilities(fragment, rows_of(np.array([[0.0], [39.0]])), learner, "midpoints")
    assert_allclose(found.sum(axis=1), 1)


@pytest.fixture
def plain_table():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(300, 4))
    classes = np.digitize(values[:, 0] + values[:, 1] ** 2 + 0.3 * rng.normal(size=300), [-0.2, 1.5])
    return values[:200], classes[:200], values[200:], classes[200:]


def test_neighbours_of_raw_records_are_those_of_scikit_learn(plain_table):
    values, classes, test, _ = plain_table
    scaler = MinMaxScaler().fit(values)
    theirs = KNeighborsClassifier(5).fit(scaler.transform(values), classes)
    ours = class_probabilities(
        one_ec_per_record(values, classes, 3), rows_of(test), "neighbours", "midpoints"
    )
    assert_allclose(ours, theirs.predict_proba(scaler.transform(test)))


def test_tree_of_raw_records_is_that_of_scikit_learn(plain_table):
    values, classes, test, _ = plain_table
    theirs = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=3)
    theirs.fit(values, classes)
    ours = class_probabilities(
        one_ec_per_record(values, classes, 3), rows_of(test), "tree", "midpoints", seed=3
    )
    assert_allclose(ours, theirs.predict_proba(test))


def test_tree_weighs_equivalence_classes_as_their_records(plain_table):
    values, classes, test, _ = plain_table
    labels = np.arange(200) // 4
    middles = values.reshape(50, 4, -1).mean(axis=1)
    theirs = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=3)
    theirs.fit(middles[labels], classes)
    ours = tree(middles, counts_of(labels, classes, 3), 3)(test)
    assert_allclose(ours, theirs.predict_proba(test))


def test_forest_of_raw_records_votes_like_that_of_scikit_learn(plain_table):
    values, classes, test, truth = plain_table
    theirs = RandomForestClassifier(criterion="entropy", random_state=3).fit(values, classes)
    ours = class_probabilities(
        one_ec_per_record(values, classes, 3), rows_of(test), "forest", "midpoints", seed=3
    )
    assert_allclose(ours.sum(axis=1), 1)
    assert np.abs(ours - theirs.predict_proba(test)).mean() < 0.05
    hits = [(votes.argmax(axis=1) == truth).mean() for votes in (ours, theirs.predict_proba(test))]
    assert hits[0] == pytest.approx(hits[1], abs=0.05)


def test_forest_draws_records_not_classes_of_them():
    """One record in a hundred is of the other class: hardly a tree has it as the majority."""
    counts = np.array([[99, 1], [1, 99]])
    found = forest(np.array([[0.0], [1.0]]), counts, 0)(np.array([[0.0], [1.0]]))
    assert_allclose(found, [[0.99, 0.01], [0.01, 0.99]], atol=0.005)


def test_forest_depends_on_its_seed_alone(plain_table):
    values, classes, test, _ = plain_table
    counts = np.eye(3, dtype=np.int64)[classes]
    found = forest(values, counts, 1)(test)
    assert_array_equal(forest(values, counts, 1)(test), found)
    assert (forest(values, counts, 2)(test) != found).any()


def test_shares_of_a_class_count_as_records_of_it(plain_table):
    values, classes, test, _ = plain_table
    counts = 2 * np.eye(3, dtype=np.int64)[classes]
    assert_array_equal(forest(values, counts / 1, 1)(test), forest(values, counts, 1)(test))
    half = equal_shares(np.array([[3, 1, 0], [0, 0, 2]]), np.array([7, 4]))
    assert_allclose(half, [[3.5, 3.5, 0], [0, 0, 4]])
    for fit in (tree, forest):
        assert_allclose(fit(np.array([[0.0], [1.0]]), half, 0)(np.zeros((1, 1))), [[0.5, 0.5, 0]], atol=0.1)


@pytest.mark.parametrize("records, leaves", [(1, 1), (2, 2)])
def test_a_leaf_of_the_tree_holds_two_records(records, leaves):
    found = tree(np.array([[0.0], [1.0]]), np.array([[records, 0], [0, 10]]), 0)(np.array([[0.0], [1.0]]))
    assert len(np.unique(found, axis=0)) == leaves


@each_learner
def test_a_class_that_no_record_has_gets_probability_zero(learner):
    fragment = one_ec_per_record(np.arange(6.0)[:, None], np.array([0, 0, 0, 2, 2, 2]), 4)
    found = class_probabilities(fragment, rows_of(np.array([[0.5], [4.5]])), learner, "bounds")
    assert_array_equal(found[:, [1, 3]], 0)
    assert_allclose(found.sum(axis=1), 1)


@forms
@each_learner
def test_blocks_of_test_rows_change_nothing(plain_table, monkeypatch, learner, form):
    values, classes, test, _ = plain_table
    fragment = one_ec_per_record(values, classes, 3)
    monkeypatch.setattr(learners, "TREES", 5)
    whole = class_probabilities(fragment, rows_of(test), learner, form)
    monkeypatch.setattr(learn, "CELLS_PER_BLOCK", 7 * len(values))
    assert_allclose(class_probabilities(fragment, rows_of(test), learner, form), whole)


@each_learner
def test_more_equivalence_classes_than_points_are_learnt_from_at_their_midpoints(
    plain_table, monkeypatch, learner
):
    values, classes, test, _ = plain_table
    labels = np.arange(200) // 4
    codes, domains = rows_of(values)
    fragment = Learnable(released(codes, domains, labels)[1], counts_of(labels, classes, 3))
    monkeypatch.setattr(learners, "TREES", 5)
    spread, midpoints = (
        lambda form=form: class_probabilities(fragment, rows_of(test), learner, form)
        for form in ("spread", "midpoints")
    )
    assert not np.allclose(spread(), midpoints())
    monkeypatch.setattr(learn, "SPREAD", 99)
    assert_allclose(spread(), midpoints())


# --- the measure --------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30))
@quick
def test_weighted_f_is_that_of_scikit_learn(pairs):
    truth, predicted = np.array(pairs).T
    expected = f1_score(truth, predicted, average="weighted", labels=range(5), zero_division=0)
    assert weighted_f(truth, predicted, 5) == pytest.approx(expected)


def test_the_majority_alone_reaches_what_its_share_allows_on_musk():
    truth = np.repeat([0, 1], [1867, 207])
    assert weighted_f(truth, np.zeros(2074, dtype=int), 2) == pytest.approx(0.853, abs=5e-4)


@forms
@each_learner
def test_fragments_combined_know_what_each_alone_does_not(learner, form):
    """Of four class values, one fragment tells {0, 1} from {2, 3}, the other {0, 2} from {1, 3}."""
    classes = np.tile(np.arange(4), 20)
    test = [rows_of(np.repeat([0.0, 1.0], 2)[:, None]), rows_of(np.tile([0.0, 1.0], 2)[:, None])]
    fragments = [
        Learnable(exact_regions(Rows(np.array([[0], [1]], dtype=np.int32), rows.domains)), counts)
        for rows, counts in zip(
            test, [counts_of(classes // 2, classes, 4), counts_of(classes % 2, classes, 4)], strict=True
        )
    ]
    alone = [
        evaluate([fragment], [rows], np.arange(4), learner, form)
        for fragment, rows in zip(fragments, test, strict=True)
    ]
    assert max(alone) < 0.5
    assert evaluate(fragments, test, np.arange(4), learner, form) == 1.0


def test_equally_likely_classes_are_told_by_how_often_they_are_published():
    probabilities = np.array([[0.4, 0.4 - 1e-12, 0.2], [0.4, 0.4, 0.2], [0.5, 0.25, 0.25], [0.2, 0.4, 0.4]])
    assert_array_equal(most_likely(probabilities, np.array([0.3, 0.6, 0.1])), [1, 1, 0, 1])
    assert_array_equal(most_likely(probabilities, np.array([0.1, 0.1, 0.8])), [0, 0, 0, 2])
