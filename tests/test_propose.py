"""The proposed configuration: roles and reasons, no value of the data, and that it runs."""

import gzip
import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tasks.errors import ConfigurationError, InputError
from tasks.load import load_table
from tasks.loading.propose import suggested_k, write_proposal
from tasks.read_config import read_config
from tasks.store import create_workspace

CANARY = "Zanzibar4711"
ROWS = 200


@pytest.fixture
def patients():
    """A table with a column of every sort."""
    turn = np.arange(ROWS)
    return pd.DataFrame(
        {
            "record": [f"{CANARY}-{number}" for number in turn],
            "number": turn + 100000,
            "person": turn * 3 // 4 + 500000,
            "ward": np.where(turn % 7 < 3, CANARY, "north"),
            "weight": (turn % 41) + 0.25,
            "unit": "kg",
            "nothing": "",
            "code": turn % 7,
            "sex": turn % 2,
            "visits": np.where(turn % 9 == 0, "?", (turn % 30).astype(str)),
            "gaps": np.where(turn % 10 == 0, "", CANARY),
            "outcome": np.where(turn % 3 == 0, f"{CANARY} a", f"{CANARY} b"),
        }
    )


def propose(table, output):
    write_proposal(table, output)
    text = output.read_text(encoding="utf-8")
    return text, tomllib.loads(text)


def loaded(config_path, class_name):
    """Fill in the class and load the table as the configuration says."""
    config = read_config(config_path, [f"columns.class={class_name}"])
    return load_table(create_workspace(config_path.parent / "workspace"), config)


@pytest.fixture
def proposal(patients, tmp_path):
    patients.to_csv(tmp_path / "patients 2026.csv", index=False)
    return propose(tmp_path / "patients 2026.csv", tmp_path / "release.toml")


def test_unique_columns_are_identifiers_and_empty_ones_are_dropped(proposal):
    _, settings = proposal
    assert settings["columns"]["identifiers"] == ["record", "number", "person"]
    assert settings["columns"]["drop"] == ["nothing"]
    assert settings["columns"]["features"] == "rest"


def test_every_column_is_listed_with_its_kind_counts_and_reason(proposal):
    text, _ = proposal
    for line in (
        '    "record",  # text, 200 values: almost every record has its own value',
        '    "number",  # whole numbers, 200 values: almost every record has its own value',
        '    "person",  # whole numbers, 150 values: most records have their own value: a feature, if',
        '#   "ward": text, 2 values',
        '#   "weight": numbers, 41 values',
        '#   "unit": text, 1 value: constant: the same value in every record',
        '    "nothing",  # text, 0 values, 200 missing: no record has a value',
        '#   "visits": text, 31 values: numbers but for 23 cells that may stand for missing',
        '#   "gaps": text, 1 value, 20 missing',
    ):
        assert f"\n{line}" in text


def test_no_value_of_the_table_is_written(proposal):
    text, _ = proposal
    assert CANARY not in text
    assert "north" not in text
    assert "kg" not in text


def test_the_class_is_asked_for(proposal, tmp_path):
    text, settings = proposal
    assert settings["columns"]["class"] == ""
    offered = re.findall(r'#   "(\w+)": \d+ values\n', text.partition("could be the class")[2])
    assert offered == ["ward", "code", "sex", "outcome"]
    with pytest.raises(ConfigurationError, match=r"^columns\.class: [^\n]+$"):
        read_config(tmp_path / "release.toml")


def test_with_the_class_filled_in_it_loads(proposal, tmp_path):
    shape = loaded(tmp_path / "release.toml", "outcome")
    assert (shape.records, shape.features, shape.class_values) == (ROWS, 7, 2)


def test_the_commented_suggestions_are_settings(proposal, tmp_path):
    text, _ = proposal
    taken = re.sub(r"(?m)^# (types\.|missing = |sensitive = |l = )", r"\1", text).replace(
        'missing = [""]  #', "#"
    )
    settings = tomllib.loads(taken)
    assert settings["columns"]["types"] == {"code": "categorical"}
    assert settings["input"]["missing"] == ["", "?"]
    assert (settings["columns"]["sensitive"], settings["privacy"]["l"]) == ([], 2)
    (tmp_path / "release.toml").write_text(taken, encoding="utf-8")
    assert loaded(tmp_path / "release.toml", "outcome").records == ROWS


def test_texts_that_may_stand_for_missing_are_counted(proposal):
    text, _ = proposal
    assert '#   "?": 23 cells in 1 column\n' in text


def test_the_release_is_named_after_the_file_and_the_path_is_relative(proposal):
    _, settings = proposal
    assert settings["output"]["name"] == "patients_2026"
    assert settings["input"]["path"] == "patients 2026.csv"


def test_the_path_is_relative_to_the_folder_of_the_configuration(patients, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "configs").mkdir()
    patients.to_csv(tmp_path / "data" / "t.csv", index=False)
    monkeypatch.chdir(tmp_path / "data")
    _, settings = propose(Path("t.csv"), Path("../configs/release.toml"))
    assert settings["input"]["path"] == "../data/t.csv"
    assert loaded(tmp_path / "configs" / "release.toml", "outcome").records == ROWS


@pytest.mark.parametrize(("records", "k"), [(1, 2), (40, 2), (100, 5), (199, 9), (200, 10), (10**6, 10)])
def test_k_grows_with_the_table_up_to_a_usual_one(records, k):
    assert suggested_k(records) == k


