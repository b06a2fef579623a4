"""Whatever stops a release, what is published is as before or as it should be, and the next run recovers."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from test_release import publish_plainly
from test_resuming import asked_of, killed  # noqa: F401 - a fixture

from flows.audit import audit
from tasks import publish
from tasks.errors import ConfigurationError, StepError
from tasks.events import listening
from tasks.private_folders import private_files
from tasks.register import history, register_left

UNJOIN = Path(sys.executable).with_name("unjoin")
CONFIG = """
[input]
path = "table.csv"
[columns]
class = "group"
features = "rest"
identifiers = ["patient"]
[privacy]
k = 10
[evaluation]
attacks = 0
[output]
name = "people"
[run]
engine = "plain"
"""


@pytest.fixture
def asked(tmp_path, small_table):
    return asked_of(tmp_path, small_table)


@pytest.fixture
def told():
    """Return what is told while the test runs."""
    texts = []
    with listening(lambda event: texts.append(event.text) if event.kind == "remark" else None):
        yield texts


MANIFEST = {
    "version": "20260101T000000Z",
    "unjoin_version": "0.0.0",
    "records": 2,
    "fragments": [],
    "guarantees": {},
    "config_sha256": "",
    "validation": {"success": True},
}


class Killed(BaseException):
    """Stands for the end of the process: nothing is cleaned up."""


@pytest.fixture
def staged(tmp_path):
    """A release that is there, and the staged one that is to follow it."""
    place = tmp_path / "people"
    earlier = place / "20200101T000000Z"
    earlier.mkdir(parents=True)
    (place / "latest").symlink_to(earlier.name)
    staging = place / ".staging-20260101T000000Z"
    (staging / "validation").mkdir(parents=True, mode=0o700)
    for name, content in (("release.json", json.dumps(MANIFEST)), ("validation/k.json", "content")):
        (staging / name).write_text(content)
        (staging / name).chmod(0o600)
    return staging


CALLS = range(1, 20)


def die_at(call, monkeypatch):
    """Die before the nth system call that changes what is on disk, or waits for it."""
    calls = []

    def counted(function):
        def called(*args, **kwargs):
            calls.append(function)
            if len(calls) == call:
                raise Killed
            return function(*args, **kwargs)

        return called

    monkeypatch.setattr(os, "fsync", counted(os.fsync))
    for name in ("chmod", "rename", "replace", "symlink_to", "unlink"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))


@pytest.mark.parametrize("call", CALLS)
def test_a_kill_anywhere_in_publishing_leaves_the_old_state_or_the_new_one(staged, told, monkeypatch, call):
    place = staged.parent
    with monkeypatch.context() as patched:
        die_at(call, patched)
        try:
            publish.publish_release.function(place / "store", staged, "20260101T000000Z")
        except Killed:
            died = True
        else:
            died = False
    visible = sorted(path.name for path in place.iterdir() if not path.name.startswith("."))
    new = "20260101T000000Z" in visible
    published = {"20200101T000000Z", "latest"} | ({"20260101T000000Z"} if new else set())
    assert set(visible) - {"register.jsonl"} == published
    assert new or "register.jsonl" not in visible
    if new:
        assert (place / "20260101T000000Z" / "validation" / "k.json").read_text() == "content"
    before = (place / "latest").readlink().name
    publish.finish_publishing(place)
    assert (place / "latest").readlink().name == ("20260101T000000Z" if new else "20200101T000000Z")
    assert not (place / ".latest").is_symlink()
    assert any("latest points to it now" in text for text in told) == (new and before == "20200101T000000Z")
    register_left(place)
    assert [listed.state for listed in history(place)] == (["as registered"] if new else [])
    assert died or new
    assert died == (call < CALLS[-1])


def test_who_points_latest_to_an_earlier_release_is_not_overruled(staged):
    place = staged.parent
    folder = publish.publish_release.function(place / "store", staged, "20260101T000000Z")
    (place / "latest").unlink()
    (place / "latest").symlink_to("20200101T000000Z")
    publish.finish_publishing(place)
    assert (place / "latest").readlink().name == "20200101T000000Z"
    assert folder.is_dir()


def test_what_is_published_is_as_open_as_its_folder_whatever_the_umask_is(staged):
    staged.parent.chmod(0o750)
    with private_files():
        folder = publish.publish_release.function(staged.parent / "store", staged, "20260101T000000Z")
    modes = {
        path.relative_to(folder).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")
    }
    assert modes == {"validation": 0o750, "release.json": 0o640, "validation/k.json": 0o640}


def test_nobody_else_can_read_a_file_of_a_run_whatever_the_umask_is(tmp_path, asked, killed):  # noqa: F811
    before, seen = os.umask(0), {}

    def look(event):
        for root in (*(tmp_path / "workspace").iterdir(), *(tmp_path / "releases").glob("people/.staging-*")):
            for path in (root, *root.rglob("*")):
                seen[path.name] = seen.get(path.name, 0) | stat.S_IMODE(path.lstat().st_mode)

    asked["privacy"]["enforcement"] = "none"
    try:
        with listening(look), pytest.raises(Exception, match="nothing was published"):
            publish_plainly(asked)
        look(None)
    finally:
        os.umask(before)
    assert {"store.duckdb", "state", "chunks_1_0.npz", "rejected", "fragment_1.csv"} <= set(seen)
    assert {name: oct(mode) for name, mode in seen.items() if mode & 0o077} == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_cannot_read_what_a_run_left(tmp_path, asked, killed):  # noqa: F811
    killed("after", "load the table", asked)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and len(folder.parts) > 2:
            folder.chmod(0o755)
    (left,) = (tmp_path / "workspace").iterdir()
    for path in (left / "store.duckdb", left / "state"):
        shown = subprocess.run(
            ["/bin/cat", str(path)],
            user=65534,
            group=65534,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
        assert shown.returncode != 0
        assert "Permission denied" in shown.stderr


def run(folder, *arguments, **how):
    return subprocess.run(
        [str(UNJOIN), *arguments], cwd=folder, capture_output=True, text=True, check=False, **how
    )


@pytest.fixture
def project(tmp_path, small_table):
    small_table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "release.toml").write_text(CONFIG)
    return tmp_path


def published(folder):
    return sorted(path.name for path in (folder / "releases" / "people").glob("[!.]*"))


def lines(ended):
    return [line for line in ended.stderr.splitlines() if line.startswith("unjoin:")]


def test_sigterm_stops_a_release_like_ctrl_c(project):
    process = subprocess.Popen(
        [str(UNJOIN), "release", "release.toml"], cwd=project, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if "load the table" in line:
            process.terminate()
            break
    _, shown = process.communicate()
    assert process.returncode == 143
    assert shown.splitlines()[-1] == "unjoin: stopped"
    assert list((project / "workspace").iterdir()) == []
    assert list((project / "releases").iterdir()) == []


def test_a_store_that_is_open_elsewhere_ends_the_run_and_is_left_alone_by_the_next(tmp_path, asked, told):
    opened = []

    def look_into_it(event):
        if event.step == "make joins safe" and event.kind == "started" and not opened:
            (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
            opened.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-c",
                        f"import duckdb; c = duckdb.connect({str(store)!r}); print(1, flush=True); input()",
                    ],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            opened[0].stdout.readline()

    with listening(look_into_it), pytest.raises(StepError, match="is open in another program: close it"):
        publish_plainly(asked)
    try:
        folder = publish_plainly(asked)
        assert any("its store is open in another program" in text for text in told)
        assert len(list((tmp_path / "workspace").iterdir())) == 1
    finally:
        opened[0].communicate(b"\n")
    assert audit(folder).success
    publish_plainly(asked)
    assert any("this one keeps" in text for text in told)
    assert list((tmp_path / "workspace").iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes wherever it likes")
def test_a_place_that_cannot_be_written_is_told_before_any_work(tmp_path, asked):
    place = tmp_path / "releases" / "people"
    place.mkdir(parents=True)
    place.chmod(0o500)
    with pytest.raises(ConfigurationError, match=r"cannot be made \(Permission denied\)"):
        publish_plainly(asked)
    place.chmod(0o700)
    assert not (tmp_path / "workspace").exists()


def own_mounts():
    """Return whether file systems can be mounted that other processes do not see."""
    unshare = shutil.which("unshare")
    return unshare is not None and not subprocess.run([unshare, "-m", "true"], check=False).returncode


MOUNTS = pytest.mark.skipif(not own_mounts(), reason="no file systems can be mounted here")


def run_with(folder, mount):
    """Release where a file system is mounted that is there for this run alone."""
    command = ["unshare", "-m", "/bin/sh", "-c", f'{mount} && exec "$@"', "sh", str(UNJOIN)]
    return subprocess.run(
        [*command, "release", "release.toml"], cwd=folder, capture_output=True, text=True, check=False
    )


@MOUNTS
def test_a_full_disk_under_the_releases_ends_in_one_line_and_the_next_run_goes_on(project):
    (project / "releases").mkdir()
    ended = run_with(project, "mount -t tmpfs -o size=16k tmpfs releases")
    assert ended.returncode == 4, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "write the fragments: failed (No space left on device)" in lines(ended)[0]
    again = run(project, "release", "release.toml")
    assert again.returncode == 0, again.stderr
    assert "this one keeps 13 of its steps" in again.stderr
    assert [path.name for path in (project / "workspace").iterdir()] == [".kept"]
    version, *others = published(project)
    assert others == ["latest", "register.jsonl"]
    assert audit(project / "releases" / "people" / version).success


@MOUNTS
def test_a_full_disk_under_the_workspace_ends_in_one_line(project):
    (project / "workspace").mkdir()
    ended = run_with(project, "mount -t tmpfs -o size=3m tmpfs workspace")
    assert ended.returncode == 4, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "failed (No space left on device)" in lines(ended)[0]
    assert published(project) == []


@MOUNTS
def test_a_read_only_place_is_told_before_any_work(project):
    (project / "releases" / "people").mkdir(parents=True)
    ended = run_with(project, "mount --bind releases releases && mount -o remount,ro,bind releases")
    assert ended.returncode == 2, ended.stderr
    assert "cannot be made (Read-only file system)" in lines(ended)[0]
    assert not (project / "workspace").exists()
