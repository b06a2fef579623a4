"""Releases through a worker, one of them killed: a short run of benchmarks/soak.py, which runs 50."""

import json
import os
import subprocess
import sys
from pathlib import Path

import soak

from flows.demo import write_demo
from flows.release import release
from tasks.read_config import read_config

ROOT = Path(__file__).resolve().parents[1]


def test_what_was_published_holds_and_a_killed_run_leaves_nothing(tmp_path):
    shown = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "soak.py"), "3", "1"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    figures = json.loads(next(line for line in shown.stdout.splitlines() if line.startswith("{")))
    assert figures["released"] >= 3
    assert figures["killed"] >= 1
    assert figures["faults"] == 0


class Finished(soak.Soak):
    """Runs that are over, of which two were released."""

    def __init__(self, home, memory=(100.0, 101.0)):
        super().__init__(home, [], None)
        self.memory = list(memory)
        self.ended = {"released": ["a", "b"], "killed": []}


def test_what_is_left_what_is_missing_and_a_worker_that_grows_are_found(tmp_path):
    (tmp_path / "releases" / "lane0" / ".staging-20260101T000000Z").mkdir(parents=True)
    (tmp_path / "workspace" / "lane0-20260101T000000Z-abcdef").mkdir(parents=True)
    told = "\n".join(soak.faults(Finished(tmp_path, [100.0] * 9 + [101.0, 104.5])))
    assert "0 folders, but 2 runs completed" in told
    assert told.count("is left") == 2
    assert "the worker grew from 101.0 MB to 104.5 MB" in told


def test_a_published_folder_that_does_not_hold_is_found(tmp_path):
    write_demo(tmp_path)
    released = release.fn(read_config(tmp_path / "release.toml", ["run.engine=plain", "output.name=lane0"]))
    finished = Finished(tmp_path)
    finished.ended["released"] = ["a"]
    assert soak.faults(finished) == []
    with (released / "fragment_1.csv").open("a") as file:
        file.write("1\n")
    unsound, changed = soak.faults(finished)
    assert unsound.endswith("does not hold")
    assert changed.endswith("is changed")
