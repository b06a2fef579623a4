"""Ctrl-C: one line, an exit code of its own, and nothing private left behind."""

import sys

import pytest

import flows.release_steps
from flows.cli import main

CONFIG = """
[input]
path = "table.csv"
[columns]
class = "group"
features = "rest"
identifiers = ["patient"]
[privacy]
k = 10
[output]
name = "people"
[run]
engine = "plain"
"""


@pytest.fixture
def stopped(tmp_path, small_table, monkeypatch, capsys):
    """Stop a release at a step; return its exit code and what it says of that."""
    small_table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "release.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)

    def stop(*arguments, at="merge_chunks"):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(flows.release_steps, at, interrupted)
        monkeypatch.setattr(sys, "argv", ["unjoin", "release", "release.toml", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return ended.value.code, [line for line in (shown.out + shown.err).splitlines() if "done" not in line]

    return stop


def test_a_stopped_release_says_so_and_leaves_nothing(stopped, tmp_path):
    before = set(tmp_path.iterdir()) | {tmp_path / "workspace"}
    assert stopped() == (130, ["unjoin: stopped"])
    assert set(tmp_path.rglob("*")) == before | {tmp_path / "releases"}


def test_a_kept_workspace_is_kept_when_stopped_too(stopped, tmp_path):
    assert stopped("--set", "run.keep_workspace=true")[0] == 130
    (folder,) = (tmp_path / "workspace").iterdir()
    assert (folder / "store.duckdb").exists()
    assert not list((tmp_path / "releases").iterdir())
