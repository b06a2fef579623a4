"""The release under Prefect: the same bytes, every step recorded, nothing of the data anywhere in it."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from servers import wait_for
from test_release import publish_plainly, settings

from flows.release import release
from flows.release_steps import STEPS
from tasks.errors import GateError, InputError, StepError
from tasks.partitions import anonymize
from tasks.read_config import parse_config

UNJOIN = Path(sys.executable).with_name("unjoin")
CANARY = "canary"


def everything_recorded(database):
    """Return all bytes of the server's database, its journals included."""
    path = Path(database.split("///")[-1])
    files = [path, *path.parent.glob(path.name + "-*")]
    return b"".join(file.read_bytes() for file in files if file.is_file())


async def _recorded():
    from prefect.client.orchestration import get_client

    async with get_client() as client:
        runs = await client.read_flow_runs()
        tasks = await client.read_task_runs()
        artifacts = await client.read_artifacts()
    return runs, tasks, artifacts


def recorded():
    return asyncio.run(_recorded())


def salted(table):
    """Put canaries where no published cell may show them."""
    rng = np.random.default_rng(3)
    inner = table["size"].between(table["size"].quantile(0.4), table["size"].quantile(0.6))
    secret = np.where(inner, 170.123456789, table["size"])
    return table.assign(
        patient=[f"{CANARY}-{number}" for number in rng.permutation(len(table))],
        size=secret,
        note=[f"{CANARY} note {number}" for number in range(len(table))],
    )


@pytest.fixture(scope="module")
def run_in_prefect(prefect_engine, tmp_path_factory):
    """A release under Prefect of the salted table, and what Prefect has of it."""
    folder = tmp_path_factory.mktemp("salted")
    generator = np.random.default_rng(11)
    label = generator.choice(["one", "two", "three"], 300)
    table = pd.DataFrame(
        {
            "patient": [f"P{number}" for number in range(300)],
            "age": generator.integers(20, 90, 300),
            "size": generator.normal(170, 8, 300).round(2),
            "city": generator.choice(["Bonn", "Oslo", "Rome"], 300),
            "group": label,
        }
    )
    asked = settings(folder, salted(table))
    asked["columns"]["drop"] = ["note"]
    asked["repeats"] = {"check": "off", "keep": True}
    asked["fragmentation"]["fragments"] = 2
    return folder, asked, release(parse_config(asked))


def test_prefect_and_plain_give_the_same_bytes(run_in_prefect):
    _, asked, published = run_in_prefect
    plain = publish_plainly(asked)
    for path in sorted(published.glob("fragment_*")):
        assert path.read_bytes() == (plain / path.name).read_bytes()


def test_every_step_is_a_named_task_of_a_named_run(run_in_prefect):
    runs, tasks, _ = recorded()
    run = next(run for run in runs if run.name == "release people")
    steps = [task.name for task in tasks if task.flow_run_id == run.id]
    assert len({name.partition("-")[0] for name in steps}) == STEPS
    assert sum(name.startswith("anonymize the chunks") for name in steps) == 2  # one a fragment
    assert any(name.startswith("cut the features into fragments") for name in steps)


def test_chunks_on_a_cluster_are_one_task_of_the_run(run_in_prefect):
    _, asked, published = run_in_prefect
    elsewhere = {"run": {**asked["run"], "engine": "dask"}, "output": {**asked["output"], "name": "shared"}}
    shared = release(parse_config(asked | elsewhere))
    for path in sorted(published.glob("fragment_*")):
        assert path.read_bytes() == (shared / path.name).read_bytes()
    wait_for(lambda: len(steps_of("release shared")) >= STEPS, "all steps are recorded")
    steps = steps_of("release shared")
    assert len(steps) == STEPS
    assert sum(name.startswith("anonymize the chunks") for name in steps) == 1


def steps_of(name):
    runs, tasks, _ = recorded()
    run = next(run for run in runs if run.name == name)
    return [task.name for task in tasks if task.flow_run_id == run.id]


