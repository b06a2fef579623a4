"""The files of deployments/: what they name exists, and no secret is in them; no container is started."""

import importlib
import re
from pathlib import Path

import pytest
import yaml

from flows import release
from tasks.read_config import parse_config

ROOT = Path(__file__).resolve().parents[1]
DEPLOYMENTS = ROOT / "deployments"
QUIET = {
    "DO_NOT_TRACK": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
}
NOBODY = "00000000-0000-0000-0000-000000000000"
SECRET = re.compile(r"(?im)^[ \t]*\w*(password|auth|secret|token)\w*[ \t]*[:=][ \t]*(\S+)")


def told(name):
    return yaml.safe_load((DEPLOYMENTS / name).read_text(encoding="utf-8"))


def instructions():
    """Return the Dockerfile's instructions, each as its word and the rest."""
    text = (DEPLOYMENTS / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def literal_secrets(text):
    """Return what looks like a secret that is written out."""
    return [value for _, value in SECRET.findall(text) if not value.startswith("${") and "://" not in value]


def connection_passwords(text):
    """Return the passwords in addresses of databases."""
    return [word for word in re.findall(r"://[^:/\s]+:(.+?)@", text) if not word.startswith("${")]


def test_every_deployment_is_of_a_dotted_entrypoint_and_holds_a_configuration():
    deployments = told("prefect.yaml")
    assert deployments["pull"] == []
    for deployment in deployments["deployments"]:
        module, _, name = deployment["entrypoint"].rpartition(".")
        assert getattr(importlib.import_module(module), name) is release.release
        parse_config(deployment["parameters"]["config"])
        assert all(schedule["timezone"] for schedule in deployment["schedules"])
        assert deployment["work_pool"]["name"] == "releases"


def test_every_alert_is_an_automation_once_its_block_is_named():
    from prefect.events.schemas.automations import AutomationCore

    for alert in told("alerts.yaml")["automations"]:
        assert {action["block_document_id"] for action in alert["actions"]} == {"BLOCK_ID"}
        named = [action | {"block_document_id": NOBODY} for action in alert["actions"]]
        assert AutomationCore.model_validate(alert | {"actions": named}).enabled


def test_what_the_image_copies_is_there_and_it_does_not_run_as_root():
    steps = instructions()
    for word, rest in steps:
        if word == "COPY" and "--from" not in rest:
            assert all((ROOT / name).exists() for name in rest.split()[:-1]), rest
    last_stage = steps[max(place for place, (word, _) in enumerate(steps) if word == "FROM") :]
    users = [rest for word, rest in last_stage if word == "USER"]
    assert users
    assert users[-1] not in {"root", "0"}
    (environment,) = [rest for word, rest in last_stage if word == "ENV"]
    assert QUIET.items() <= dict(pair.split("=", 1) for pair in environment.split()).items()
    assert all(
        ":" in rest and not rest.split()[0].endswith(":latest") for word, rest in steps if word == "FROM"
    )


def test_the_services_wait_for_each_other_ask_for_a_password_and_are_read_only():
    services = told("compose.yaml")["services"]
    assert set(services) == {"database", "server", "worker"}
    for service in services.values():
        assert service["healthcheck"]["test"]
        assert "no-new-privileges:true" in service["security_opt"]
        for other in service.get("depends_on", {}):
            assert service["depends_on"][other]["condition"] == "service_healthy"
    for name in ("server", "worker"):
        assert services[name]["read_only"]
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["build"]["dockerfile"] == "deployments/Dockerfile"
    assert services["server"]["environment"]["PREFECT_SERVER_API_AUTH_STRING"].startswith("${PREFECT_AUTH:?")
    assert all(port.startswith("127.0.0.1:") for port in services["server"]["ports"])
    assert "ports" not in services["database"] | services["worker"]


@pytest.mark.parametrize("path", sorted(DEPLOYMENTS.iterdir()), ids=lambda path: path.name)
def test_no_secret_is_written_out(path):
    text = path.read_text(encoding="utf-8")
    assert literal_secrets(text) == []
    assert connection_passwords(text) == []


def test_a_secret_that_is_written_out_is_found():
    assert literal_secrets("PREFECT_SERVER_API_AUTH_STRING: admin:pass") == ["admin:pass"]
    assert literal_secrets("DATABASE_PASSWORD=hunter2") == ["hunter2"]
    assert connection_passwords("postgresql+asyncpg://prefect:hunter2@database/prefect") == ["hunter2"]


def test_every_variable_of_the_services_is_in_the_example():
    wanted = set(re.findall(r"\$\{(\w+):\?", (DEPLOYMENTS / "compose.yaml").read_text(encoding="utf-8")))
    example = (DEPLOYMENTS / "example.env").read_text(encoding="utf-8")
    assert set(re.findall(r"^(\w+)=$", example, re.MULTILINE)) == wanted
