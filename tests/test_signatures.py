"""A signed release: what the signature covers, and that nothing of the folder can be changed unnoticed."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.audit import audit
from flows.release import release
from tasks import sign
from tasks.errors import ConfigurationError, InputError
from tasks.read_config import parse_config
from tasks.signing.make_keys import make_keys
from validations.gate import check_folder
from validations.promises import read_published
from validations.signature import check_signature

UNJOIN = Path(sys.executable).with_name("unjoin")
SIGNATURE = "release.json.sig"


def table(rows=60):
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "weight": rng.integers(50, 90, rows),
            "size": rng.integers(150, 190, rows),
            "colour": rng.choice(["blue", "brown"], rows),
            "group": rng.choice(["a", "b"], rows),
        }
    )


def settings_of(home, key):
    return {
        "input": {"path": str(home / "table.csv")},
        "columns": {"class": "group", "features": "rest"},
        "privacy": {"k": 5},
        "evaluation": {"attacks": 0},
        "output": {"directory": str(home / "releases"), "name": "people"},
        "run": {"workspace": str(home / "workspace"), "engine": "plain", "keep_workspace": True},
        "signing": {"private_key": str(key)},
        "repeats": {"check": "off"},
    }


class Signed:
    """Two versions of a release of one name, the pair of keys that signed them, and another pair."""

    def __init__(self, home):
        self.home = home
        self.keys, self.others = make_keys(home / "keys"), make_keys(home / "other keys")
        table().to_csv(home / "table.csv", index=False)
        self.config = parse_config(settings_of(home, self.keys.private))
        self.first, self.second = release.fn(self.config), release.fn(self.config)


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    return Signed(tmp_path_factory.mktemp("signed"))


@pytest.fixture
def folder(signed, tmp_path):
    """A copy of the first version, in a folder of its name."""
    return Path(shutil.copytree(signed.first, tmp_path / "people" / signed.first.name))


def found(folder, pair):
    """Return what is wrong with a signature; None if nothing is."""
    outcome = check_signature(folder, pair.public)
    assert outcome.name == "signature"
    assert pair.fingerprint in outcome.asked
    return None if outcome.success else outcome.achieved


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def flip(path, place, bit=0):
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def broken(verdict):
    names = {outcome.name for outcome in verdict.promises if not outcome.success}
    assert verdict.success == (not names)
    return names


def test_a_signed_release_audits_true_under_its_key(signed):
    verdict = audit(signed.home / "releases" / "people" / "latest", public_key=signed.keys.public)
    assert broken(verdict) == set()
    signature = verdict.promises[-1]
    assert signature.name == "signature"
    words = f"release people, version {signed.second.name}; every file as signed"
    assert signature.achieved == f"signed, {words}"
    assert broken(audit(signed.first)) == set()


def test_what_is_signed_are_the_bytes_of_the_manifest_which_names_every_other_file(signed):
    text = (signed.first / SIGNATURE).read_text()
    signature = base64.b64decode(re.search("^signature: (.*)$", text, re.MULTILINE)[1])
    key = load_pem_private_key(signed.keys.private.read_bytes(), None).public_key()
    key.verify(signature, (signed.first / "release.json").read_bytes())
    manifest = json.loads((signed.first / "release.json").read_text())
    named = {each[kind] for each in manifest["fragments"] for kind in ("csv", "parquet")}
    named |= {"release.json", manifest["signature"]["file"], *manifest["documents"]}
    assert named == {path.relative_to(signed.first).as_posix() for path in files_of(signed.first)}
    assert manifest["signature"]["key"] == signed.keys.fingerprint


def test_the_report_and_the_terminal_name_the_key(signed, capsys):
    from flows.terminal import print_release

    assert signed.keys.fingerprint in (signed.first / "report.html").read_text(encoding="utf-8")
    print_release(signed.first)
    assert f"signed  by the key {signed.keys.fingerprint}" in capsys.readouterr().out


def test_the_key_and_its_place_are_in_no_file_of_the_release_or_the_workspace(signed):
    pem = signed.keys.private.read_text().splitlines()[1]
    secrets = {
        pem.encode(),
        base64.b64decode(pem)[-32:],
        base64.b64decode(pem)[-32:].hex().encode(),
        str(signed.keys.private).encode(),
    }
    looked_at = files_of(signed.home / "releases") + files_of(signed.home / "workspace")
    assert len(looked_at) > 40
    for path in looked_at:
        content = path.read_bytes()
        assert not any(secret in content for secret in secrets), path


def test_every_byte_of_the_signature_counts(folder, signed):
    path = folder / SIGNATURE
    content = path.read_bytes()
    for place in range(len(content)):
        flip(path, place, place % 8)
        assert found(folder, signed.keys) is not None, place
        path.write_bytes(content)
    for changed in (content + b"\n", content[:-1], content.replace(b"\n", b"\r\n"), b""):
        path.write_bytes(changed)
        assert found(folder, signed.keys) == "release.json.sig is not a signature"


def test_a_change_in_any_file_is_found(folder, signed):
    assert found(folder, signed.keys) is None
    for path in files_of(folder):
        content = path.read_bytes()
        for place in {0, len(content) // 2, len(content) - 1}:
            flip(path, place)
            assert found(folder, signed.keys) is not None, (path.name, place)
            path.write_bytes(content)
        path.write_bytes(content + b"\n")
        assert found(folder, signed.keys) is not None, path.name
        path.write_bytes(content)
    assert found(folder, signed.keys) is None


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_change_of_any_bit_is_found(signed, data):
    path = data.draw(st.sampled_from(files_of(signed.second)))
    content = path.read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    try:
        flip(path, place, data.draw(st.integers(0, 7)))
        assert found(signed.second, signed.keys) is not None
    finally:
        path.write_bytes(content)


def test_a_missing_file_is_found(folder, signed):
    for path in files_of(folder):
        if path.name != "release.json":
            path.rename(folder.parent / "elsewhere")
            assert found(folder, signed.keys) is not None, path.name
            (folder.parent / "elsewhere").rename(path)
    assert found(folder, signed.keys) is None


@pytest.mark.parametrize(
    "added", ["notes.txt", ".hidden", "validation/notes.txt", "validation/suites/k2.json", "data/rows.csv"]
)
def test_an_added_file_is_found(added, folder, signed):
    (folder / added).parent.mkdir(exist_ok=True)
    (folder / added).write_text("anything")
    assert "that nobody signed" in found(folder, signed.keys)


def test_an_added_folder_and_links_are_found(folder, signed):
    (folder / "empty").mkdir()
    assert "1 file that nobody signed" in found(folder, signed.keys)
    (folder / "empty").rmdir()
    (folder / "report.html").rename(folder.parent / "report.html")
    (folder / "report.html").symlink_to(folder.parent / "report.html")
    assert "1 file not as signed (report.html)" in found(folder, signed.keys)
    (folder.parent / "report.html").replace(folder / "report.html")
    (folder / "validation").rename(folder.parent / "validation")
    (folder / "validation").symlink_to(folder.parent / "validation")
    assert "that nobody signed" in found(folder, signed.keys)


def test_files_that_are_no_files_do_not_hold_the_check_up(folder, signed):
    for name in ("report.html", SIGNATURE):
        (folder / name).rename(folder.parent / name)
        os.mkfifo(folder / name)
        assert found(folder, signed.keys) is not None
        (folder / name).unlink()
        (folder / name).mkdir()
        assert found(folder, signed.keys) is not None
        (folder / name).rmdir()
        (folder.parent / name).rename(folder / name)
    assert found(folder, signed.keys) is None


def test_swapped_versions_are_found(signed, tmp_path):
    shutil.copytree(signed.first, tmp_path / signed.second.name)
    shutil.copytree(signed.second, tmp_path / signed.first.name)
    for name in (signed.first.name, signed.second.name):
        assert "which is not the folder's" in found(tmp_path / name, signed.keys)
    (tmp_path / signed.first.name).rename(tmp_path / "downloaded")
    assert found(tmp_path / "downloaded", signed.keys) is None


@pytest.mark.parametrize("replayed", [[SIGNATURE], ["release.json"], [SIGNATURE, "release.json"]])
def test_files_of_another_version_are_found(replayed, folder, signed):
    for name in replayed:
        shutil.copy(signed.second / name, folder / name)
    assert found(folder, signed.keys) is not None
    downloaded = folder.rename(folder.with_name("downloaded"))
    assert found(downloaded, signed.keys) is not None


def test_a_release_that_is_not_signed(folder, signed):
    (folder / SIGNATURE).unlink()
    assert found(folder, signed.keys) == "not signed"
    verdict = audit(folder)
    assert broken(verdict) == {"hashes"}  # release.json says that there is a signature


def test_another_key_is_named_by_its_fingerprint(signed):
    assert found(signed.first, signed.others) == f"signed by another key, {signed.keys.fingerprint}"


def test_nobody_else_can_sign_a_release_as_theirs(folder, signed):
    key = load_pem_private_key(signed.others.private.read_bytes(), None)
    signature = base64.b64encode(key.sign((folder / "release.json").read_bytes())).decode()
    text = f"algorithm: Ed25519\nkey: {signed.others.fingerprint}\nsignature: {signature}\n"
    (folder / SIGNATURE).write_text(text)
    assert found(folder, signed.others) == "release.json does not name the key"
    assert "signed by another key" in found(folder, signed.keys)


def test_a_manifest_that_was_made_anew_is_not_signed(folder, signed):
    """All hashes fit, and an audit without a key cannot tell."""
    (folder / "report.html").write_text("<p>nothing to see</p>")
    manifest = json.loads((folder / "release.json").read_text())
    manifest["documents"] = sign.stated_documents(folder)
    del manifest["documents"][SIGNATURE]
    (folder / "release.json").write_text(json.dumps(manifest))
    assert broken(check_folder(folder, read_published(folder))) == set()
    assert found(folder, signed.keys) == "release.json is not as it was signed"


def test_a_changed_missing_or_added_document_is_found_without_a_key(folder):
    flip(folder / "report.html", 100)
    (folder / "validation" / "k.json").unlink()
    (folder / "validation" / "l.json").write_text("{}")
    verdict = check_folder(folder, read_published(folder))
    assert broken(verdict) == {"hashes"}
    (hashes,) = (outcome for outcome in verdict.promises if outcome.name == "hashes")
    assert "1 undeclared file" in hashes.achieved
    number = len(json.loads((folder / "release.json").read_text())["documents"]) + 1
    assert f"and {number - 2} of {number} other files as stated" in hashes.achieved


def test_a_folder_that_does_not_say_so_has_no_signature(folder):
    manifest = json.loads((folder / "release.json").read_text())
    del manifest["signature"]
    (folder / "release.json").write_text(json.dumps(manifest))
    assert broken(check_folder(folder, read_published(folder))) == {"hashes"}
    (folder / SIGNATURE).unlink()
    assert broken(check_folder(folder, read_published(folder))) == set()


def test_a_release_that_states_no_documents_is_judged_as_before(folder):
    manifest = json.loads((folder / "release.json").read_text())
    del manifest["signature"], manifest["documents"]
    (folder / "release.json").write_text(json.dumps(manifest))
    (folder / SIGNATURE).unlink()
    verdict = check_folder(folder, read_published(folder))
    assert broken(verdict) == set()
    (hashes,) = (outcome for outcome in verdict.promises if outcome.name == "hashes")
    assert "other files" not in hashes.achieved


@pytest.mark.parametrize("name", ["../table.csv", "rows.csv", "validation/../k.json", "release.json"])
def test_a_manifest_cannot_declare_other_documents(name, folder):
    manifest = json.loads((folder / "release.json").read_text())
    manifest["documents"][name] = "0" * 64
    (folder / "release.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="documents"):
        read_published(folder)


def test_what_is_no_public_key_is_refused(signed, tmp_path):
    elliptic = tmp_path / "elliptic.pem"
    from cryptography.hazmat.primitives.asymmetric import ec

    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    elliptic.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    for path, words in (
        (tmp_path / "missing.pem", "cannot be read"),
        (signed.keys.private, "is not a public key in PEM"),
        (signed.first / SIGNATURE, "is not a public key in PEM"),
        (elliptic, "not a public key of the kind Ed25519"),
    ):
        with pytest.raises(InputError, match=words):
            audit(signed.first, public_key=path)


def test_a_key_that_changes_while_the_release_is_made(folder, signed):
    (folder / SIGNATURE).unlink()
    other = parse_config(settings_of(signed.home, signed.others.private))
    with pytest.raises(ConfigurationError, match="the key was changed"):
        sign.sign_release.function(folder, other, folder)
    assert not (folder / SIGNATURE).exists()


def test_the_command_fails_for_a_signed_release_that_was_changed(folder, signed):
    command = [str(UNJOIN), "audit", str(folder), "--public-key", str(signed.keys.public)]
    flip(folder / "report.html", 0)
    bad = subprocess.run(command, capture_output=True, text=True, check=False)
    assert bad.returncode == 1
    assert "false\tsignature\t" in bad.stdout
    assert "1 file not as signed (report.html)" in bad.stdout
