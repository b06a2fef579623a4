"""A trial is a release of the training records, and the held-out records tell nothing but how good it is."""

import stat

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from test_release import FEATURES, publish_plainly, settings

from tasks.errors import InfeasibleError
from tasks.events import listening
from tasks.load import load_table
from tasks.read_config import parse_config
from tasks.store import create_workspace, open_store
from tasks.tables import read_class_counts, read_class_domain, read_codes
from tasks.trials.held_out import Held, folds, held_out, sample
from tasks.trials.learnt import learnt_exactly, majority_f
from tasks.trials.trial import TOTAL, prepare_trial, sampled, trial_folder, try_release

CLASSES = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(
    lambda values: np.unique(values, return_inverse=True)[1].astype(np.int32)
)


def loaded(folder, table, **sections):
    """Return the store of a loaded table, and the configuration."""
    asked = settings(folder, table)
    for section, values in sections.items():
        asked[section] = {**asked.get(section, {}), **values}
    config = parse_config(asked)
    store = create_workspace(folder / "run")
    load_table.function(store, config)
    return store, config


def classes_of(store):
    with open_store(store) as connection:
        return read_codes(connection, [read_class_domain(connection)])[:, 0]


def rows_of(store, *tables):
    with duckdb.connect(store, read_only=True) as connection:
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def figures(store):
    with duckdb.connect(store, read_only=True) as connection:
        return connection.execute("""
            SELECT (SELECT avg(information_loss) FROM feature_loss WHERE release = 'fragmented'),
                   (SELECT sum(class_values) FROM changes), (SELECT count(*) FROM equivalence_classes)
        """).fetchone()


@given(CLASSES, st.floats(0, 0.99), st.integers(0, 5))
def test_held_out_records_are_a_share_of_every_class_value(classes, share, seed):
    held = held_out(classes, share, seed)
    assert_array_equal(np.sort(np.concatenate(held)), np.arange(len(classes)))
    assert set(classes[held.train]) == set(classes)
    rest = len(classes) - len(set(classes))
    wanted = min(max(round(share * len(classes)), share > 0), rest)
    assert len(held.test) == wanted
    for size, tested in zip(
        np.bincount(classes), np.bincount(classes[held.test], minlength=classes.max() + 1), strict=True
    ):
        assert abs(tested - (size - 1) * wanted / max(rest, 1)) <= 1
    again = held_out(classes, share, seed)
    assert_array_equal(again.test, held.test)


@given(CLASSES, st.integers(2, 4), st.integers(0, 5))
def test_every_record_is_in_one_fold_unless_its_class_value_is_its_alone(classes, number, seed):
    parts = folds(classes, number, seed)
    tested = np.concatenate([held.test for held in parts])
    alone = np.bincount(classes)[classes] == 1
    assert_array_equal(np.sort(tested), np.flatnonzero(~alone))
    for held in parts:
        assert set(classes[held.train]) == set(classes)
        assert_array_equal(np.sort(np.concatenate(held)), np.arange(len(classes)))
    sizes = [np.bincount(classes[held.test], minlength=classes.max() + 1) for held in parts]
    assert (np.ptp(sizes, axis=0) <= 1).all()


@given(CLASSES, st.integers(1, 70))
def test_a_sample_has_every_class_value_and_no_more_records_than_asked(classes, records):
    rows = sample(classes, records, 0)
    assert set(classes[rows]) == set(classes)
    assert len(rows) == min(max(records, len(set(classes))), len(classes))


@pytest.mark.parametrize(
    "privacy",
    [
        {"enforcement": "dependency_graph"},
        {"k": 5, "l": 2},
    ],
)
def test_a_trial_of_all_records_costs_what_the_release_does(tmp_path, small_table, privacy):
    asked = settings(tmp_path / "release", small_table, **privacy)
    publish_plainly({**asked, "run": {**asked["run"], "keep_workspace": True}})
    (kept,) = (tmp_path / "release" / "workspace").glob("*/store.duckdb")
    store, config = loaded(tmp_path / "trial", small_table, privacy=privacy)
    held = Held(np.arange(len(small_table)), np.arange(0))
    prepared = prepare_trial(store, config, held, tmp_path / "training")
    trial = try_release(store, prepared, config, held, ["tree"])
    loss, changed, classes = figures(kept)
    assert trial.information_loss == pytest.approx(loss, abs=1e-12)
    assert trial.changed == changed / (3 * len(small_table))
    assert (trial.fragments, trial.equivalence_classes, trial.f_measures) == (3, classes, {})
    assert trial.seconds[TOTAL] == pytest.approx(sum(trial.seconds.values()) / 2)


