"""A run that died: the next one goes on from its last step, writes the same bytes, and leaves nothing."""

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest
from test_release import publish_plainly, settings

from flows.audit import audit
from flows.release_steps import STEPS
from tasks import events
from tasks.config import Config
from tasks.events import listening
from tasks.register import history
from tasks.resuming.bases import (
    ANONYMIZE,
    ARRANGE,
    BASELINE,
    BASES,
    CHOOSE,
    CUT,
    ENFORCE,
    INFORMATION,
    LEARN,
    LOAD,
    MEASURE,
    MERGE,
    RISKS,
    SEGMENT,
    UTILITY,
)
from tasks.table_settings import Section

DYING = Path(__file__).with_name("dying_release.py")
WRITE = "write the fragments"
EVERY_TIME = ["look at earlier versions", "compare with the earlier release", "hold against earlier versions"]
BEFORE_WRITING = [step for step in BASES if step != LEARN]


class Told(NamedTuple):
    """What was heard of a release that was killed."""

    kept: list
    finished: list
    remarks: list


@pytest.fixture(scope="module")
def killed():
    """Release in a process that is killed; return what was heard of it."""
    program = subprocess.Popen(
        [sys.executable, str(DYING)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def kill(way, where, asked):
        program.stdin.write(json.dumps([way, where, asked]) + "\n")
        program.stdin.flush()
        told = {"kept": [], "finished": [], "remark": []}
        for kind, text in map(json.loads, program.stdout):
            if kind == "exit":
                assert text == -9
                return Told(*told.values())
            told[kind].append(text)
        raise AssertionError("the program ended")

    yield kill
    program.stdin.close()
    program.stdout.close()
    assert program.wait() == 0


@pytest.fixture
def asked(tmp_path, small_table):
    return asked_of(tmp_path, small_table)


def asked_of(folder, table, **sections):
    asked = settings(folder, table)
    asked["evaluation"] = {"attacks": 0}
    return with_sections(asked, sections)


def with_sections(asked, sections):
    return asked | {name: asked.get(name, {}) | changed for name, changed in sections.items()}


def written(folder):
    """Return the files that a killed release had written."""
    (staging,) = (folder / "releases" / "people").glob(".staging-*")
    return {path.name: path.read_bytes() for path in staging.glob("fragment_*")}


@pytest.fixture(scope="module")
def uninterrupted(killed, tmp_path_factory):
    """Return what a release writes that nothing stops before, by its settings."""
    known = {}

    def write(table, **sections):
        key = json.dumps(sections, sort_keys=True)
        if key not in known:
            folder = tmp_path_factory.mktemp("uninterrupted")
            killed("after", WRITE, asked_of(folder, table, **sections))
            known[key] = written(folder)
        return known[key]

    return write


@pytest.mark.parametrize("step", BEFORE_WRITING)
def test_a_run_that_died_between_two_steps_goes_on_with_the_second(
    tmp_path, small_table, killed, uninterrupted, step
):
    asked = asked_of(tmp_path, small_table)
    killed("after", step, asked)
    (left,) = (tmp_path / "workspace").iterdir()
    told = killed("after", WRITE, asked)
    number = BEFORE_WRITING.index(step) + 1
    assert told.kept == BEFORE_WRITING[:number]
    assert not set(told.finished) & set(told.kept)
    assert "did not end: this one keeps" in told.remarks[-1]
    assert written(tmp_path) == uninterrupted(small_table)
    (taken_over,) = (tmp_path / "workspace").iterdir()
    assert taken_over.name != left.name


COARSEN = {"privacy": {"enforcement": "coarsen"}}
PERSONS = {"columns": {"identifiers": [], "entity": "patient"}}


@pytest.mark.parametrize(
    "case", [(LOAD, {}), (SEGMENT, PERSONS), (MERGE, {}), (ENFORCE, {}), (ENFORCE, COARSEN)]
)
def test_a_step_that_was_killed_at_its_end_is_repeated_as_if_it_had_not_begun(
    tmp_path, small_table, killed, uninterrupted, case
):
    step, sections = case
    table = small_table.assign(patient=small_table["patient"].str[:-1])
    asked = asked_of(tmp_path, table, **sections)
    killed("within", step, asked)
    told = killed("after", WRITE, asked)
    assert step not in told.kept
    assert (MERGE in told.kept) is False
    assert written(tmp_path) == uninterrupted(table, **sections, input={"missing": [""]})


ALL = set(BEFORE_WRITING)
ENFORCED = {MERGE, ENFORCE, ARRANGE, MEASURE, RISKS, UTILITY}
SEGMENTED = {SEGMENT, ANONYMIZE, *ENFORCED}
CHANGES = {
    "the number of fragments": ({"fragmentation": {"fragments": 2}}, {CHOOSE, CUT, *SEGMENTED}),
    "bins": ({"fragmentation": {"bins": 5}}, {INFORMATION, CUT, *SEGMENTED}),
    "the enforcement": ({"privacy": {"enforcement": "dependency_graph"}}, ENFORCED),
    "the seed": ({"run": {"seed": 1}}, {BASELINE, *SEGMENTED}),
    "a limit": ({"limits": {"max_information_loss": 0.9}}, set()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_setting_repeats_what_depends_on_it_and_nothing_else(
    tmp_path, small_table, killed, uninterrupted, change
):
    asked = asked_of(tmp_path, small_table)
    sections, again = CHANGES[change]
    killed("after", WRITE, asked)
    told = killed("after", WRITE, with_sections(asked, sections))
    assert set(told.finished) & ALL == again
    assert set(told.kept) == ALL - again
    assert written(tmp_path) == uninterrupted(small_table, **sections)


def test_nothing_is_kept_of_another_table_and_the_person_is_told(tmp_path, asked, killed, small_table):
    killed("after", ENFORCE, asked)
    small_table.head(399).to_csv(tmp_path / "table.csv", index=False)
    told = killed("after", LOAD, asked)
    assert told.kept == []
    assert any("nothing of it can be used: its private folder is removed" in text for text in told.remarks)
    assert len(list((tmp_path / "workspace").iterdir())) == 1


def test_a_damaged_store_is_removed_and_the_run_begins_anew(tmp_path, asked, killed):
    killed("after", ENFORCE, asked)
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    store.write_bytes(b"not a store" * 1000)
    assert killed("after", LOAD, asked).kept == []
    assert not store.exists()


def test_a_kept_workspace_and_that_of_another_release_are_left_alone(tmp_path, asked, killed):
    killed("after", LOAD, with_sections(asked, {"output": {"name": "people-too"}}))
    kept = publish_plainly(with_sections(asked, {"run": {"keep_workspace": True}}))
    before = set((tmp_path / "workspace").iterdir())
    assert len(before) == 2
    told = killed("after", LOAD, asked)
    assert told == Told([], [LOAD], [])
    assert before < set((tmp_path / "workspace").iterdir())
    assert audit(kept).success


@pytest.mark.parametrize("step", ["check the written files", "write the report"])
def test_the_gate_is_run_again_whatever_was_finished(tmp_path, asked, killed, step):
    killed("after", step, asked)
    heard = []
    with listening(heard.append):
        folder = publish_plainly(asked)
    finished = [event.step for event in heard if event.kind == "finished"]
    assert finished[:5] == [*EVERY_TIME, WRITE, "check the written files"]
    kept = [event.step for event in heard if event.kind == "kept"]
    assert len(kept) + len(finished) == STEPS
    assert audit(folder).success
    assert list((tmp_path / "workspace").iterdir()) == []
    assert not list(folder.parent.glob(".*"))


FLAGGED = {"check": "flag", "keep": True}


@pytest.fixture(scope="module")
def published_before(tmp_path_factory):
    """Return a folder with a release of the table without one of its columns; it is made once."""
    folder = tmp_path_factory.mktemp("before")

    def before(table):
        if not (folder / "releases").exists():
            publish_plainly(asked_of(folder, table, repeats=FLAGGED, columns={"drop": ["visits"]}))
        return folder

    return before


@pytest.mark.parametrize(
    "death",
    [
        ("after", "check the written files"),
        ("after", "attack the written files"),
        ("after", LEARN),
        ("after", "write the report"),
        ("after", "sign the release"),
        ("within", "keep for later versions"),
        ("after", "keep for later versions"),
        ("publishing", "rename"),
        ("publishing", "register"),
        ("publishing", "replace:2"),
        ("within", "publish the release"),
    ],
)
def test_a_kill_near_the_end_leaves_the_old_state_or_the_new_one_and_the_next_run_recovers(
    tmp_path, small_table, killed, published_before, death
):
    shutil.copytree(published_before(small_table), tmp_path, symlinks=True, dirs_exist_ok=True)
    (earlier,) = (tmp_path / "releases" / "people").glob("2*")
    place = earlier.parent
    asked = asked_of(tmp_path, small_table, repeats=FLAGGED)
    killed(*death, asked)
    died_with = {path.name for path in place.glob("2*")}
    assert all(audit(place / version).success for version in died_with)
    assert (place / "latest").resolve().name in died_with
    newer = publish_plainly(asked)
    assert {path.name for path in place.glob("2*")} == died_with | {newer.name}
    assert len(died_with | {newer.name}) == 2
    assert (place / "latest").resolve() == newer.resolve()
    assert audit(newer).success
    assert [version.state for version in history(place)] == ["as registered"] * 2
    assert not list(place.glob(".*"))
    assert [path.name for path in (tmp_path / "workspace").iterdir()] == [".kept"]
    kept = (tmp_path / "workspace" / ".kept" / "people").iterdir()
    assert {path.stem for path in kept} == {"key", earlier.name, newer.name}


class StopHere(Exception):  # noqa: N818 - nothing went wrong
    pass


def settings_read(asked, monkeypatch):
    """Return which settings each step reads, of those that run before anything is written."""
    sections = {field.annotation: name for name, field in Config.model_fields.items()}
    read = defaultdict(set)
    plain = Section.__getattribute__

    def noted(self, name):
        section, step = sections.get(type(self)), getattr(events._current.get(None), "step", "")  # noqa: SLF001
        if section and name in type(self).model_fields:
            read[step].add(f"{section}.{name}")
        return plain(self, name)

    def hear(event):
        if event.step == WRITE:
            raise StopHere

    with monkeypatch.context() as patched, listening(hear):
        patched.setattr(Section, "__getattribute__", noted)
        with pytest.raises(StopHere):
            publish_plainly(asked)
    return read


DIVERSE = {"privacy": {"l": 2}, "columns": {"sensitive": ["city"]}, "segmentation": {"min_segment": 60}}
CLOSE = {"privacy": {"t": 0.6}}
CHOSEN = {"fragmentation": {"fragments": "auto", "max_fragments": 2, "objective": "information_loss"}}


@pytest.mark.parametrize("sections", [{}, PERSONS, DIVERSE, CLOSE, COARSEN, CHOSEN])
def test_no_step_reads_a_setting_that_it_does_not_go_by(tmp_path, small_table, monkeypatch, sections):
    read = settings_read(asked_of(tmp_path, small_table, **sections), monkeypatch)
    assert read[LOAD]
    read[LOAD].discard("fragmentation.fragments")  # which is held against the features when they are cut
    unnamed = {
        (step, path)
        for step, basis in BASES.items()
        for path in read[step] - {"run.memory"}  # says how much of it is done at once, never what comes of it
        if not {path, path.partition(".")[0]} & set(basis.settings)
    }
    assert not unnamed
