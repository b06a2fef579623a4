"""A Prefect server with PostgreSQL: the same release, and nothing of the data there either."""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from servers import free_port, server, wait_for
from test_prefect import CANARY, salted

UNJOIN = Path(sys.executable).with_name("unjoin")
BINARIES = [Path("/usr/bin"), *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
CONFIG = """\
[input]
path = "table.csv"
[columns]
class = "group"
features = "rest"
identifiers = ["patient"]
drop = ["note"]
[privacy]
k = 10
[output]
name = "people"
"""


def binary(name):
    found = next((str(place / name) for place in BINARIES if (place / name).exists()), shutil.which(name))
    if found is None:
        pytest.skip(f"PostgreSQL is not installed: there is no {name}")
    return found


@contextmanager
def postgresql():
    """Run a PostgreSQL of our own, not as root, which it refuses; yield its port and how to dump it."""
    user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    port, folder = free_port(), Path(tempfile.mkdtemp(prefix="unjoin-postgresql-"))
    if user:
        shutil.chown(folder, user["user"], user["group"])
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(folder)}

    def call(name, *arguments):
        return subprocess.run(
            [binary(name), *arguments],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            **user,
        ).stdout

    try:
        call("initdb", "--pgdata", "data", "--username", "prefect", "--auth", "trust")
        own = ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}"]
        running = subprocess.Popen(
            [binary("postgres"), "-D", "data", "-p", str(port), *own],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **user,
        )
        try:
            here = ["--host", "127.0.0.1", "--port", str(port), "--username", "prefect"]
            wait_for(lambda: _is_ready(call, here), "PostgreSQL answers")
            call("createdb", *here, "prefect")
            yield port, lambda: call("pg_dump", *here, "prefect")
        finally:
            running.terminate()
            running.wait(60)
    finally:
        shutil.rmtree(folder)


def _is_ready(call, here):
    try:
        call("pg_isready", *here)
    except subprocess.CalledProcessError:
        return False
    return True


def test_a_release_is_recorded_in_postgresql_without_a_value_of_the_data(small_table, tmp_path):
    table = salted(small_table)
    table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "release.toml").write_text(CONFIG)
    with postgresql() as (port, dump):
        address = f"postgresql+asyncpg://prefect@127.0.0.1:{port}/prefect"
        settings = {"PREFECT_API_DATABASE_CONNECTION_URL": address}
        with server(tmp_path / "prefect", settings) as environment:
            shown = subprocess.run(
                [str(UNJOIN), "release", "release.toml", "--engine", "prefect"],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        kept = dump()
    assert shown.returncode == 0, shown.stderr
    assert "release people" in kept
    assert "check the written files" in kept
    for secret in (CANARY, "170.123", "Bonn"):
        assert secret not in kept
    assert not (tmp_path / "prefect" / "prefect.db").exists()