def _as_csv(frame, path):
    frame.to_csv(path, index=False)


def _as_tsv(frame, path):
    frame.to_csv(path, index=False, sep="\t")


def _as_semicolons(frame, path):
    frame.to_csv(path, index=False, sep=";", decimal=",")


def _as_latin(frame, path):
    frame.rename(columns={"ward": "Wärd"}).to_csv(path, index=False, encoding="latin-1")


def _as_utf16(frame, path):
    frame.to_csv(path, index=False, encoding="utf-16")


def _as_gzip(frame, path):
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))


def _as_parquet(frame, path):
    frame.to_parquet(path)


@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("t.csv", _as_csv),
        ("t.tsv", _as_tsv),
        ("t.csv", _as_semicolons),
        ("t.csv", _as_latin),
        ("t.csv", _as_utf16),
        ("t.csv.gz", _as_gzip),
        ("t.parquet", _as_parquet),
    ],
)
def test_any_readable_table_gets_a_configuration_that_loads(patients, tmp_path, name, save):
    save(patients, tmp_path / name)
    text, settings = propose(tmp_path / name, tmp_path / "release.toml")
    assert settings["output"]["name"] == "t"
    assert CANARY not in text
    assert loaded(tmp_path / "release.toml", "outcome").records == ROWS


def test_columns_of_parquet_that_cannot_be_released_are_dropped_with_the_reason(tmp_path):
    turn = np.arange(ROWS)
    pd.DataFrame(
        {
            "day": pd.to_datetime(["2020-01-31", "2020-02-01"] * (ROWS // 2)),
            "ratio": np.where(turn % 2, np.inf, 1.5),
            "size": turn % 50,
            "outcome": turn % 2,
        }
    ).to_parquet(tmp_path / "t.parquet")
    text, settings = propose(tmp_path / "t.parquet", tmp_path / "release.toml")
    assert settings["columns"]["drop"] == ["day", "ratio"]
    assert "100 of its numbers are infinite" in text
    assert "holds values of type TIMESTAMP" in text
    assert loaded(tmp_path / "release.toml", "outcome").features == 1


def test_odd_names_are_written_so_that_they_read_back(tmp_path):
    names = [
        'a"b',
        "c\nd",
        "e\\u0041",
        "f # g",
        "h]\n[privacy]\nk = 2",
        "i\x7f\x01",
        "j" * 300,
        "k = 3",
        "ﬁ 😀",
    ]
    unique = [f"{name}!" for name in names]
    values = {name: np.arange(ROWS) % 4 for name in names} | {name: np.arange(ROWS) for name in unique}
    pd.DataFrame(values | {"outcome": np.arange(ROWS) % 2}).to_csv(tmp_path / "t.csv", index=False)
    text, settings = propose(tmp_path / "t.csv", tmp_path / "release.toml")
    assert settings["columns"]["identifiers"] == unique
    assert settings["privacy"]["k"] == 10
    codes = tomllib.loads(re.sub(r"(?m)^# (types\.)", r"\1", text))["columns"]["types"]
    assert list(codes) == names
    assert loaded(tmp_path / "release.toml", "outcome").features == len(names)


def test_a_thousand_columns(tmp_path):
    names = [f"x{number}" for number in range(1000)]
    line = ",".join(str(number % 2) for number in range(1000))
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + f"{line}\n" * 20, encoding="utf-8")
    text, settings = propose(tmp_path / "t.csv", tmp_path / "release.toml")
    assert settings["columns"]["identifiers"] == []
    assert all(f'#   "{name}": whole numbers, 1 value: constant' in text for name in names)


@pytest.mark.parametrize("name", ["-.csv", "_.csv", "日本.csv"])
def test_a_file_whose_name_cannot_be_a_release_name(patients, tmp_path, name):
    patients.to_csv(tmp_path / name, index=False)
    _, settings = propose(tmp_path / name, tmp_path / "release.toml")
    assert settings["output"]["name"] == "release"


def test_an_existing_file_is_never_overwritten(patients, tmp_path):
    patients.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "release.toml").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"release\.toml: exists and is not overwritten"):
        write_proposal(tmp_path / "t.csv", tmp_path / "release.toml")
    assert (tmp_path / "release.toml").read_text(encoding="utf-8") == "mine"
    assert ConfigurationError.exit_code == 2


def test_a_place_that_cannot_be_written(patients, tmp_path):
    patients.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_proposal(tmp_path / "t.csv", tmp_path / "no" / "folder" / "release.toml")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"a,b\n", "has no records"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "cannot be read"),
        (f"a,b\n1,2\n{CANARY}\n".encode(), "line 3 of t.csv"),
        (f"a,,b\n1,2,{CANARY}\n".encode(), "column number 2 is blank"),
    ],
)
def test_a_table_that_cannot_be_read_leaves_no_configuration(tmp_path, content, told):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError, match=told) as caught:
        write_proposal(tmp_path / "t.csv", tmp_path / "release.toml")
    assert CANARY not in str(caught.value)
    assert not (tmp_path / "release.toml").exists()


@pytest.mark.parametrize("name", ["gone.csv", "gone.parquet"])
def test_a_missing_table(tmp_path, name):
    with pytest.raises(InputError, match=f"there is no file {name}"):
        write_proposal(tmp_path / name, tmp_path / "release.toml")
