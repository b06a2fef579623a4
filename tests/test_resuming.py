"""A run that died: the next one goes on from its last step, publishes the same bytes, and leaves nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from test_release import publish_plainly, published, settings

from flows.release import STEPS
from tasks.resuming.bases import BASES, LOAD
from tasks.steps import listening

DYING = Path(__file__).with_name("dying_release.py")


def killed(way, where, asked):
    """Release in a process of its own that is killed; return what it printed."""
    ended = subprocess.run(
        [sys.executable, str(DYING), way, where, json.dumps(asked)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -9, ended.stderr
    return ended.stdout


def go_on(asked):
    """Release again; return the folder, what was kept, what was run, and what was told."""
    heard = []
    with listening(heard.append):
        folder = publish_plainly(asked)
    by_kind = {
        kind: [event.step for event in heard if event.kind == kind] for kind in ("kept", "finished")
    }
    return folder, by_kind["kept"], by_kind["finished"], [event.text for event in heard if event.text]


def same_files(one, other):
    names = sorted(path.relative_to(one).as_posix() for path in one.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(other).as_posix() for path in other.rglob("*") if path.is_file())
    for name in names:
        if name.startswith(("fragment_", "validation/fragment", "validation/joins")):
            assert (one / name).read_bytes() == (other / name).read_bytes(), name


def nothing_left(folder):
    assert list((folder / "workspace").iterdir()) == []
    return [path for path in (folder / "releases" / "people").iterdir() if path.name.startswith(".")] == []


@pytest.fixture(scope="module")
def module_table():
    import conftest

    return conftest.small_table.__wrapped__()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, module_table):
    """Every kind of step, with few attacks: what a run gives that nothing stops, by the name of its settings."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    return publish_plainly(asked_of(folder, module_table))


def asked_of(folder, table, **privacy):
    asked = settings(folder, table, **privacy)
    asked["evaluation"] = {"attacks": 0}
    return asked


STEPS_IN_ORDER = [*BASES][:11]


@pytest.mark.parametrize("step", [step for step in BASES if step != "try what can be learnt"])
def test_a_run_that_died_after_a_step_goes_on_with_the_next(tmp_path, module_table, uninterrupted, step):
    asked = asked_of(tmp_path, module_table)
    killed("after", step, asked)
    (left,) = (tmp_path / "workspace").iterdir()
    folder, kept, run, told = go_on(asked)
    order = [name for name in BASES if name != "try what can be learnt"]
    assert kept == order[: order.index(step) + 1]
    assert len(run) == STEPS - len(kept)
    assert any(f"keeps {len(kept)} of its steps" in text for text in told)
    same_files(folder, uninterrupted)
    assert nothing_left(tmp_path)
    assert not left.exists()
