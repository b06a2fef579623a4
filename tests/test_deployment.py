"""From nothing to a scheduled release, as docs/deployment.md tells it: a server, a worker, a deployment."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from servers import PATIENCE, free_port, running, wait_for

from flows.audit import audit

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
SERVER, POOL, WORKER, DEPLOY, OWN, RUN, ALERTS, LOG = 2, 3, 4, 5, 6, 7, 8, 9


def blocks():
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    return re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


class Place:
    """The folder of the page, its settings, and who listens for alerts."""

    def __init__(self, folder):
        self.outside = folder
        self.folder = folder / "unjoin"
        self.port, self.alert_port = free_port(), free_port()
        self.alerts = []
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        self.environment = kept | {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "CHECKOUT": str(ROOT),
            "NO_COLOR": "1",
            "COLUMNS": "200",
            "TMPDIR": str(folder),
        }

    def script(self, text):
        changed = text.replace("4200", str(self.port)).replace("8080", str(self.alert_port))
        return changed if "settings.sh <<" in changed else f". ./settings.sh\n{changed}"

    def run(self, text, *, check=True):
        where = self.folder if self.folder.exists() else self.outside
        command = ["/bin/sh", "-e", "-c", self.script(text)]
        shown = subprocess.run(
            command,
            cwd=where,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert not check or shown.returncode == 0, shown.stdout + shown.stderr
        return shown

    def started(self, text, log):
        command = ["/bin/sh", "-c", self.script(re.sub("^(prefect|python) ", r"exec \1 ", text))]
        if text.startswith("PREFECT_SERVER"):
            text = text.replace("prefect server", "exec prefect server")
            command[-1] = self.script("export " + text.replace('" exec', '"\nexec'))
        return running(command, self.environment, self.folder, self.outside / log)


def answers(place):
    return place.run("prefect version >/dev/null && prefect work-pool ls", check=False).returncode == 0


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The page up to its deployment, with the server and the worker running."""
    here, told = Place(tmp_path_factory.mktemp("deployment")), blocks()

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self):
            here.alerts.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    listener = HTTPServer(("127.0.0.1", here.alert_port), Listener)
    thread = threading.Thread(target=listener.serve_forever)
    thread.start()
    here.run(told[0])
    try:
        with here.started(told[SERVER], "server.log"):
            wait_for(lambda: answers(here), "the server answers")
            here.run(told[POOL])
            with here.started(told[WORKER], "worker.log"):
                here.run(told[DEPLOY])
                here.run(told[ALERTS])
                yield here
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def test_the_page_leads_to_a_release_that_its_audit_confirms(place):
    shown = place.run(blocks()[RUN])
    assert "Completed" in shown.stdout
    assert "false" not in shown.stdout
    latest = place.folder / "releases" / "breast_cancer" / "latest"
    assert json.loads((latest / "release.json").read_text())["records"] == 569
    assert [path.name for path in (place.folder / "workspace").iterdir()] == [".kept"]


def test_a_person_sees_the_promises_the_fragments_the_measures_and_a_link_to_the_report(place):
    shown = json.loads(place.run("prefect artifact ls --limit 100 --output json").stdout)
    assert {"progress", "promises", "fragments", "measures", "report"} <= {each["key"] for each in shown}


def test_the_server_asks_for_the_password(place):
    shown = place.run("PREFECT_API_AUTH_STRING= prefect work-pool ls", check=False)
    assert shown.returncode != 0
    assert "401" in shown.stdout + shown.stderr


def test_the_schedule_and_the_form_are_there(place):
    shown = place.run("prefect deployment inspect release/nightly --output json")
    deployment = json.loads(shown.stdout)
    assert deployment["entrypoint"] == "flows.release.release"
    assert deployment["schedules"][0]["schedule"]["timezone"] == "Europe/Berlin"
    schema = deployment["parameter_openapi_schema"]
    assert set(schema["definitions"]["Config"]["required"]) == {"input", "columns", "privacy", "output"}
    assert schema["definitions"]["Privacy"]["properties"]["k"]["description"]


def test_a_configuration_file_serves_too(place):
    place.run(blocks()[OWN])
    shown = place.run("prefect deployment inspect release/nightly --output json")
    config = json.loads(shown.stdout)["parameters"]["config"]
    assert config["input"]["path"] == str(place.folder / "tables" / "breast_cancer.csv")
    assert config["columns"]["class"] == "diagnosis"
    place.run(blocks()[DEPLOY])


def test_a_program_reads_the_log_of_a_plain_run(place):
    place.run(blocks()[LOG])
    lines = [json.loads(line) for line in (place.folder / "steps.jsonl").read_text().splitlines()]
    assert {line["outcome"] for line in lines} == {"finished"}
    assert lines[0] | {"time": 0, "seconds": 0} == {
        "time": 0,
        "level": "info",
        "step": "load the table",
        "outcome": "finished",
        "seconds": 0,
        "records": 569,
        "features": 30,
        "class_values": 2,
    }
    refused = place.run(
        "unjoin release tables/release.toml --engine plain --log json --set input.path=none.csv", check=False
    )
    assert refused.returncode == 2
    assert [json.loads(line)["level"] for line in refused.stderr.splitlines()[:2]] == ["error", "error"]


