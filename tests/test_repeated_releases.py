"""Versions of one release, one after the other: refused, flagged, unchanged, and what is kept of them."""

import hashlib
import hmac
import json
import re
import shutil
import stat

import duckdb
import numpy as np
import pandas as pd
import pytest
import repeats_oracles as oracles

from flows.audit import audit
from flows.cli import main
from flows.release import release
from tasks.errors import ConfigurationError, GateError, InputError
from tasks.events import listening
from tasks.load import load_table
from tasks.look_back import look_back
from tasks.read_config import parse_config
from tasks.repeats.by_files import told_by_files
from tasks.store import create_workspace, open_store

K = 6


def table_of(numbers, seed=5):
    """Persons by their numbers: the same number is the same person in every table."""
    rng = np.random.default_rng(seed)
    size = 1000
    everybody = pd.DataFrame(
        {
            "patient": [f"canary-{number}" for number in range(size)],
            "age": rng.integers(20, 60, size),
            "weight": rng.integers(50, 90, size),
            "height": rng.integers(150, 200, size),
            "group": rng.choice(list("abc"), size, p=[0.6, 0.3, 0.1]),
        }
    )
    return everybody.iloc[list(numbers)].reset_index(drop=True)


def settings(folder, table, **sections):
    folder.mkdir(exist_ok=True)
    table.to_csv(folder / "table.csv", index=False)
    asked = {
        "input": {"path": str(folder / "table.csv")},
        "columns": {"class": "group", "features": "rest", "identifiers": ["patient"]},
        "privacy": {"k": K},
        "evaluation": {"attacks": 0},
        "output": {"directory": str(folder / "releases"), "name": "people"},
        "run": {"workspace": str(folder / "workspace"), "engine": "plain"},
    }
    return {name: {**asked.get(name, {}), **sections.get(name, {})} for name in {**asked, **sections}}


def publish(asked):
    """Return the folder, and what was remarked."""
    told = []

    def hear(event):
        if event.kind == "remark":
            told.append(event.text)

    with listening(hear):
        return release.fn(parse_config(asked)), told


def manifest_of(folder):
    return json.loads((folder / "release.json").read_text())


