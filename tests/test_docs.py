"""What the documents print runs, and what they name exists."""

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from flows.cli import app
from flows.demo import write_demo
from tasks.config import Config
from tasks.read_config import read_config

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
UNJOIN = Path(sys.executable).with_name("unjoin")


def blocks(page, language):
    return re.findall(
        rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "unjoin-demo"
    config = write_demo(folder)
    subprocess.run(
        [str(UNJOIN), "release", str(config), "--engine", "plain"], check=True, capture_output=True
    )
    return folder


def test_python_in_the_documents_runs_as_printed(demo, monkeypatch):
    monkeypatch.chdir(demo)
    (code,) = blocks("reading-a-release.md", "python")
    names = {}
    exec(code, names)  # noqa: S102 - the document's own code
    assert len(names["fragment"]) == 569


def test_sql_in_the_documents_runs_as_printed(demo, monkeypatch):
    monkeypatch.chdir(demo)
    (query,) = blocks("reading-a-release.md", "sql")
    counts = {name: count for name, count, _ in duckdb.sql(query).fetchall()}
    assert counts == {"benign": 357, "malignant": 212}


def test_the_store_answers_the_query_of_the_operation_page(tmp_path):
    config = write_demo(tmp_path)
    command = [str(UNJOIN), "release", str(config), "--engine", "plain", "--set", "run.keep_workspace=true"]
    subprocess.run(command, check=True, capture_output=True)
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    (query,) = blocks("operation.md", "sql")
    with duckdb.connect(store, read_only=True) as connection:
        assert len(connection.execute(query).fetchall()) == 30


def test_every_setting_is_documented_and_every_documented_setting_exists():
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for section, field in Config.model_fields.items():
        text = page.partition(f"## [{section}]")[2].partition("\n## ")[0]
        documented = set(
            re.findall(r"^\| `([a-z_]+)` \| (?!.*\|.*\|.*\|)[^|]*\|[^|]*\|$", text, re.MULTILINE)
        )
        settings = {setting.alias or name for name, setting in field.annotation.model_fields.items()}
        assert settings <= documented, section
        assert documented <= settings, section


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


def test_commands_of_the_readme_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"\.venv/bin/unjoin (\w+)", readme))
    assert commands == {"init", "release", "audit", "compare", "experiments", "keys", "history"}
    assert commands <= set(app)
    targets = set(re.findall(r"^make (\w+)", readme, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{target}: " in makefile for target in targets)


def test_every_example_is_a_configuration():
    examples = sorted((ROOT / "examples").glob("*.toml"))
    assert {example.stem for example in examples} >= {"musk", "diabetes130", "optdigits"}
    for example in examples:
        assert isinstance(read_config(example), Config)
