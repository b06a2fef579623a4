"""A point of the experiments: its features, its releases, and figures that the definitions give too."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score
from small_experiments import FEATURES, RECORDS, made_up

from tasks.experiments import runs
from tasks.experiments.data_tables import (
    WORK,
    Table,
    content_digest,
    rows_that_test,
    table_path,
    write_dataset,
)
from tasks.experiments.figures import Figure, Level, Point
from tasks.experiments.methods import BOUNDS, WAYS, as_released, base_config
from tasks.experiments.overview import Loss, overview
from tasks.experiments.points import chosen_features, points
from tasks.experiments.results import settings_digest
from tasks.experiments.runs import LEARNERS, MEASURES, run_point
from tasks.joins.safe_joins import promise_holds
from tasks.learning.learn import FORMS
from tasks.store import STORE, open_store
from tasks.tables import (
    read_class_counts,
    read_codes,
    read_domains,
    read_fragments,
    read_members,
    read_regions,
)

POINT = Point("made_up", 3, 10, 10)


def table_of(data, width, *, divided=False, content=""):
    return Table(data, tuple(f"f{place}" for place in range(1, width + 1)), divided, content)


@pytest.mark.parametrize(
    "width, expected",
    [
        (57, [(10, 40), (20, 40), (30, 40), *((40, k) for k in (10, 20, 40, 60, 80, 100))]),
        (36, [(10, 40), (20, 40), (30, 40), *((36, k) for k in (10, 20, 40, 60, 80, 100))]),
        (10, [(10, k) for k in (10, 20, 40, 60, 80, 100)]),
    ],
)
def test_features_vary_at_k_40_and_k_with_most_features(width, expected):
    found = points([table_of("wide", width)], 2)
    assert found == [Point("wide", seed, *place) for seed in (1, 2) for place in expected]


def test_a_quick_grid_has_four_points_and_is_part_of_the_whole():
    tables = [table_of("one", 40), table_of("other", 36)]
    quick = points(tables, 1, quick=True)
    places = [(10, 40), (40, 20), (40, 40), (40, 100)]
    assert quick == [
        Point(data, 1, min(d, most), k) for data, most in (("one", 40), ("other", 36)) for d, k in places
    ]
    assert set(quick) < set(points(tables, 1))


@pytest.mark.parametrize("seed", range(1, 6))
def test_features_are_nested_and_drawn_by_seed(seed):
    chosen = [chosen_features(57, Point("any", seed, number, 40)) for number in (10, 20, 30, 40)]
    for fewer, more in pairwise(chosen):
        assert set(fewer) < set(more)
    assert [len(set(features)) for features in chosen] == [10, 20, 30, 40]
    assert all(features == sorted(features) for features in chosen)
    assert chosen[0] == chosen_features(57, Point("other", seed, 10, 100))
    assert chosen[0] != chosen_features(57, Point("any", seed + 1, 10, 40))


def test_every_method_is_released_as_the_paper_does():
    base = base_config(table_of("any", 3, divided=True), Path("any.parquet"), Point("any", 4, 2, 30))
    assert base.columns.drop[-1] == "test"
    asked = {method: as_released(base, method, "cuts") for method in WAYS}
    assert {config.privacy.k for config in asked.values()} == {30}
    assert {config.anonymization.bounds for config in asked.values()} == {"cuts"}
    assert {method for method, config in asked.items() if config.fragments == 1} == {
        "unfragmented",
        "unfragmented_diversity",
    }
    assert {method for method, config in asked.items() if config.privacy.l == 2} == {
        "unfragmented_diversity",
        "diversity",
    }
    for strategy in ("naive", "dependency_graph", "delta_selectivity", "min_distortion"):
        assert asked[strategy].privacy.enforcement == strategy
        assert asked[strategy].privacy.delta == (0.5 if strategy == "delta_selectivity" else None)


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """Run a point; return what it found, and of each release what its private store tells by definition."""
    folder = tmp_path_factory.mktemp("point")
    (folder / WORK).mkdir()
    store = folder / STORE
    table = write_dataset(made_up(), table_path(store, "made_up"))
    told, try_release = {}, runs.try_release

    def spy(loaded, prepared, config, held, learners):
        trial = try_release(loaded, prepared, config, held, learners)
        told[len(told)] = by_definition(loaded, prepared, config, held)
        return trial

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runs, "try_release", spy)
        run = run_point.function(store, POINT, {"made_up": table})
    assert [path.name for path in (folder / WORK).iterdir()] == ["made_up.parquet"]
    assert not store.exists()
    names = [(method, bounds) for method in WAYS for bounds in BOUNDS]
    return run, dict(zip(names, told.values(), strict=True))


def by_definition(loaded, prepared, config, held):
    """Loss and changed class values, summed over records one at a time."""
    with open_store(prepared) as connection:
        domains, of_class = read_domains(connection)
        codes, members = read_codes(connection, domains), read_members(connection)
        classes = read_codes(connection, [of_class])[:, 0]
        before, after = (read_class_counts(connection, when) for when in ("before", "after"))
        losses, midpoints = [], []
        for number, names in enumerate(read_fragments(connection), 1):
            midpoints.append({})
            chosen = [domain for domain in domains if domain.name in set(names)]
            for domain, region in zip(chosen, read_regions(connection, number, chosen), strict=True):
                midpoints[-1][domain.name] = (domain, region.lower, region.upper)
                column = codes[:, [other.name for other in domains].index(domain.name)]
                for record, ec in enumerate(members[number - 1]):
                    lower, upper = (domain.values[code[ec]] for code in (region.lower, region.upper))
                    assert lower <= domain.values[column[record]] <= upper
                    span = domain.values[-1] - domain.values[0]
                    losses.append((upper - lower) / span if span else 0)
    return {
        "records": len(codes),
        "features": {domain.name for domain in domains},
        "loss": np.mean(losses),
        "before": before,
        "after": after,
        "members": members,
        "classes": classes,
        "held": held,
        "f": f_of_neighbours(loaded, midpoints, (before, after), config, held),
        "holds": promise_holds(prepared, config),
    }


def f_of_neighbours(loaded, fragments, counted, config, held):
    """The weighted F of the nearest neighbours on midpoints: an EC holds ten records, so the nearest vote."""
    with open_store(loaded) as connection:
        rows = connection.execute("SELECT * FROM source").fetchnumpy()
    (own,) = (name for name in rows if name == config.columns.class_attribute)
    tests = {name: np.asarray(column)[held.test] for name, column in rows.items()}
    votes, frequency = 0, 0
    for cells, old, new in zip(fragments, *counted, strict=True):
        counts = new.astype(float)
        if config.privacy.enforcement == "delta_selectivity":
            counts = (new > 0) * (old.sum(axis=1) / (new > 0).sum(axis=1))[:, None]
        squares = 0
        for name, (domain, lower, upper) in cells.items():
            span = (domain.values[-1] - domain.values[0]) or 1
            middle = (domain.values[lower] + domain.values[upper]) / 2
            squares = squares + ((tests[name][:, None] - middle[None, :]) / span) ** 2
        near = squares <= squares.min(axis=1, keepdims=True) + 1e-12
        votes = votes + np.array([counts[each].sum(axis=0) / counts[each].sum() for each in near])
        frequency = frequency + counts.sum(axis=0) / counts.sum()
    highest = votes >= votes.max(axis=1, keepdims=True) - 1e-9
    values = np.unique(np.asarray(rows[own]).astype(str))
    predicted = values[np.where(highest, frequency, -1).argmax(axis=1)]
    return f1_score(tests[own].astype(str), predicted, average="weighted", zero_division=0)


def value(run, method, bounds, measure):
    (found,) = [each.value for each in run.figures if each[1:4] == (method, bounds, measure)]
    return found


RELEASES = [(method, bounds) for method in WAYS for bounds in BOUNDS]


def test_every_method_has_every_measure_with_both_bounds(tried):
    run, _ = tried
    names = {figure[1:4] for figure in run.figures}
    assert names == {(method, bounds, measure) for method, bounds in RELEASES for measure in MEASURES}
    assert len(run.figures) == len(names)
    assert {figure.point for figure in run.figures} == {run.point, run.level.point} == {POINT}
    assert {measure for measure in MEASURES if measure.startswith("f_")} == {
        f"f_{learner}_{form}" for learner in LEARNERS for form in FORMS
    }
    for figure in run.figures:
        if figure.measure.startswith("f_"):
            assert 0 < figure.value <= 1


@pytest.mark.parametrize("method, bounds", RELEASES)
def test_loss_is_the_mean_over_records_and_features(tried, method, bounds):
    run, told = tried
    assert value(run, method, bounds, "information_loss") == pytest.approx(
        told[method, bounds]["loss"], abs=1e-9
    )
    assert value(run, method, "tight", "information_loss") <= value(run, method, "cuts", "information_loss")


@pytest.mark.parametrize("method, bounds", RELEASES)
def test_f_of_the_neighbours_is_that_of_the_nearest_equivalence_classes(tried, method, bounds):
    run, told = tried
    assert value(run, method, bounds, "f_neighbours_midpoints") == pytest.approx(told[method, bounds]["f"])


@pytest.mark.parametrize("method, bounds", RELEASES)
def test_changed_class_values_are_a_share_of_all(tried, method, bounds):
    run, told = tried
    _, before, after = (told[method, bounds][name] for name in ("records", "before", "after"))
    taken = sum(np.maximum(old - new, 0).sum() for old, new in zip(before, after, strict=True))
    share = taken / sum(old.sum() for old in before)
    if method != "delta_selectivity":
        assert value(run, method, bounds, "changed") == pytest.approx(share)
    if method in ("unfragmented", "unfragmented_diversity", "diversity"):
        assert share == 0


@pytest.mark.parametrize("method, bounds", RELEASES)
def test_equivalence_classes_hold_k_records_and_what_else_was_asked(tried, method, bounds):
    run, told = tried
    found = told[method, bounds]
    counts = found["before"]
    assert value(run, method, bounds, "equivalence_classes") == sum(map(len, counts))
    assert all((fragment.sum(axis=1) >= POINT.k).all() for fragment in counts)
    for fragment, members in zip(counts, found["members"], strict=True):
        expected = np.zeros_like(fragment)
        np.add.at(expected, (members, found["classes"]), 1)
        assert (fragment == expected).all()
        if "diversity" in method:
            assert ((fragment > 0).sum(axis=1) >= 2).all()
    assert len(counts) == (1 if method.startswith("unfragmented") else 2)
    assert found["holds"]


def test_training_records_alone_are_released_with_the_features_of_the_point(tried):
    _, told = tried
    chosen = {f"f{place + 1}" for place in chosen_features(FEATURES, POINT)}
    for found in told.values():
        assert (found["records"], len(found["held"].test)) == (105, 45)
        assert found["features"] == chosen


def test_the_level_is_the_weighted_f_of_the_most_frequent_class(tried):
    run, told = tried
    held = told["unfragmented", "cuts"]["held"]
    classes = made_up().classes.astype(str)
    values, numbers = np.unique(classes[held.train], return_counts=True)
    always = np.full(len(held.test), values[numbers.argmax()])
    assert run.level.majority == pytest.approx(
        f1_score(classes[held.test], always, average="weighted", zero_division=0)
    )


def test_a_data_set_that_says_which_records_test_is_divided_so(tmp_path, monkeypatch):
    test = np.arange(RECORDS) % 5 == 2
    data = made_up()._replace(test=test)
    store = tmp_path / STORE
    (tmp_path / WORK).mkdir()
    table = write_dataset(data, table_path(store, "made_up"))
    assert table.divided
    assert (rows_that_test(table_path(store, "made_up")) == test).all()
    monkeypatch.setattr(runs, "WAYS", {"unfragmented": WAYS["unfragmented"]})
    seen = []
    monkeypatch.setattr(runs, "_measured", lambda *asked: seen.append(asked[-1]) or iter(()))
    run_point.function(store, POINT._replace(k=30), {"made_up": table})
    assert (seen[0].test == np.flatnonzero(test)).all()
    assert (seen[0].train == np.flatnonzero(~test)).all()


def test_what_no_release_keeps_has_no_value(tmp_path, monkeypatch):
    store = tmp_path / STORE
    (tmp_path / WORK).mkdir()
    data = made_up()._replace(test=np.arange(RECORDS) >= 40)
    tables = {"made_up": write_dataset(data, table_path(store, "made_up"))}
    monkeypatch.setattr(runs, "WAYS", {"unfragmented": WAYS["unfragmented"]})
    most = run_point.function(store, POINT._replace(features=12, k=40), tables)
    more = run_point.function(store, POINT._replace(features=12, k=41), tables)
    assert value(most, "unfragmented", "cuts", "information_loss") == pytest.approx(
        11 / 12
    )  # one is constant
    assert {figure.measure for figure in more.figures} == set(MEASURES)
    assert {figure.value for figure in more.figures} == {None}


def test_a_digest_tells_values_their_kind_classes_and_tests_apart():
    data = made_up()
    test = np.zeros(RECORDS, dtype=bool)
    classes = data.classes.copy()
    classes[0] += " "
    others = [
        data._replace(values=data.values.astype(np.float32)),
        data._replace(values=data.values[:, ::-1]),
        data._replace(values=data.values.reshape(-1, FEATURES // 2)),
        data._replace(classes=classes),
        data._replace(test=test),
        data._replace(test=~test),
    ]
    assert len({content_digest(each) for each in (data, *others)}) == 7
    assert content_digest(data) == content_digest(made_up())
    tables = [
        table_of("any", 1, divided=divided, content=content) for divided in (True, False) for content in "ab"
    ]
    assert len({settings_digest(table) for table in tables}) == 4


def test_the_overview_has_means_over_seeds_at_k_40():
    figures, levels = [], []
    for seed, features, k in [(1, 10, 40), (2, 10, 40), (1, 20, 40), (2, 20, 40), (1, 20, 10), (2, 20, 10)]:
        point = Point("made_up", seed, features, k)
        levels.append(Level(point, seed / 10 + features / 100))
        found = {
            "information_loss": k / 100 + seed / 1000,
            "f_tree_bounds": 0.5 + seed / 10,
            "f_tree_spread": 0.64,
        }
        figures += [
            Figure(point, method, bounds, measure, None if method == "naive" else number)
            for method in WAYS
            for bounds in BOUNDS
            for measure, number in found.items()
        ]
    (one,) = overview(figures, levels)
    assert (one.data, one.points, one.features) == ("made_up", 6, (10, 20))
    assert one.losses == tuple(Loss(bounds, (0.4015, 0.4015), (0.4015, 0.4015)) for bounds in BOUNDS)
    expected = defaultdict(lambda: pytest.approx(0.65), naive=None)
    assert one.best_f == {method: expected[method] for method in WAYS}
    assert one.majority == pytest.approx(0.35)


def test_without_the_most_features_at_k_40_the_overview_still_has_the_rest():
    point = Point("made_up", 1, 20, 10)
    figures = [Figure(point, "naive", "cuts", "f_tree_bounds", 0.5)]
    (one,) = overview(figures, [Level(point, 0.3)])
    assert (one.points, one.features, one.majority, one.best_f["naive"]) == (1, (20, 20), None, None)
    assert {number for each in one.losses for number in (*each.unfragmented, *each.fragmented)} == {None}
