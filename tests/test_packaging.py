"""The installed package, wherever it is: its names, its files, its command."""

import importlib.metadata
import importlib.resources
import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from flows.demo import write_demo

PACKAGES = ("flows", "tasks", "validations")
UNJOIN = Path(sys.executable).with_name("unjoin")


def run(*arguments, folder):
    command = [str(UNJOIN), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_no_other_distribution_owns_our_packages():
    owners = importlib.metadata.packages_distributions()
    for package in PACKAGES:
        assert set(owners.get(package, [])) <= {"unjoin"}


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_say_that_they_are_typed(package):
    assert importlib.resources.files(package).joinpath("py.typed").is_file()


def test_help_names_every_command(tmp_path):
    shown = run("--help", folder=tmp_path)
    assert shown.returncode == 0
    for command in ("demo", "init", "release", "audit"):
        assert command in shown.stdout


def test_help_imports_neither_prefect_nor_great_expectations():
    code = (
        "import sys\nfrom flows.cli import app\n"
        "app(['--help'], exit_on_error=False, result_action='return_value')\n"
        "print(sorted({'prefect', 'great_expectations', 'pandas', 'numpy'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip().endswith("[]")


def test_the_demo_publishes_a_release_that_its_audit_confirms(tmp_path):
    released = run("demo", "--engine", "plain", folder=tmp_path)
    assert released.returncode == 0, released.stderr
    latest = tmp_path / "unjoin-demo" / "releases" / "breast_cancer" / "latest"
    assert json.loads((latest / "release.json").read_text())["records"] == 569
    audited = run("audit", latest, folder=tmp_path)
    assert audited.returncode == 0, audited.stdout
    assert "false" not in audited.stdout
    assert [path.name for path in (tmp_path / "unjoin-demo" / "workspace").iterdir()] == [".kept"]


def test_workers_in_an_empty_folder_share_the_work_of_a_release(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = write_demo(tmp_path)
    code = (
        "from pathlib import Path\n"
        "from flows.release_steps import release_table\n"
        "from tasks.read_config import read_config\n"
        "for settings in (['plain'], ['dask', 'run.scheduler=SCHEDULER']):\n"
        "    engine = [f'run.engine={settings[0]}', f'output.name={settings[0]}', *settings[1:]]\n"
        f"    release_table(read_config(Path({str(config)!r}), engine))\n"
    )
    address = f"tcp://127.0.0.1:{port}"
    worker = ("worker", address, "--nthreads", "1", "--no-nanny")
    with ExitStack() as stack:
        for part, *options in [("scheduler", "--port", str(port)), worker, worker]:
            command = [sys.executable, "-m", f"distributed.cli.dask_{part}", "--host", "127.0.0.1", *options]
            with (tmp_path / f"{part}.log").open("a") as log:
                process = stack.enter_context(subprocess.Popen(command, cwd=empty, stdout=log, stderr=log))
            stack.callback(process.terminate)
        code = code.replace("SCHEDULER", address)
        shown = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert shown.returncode == 0, shown.stderr
    releases = config.parent / "releases"
    plain, shared = (sorted((releases / name / "latest").glob("fragment_*")) for name in ("plain", "dask"))
    assert [path.read_bytes() for path in shared] == [path.read_bytes() for path in plain]
    assert len(plain) == 4
    assert (tmp_path / "worker.log").read_text().count("fault_of_worker") == 2


def test_the_command_line_works_without_a_terminal(tmp_path):
    environment = os.environ | {"TERM": "dumb"}
    shown = subprocess.run(
        [str(UNJOIN), "release", "missing.toml"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 2
    assert len(shown.stderr.strip().splitlines()) == 1
    assert "\x1b" not in shown.stderr


def test_the_table_of_the_demo_is_that_of_scikit_learn(tmp_path):
    write_demo(tmp_path)
    data = load_breast_cancer(as_frame=True)
    expected = data.data.assign(diagnosis=data.target_names[data.target])
    expected.to_csv(tmp_path / "expected.csv", index=False)
    assert (tmp_path / "breast_cancer.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_a_plain_run_imports_neither_prefect_nor_scikit_learn():
    code = (
        "import sys\nimport flows.release_steps, flows.publish_table\n"
        "print(sorted({'prefect', 'sklearn', 'great_expectations'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