def version_in(file):
    """A version as the oracles have it, from the tables of a private file."""
    with duckdb.connect(file, read_only=True) as connection:
        frame = connection.execute("SELECT * FROM followed").df()
        counts = connection.execute("SELECT * FROM followed_counts").df()
    fragments = []
    for number, name in enumerate([name for name in frame if name != "key"], 1):
        own = counts[counts["fragment"] == number]
        members = frame.groupby(name)["key"].agg(set)
        shown = own.groupby("ec").apply(lambda ec: dict(zip(ec["class_value"], ec["held"], strict=True)))
        fragments.append([(members[ec], shown[ec]) for ec in members.index])
    return fragments


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A folder with one published version; it is copied by who changes it."""
    folder = tmp_path_factory.mktemp("first")
    published, told = publish(settings(folder, table_of(range(200))))
    assert told == []
    return folder, published.name


@pytest.fixture
def place(first, tmp_path):
    shutil.copytree(first[0], tmp_path / "copy", symlinks=True)
    return tmp_path / "copy"


def kept(folder):
    return folder / "workspace" / ".kept" / "people"


def test_a_first_version_states_that_nothing_was_compared(first):
    folder, version = first
    stated = manifest_of(folder / "releases" / "people" / version)["repeats"]
    assert stated == {"check": "refuse", "earlier": 0, "by_stores": 0, "by_files": 0, "kept": None}
    assert audit(folder / "releases" / "people" / "latest").success


def test_what_is_kept_is_private_and_holds_no_identifier(first):
    folder, version = first
    paths = [kept(folder).parent, kept(folder), *kept(folder).iterdir()]
    assert {path.name for path in paths[2:]} == {"key", f"{version}.unpublished"}
    assert all(not stat.S_IMODE(path.stat().st_mode) & 0o077 for path in paths)
    assert not any(b"canary" in path.read_bytes() for path in paths[2:])


def test_persons_are_known_by_hmac_of_their_identifier(first):
    folder, version = first
    key = (kept(folder) / "key").read_bytes()
    digests = [hmac.new(key, f"canary-{n}".encode(), hashlib.sha256).digest() for n in range(200)]
    with duckdb.connect(kept(folder) / f"{version}.unpublished", read_only=True) as connection:
        words = {word for (word,) in connection.execute("SELECT key FROM followed").fetchall()}
    assert words == {int.from_bytes(digest[:8], "big") for digest in digests}


@pytest.mark.parametrize("change", ["same", "other order", "other seed"])
def test_unchanged_data_is_not_published_again(place, change):
    table = table_of(range(200))
    asked = settings(place, table.sample(frac=1, random_state=2) if change == "other order" else table)
    asked["run"]["seed"] = 9 if change == "other seed" else 0
    folder, told = publish(asked)
    assert [path.name for path in (place / "releases" / "people").glob("2*")] == [folder.name]
    assert told == [f"the table and its settings are unchanged since {folder.name}: nothing is published"]
    assert [path.name for path in (place / "workspace").iterdir()] == [".kept"]


def test_the_command_says_in_one_line_that_nothing_was_published(place, monkeypatch, capsys):
    settings(place, table_of(range(200)))
    (place / "release.toml").write_text(
        f'[input]\npath = "table.csv"\n[columns]\nclass = "group"\nfeatures = "rest"\n'
        f'identifiers = ["patient"]\n[privacy]\nk = {K}\n[evaluation]\nattacks = 0\n'
        '[output]\nname = "people"\n'
    )
    monkeypatch.setattr("sys.argv", ["unjoin", "release", str(place / "release.toml"), "--engine", "plain"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    (version,) = (path.name for path in (place / "releases" / "people").glob("2*"))
    first, place, _ = capsys.readouterr().out.splitlines()
    assert first == f"unchanged since {version}: nothing was published"
    assert place.endswith(f"/releases/people/{version}")


def look_back_at(asked):
    """Load a table and look back; return the version that it is unchanged since, and what was remarked."""
    config, told = parse_config(asked), []
    store = create_workspace(config.run.workspace / "people-looked-1a2b3c")
    with listening(lambda event: told.append(event.text) if event.kind == "remark" else None):
        load_table.function(store, config)
        return look_back.function(store, config), told


@pytest.mark.parametrize(
    "sections",
    [
        {"privacy": {"k": K + 1}},
        {"columns": {"types": {"age": "categorical"}}},
        {"signing": {"private_key_from": "UNJOIN_KEY"}},
        {"changed": {}},
    ],
)
def test_a_changed_value_or_setting_is_a_change(place, sections):
    table = table_of(range(200))
    if "changed" in sections:
        sections, table.loc[0, "group"] = {}, "c" if table.loc[0, "group"] != "c" else "a"
    assert look_back_at(settings(place, table, **sections)) == (None, [])


def test_another_person_with_the_same_values_is_a_change(place):
    table = table_of(range(200))
    table.loc[0, "patient"] = "canary-999"
    assert look_back_at(settings(place, table)) == (None, [])


def test_few_who_come_are_refused_and_counted_as_by_the_definitions(place):
    with pytest.raises(GateError) as refused:
        publish(settings(place, table_of(range(203)), privacy={"l": 2, "guarantee": "records"}))
    (before,) = kept(place).glob("2*.duckdb")
    (store,) = (place / "workspace").glob("people-*/store.duckdb")
    old, new = version_in(before), version_in(store)
    found = {
        "values": oracles.few_values(new, [old], 2),
        "records": oracles.few_records(new, [old], K),
        "differences": oracles.told_by_difference(new, old, K),
    }
    lines = str(refused.value).splitlines()
    for condition, persons in found.items():
        told = [line for line in lines if line.startswith(f"{condition}: ")]
        assert len(told) == bool(persons)
        assert all(f"{len(persons)} person" in line for line in told)
    assert found["differences"]
    assert "canary" not in str(refused.value)
    with duckdb.connect(store, read_only=True) as connection:
        records = connection.execute("SELECT condition, record FROM repeats_concerned").fetchall()
        keys = [key for (key,) in connection.execute("SELECT key FROM person_keys").fetchall()]
    now = oracles.persons_of(new)
    assert {(name, keys[record]) for name, record in records} == {
        (name, person) for name, persons in found.items() for person in persons & now
    }
    assert len(list((place / "releases" / "people").glob("2*"))) == 1


def test_a_flagged_version_is_published_and_says_so_without_a_count(place):
    folder, told = publish(settings(place, table_of(range(203)), repeats={"check": "flag"}))
    assert any(re.match(r"with earlier versions, differences: \d+ persons? ", line) for line in told)
    stated = manifest_of(folder)["repeats"]
    assert stated == {"check": "flag", "earlier": 1, "by_stores": 1, "by_files": 0, "kept": False}
    assert "Together they tell more than was asked" in (folder / "report.html").read_text()
    assert audit(folder).success


def test_other_persons_are_no_repetition(place):
    folder, told = publish(settings(place, table_of(range(300, 500))))
    assert told == []
    assert manifest_of(folder)["repeats"]["kept"] is True
    assert "earlier versions of this one" in (folder / "report.html").read_text()
    assert len(list(kept(place).glob("*.unpublished"))) == 1
    assert len(list(kept(place).glob("*.duckdb"))) == 1


def test_a_version_whose_folder_and_register_are_gone_counts_all_the_same(place):
    asked = settings(place, table_of(range(203)))
    (file,) = kept(place).glob("*.unpublished")
    file.rename(file.with_suffix(".duckdb"))
    shutil.rmtree(place / "releases")
    with pytest.raises(GateError, match="differences"):
        publish(asked)


def test_without_private_files_published_ones_are_compared(place):
    shutil.rmtree(kept(place))
    asked = settings(place, table_of(range(400, 600 + K - 1)))
    with pytest.raises(GateError, match=f"differences: {K - 1} records are told by files"):
        publish(asked)


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """A published folder and the private store of its run."""
    folder = tmp_path_factory.mktemp("beside")
    asked = settings(folder, table_of(range(200)), run={"keep_workspace": True})
    published, _ = publish(asked | {"repeats": {"check": "off", "keep": False}})
    (store,) = (folder / "workspace").glob("people-*/store.duckdb")
    return published, store


@pytest.mark.parametrize(
    "taken, stated, told",
    [(0, 0, 0), (1, 0, 1), (K - 1, 0, K - 1), (K, 0, 0), (0, 1, 1), (0, K - 1, K - 1), (0, K, 0), (2, 4, 4)],
)
def test_files_tell_what_totals_and_classes_with_the_same_cells_differ_by(
    beside, tmp_path, taken, stated, told
):
    folder, store = tmp_path / "earlier", beside[1]
    shutil.copytree(beside[0], folder)
    lines = (folder / "fragment_1.csv").read_text().splitlines()
    (folder / "fragment_1.csv").write_text("\n".join([lines[0], *lines[1 + taken :]]) + "\n")
    manifest = manifest_of(folder)
    (folder / "release.json").write_text(json.dumps(manifest | {"records": manifest["records"] - stated}))
    with open_store(store) as connection:
        assert told_by_files(connection, folder, K) == told


def test_files_of_another_class_are_not_compared_and_damaged_ones_are_refused(beside, tmp_path):
    folder, store = tmp_path / "earlier", beside[1]
    shutil.copytree(beside[0], folder)
    (folder / "release.json").write_text(json.dumps(manifest_of(folder) | {"class": "other"}))
    with open_store(store) as connection:
        assert told_by_files(connection, folder, K) is None
        (folder / "release.json").write_text(json.dumps(manifest_of(beside[0])))
        (folder / "fragment_1.csv").unlink()
        with pytest.raises(InputError, match="cannot be read as those of a release"):
            told_by_files(connection, folder, K)


def test_with_the_check_off_nothing_is_compared(place, beside):
    assert look_back_at(settings(place, table_of(range(200)), repeats={"check": "off"})) == (None, [])
    assert manifest_of(beside[0])["repeats"]["kept"] is None
    assert "This was not checked here" in (beside[0] / "report.html").read_text()


def test_what_a_run_kept_that_published_nothing_is_removed(place):
    left = kept(place) / "20200101T000000Z.unpublished"
    left.touch()
    publish(settings(place, table_of(range(200))))
    assert not left.exists()


def test_a_version_that_was_not_registered_is_registered_by_the_next_run(place):
    (place / "releases" / "people" / "register.jsonl").unlink()
    folder, told = publish(settings(place, table_of(range(200))))
    assert told[0] == f"{folder.name} was published and not registered: it is registered now"


def test_a_damaged_key_is_refused(place):
    (kept(place) / "key").write_bytes(b"short")
    with pytest.raises(ConfigurationError, match="is not a key"):
        publish(settings(place, table_of(range(200))))


def test_missing_identifiers_cannot_be_followed(tmp_path):
    table = table_of(range(100))
    table.loc[3, "patient"] = None
    _, told = look_back_at(settings(tmp_path, table))
    assert told == [
        "column 'patient': is missing in 1 records, so persons cannot be followed from version to version"
    ]
    with pytest.raises(InputError, match=r"repeats.person needs it in all of them"):
        publish(settings(tmp_path, table, repeats={"person": "patient"}))


@pytest.mark.parametrize(
    "sections, told",
    [
        ({"repeats": {"person": "age"}}, "'age' must be one of columns.identifiers"),
        (
            {"repeats": {"person": "patient"}, "columns": {"entity": "who", "identifiers": ["patient"]}},
            "columns.entity tells who is who",
        ),
    ],
)
def test_persons_are_followed_by_an_identifier(tmp_path, sections, told):
    with pytest.raises(ConfigurationError, match=told):
        parse_config(settings(tmp_path, table_of(range(20)), **sections))


def test_persons_with_several_records_are_held_against_earlier_ones(tmp_path):
    twice = pd.concat([table_of(range(150)), table_of(range(150), seed=6)]).sample(frac=1, random_state=1)
    columns = {"entity": "patient", "identifiers": []}
    publish(settings(tmp_path, twice, columns=columns))
    fewer = twice[~twice["patient"].isin(["canary-3", "canary-4"])]
    with pytest.raises(GateError, match="differences: "):
        publish(settings(tmp_path, fewer, columns=columns))
    (before,) = kept(tmp_path).glob("2*.duckdb")
    (store,) = (tmp_path / "workspace").glob("people-*/store.duckdb")
    old, new = version_in(before), version_in(store)
    with duckdb.connect(store, read_only=True) as connection:
        ((records, differences),) = connection.execute("SELECT records, differences FROM repeats").fetchall()
    assert differences == len(oracles.told_by_difference(new, old, K))
    assert records == len(oracles.few_records(new, [old], K))