NUMBERS = (918273, 170.123457)
SECRETS = ("canary", *(str(number) for number in NUMBERS), "1951-02-03")


def salted():
    """Return a table with a canary in a column of each kind."""
    rng = np.random.default_rng(5)
    rows = 240
    return pd.DataFrame(
        {
            "person": [f"canary-person-{number}" for number in range(rows)],
            "note": [f"canary note {number}" for number in range(rows)],
            "number": np.where(np.arange(rows) % 3 == 0, NUMBERS[0], rng.integers(1, 99, rows)),
            "decimal": np.where(np.arange(rows) % 4 == 0, NUMBERS[1], rng.normal(170, 8, rows).round(6)),
            "born": np.where(np.arange(rows) % 5 == 0, "1951-02-03", "1960-01-01"),
            "city": rng.choice(["canary-bonn", "canary-oslo", "canary-rome"], rows),
            "illness": rng.choice(["canary-flu", "canary-cold", "canary-ache"], rows),
            "group": rng.choice(["canary-a", "canary-b", "canary-c"], rows, p=[0.8, 0.15, 0.05]),
        }
    )


def canaries(place, name, **sections):
    """Write the salted table; return the parameters of a run that releases it."""
    table = place.folder / "tables" / "salted.csv"
    if not table.exists():
        salted().to_csv(table, index=False)
    config = {
        "input": {"path": str(table), "dates": {"born": "%Y-%m-%d"}},
        "columns": {
            "class": "group",
            "features": ["number", "decimal", "born", "city"],
            "identifiers": ["person"],
            "drop": ["note", "illness"],
        },
        "privacy": {"k": 10},
        "output": {"directory": "releases", "name": name},
    }
    for section, values in sections.items():
        config[section] = config.get(section, {}) | values
    return json.dumps({"config": config})


def triggered(place, parameters, *, watch=True):
    ending = "--watch" if watch else ""
    (place.folder / "parameters.json").write_text(parameters)
    return place.run(
        f'prefect deployment run release/nightly --params "$(cat parameters.json)" {ending}', check=False
    )


def everything(place):
    """Return all bytes that the server, the worker and the runs keep outside the data's own folders."""
    files = [*(place.folder / "prefect").rglob("*"), *place.outside.glob("*.log")]
    return b"".join(path.read_bytes() for path in files if path.is_file())


def processes_of(release):
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if f"FLOW_RUN_ID={release}".encode() in (entry / "environ").read_bytes():
                    yield int(entry.name)
            except OSError:
                continue


def worker_log(place):
    return (place.outside / "worker.log").read_text(encoding="utf-8")


def times_finished(place, step):
    return worker_log(place).count(f'step="{step}" outcome=finished')


def test_no_value_of_the_data_is_in_database_logs_artifacts_or_alerts(place):
    published = triggered(place, canaries(place, "published"))
    assert "Completed" in published.stdout
    assert audit(place.folder / "releases" / "published" / "latest").success
    failed = triggered(
        place,
        canaries(
            place,
            "gate",
            columns={"sensitive": ["illness"], "drop": ["note"]},
            privacy={"l": 2},
            limits={"max_information_loss": 0.001},
        ),
    )
    assert "Failed" in failed.stdout
    assert not list((place.folder / "releases").glob("gate/2*"))
    refused = triggered(place, canaries(place, "input", columns={"types": {"city": "numeric"}}))
    assert "Failed" in refused.stdout
    cut = times_finished(place, "cut the features into fragments")
    shown = triggered(place, canaries(place, "killed"), watch=False)
    run = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", shown.stdout).group()
    wait_for(lambda: times_finished(place, "cut the features into fragments") > cut, "the run has cut")
    for process in processes_of(run):
        os.kill(process, 9)
    wait_for(lambda: any("killed" in text for text in place.alerts), "the alert of the killed run")
    gone_on = triggered(place, canaries(place, "killed"))
    assert "Completed" in gone_on.stdout
    assert "this one keeps" in worker_log(place)
    assert audit(place.folder / "releases" / "killed" / "latest").success
    assert any("gate failed its gate" in text and "asked" in text for text in place.alerts)
    kept = everything(place) + "".join(place.alerts).encode()
    assert b"release published" in kept
    assert b"outcome=finished" in kept
    for secret in SECRETS:
        assert secret.encode() not in kept, secret


def test_the_database_names_which_promise_failed(place):
    (database,) = (place.folder / "prefect").glob("prefect.db")
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT description, data FROM artifact WHERE key = 'promises'").fetchall()
    connection.close()
    failed = [data for description, data in rows if "do not hold: nothing was published" in description]
    assert failed
    assert any('\\"holds\\": \\"NO\\"' in data or '"holds": "NO"' in data for data in failed)