def test_the_training_store_is_that_of_a_table_without_the_other_records(tmp_path, small_table):
    for name in ("main", "second"):
        small_table[name] = small_table["group"].where(small_table.index % 7 > 2, "")
    path = tmp_path / "groups.csv"
    path.write_text("\n".join(f"{value};{value in 'abc'}" for value in "abcdef"))
    sections = {
        "columns": {"sensitive": ["main"], "hierarchies": dict.fromkeys(("group", "main"), str(path))},
        "privacy": {"k": 2, "l": 2, "t": 0.9, "t_distance": "hierarchical"},
    }
    held = held_out(np.unique(small_table["group"], return_inverse=True)[1], 0.9, 0)
    stay = (small_table["group"] != "f") & (small_table["main"] != "e")
    held = held._replace(train=held.train[stay[held.train]])
    store, config = loaded(tmp_path / "whole", small_table, **sections)
    prepared = prepare_trial(store, config, held, tmp_path / "training")
    alone, _ = loaded(tmp_path / "alone", small_table.iloc[held.train], **sections)
    kinds = [f"domain_{kind}" for kind in ("integer", "decimal", "categorical")]
    tables = ("source", "codes", "columns", *kinds, "hierarchies ORDER BY ALL")
    assert rows_of(prepared, *tables) == rows_of(alone, *tables)
    assert rows_of(prepared, "columns") != rows_of(store, "columns")


def test_held_out_records_do_not_shape_what_is_learnt_from(tmp_path, small_table):
    held = held_out(np.unique(small_table["group"], return_inverse=True)[1], 0.3, 0)
    other = small_table.copy()
    for place, name in enumerate(FEATURES):
        values = other[name].to_numpy(copy=True)
        values[held.test] = values[np.roll(held.test, place + 1)]
        other[name] = values
    other.loc[held.test[0], "city"] = "Graz"
    other.loc[held.test[1], "age"] = 500
    kept = []
    for name, table in (("one", small_table), ("other", other)):
        store, config = loaded(tmp_path / name, table)
        prepared = prepare_trial(store, config, held, tmp_path / name / "training")
        trial = try_release(store, prepared, config, held, ["tree", "neighbours"])
        tables = [f"typed_regions_{number}" for number in (1, 2, 3)]
        kept.append((trial, rows_of(prepared, "codes", "mutual_information", "class_counts", *tables)))
    assert kept[0][1] == kept[1][1]
    assert kept[0][0].information_loss == kept[1][0].information_loss
    assert kept[0][0].f_measures.keys() == kept[1][0].f_measures.keys()
    assert kept[0][0].f_measures != kept[1][0].f_measures


def test_a_training_store_serves_one_trial_after_the_other(tmp_path, small_table):
    store, config = loaded(tmp_path, small_table)
    held = held_out(classes_of(store), 0.3, 0)
    prepared = prepare_trial(store, config, held, tmp_path / "training")

    def tried(fragments):
        trial = try_release(store, prepared, config.with_fragments(fragments), held, ["neighbours"])
        return trial._replace(seconds={})

    first = [tried(fragments) for fragments in (3, 1, 2)]
    assert [tried(fragments) for fragments in (2, 3, 1)] == [first[2], first[0], first[1]]
    assert first[1].changed == 0


def test_nobody_hears_of_the_steps_of_a_trial(tmp_path, small_table):
    heard = []
    store, config = loaded(tmp_path, small_table)
    held = held_out(classes_of(store), 0.3, 0)
    with listening(heard.append):
        prepared = prepare_trial(store, config, held, tmp_path / "training")
        try_release(store, prepared, config, held, [])
    assert heard == []


