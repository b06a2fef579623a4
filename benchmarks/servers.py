"""A Prefect server and a worker of one's own, as long as they are needed; nothing outside their folder."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

PREFECT = Path(sys.executable).with_name("prefect")
PATIENCE = 180.0  # seconds, for what takes ten of them where nothing else runs
QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "GX_ANALYTICS_ENABLED": "false",
    "PREFECT_CLI_PROMPT": "false",
    "NO_COLOR": "1",
}


def wait_for(reached: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait until something is reached.

    Raises
    ------
    TimeoutError
        If it is not reached in `patience` seconds.
    """
    end = time.monotonic() + patience
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {patience:.0f} s")
        time.sleep(0.2)


def free_port() -> int:
    """Return a port of this machine that nothing listens to."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def server(home: Path, settings: Mapping[str, str] | None = None) -> Iterator[dict[str, str]]:
    """Run a server that asks for a password; yield the environment that its clients need.

    Parameters
    ----------
    home
        Where its database (SQLite, unless the settings name another) and its log go.
    settings
        More of its environment.
    """
    port, password = free_port(), f"admin:{secrets.token_urlsafe(16)}"
    address = f"http://127.0.0.1:{port}/api"
    clients = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
        **QUIET,
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": address,
        "PREFECT_API_AUTH_STRING": password,
    }
    own = {"PREFECT_SERVER_API_AUTH_STRING": password, "PREFECT_UI_API_URL": address, **(settings or {})}
    command = [str(PREFECT), "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with running(command, clients | own, home, home / "server.log") as process:
        wait_for(lambda: _answers(address, password, process), "the server answers")
        yield clients


def _answers(address: str, password: str, process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"the server ended with code {process.returncode}")
    user, _, word = password.partition(":")
    try:
        return httpx.get(f"{address}/admin/version", auth=(user, word), timeout=5).is_success
    except httpx.TransportError:
        return False


@contextmanager
def running(
    command: list[str], environment: Mapping[str, str], folder: Path, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in a folder, and end it and all that it started."""
    folder.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=dict(environment), stdout=file, stderr=file, start_new_session=True
        )
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
