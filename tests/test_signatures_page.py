"""The commands of the page on signatures run as printed, one after the other."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "signatures.md").read_text(encoding="utf-8")
CONFIGURATION = """\
[input]
path = "patients.csv"
[columns]
class = "group"
features = "rest"
[privacy]
k = 5
[evaluation]
attacks = 0
[output]
name = "patients"
[run]
engine = "plain"
"""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a table, and the configuration as the page has it."""
    home = tmp_path_factory.mktemp("page")
    rng = np.random.default_rng(4)
    columns = {name: rng.integers(20, 90, 60) for name in ("age", "weight", "size")}
    pd.DataFrame(columns | {"group": rng.choice(["a", "b"], 60)}).to_csv(home / "patients.csv", index=False)
    (home / "release.toml").write_text(CONFIGURATION + blocks("toml")[0])
    return home


@pytest.fixture(scope="module")
def shown(home):
    """What each block of commands prints; one of them asks for a passphrase."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed = {}
    for commands in blocks("sh"):
        if "openssl" in commands and not has_openssl():
            continue
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],  # noqa: S607 - as a person does
            cwd=home,
            env=os.environ | {"PATH": path},
            input="correct horse\n",
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, commands + ran.stdout + ran.stderr
        printed[commands] = ran.stdout
    return printed


def has_openssl():
    if shutil.which("openssl") is None:
        return False
    version = subprocess.run(["openssl", "version"], capture_output=True, text=True, check=True)  # noqa: S607
    return re.match(r"OpenSSL ([3-9]|\d\d)\.", version.stdout) is not None


def of(shown, words):
    (found,) = (text for commands, text in shown.items() if words in commands)
    return found


def fingerprint(text):
    return re.search("sha256:([0-9a-f]{64})", text)[1]


def test_a_release_is_signed_with_the_key_that_was_made_and_audits_true(shown):
    made = fingerprint(of(shown, "unjoin keys signing\n"))
    assert fingerprint(of(shown, "unjoin release release.toml\n")) == made
    last = of(shown, "unjoin audit").splitlines()[-1]
    assert last.startswith(f"true\tsignature\tasked: signed by the key sha256:{made}")


@pytest.mark.skipif(not has_openssl(), reason="no OpenSSL 3 is there")
def test_openssl_agrees(shown):
    told = of(shown, "openssl pkeyutl")
    assert "Signature Verified Successfully" in told
    assert fingerprint(of(shown, "unjoin keys signing\n")) in told


def test_a_key_with_a_passphrase_signs_too(shown, home):
    told = of(shown, "read -rs UNJOIN_PASSPHRASE")
    assert len(set(re.findall("sha256:[0-9a-f]{64}", told))) == 1
    assert fingerprint(told) != fingerprint(of(shown, "unjoin keys signing\n"))
    assert "ENCRYPTED" in (home / "signing-2027" / "private.pem").read_text()


def test_the_settings_of_the_page_are_settings(home):
    from tasks.config import Config
    from tasks.read_config import read_config

    for number, settings in enumerate(blocks("toml")):
        path = home / f"settings_{number}.toml"
        path.write_text(CONFIGURATION + settings)
        config = read_config(path)
        assert isinstance(config, Config)
        assert config.signing.signs
