"""Many releases through a worker, some of them killed: what is published holds, and nothing else is left.

python benchmarks/soak.py [releases kills]
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from servers import PATIENCE, PREFECT, running, server, wait_for

if TYPE_CHECKING:
    from prefect.client.schemas import FlowRun

DEPLOYMENTS = Path(__file__).resolve().parents[1] / "deployments"
LANES = 2
LONGEST = 12.0  # seconds after which a kill would often find nothing to end
MEGABYTE = 1e6
FEW = 10  # runs at the start, and at the end, whose highest memory is compared
DRIFT = 3.0  # megabytes that a worker may gain between them


def write_tables(folder: Path, number: int) -> list[Path]:
    """Write small tables of persons who are in no other, so that no version tells of another."""
    folder.mkdir(parents=True)
    paths = [folder / f"{place}.csv" for place in range(number)]
    for seed, path in enumerate(paths):
        rng = np.random.default_rng(seed)
        group = rng.choice(list("abcd"), 200)
        frame = pd.DataFrame(
            {
                "person": [f"P{seed}-{person}" for person in range(200)],
                "age": rng.integers(20, 90, 200),
                "weight": rng.normal(70, 9, 200).round(1),
                "city": rng.choice(["Bonn", "Oslo", "Rome"], 200),
                "group": group,
            }
        )
        frame.to_csv(path, index=False)
    return paths


def settings(table: Path, home: Path, lane: int) -> dict[str, Any]:
    """Return the configuration of a release, as the parameter of a run."""
    return {
        "input": {"path": str(table)},
        "columns": {"class": "group", "features": "rest", "identifiers": ["person"]},
        "privacy": {"k": 5},
        "output": {"directory": str(home / "releases"), "name": f"lane{lane}"},
        "run": {"workspace": str(home / "workspace")},
    }


class Soak:
    """Runs of the deployed flow, in lanes side by side, each with a release name of its own."""

    def __init__(self, home: Path, tables: list[Path], worker: subprocess.Popen[bytes]) -> None:
        self.home = home
        self.tables = tables
        self.worker = worker
        self.memory: list[float] = []
        self.ended: dict[str, list[str]] = {"released": [], "killed": []}
        self._told = threading.Lock()

    def lane(self, lane: int, kills: int) -> None:
        """Release the tables of a lane one after the other; kill some runs, and then release them again."""
        mine = self.tables[lane::LANES]
        doomed = set(random.Random(lane).sample(range(len(mine)), kills))  # noqa: S311 - no secret
        for place, table in enumerate(mine):
            while place in doomed:
                if self._run(lane, table, kill=True) == "CRASHED":
                    doomed.remove(place)
            state = self._run(lane, table)
            if state != "COMPLETED":
                raise RuntimeError(f"a run that nobody killed ended {state}")

    def _run(self, lane: int, table: Path, *, kill: bool = False) -> str:
        from prefect.client.orchestration import get_client  # noqa: PLC0415 - once its settings are set

        parameters = {"config": settings(table, self.home, lane)}
        with get_client(sync_client=True) as client:
            (deployment,) = client.read_deployments()
            run = client.create_flow_run_from_deployment(deployment.id, parameters=parameters)
            if kill:
                self._kill(str(run.id))
            found: list[FlowRun] = []

            def final() -> bool:
                found[:] = [client.read_flow_run(run.id)]
                return found[0].state is not None and found[0].state.is_final()

            wait_for(final, "a run ends")
        (state,) = (run.state.type.value for run in found if run.state)
        self._tell(str(run.id), state)
        return str(state)

    def _tell(self, run: str, state: str) -> None:
        with self._told:
            self.ended["released" if state == "COMPLETED" else "killed"].append(run)
            self.memory.append(resident(self.worker.pid))
            print(f"{len(self.memory):3} {state:<10} worker {self.memory[-1]:.1f} MB", flush=True)

    def _kill(self, run: str) -> None:
        found: list[int] = []

        def runs() -> bool:
            found[:] = list(processes_of(run))
            return bool(found)

        wait_for(runs, "a run starts")
        time.sleep(random.uniform(0, LONGEST))  # noqa: S311 - no secret
        for process in processes_of(run):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def processes_of(run: str) -> Iterator[int]:
    """Yield the processes that a worker started for a run."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and f"FLOW_RUN_ID={run}".encode() in (entry / "environ").read_bytes():
                yield int(entry.name)


def resident(process: int) -> float:
    """Return the memory that a process holds, in megabytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def faults(soak: Soak) -> list[str]:
    """Return what is not as it should be, a line each."""
    from flows.audit import audit  # noqa: PLC0415 - costs seconds
    from tasks.register import history  # noqa: PLC0415 - likewise

    folders = [path for path in soak.home.glob("releases/*/2*") if not path.is_symlink()]
    told = [f"{folder}: does not hold" for folder in folders if not audit(folder).success]
    if len(folders) < len(soak.ended["released"]):
        told.append(f"{len(folders)} folders, but {len(soak.ended['released'])} runs completed")
    told += [f"{path}: is left" for path in soak.home.glob("releases/*/.[!.]*")]
    told += [f"{path}: is left" for path in soak.home.glob("workspace/[!.]*")]
    told += [f"{path}: is left" for path in soak.home.glob("workspace/.kept/*/*") if is_left(path, folders)]
    told += [
        f"{place}: {version.version} is {version.state}"
        for place in soak.home.glob("releases/*")
        for version in history(place)
        if version.state != "as registered"
    ]
    settled, highest = max(soak.memory[:FEW]), max(soak.memory[-FEW:])
    if highest > settled + DRIFT:
        told.append(f"the worker grew from {settled:.1f} MB to {highest:.1f} MB")
    return told


def is_left(kept: Path, folders: list[Path]) -> bool:
    """Return whether a private file is neither a release's key nor of a version that was published."""
    return kept.name != "key" and (
        kept.suffix == ".new" or kept.stem not in {folder.name for folder in folders}
    )


def prefect(*arguments: str, environment: dict[str, str]) -> None:
    """Run a command of Prefect in the folder of the deployments."""
    command = [str(PREFECT), "--no-prompt", *arguments]
    subprocess.run(
        command, cwd=DEPLOYMENTS, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE
    )


def main() -> int:
    """Release, kill, audit; say what was found."""
    releases, kills = (int(text) for text in sys.argv[1:] or ["50", "6"])
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        tables = write_tables(home / "tables", releases)
        (home / "empty").mkdir()
        with server(home / "prefect") as environment:
            environment |= {"UNJOIN_HOME": str(home)}
            os.environ.update(environment)
            prefect("work-pool", "create", "releases", "--type", "process", environment=environment)
            prefect("deploy", "--name", "nightly", environment=environment)
            command = [sys.executable, "-m", "flows.worker", "--pool", "releases", "--type", "process"]
            with running(command, environment, home / "empty", home / "worker.log") as worker:
                soak = Soak(home, tables, worker)
                with ThreadPoolExecutor(LANES) as lanes:
                    shares = [kills // LANES + (lane < kills % LANES) for lane in range(LANES)]
                    list(lanes.map(soak.lane, range(LANES), shares))
            told = faults(soak)
    figures = {kind: len(runs) for kind, runs in soak.ended.items()}
    print(
        json.dumps(
            figures | {"faults": len(told), "worker_mb": [round(soak.memory[0]), round(soak.memory[-1])]}
        )
    )
    print("\n".join(told))
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
