"""The release as a whole: from a table to a published folder, or to nothing at all."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import oracles
import pandas as pd
import pytest

from flows.audit import audit
from flows.release import release
from flows.release_steps import STEPS
from tasks import publish, write
from tasks.coarsening import coarsen
from tasks.errors import ConfigurationError, GateError, InfeasibleError, InputError, StepError
from tasks.events import listening
from tasks.partitions.cells import CategoryCell, parse_cell
from tasks.read_config import parse_config
from tasks.resuming import records

FEATURES = ["age", "weight", "size", "city", "colour, eyes", "visits"]


def settings(folder, table, **privacy):
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "table.csv", index=False)
    return {
        "input": {"path": str(folder / "table.csv")},
        "columns": {"class": "group", "features": "rest", "identifiers": ["patient"]},
        "privacy": {"k": 10, **privacy},
        "fragmentation": {"fragments": 3},
        "repeats": {"check": "off", "keep": False},
        "output": {"directory": str(folder / "releases"), "name": "people"},
        "run": {"workspace": str(folder / "workspace"), "engine": "plain"},
    }


def publish_plainly(asked):
    return release.fn(parse_config(asked))


def fragments(folder):
    return [
        pd.read_csv(path, dtype=str, keep_default_na=False) for path in sorted(folder.glob("fragment_*.csv"))
    ]


def covers(cell, value):
    if value is None:
        return cell.missing
    if isinstance(cell, CategoryCell):
        return value in cell.values
    return cell.lower is not None and cell.lower <= value <= cell.upper


def published(folder):
    return sorted(path.name for path in (folder / "releases").glob("people/*"))


@pytest.mark.parametrize(
    "privacy",
    [
        {"enforcement": "naive"},
        {"enforcement": "dependency_graph"},
        {"enforcement": "delta_selectivity", "delta": 0.5},
    ],
)
def test_every_strategy_publishes_a_release_that_its_audit_confirms(tmp_path, small_table, privacy):
    folder = publish_plainly(settings(tmp_path, small_table, **privacy))
    verdict = audit(folder)
    assert verdict.success
    assert all(outcome.success for outcome in verdict.promises)
    for fragment in fragments(folder):
        assert len(fragment) == len(small_table)
        features = [name for name in fragment.columns if name != "group"]
        assert fragment.groupby(features, dropna=False).size().min() >= 10
    assert sorted(name for fragment in fragments(folder) for name in fragment if name != "group") == sorted(
        FEATURES
    )


def test_joins_of_every_subset_are_safe_after_dependency_graph(tmp_path, small_table):
    folder = publish_plainly(settings(tmp_path, small_table))
    counts = [
        pd.crosstab([fragment[name] for name in fragment if name != "group"], fragment["group"])
        .reindex(columns=sorted(set("abcdef")), fill_value=0)
        .to_numpy()
        for fragment in fragments(folder)
    ]
    assert not oracles.violating_choices(counts, 10)
    manifest = json.loads((folder / "release.json").read_text())
    assert manifest["joins"]["smallest_join"] == oracles.smallest_join(counts)
    assert manifest["joins"]["smallest_records"] == oracles.smallest_records(counts)
    assert manifest["changed_class_values"]["total"] > 0


def test_one_fragment_is_the_whole_table_and_changes_nothing(tmp_path, small_table):
    asked = settings(tmp_path, small_table)
    asked["fragmentation"]["fragments"] = 1
    folder = publish_plainly(asked)
    (whole,) = fragments(folder)
    assert sorted(whole["group"]) == sorted(small_table["group"])
    manifest = json.loads((folder / "release.json").read_text())
    assert manifest["changed_class_values"]["total"] == 0
    loss = manifest["measures"]["information_loss"]
    assert loss["fragmented"] == loss["unfragmented"]
    assert audit(folder).success


@pytest.mark.parametrize("mode", ["strict", "relaxed"])
@pytest.mark.parametrize("bounds", ["tight", "cuts"])
def test_modes_and_bounds_publish_audited_releases(tmp_path, small_table, mode, bounds):
    asked = settings(tmp_path, small_table)
    asked["anonymization"] = {"mode": mode, "bounds": bounds}
    assert audit(publish_plainly(asked)).success


def test_every_value_lies_within_a_published_cell_of_its_column(tmp_path, small_table):
    asked = settings(tmp_path, small_table)
    asked["run"]["keep_workspace"] = True
    manifest = json.loads((publish_plainly(asked) / "release.json").read_text())
    kinds = {column["name"]: (column["kind"], column.get("scale", 0)) for column in manifest["columns"]}
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    with duckdb.connect(store, read_only=True) as connection:
        for number, fragment in enumerate(manifest["fragments"], 1):
            for place, name in enumerate(fragment["features"], 1):
                rows = connection.execute(f"""
                    SELECT source."{name}", f{place} FROM source
                    JOIN members ON members.rowid = source.rowid
                    JOIN regions_{number} AS regions ON regions.rowid = fragment_{number}
                """).fetchall()
                assert len(rows) == len(small_table)
                assert all(covers(parse_cell(cell, *kinds[name]), value) for value, cell in rows), name
    assert manifest["suppressed_records"] == 0


def test_a_failed_gate_publishes_nothing_and_keeps_the_private_workspace(tmp_path, small_table):
    with pytest.raises(GateError, match="joins: asked"):
        publish_plainly(settings(tmp_path, small_table, enforcement="none"))
    assert published(tmp_path) == []
    (workspace,) = (tmp_path / "workspace").iterdir()
    assert stat.S_IMODE(workspace.stat().st_mode) == 0o700
    assert stat.S_IMODE((workspace / "store.duckdb").stat().st_mode) == 0o600
    assert (workspace / "rejected" / "fragment_1.csv").is_file()


def test_a_limit_that_is_not_met_is_a_failed_gate(tmp_path, small_table):
    asked = settings(tmp_path, small_table)
    asked["limits"] = {"max_information_loss": 0.01}
    with pytest.raises(GateError, match="limits"):
        publish_plainly(asked)
    assert published(tmp_path) == []


def test_a_published_release_leaves_no_workspace_unless_asked(tmp_path, small_table):
    asked = settings(tmp_path, small_table)
    publish_plainly(asked)
    assert list((tmp_path / "workspace").iterdir()) == []
    asked["run"]["keep_workspace"] = True
    publish_plainly(asked)
    assert len(list((tmp_path / "workspace").iterdir())) == 1


def test_bad_input_leaves_nothing(tmp_path, small_table):
    with pytest.raises(InputError):
        publish_plainly(settings(tmp_path, small_table.assign(group=range(400))))
    with pytest.raises(InfeasibleError, match="400 records, fewer than k = 500"):
        publish_plainly(settings(tmp_path, small_table, k=500))
    assert published(tmp_path) == []
    assert list((tmp_path / "workspace").iterdir()) == []


def test_releases_of_one_name_stand_side_by_side_and_latest_is_the_newest(tmp_path, small_table):
    asked = settings(tmp_path, small_table)
    first, second = publish_plainly(asked), publish_plainly(asked)
    assert first.name < second.name
    assert published(tmp_path) == [first.name, second.name, "latest", "register.jsonl"]
    assert (first.parent / "latest").resolve() == second.resolve()
    assert stat.S_IMODE(second.stat().st_mode) == stat.S_IMODE(second.parent.stat().st_mode)


def test_what_a_crash_left_is_swept_by_the_next_run(tmp_path, small_table):
    asked = settings(tmp_path, small_table)
    first = publish_plainly(asked)
    left = first.parent / ".staging-20200101T000000Z"
    left.mkdir()
    (left / "fragment_1.csv").write_text("half")
    publish_plainly(asked)
    assert not left.exists()


def test_a_crash_while_publishing_leaves_the_old_state(tmp_path, small_table, monkeypatch):
    asked = settings(tmp_path, small_table)
    first = publish_plainly(asked)
    before = published(tmp_path)

    def crash(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(publish, "flush", crash)
    with pytest.raises(StepError, match=r"publish the release: failed \(No space left on device\)"):
        publish_plainly(asked)
    assert published(tmp_path) == before
    assert (first.parent / "latest").resolve() == first.resolve()


def test_a_finished_release_is_not_called_failed_for_want_of_a_line_in_the_store(
    tmp_path, small_table, monkeypatch
):
    def full(_):
        raise OSError(28, "No space left on device")

    def fill_the_disk(event):
        if event.step == "publish the release":
            monkeypatch.setattr(records, "open_store", full)

    with listening(fill_the_disk):
        folder = publish_plainly(settings(tmp_path, small_table))
    assert audit(folder).success


def test_a_second_run_of_the_same_name_is_refused_while_the_first_works(tmp_path, small_table):
    asked = settings(tmp_path, small_table)
    refused = []

    def start_another(event):
        if event.step == "write the fragments" and event.kind == "started" and not refused:
            with pytest.raises(ConfigurationError, match="another run") as caught:
                publish_plainly(asked)
            refused.append(caught)

    with listening(start_another):
        publish_plainly(asked)
    assert refused


def test_an_unforeseen_failure_tells_its_kind_and_keeps_its_text_private(tmp_path, small_table, monkeypatch):
    def fail(_):
        raise ValueError("canary-5512 is a value")

    monkeypatch.setattr(write, "_sha256", fail)
    with pytest.raises(StepError) as caught:
        publish_plainly(settings(tmp_path, small_table))
    assert "canary-5512" not in str(caught.value)
    assert caught.value.__context__ is None
    (log,) = (tmp_path / "workspace").glob("*/error.log")
    assert "canary-5512" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_the_number_of_steps_shown_is_the_number_of_steps(tmp_path, small_table):
    finished = []
    with listening(lambda event: finished.append(event.step) if event.kind == "finished" else None):
        publish_plainly(settings(tmp_path, small_table))
    assert len(finished) == len(set(finished)) == STEPS


@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_row_order_of_the_input_does_not_show(tmp_path, small_table, mode):
    relaxed = {"anonymization": {"mode": mode}}
    first = publish_plainly(settings(tmp_path / "a", small_table) | relaxed)
    second = publish_plainly(settings(tmp_path / "b", small_table.sample(frac=1, random_state=1)) | relaxed)
    for one, other in zip(fragments(first), fragments(second), strict=True):
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores can be chosen on Linux alone")
def test_the_same_bytes_come_out_on_one_core_and_on_all(tmp_path, small_table):
    asked = settings(tmp_path, small_table)
    here = publish_plainly(asked)
    code = (
        "import json, os, sys\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from flows.release import release\n"
        "from tasks.read_config import parse_config\n"
        "print(release.fn(parse_config(json.loads(sys.argv[1]))))\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, json.dumps(asked)], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    there = Path(shown.stdout.strip().splitlines()[-1])
    for path in sorted(here.glob("fragment_*")):
        assert path.read_bytes() == (there / path.name).read_bytes()


NAMES = [
    "rowid",
    "ec",
    "line",
    "records",
    ":record",
    'select "a", 1; --',
    "new\nline",
    "c1",
    "f1",
    "n",
    "class_value",
]


def test_names_and_class_values_of_any_kind_are_data(tmp_path, small_table):
    table = pd.DataFrame({name: small_table["age"] % (7 + number) for number, name in enumerate(NAMES)})
    table["group"] = small_table["group"].map(
        {"a": "[1, 2]", "b": "{}", "c": " or missing", "d": "=1+1", "e": 'a"b', "f": "x,\ny"}
    )
    asked = settings(tmp_path, table)
    asked["columns"] = {"class": "group", "features": NAMES}
    folder = publish_plainly(asked)
    assert audit(folder).success
    for fragment in fragments(folder):
        assert set(fragment["group"]) <= set(table["group"])
    assert sorted(name for fragment in fragments(folder) for name in fragment if name != "group") == sorted(
        NAMES
    )


@pytest.mark.parametrize("name", ["line", "rowid", "records"])
def test_a_class_of_any_name_is_data(tmp_path, small_table, name):
    asked = settings(tmp_path, small_table.rename(columns={"group": name}))
    asked["columns"]["class"] = name
    assert audit(publish_plainly(asked)).success


def with_segments(asked):
    asked["privacy"] |= {"l": 1.5, "l_model": "entropy"}
    asked["segmentation"] = {"min_segment": 60}
    return asked


@pytest.mark.parametrize(("guarantee", "bounds"), [("join", "tight"), ("records", "cuts")])
def test_coarsening_changes_no_class_value_and_its_audit_confirms_the_release(
    tmp_path, small_table, monkeypatch, guarantee, bounds
):
    monkeypatch.setattr(coarsen, "TRIALS", {"join": 80, "records": 80})
    asked = settings(tmp_path, small_table, enforcement="coarsen", guarantee=guarantee)
    asked["anonymization"] = {"bounds": bounds}
    folder = publish_plainly(asked)
    assert audit(folder).success
    manifest = json.loads((folder / "release.json").read_text())
    assert manifest["changed_class_values"]["total"] == 0
    held = manifest["joins"]["smallest_join" if guarantee == "join" else "smallest_records"]
    assert held is None or held >= 10
    for fragment in fragments(folder):
        assert sorted(fragment["group"]) == sorted(small_table["group"])


def test_coarsened_cells_still_cover_every_value(tmp_path, small_table, monkeypatch):
    monkeypatch.setattr(coarsen, "TRIALS", {"join": 80, "records": 80})
    asked = settings(tmp_path, small_table, enforcement="coarsen")
    asked["run"]["keep_workspace"] = True
    manifest = json.loads((publish_plainly(asked) / "release.json").read_text())
    kinds = {column["name"]: (column["kind"], column.get("scale", 0)) for column in manifest["columns"]}
    (store,) = (tmp_path / "workspace").glob("*/store.duckdb")
    with duckdb.connect(store, read_only=True) as connection:
        for number, fragment in enumerate(manifest["fragments"], 1):
            for place, name in enumerate(fragment["features"], 1):
                rows = connection.execute(f"""
                    SELECT source."{name}", f{place} FROM source
                    JOIN members ON members.rowid = source.rowid
                    JOIN regions_{number} AS regions ON regions.rowid = fragment_{number}
                """).fetchall()
                assert len(rows) == len(small_table)
                assert all(covers(parse_cell(cell, *kinds[name]), value) for value, cell in rows), name


@pytest.mark.parametrize(("guarantee", "strict"), [("records", False), ("join", True)])
def test_coarsening_keeps_joins_within_segments_safe(tmp_path, small_table, monkeypatch, guarantee, strict):
    monkeypatch.setattr(coarsen, "TRIALS", {"join": 80, "records": 80})
    asked = with_segments(
        settings(tmp_path, small_table, enforcement="coarsen", guarantee=guarantee, strict_segments=strict)
    )
    folder = publish_plainly(asked)
    assert audit(folder).success
    assert json.loads((folder / "release.json").read_text())["changed_class_values"]["total"] == 0