def test_a_person_sees_progress_promises_fragments_measures_and_the_report(run_in_prefect):
    _, _, artifacts = recorded()
    shown = {artifact.key: artifact for artifact in artifacts}
    assert {"progress", "promises", "fragments", "measures", "report"} <= set(shown)
    assert shown["progress"].data == 100
    assert all(row["holds"] == "yes" for row in json.loads(shown["promises"].data))
    assert "report.html" in shown["report"].data


def test_nothing_of_the_data_is_left_outside_the_published_cells(run_in_prefect, prefect_engine):
    folder, _, published = run_in_prefect
    files = [path for path in published.rglob("*") if path.is_file()]
    assert any(path.name == "report.html" for path in files)
    for path in files:
        content = path.read_bytes()
        assert CANARY.encode() not in content, path
        if not path.name.startswith("fragment_"):
            assert b"170.123" not in content, path
            assert b"Bonn" not in content, path
    assert [path.name for path in (folder / "workspace").iterdir()] == [".kept"]
    assert CANARY.encode() not in everything_below(folder / "workspace")
    everything = everything_recorded(prefect_engine) + everything_below(os.environ["PREFECT_HOME"])
    assert b"release people" in everything
    for secret in (CANARY, "170.123", "Bonn"):
        assert secret.encode() not in everything


def everything_below(folder):
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


def test_failures_leave_nothing_of_the_data_either(run_in_prefect, prefect_engine, tmp_path, monkeypatch):
    table = pd.DataFrame({"patient": ["a"] * 99, "age": ["1"] * 98 + [f"{CANARY}-age"], "group": ["x"] * 99})
    asked = settings(tmp_path / "numbers", table)
    asked["columns"]["types"] = {"age": "numeric"}
    asked["fragmentation"]["fragments"] = 1
    with pytest.raises(InputError) as refused:
        release(parse_config(asked))
    ragged = tmp_path / "ragged.csv"
    ragged.write_text(f"patient,age,group\n1,2,x\n{CANARY},3\n")
    asked["input"]["path"] = str(ragged)
    with pytest.raises(InputError) as torn:
        release(parse_config(asked))

    def fail(*_, **__):
        raise ValueError(f"{CANARY} in a text nobody foresaw")

    monkeypatch.setitem(anonymize.ALGORITHMS, "mondrian", fail)
    fine = pd.DataFrame({"patient": range(99), "age": [1, 2, 3] * 33, "group": ["x", "y", "z"] * 33})
    with pytest.raises(StepError) as failed:
        release(parse_config(settings(tmp_path / "fails", fine) | {"fragmentation": {"fragments": 1}}))
    for caught in (refused, torn, failed):
        assert CANARY not in str(caught.value)
    assert CANARY.encode() not in everything_recorded(prefect_engine)


def test_a_failed_gate_shows_which_promise(run_in_prefect, small_table, tmp_path):
    with pytest.raises(GateError):
        release(parse_config(settings(tmp_path, small_table, enforcement="none")))
    _, _, artifacts = recorded()
    tables = [json.loads(artifact.data) for artifact in artifacts if artifact.key == "promises"]
    assert any(row["holds"] == "NO" for table in tables for row in table)


def test_the_command_runs_against_a_server(run_in_prefect, tmp_path):
    from prefect.settings import PREFECT_API_URL

    environment = os.environ | {"PREFECT_API_URL": PREFECT_API_URL.value()}
    shown = subprocess.run(
        [str(UNJOIN), "demo"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert "569 records with 30 features were published as 2 fragments" in shown.stdout
    assert "INFO" not in shown.stderr


def test_a_server_that_does_not_answer_is_told_in_one_line(tmp_path):
    environment = os.environ | {"PREFECT_API_URL": "http://127.0.0.1:9/api", "PREFECT_HOME": str(tmp_path)}
    shown = subprocess.run(
        [str(UNJOIN), "demo"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 4
    assert "Prefect failed" in shown.stderr
    assert "Traceback" not in shown.stderr
    assert not list((tmp_path / "unjoin-demo").glob("releases/*/*"))
