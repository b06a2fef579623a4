"""The steps of a release of a table with several records of a person: what the store holds after them."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import person_oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_persons import all_credits

from tasks.arrange import arrange_lines
from tasks.choose_fragments import choose_fragments
from tasks.chunks import anonymize_chunks
from tasks.coarsening import coarsen
from tasks.enforce import enforce_non_reconstructibility
from tasks.errors import InfeasibleError
from tasks.fragment import fragment_features
from tasks.joins.safe_joins import promise_holds
from tasks.load import load_table
from tasks.measure_release import measure_baseline
from tasks.merge import merge_chunks
from tasks.mutual_information import measure_mutual_information
from tasks.persons.change_classes import Shown
from tasks.persons.count_persons import read_records
from tasks.persons.credit import Credits
from tasks.read_config import parse_config
from tasks.segment import segment_records
from tasks.store import create_workspace, open_store
from tasks.tables import read_class_domain
from tasks.trials.held_out import folds, held_out, sample
from tasks.trials.trial import prepare_trial, try_release
from tasks.try_learning import try_learning

DIABETES = Path(__file__).parents[2] / "shared" / "data" / "diabetes130.csv.gz"


@pytest.fixture(scope="module", autouse=True)
def quick_coarsening():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarsen, "TRIALS", {"join": 100, "records": 100})
        patch.setattr(coarsen, "MOVES", 100)
        yield


@pytest.fixture(scope="module")
def stays():
    """A table of 400 stays of 180 patients, who are alike over their stays."""
    rng = np.random.default_rng(3)
    patient = np.sort(rng.integers(0, 180, 400))
    age, ill = rng.integers(20, 90, 180)[patient], rng.random(180)[patient]
    return pd.DataFrame(
        {
            "patient": [f"P{number}" for number in patient],
            "age": age,
            "days": rng.poisson(2 + 6 * ill),
            "labs": rng.poisson(20 + 30 * ill),
            "ward": rng.choice(["a", "b", "c"], 400),
            "drug": rng.choice(["x", "y", "z", ""], 400, p=[0.5, 0.3, 0.1, 0.1]),
            "outcome": np.array(list("abcde"))[
                np.clip((5 * ill + rng.normal(0, 0.7, 400)).astype(int), 0, 4)
            ],
        }
    ).sample(frac=1, random_state=0)


def asked(folder, table, *, fragments=2, sensitive=(), anonymization=None, evaluation=None, **privacy):
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "table.csv", index=False)
    return parse_config(
        {
            "input": {"path": str(folder / "table.csv")},
            "columns": {
                "class": "outcome",
                "features": "rest",
                "entity": "patient",
                "sensitive": list(sensitive),
            },
            "privacy": {"k": 5, **privacy},
            "fragmentation": {
                "fragments": fragments,
                "max_fragments": 2,
                "objective": "information_loss",
            },
            "anonymization": anonymization or {},
            "evaluation": evaluation or {},
            "output": {"directory": str(folder / "releases"), "name": "stays"},
            "run": {"engine": "plain"},
        }
    )


def loaded(folder, config):
    store = create_workspace(folder / "workspace")
    load_table.function(store, config)
    return store


def run_steps(store, config):
    measure_mutual_information.function(store, config)
    fragment_features.function(store, config)
    batches = segment_records.function(store, config)
    chunks = [anonymize_chunks.function(store, batch, config) for batch in batches]
    merge_chunks.function(store, chunks, batches, config)
    changed = enforce_non_reconstructibility.function(store, config)
    arrange_lines.function(store, config)
    return changed


def frame(store, query):
    with duckdb.connect(store, read_only=True) as connection:
        return connection.execute(query).fetchdf()


def lines(store, number):
    """Return the published lines of a fragment: cells, values and records."""
    with duckdb.connect(store, read_only=True) as connection:
        return connection.execute(f"""
            SELECT cells.*, published.* EXCLUDE (ec) FROM published_{number} AS published
            JOIN regions_{number} AS cells ON cells.rowid = ec ORDER BY line
        """).fetchall()


def credited(store):
    """Return the records of a store, and what is counted of them there."""
    with open_store(store) as connection:
        records = read_records(connection)
        codes = {name: code for code, name in enumerate(read_class_domain(connection).values.tolist())}
    published = frame(store, "SELECT * FROM published_classes")
    shown = []
    for number in range(1, len(records.members) + 1):
        held = frame(store, f"SELECT * FROM counted WHERE fragment = {number}")
        values = held["class_value"].map(codes).to_numpy()
        counted = Credits(held["ec"].to_numpy(), held["person"].to_numpy(), values, values)
        shown.append(Shown(counted, published[f"fragment_{number}"].to_numpy()))
    return records, shown


SETTINGS = [
    {},
    {"guarantee": "records", "fragments": 3},
    {"enforcement": "naive"},
    {"enforcement": "dependency_graph", "fragments": 3},
    {"enforcement": "coarsen", "fragments": 3},
    {"fragments": 1},
    {"l": 2, "sensitive": ("drug",), "anonymization": {"mode": "relaxed"}},
    {"l": 2, "sensitive": ("drug",), "fragments": 1},
    {"l": 2, "enforcement": "coarsen", "anonymization": {"split": "infogain", "bounds": "cuts"}},
]


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def run(request, stays, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    config = asked(folder, stays, **request.param)
    store = loaded(folder, config)
    return config, store, run_steps(store, config)


def test_persons_are_counted_as_the_definition_says(run):
    config, store, changed = run
    records, shown = credited(store)
    held = all_credits(records, shown)
    assert min(len(counted) for fragment in held for counted in fragment) >= config.privacy.k
    assert person_oracles.joins_are_safe(held, config.privacy.k, config.privacy.guarantee)
    assert [int((codes != records.classes).sum()) for _, codes in shown] == changed
    for ecs, counts, (_, published) in zip(records.members, held, shown, strict=True):
        for ec, counted in enumerate(counts):
            rows = np.flatnonzero(ecs == ec)
            bearers = person_oracles.bearers(rows, records.persons, published)
            assert set(counted) == set(records.persons[rows].tolist())
            assert all(person in bearers[value] for person, value in counted.items())
            assert config.fragments == 1 or set(counted.values()) == set(bearers)
            assert len(set(counted.values())) >= (config.privacy.l or 1)


def test_every_record_is_published_with_its_own_class_and_sensitive_value(run):
    _, store, _ = run
    source = frame(store, "SELECT source.*, members.* FROM source POSITIONAL JOIN members")
    records, shown = credited(store)
    names = sorted(source["outcome"].unique())
    for number, (_, published) in enumerate(shown, 1):
        held = frame(store, f"SELECT * EXCLUDE (line) FROM published_{number}")
        values = [name for name in held.columns if name.startswith("s")]
        assert held["records"].sum() == len(source)
        expected = pd.DataFrame(
            {"ec": records.members[number - 1], "class_value": np.array(names)[published]}
        )
        if values:
            expected["s1"] = source["drug"]
        keys = list(expected.columns)
        counted = expected.groupby(keys, dropna=False).size().rename("records").reset_index()
        both = held.groupby(keys, dropna=False)["records"].sum().reset_index()
        pd.testing.assert_frame_equal(both, counted, check_dtype=False)
        counts = frame(store, f"SELECT ec, class_value, after FROM class_counts WHERE fragment = {number}")
        told = counts[counts["after"] > 0].groupby(["ec", "class_value"])["after"].sum()
        assert told.to_dict() == expected.groupby(["ec", "class_value"]).size().to_dict()


def test_each_value_of_a_sensitive_attribute_is_borne_by_a_person(run):
    config, store, _ = run
    counted = frame(store, "SELECT * FROM counted_sensitive")
    if not config.columns.sensitive:
        assert counted.empty
        return
    records, _ = credited(store)
    drugs = frame(store, "SELECT drug FROM source")["drug"].to_numpy()
    (number,) = counted["fragment"].unique()
    ecs = records.members[number - 1]
    for ec in range(int(ecs.max()) + 1):
        rows = [row for row in np.flatnonzero(ecs == ec) if isinstance(drugs[row], str)]
        bearers: dict[str, set[int]] = {}
        for row in rows:
            bearers.setdefault(drugs[row], set()).add(int(records.persons[row]))
        held = counted[counted["ec"] == ec]
        assert held["person"].is_unique
        assert set(held["person"]) == {int(records.persons[row]) for row in rows}
        assert all(
            person in bearers[value] for person, value in zip(held["person"], held["value"], strict=True)
        )
        assert held["value"].nunique() == person_oracles.most_covered(list(bearers.values())) >= 2


def test_joins_are_known_to_be_safe(run):
    config, store, _ = run
    assert promise_holds(store, config) is True


def test_joins_that_rest_on_too_few_persons_are_known(stays, tmp_path):
    config = asked(tmp_path, stays)
    store = loaded(tmp_path, config)
    run_steps(store, config)
    with open_store(store) as connection:
        connection.execute("UPDATE person_counts SET persons = 1")
    assert promise_holds(store, config) is False


@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_neither_the_order_of_records_nor_the_names_of_persons_tell_anything(stays, tmp_path, mode):
    written = []
    renamed = stays.assign(patient=stays["patient"].map(lambda name: f"{hash(name[::-1])}"))
    for name, table in {"as it is": stays, "shuffled": renamed.sample(frac=1, random_state=5)}.items():
        config = asked(tmp_path / name, table, l=2, sensitive=("drug",), anonymization={"mode": mode})
        store = loaded(tmp_path / name, config)
        run_steps(store, config)
        written.append([lines(store, number) for number in (1, 2)])
    assert written[0] == written[1]


@pytest.mark.parametrize("persons", [4, 5, 6])
def test_no_class_has_fewer_than_k_persons_however_many_their_records(stays, tmp_path, persons):
    table = stays.assign(patient=np.arange(len(stays)) % persons)
    config = asked(tmp_path, table)
    if persons < config.privacy.k:
        with pytest.raises(InfeasibleError, match="400 records of 4 persons, fewer than k = 5"):
            loaded(tmp_path, config)
        return
    store = loaded(tmp_path, config)
    run_steps(store, config)
    counted = frame(store, "SELECT fragment, ec, sum(persons) AS n FROM person_counts GROUP BY ALL")
    assert counted["n"].min() >= 5
    assert counted["n"].max() <= persons


def test_a_table_that_cannot_reach_l_in_persons_is_refused(stays, tmp_path):
    table = stays.assign(drug=np.where(stays["patient"] == "P7", "rare", "common"))
    table.loc[table.index[table["patient"] == "P7"][0], "drug"] = "rarer"
    config = asked(tmp_path, table, l=3, sensitive=("drug",))
    store = loaded(tmp_path, config)
    with pytest.raises(InfeasibleError, match="borne by a person of its own"):
        run_steps(store, config)


def test_the_baseline_counts_persons_too(stays, tmp_path):
    classes = {}
    for k in (5, 60):
        config = asked(tmp_path / str(k), stays, k=k)
        store = loaded(tmp_path / str(k), config)
        classes[k] = measure_baseline.function(store, config)
    assert classes[60] <= 3
    assert classes[5] > classes[60]


def test_a_trial_keeps_the_records_of_a_person_together(stays, tmp_path):
    config = asked(tmp_path, stays)
    store = loaded(tmp_path, config)
    persons = frame(store, "SELECT person FROM persons")["person"].to_numpy()
    classes = frame(store, "SELECT outcome FROM codes")["outcome"].to_numpy()
    held = held_out(classes, 0.3, 0, persons)
    assert not set(persons[held.train]) & set(persons[held.test])
    prepared = prepare_trial(store, config, held, tmp_path / "trial")
    trial = try_release(store, prepared, config, held, ("tree",))
    assert trial.f_measures
    assert promise_holds(prepared, config) is True
    assert len(frame(prepared, "SELECT * FROM persons")) == len(held.train)


def test_steps_that_try_releases_know_of_persons(stays, tmp_path):
    config = asked(tmp_path, stays.head(200), fragments="auto", evaluation={"learners": ["tree"]})
    store = loaded(tmp_path, config)
    chosen = config.with_fragments(choose_fragments.function(store, config))
    assert try_learning.function(store, chosen) > 0
    told = frame(store, "SELECT * FROM evaluation")
    assert told["failure"].isna().all()
    assert told["f_measure"].notna().all()


TABLES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=4, max_size=60)


@given(rows=TABLES, share=st.floats(0, 0.9), number=st.integers(2, 4), seed=st.integers(0, 3))
def test_parts_keep_persons_together_and_train_every_class_value(rows, share, number, seed):
    persons, classes = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    classes = np.unique(classes, return_inverse=True)[1].astype(np.int32)
    parts = [held_out(classes, share, seed, persons), *folds(classes, number, seed, persons)]
    for held in parts:
        assert np.sort(np.concatenate(held)).tolist() == list(range(len(rows)))
        assert not set(persons[held.train]) & set(persons[held.test])
        assert set(classes[held.train]) == set(classes)
    tested = [person for held in parts[1:] for person in set(persons[held.test])]
    assert len(tested) == len(set(tested))
    chosen = sample(classes, len(rows) // 2, seed, persons)
    assert set(classes[chosen]) == set(classes)
    assert not set(persons[chosen]) & set(np.delete(persons, chosen))


@pytest.mark.skipif(not DIABETES.exists(), reason="Diabetes 130 is not here")
@pytest.mark.parametrize(
    "privacy", [{"k": 20}, {"k": 20, "guarantee": "records"}, {"k": 10, "l": 2}], ids=str
)
def test_stays_in_130_hospitals(tmp_path, privacy):
    chosen = ["patient_nbr", "gender", "age", "time_in_hospital", "num_medications", "readmitted", "insulin"]
    table = pd.read_csv(DIABETES, usecols=chosen, nrows=8000, keep_default_na=False)
    config = asked(
        tmp_path, table.rename(columns={"patient_nbr": "patient", "readmitted": "outcome"}), **privacy
    )
    store = loaded(tmp_path, config)
    run_steps(store, config)
    persons = frame(store, "FROM members POSITIONAL JOIN persons")
    for number in (1, 2):
        assert persons.groupby(f"fragment_{number}")["person"].nunique().min() >= config.privacy.k
    assert promise_holds(store, config) is True
    assert len(frame(store, "FROM published_classes")) == len(table)