def test_what_no_release_of_the_training_records_keeps_is_infeasible(tmp_path, small_table):
    store, config = loaded(tmp_path, small_table, privacy={"k": 50})
    for records in (49, 50):
        held = Held(sample(classes_of(store), records, 0), np.arange(0))
        prepared = prepare_trial(store, config, held, tmp_path / f"training_{records}")
        if records < config.privacy.k:
            with pytest.raises(InfeasibleError):
                try_release(store, prepared, config, held, [])
        else:
            assert try_release(store, prepared, config, held, []).equivalence_classes == config.fragments


def test_trials_are_private_and_gone_afterwards(tmp_path, small_table):
    store, config = loaded(tmp_path, small_table)
    held = held_out(classes_of(store), 0.3, 0)

    def fail():
        with trial_folder(store) as folder:
            assert folder.parent == store.parent
            prepared = prepare_trial(store, config, held, folder / "training")
            try_release(store, prepared, config, held, [])
            for path in (folder, folder / "training"):
                assert stat.S_IMODE(path.stat().st_mode) == 0o700
            assert stat.S_IMODE(prepared.stat().st_mode) == 0o600
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [path.name for path in store.parent.iterdir()] == [store.name]


def test_large_tables_are_sampled(tmp_path, small_table, monkeypatch):
    store, config = loaded(tmp_path, small_table)
    assert sampled(store, config, tmp_path) == (store, 400)
    monkeypatch.setattr("tasks.trials.trial.RECORDS", 100)
    taken, records = sampled(store, config, tmp_path)
    assert records == 100 == len(classes_of(taken))
    assert set(rows_of(taken, "source")[0]) <= set(rows_of(store, "source")[0])


def test_learning_from_exact_values_and_from_none(tmp_path):
    table = pd.DataFrame({"group": ["a"] * 60 + ["b"] * 30, "patient": range(90)})
    table["x"] = np.where(table["group"] == "a", 0.0, 9.0) + np.arange(90) % 5
    table["y"] = np.arange(90) % 7
    store, config = loaded(tmp_path, table, fragmentation={"fragments": 2})
    held = held_out(classes_of(store), 0.3, 0)
    assert learnt_exactly(store, config, held, ["tree"]) == {"tree": 1.0}
    tested = np.bincount(classes_of(store)[held.test])
    share = tested[0] / tested.sum()
    assert majority_f(classes_of(store), held) == pytest.approx(share * 2 * share / (1 + share))


def test_exact_values_are_learnt_relative_to_the_training_records(tmp_path):
    table = pd.DataFrame({"group": ["a"] * 30 + ["b"] * 30, "patient": range(60)})
    table["x"] = np.r_[np.arange(30.0), np.arange(30.0) + 40]
    table["y"] = np.tile(np.arange(30.0), 2)
    held = held_out(np.repeat([0, 1], 30), 0.3, 0)
    reached = []
    for name, far in (("near", 10.0), ("far", 1e300)):
        table.loc[held.test[0], "x"] = -far
        table.loc[held.test[0], "y"] = far
        store, config = loaded(tmp_path / name, table, fragmentation={"fragments": 2})
        reached.append(learnt_exactly(store, config, held, ["tree", "neighbours", "forest"]))
    assert reached[0] == reached[1]
    assert reached[0]["neighbours"] > 0.9


def test_a_trial_learns_from_the_class_counts_after_enforcement(tmp_path, small_table):
    store, config = loaded(tmp_path, small_table, privacy={"enforcement": "naive"})
    held = held_out(classes_of(store), 0.3, 0)
    prepared = prepare_trial(store, config, held, tmp_path / "training")
    naive = try_release(store, prepared, config, held, ["neighbours"])
    with open_store(prepared) as connection:
        assert all(((counts > 0).sum(axis=1) == 1).all() for counts in read_class_counts(connection, "after"))
    asked = config.model_copy(update={"privacy": config.privacy.model_copy(update={"enforcement": "none"})})
    as_it_is = try_release(store, prepared, asked, held, ["neighbours"])
    assert naive.changed > as_it_is.changed == 0
    assert naive.f_measures != as_it_is.f_measures
