"""A Prefect server that is lost while releases run: what came of them counts, and is told."""

import signal
import subprocess
from contextlib import ExitStack

from servers import PATIENCE, server
from test_crashes import CONFIG, UNJOIN

from flows.audit import audit


def started(*changes, folder, environment):
    settings = [f"--set={change}" for change in changes]
    return subprocess.Popen(
        [str(UNJOIN), "release", "release.toml", *settings],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(process, step):
    """Read what a release tells until a step is done."""
    told = []
    for line in process.stderr:
        told.append(line)
        if line.startswith("done") and step in line:
            return
    raise AssertionError(f"{step} was not done: {''.join(told)}")


def test_a_release_is_published_and_a_failed_gate_told_though_the_server_is_lost(tmp_path, small_table):
    small_table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "release.toml").write_text(CONFIG.replace("plain", "prefect"))
    with ExitStack() as lost:
        environment = lost.enter_context(server(tmp_path / "prefect"))
        how = {"folder": tmp_path, "environment": environment | {"PREFECT_CLIENT_MAX_RETRIES": "1"}}
        published = started(**how)
        until(published, "attack the written files")
        published.send_signal(signal.SIGSTOP)  # a server with SQLite turns away one of two at the same moment
        failed = started("output.name=unsafe", 'privacy.enforcement="none"', **how)
        until(failed, "write the fragments")
    published.send_signal(signal.SIGCONT)
    _, told = published.communicate(timeout=PATIENCE)
    assert published.returncode == 0, told
    assert "note    Prefect's server was lost" in told
    latest = tmp_path / "releases" / "people" / "latest"
    assert audit(latest).success
    _, told = failed.communicate(timeout=PATIENCE)
    assert failed.returncode == 1, told
    assert "note    Prefect's server was lost" in told
    assert "at least 10 in every join, found" in told
    assert not (tmp_path / "releases" / "unsafe").exists()
    again = started("run.engine=plain", folder=tmp_path, environment=environment)
    shown, _ = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0
    assert shown.startswith(f"unchanged since {latest.resolve().name}")
