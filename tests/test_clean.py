"""What runs have left is shown, and removed when asked; what lives, or is another's, is not touched."""

import os
import shlex
import sys

import pytest
from test_docs import blocks

import flows.clean
from flows.cli import main
from tasks.events import listening
from tasks.private_folders import lock, make, private_files, set_state
from tasks.read_config import parse_config, read_config
from tasks.retention import sweep_old

CONFIG = """
[input]
path = "table.csv"
[columns]
class = "group"
features = "rest"
[privacy]
k = 10
[output]
name = "people"
[run]
retention_days = 30
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "release.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace").mkdir()
    return tmp_path


def leave(project, name, state="gate failed", days=0):
    folder = project / "workspace" / name
    with private_files():
        os.close(make(folder))
        set_state(folder, state)
        (folder / "store.duckdb").write_bytes(b"0" * 1_000_000)
    for path in (*folder.iterdir(), folder):
        os.utime(path, (path.stat().st_mtime - days * 86_400,) * 2)
    return folder


PEOPLE, OTHER, ATTACKS = (
    "people-20260101T000000Z-0a1b2c",
    "people-too-20260101T000000Z-0a1b2c",
    "people-attacks-0a1b2c",
)


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["unjoin", "clean", *arguments])
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        else:
            code = 0
        shown = capsys.readouterr()
        return code or 0, shown.out.splitlines(), shown.err.strip()

    return run


def test_what_runs_of_a_release_have_left_is_shown_then_removed(project, command):
    mine, attacks, other = (leave(project, name, "running") for name in (PEOPLE, ATTACKS, OTHER))
    staging = project / "releases" / "people" / ".staging-20260101T000000Z"
    published = project / "releases" / "people" / "20250101T000000Z"
    for folder in (staging, published):
        folder.mkdir(parents=True)
    expected = sorted(
        [f"did not end\t0.0 days\t1.0 MB\tworkspace/{path.name}" for path in (mine, attacks)]
        + [f"did not end\t\t\treleases/people/{staging.name}"]
    )
    code, shown, _ = command("release.toml", "--dry-run")
    assert (code, sorted(shown[:3])) == (
        0,
        [
            line.replace("\treleases", f"\t{project}/releases").replace(
                "\tworkspace", f"\t{project}/workspace"
            )
            for line in expected
        ],
    )
    assert mine.exists()
    code, shown, _ = command("release.toml")
    assert (code, shown[-1]) == (0, "removed 2.0 MB")
    assert not mine.exists()
    assert not attacks.exists()
    assert not staging.exists()
    assert published.exists()
    assert other.exists()
    assert command("release.toml")[1] == ["nothing is left"]


def test_a_workspace_is_cleaned_of_all_that_is_old_enough(project, command):
    old, new = leave(project, PEOPLE, days=31), leave(project, OTHER, days=29)
    assert command("workspace", "--older-than", "30")[0] == 0
    assert (old.exists(), new.exists()) == (False, True)


def test_the_folder_of_a_run_at_work_is_not_removed(project, command):
    folder = leave(project, PEOPLE, "running")
    descriptor = lock(folder)
    try:
        assert command("workspace")[1] == ["nothing is left"]
    finally:
        os.close(descriptor)
    assert folder.exists()


def test_a_folder_that_only_has_such_a_name_is_not_touched(project, command):
    thesis = project / "workspace" / "people-draft-facade"
    thesis.mkdir(mode=0o700)
    (thesis / "chapter").write_text("1")
    assert command("workspace")[1] == ["nothing is left"]
    assert (thesis / "chapter").exists()


def test_what_unjoin_did_not_make_is_not_touched(project, command):
    open_to_all = project / "workspace" / PEOPLE
    open_to_all.mkdir(mode=0o755)
    link = project / "workspace" / OTHER
    link.symlink_to(project)
    thesis = project / "workspace" / "thesis"
    thesis.mkdir(mode=0o700)
    assert command("workspace")[1] == ["nothing is left"]
    assert all(path.exists() for path in (open_to_all, link, thesis))


@pytest.mark.parametrize("answer, stays", [("y", False), ("", True), ("no", True)])
def test_in_a_terminal_it_asks(project, command, monkeypatch, answer, stays):
    folder = leave(project, PEOPLE)
    monkeypatch.setattr(flows.clean.TERMINAL, "_force_terminal", True)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(flows.clean.TERMINAL, "input", lambda _: answer)
    command("workspace")
    assert folder.exists() == stays


def test_a_place_that_is_nothing_is_told_in_one_line(project, command):
    code, _, told = command("nowhere")
    assert (code, told) == (2, "unjoin: nowhere: there is no such configuration or workspace")


def test_a_kept_store_is_removed_by_a_later_run_when_its_time_is_over(project):
    config = read_config(project / "release.toml")
    old, new, other = (
        leave(project, PEOPLE, "published", 31),
        leave(project, ATTACKS, days=29),
        leave(project, OTHER, days=99),
    )
    died = leave(project, "people-20260102T000000Z-0a1b2c", "running", days=99)
    told = []
    with listening(lambda event: told.append(event.text)):
        sweep_old(config)
    assert [path.exists() for path in (old, new, other, died)] == [False, True, True, True]
    assert told == [f"{old.name} (published) is removed: kept for 30 days"]


def test_without_a_setting_nothing_is_removed(project):
    folder = leave(project, PEOPLE, "published", 999)
    settings = {
        "input": {"path": "t.csv"},
        "columns": {"class": "g", "features": "rest"},
        "privacy": {"k": 2},
        "output": {"name": "people"},
    }
    sweep_old(parse_config(settings | {"run": {"workspace": str(project / "workspace")}}))
    assert folder.exists()


def test_the_commands_of_the_operation_page_run(project, command):
    folder = leave(project, PEOPLE, days=31)
    (text,) = [text for text in blocks("operation.md", "sh") if text.startswith("unjoin clean")]
    for line in text.splitlines():
        name, called, *arguments = shlex.split(line)
        assert (name, called) == ("unjoin", "clean")
        assert command(*arguments)[0] == 0
    assert not folder.exists()
