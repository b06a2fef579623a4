"""The key that signs: how a pair is made and kept, and which keys are refused before any work."""

import base64
import errno
import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)

from flows.release import release
from tasks.errors import ConfigurationError
from tasks.read_config import parse_config, read_config
from tasks.signing.make_keys import make_keys
from tasks.signing.private_key import fingerprint, read_key

UNJOIN = Path(sys.executable).with_name("unjoin")
WORDS = "correct horse"
VARIABLE = "KEY_PASSPHRASE"


def signing(**settings):
    """Return the settings of a release that is signed so; its table does not exist."""
    return {
        "input": {"path": "no-such-table.csv"},
        "columns": {"class": "group", "features": "rest"},
        "privacy": {"k": 2},
        "output": {"name": "people"},
        "run": {"engine": "plain"},
        "signing": {name: str(value) for name, value in settings.items()},
    }


def key_of(**settings):
    return read_key(parse_config(signing(**settings)).signing)


def refused(**settings):
    with pytest.raises(ConfigurationError) as caught:
        key_of(**settings)
    message = str(caught.value)
    assert message.startswith("signing")
    assert len(message.splitlines()) == 1
    return message


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def pem(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.fixture
def pair(tmp_path):
    return make_keys(tmp_path / "keys")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_only_the_owner_can_use_the_private_key(umask, tmp_path):
    before = os.umask(umask)
    try:
        (tmp_path / "keys").mkdir(mode=0o700)
        (tmp_path / "keys").chmod(0o700)
        pair = make_keys(tmp_path / "keys")
    finally:
        os.umask(before)
    assert (mode(pair.private), mode(pair.public)) == (0o600, 0o644)


def test_the_folder_of_new_keys_is_its_owners(pair):
    assert mode(pair.private.parent) == 0o700
    assert [path.name for path in sorted(pair.private.parent.iterdir())] == ["private.pem", "public.pem"]


def test_the_two_keys_belong_together_and_the_fingerprint_is_of_the_der_form(pair):
    public = load_pem_public_key(pair.public.read_bytes())
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert pair.fingerprint == f"sha256:{hashlib.sha256(der).hexdigest()}"
    key = key_of(private_key=pair.private)
    assert fingerprint(key) == pair.fingerprint
    public.verify(key.sign(b"a release"), b"a release")


@pytest.mark.parametrize("there", ["private.pem", "public.pem"])
def test_no_key_is_ever_overwritten(there, tmp_path):
    (tmp_path / there).write_text("mine")
    with pytest.raises(ConfigurationError, match=f"{there}: exists, and is never overwritten"):
        make_keys(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


def test_keys_that_cannot_be_written_leave_nothing(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match="keys cannot be written there"):
        make_keys(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "keys").write_text("a file")
    with pytest.raises(ConfigurationError, match="keys"):
        make_keys(tmp_path / "keys")


@pytest.mark.parametrize("open_to", [0o640, 0o604, 0o644, 0o610, 0o601, 0o660])
def test_a_key_that_others_can_use_is_refused(open_to, pair):
    pair.private.chmod(open_to)
    assert f"mode {open_to:04o}" in refused(private_key=pair.private)


def test_a_key_that_only_its_owner_can_read_is_used(pair):
    pair.private.chmod(0o400)
    assert fingerprint(key_of(private_key=pair.private)) == pair.fingerprint


WRONG = {
    "nothing": (None, "is no file"),
    "no key": (b"not a key", "no private key in PEM"),
    "a public key": (
        Ed25519PrivateKey.generate()
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "no private key in PEM",
    ),
    "a key of an elliptic curve": (pem(ec.generate_private_key(ec.SECP256R1())), "not of the kind Ed25519"),
    "a key to exchange keys": (pem(x25519.X25519PrivateKey.generate()), "not of the kind Ed25519"),
    "half a key": (pem(Ed25519PrivateKey.generate())[:80], "no private key in PEM"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_signing_key_is_refused(wrong, tmp_path):
    content, words = WRONG[wrong]
    path = tmp_path / "private.pem"
    if content is not None:
        path.write_bytes(content)
        path.chmod(0o600)
    assert words in refused(private_key=path)


def test_a_folder_is_no_key(tmp_path):
    assert "is no file" in refused(private_key=tmp_path)


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """A pair of keys with a passphrase, which the environment holds."""
    monkeypatch.setenv(VARIABLE, WORDS)
    return make_keys(tmp_path / "locked", WORDS.encode())


def test_a_passphrase_protects_the_key(locked, monkeypatch):
    key = key_of(private_key=locked.private, passphrase_from=VARIABLE)
    assert fingerprint(key) == locked.fingerprint
    assert "has a passphrase" in refused(private_key=locked.private)
    monkeypatch.setenv(VARIABLE, "another")
    message = refused(private_key=locked.private, passphrase_from=VARIABLE)
    assert "its passphrase is another" in message
    assert "another'" not in message


def test_a_passphrase_for_a_key_that_has_none(pair, locked):
    message = refused(private_key=pair.private, passphrase_from=VARIABLE)
    assert "has no passphrase: leave out signing.passphrase_from" in message


@pytest.mark.parametrize("value", [None, ""])
def test_a_passphrase_that_the_environment_does_not_hold(value, locked, monkeypatch):
    monkeypatch.delenv(VARIABLE)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    message = refused(private_key=locked.private, passphrase_from=VARIABLE)
    assert "not set" in message
    assert VARIABLE not in message  # in case somebody put the passphrase itself there


def test_the_key_can_come_from_the_environment(locked, pair, monkeypatch):
    monkeypatch.setenv("SIGNING_KEY", pair.private.read_text())
    assert fingerprint(key_of(private_key_from="SIGNING_KEY")) == pair.fingerprint
    monkeypatch.setenv("SIGNING_KEY", locked.private.read_text())
    key = key_of(private_key_from="SIGNING_KEY", passphrase_from=VARIABLE)
    assert fingerprint(key) == locked.fingerprint
    monkeypatch.delenv("SIGNING_KEY")
    assert "not set" in refused(private_key_from="SIGNING_KEY")


def test_two_keys_and_a_passphrase_without_a_key_are_refused():
    assert "set one of them" in refused(private_key="key.pem", private_key_from="KEY")
    assert "only" in refused(passphrase_from=VARIABLE)


@pytest.mark.parametrize("secret", ["hunter2", "correct horse", "-----BEGIN PRIVATE KEY-----\nMC4CAQAw"])
@pytest.mark.parametrize("setting", ["private_key_from", "passphrase_from"])
def test_a_secret_in_place_of_a_name_is_refused_and_not_repeated(setting, secret):
    message = refused(**{setting: secret})
    assert "never a secret" in message
    assert secret not in message


def test_where_the_key_is_does_not_shape_the_release(pair):
    unsigned = parse_config(signing())
    signed = parse_config(signing(private_key=pair.private))
    assert unsigned.sha256 == signed.sha256
    assert not unsigned.signing.signs
    assert signed.signing.signs


def test_a_relative_key_is_found_from_the_configuration(tmp_path):
    path = tmp_path / "release.toml"
    path.write_text(
        '[input]\npath = "t.csv"\n[columns]\nclass = "g"\nfeatures = "rest"\n[privacy]\nk = 2\n'
        '[output]\nname = "people"\n[signing]\nprivate_key = "keys/private.pem"\n'
    )
    assert read_config(path).signing.private_key == tmp_path / "keys" / "private.pem"


def test_a_key_is_refused_before_any_work(pair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pair.private.chmod(0o644)
    with pytest.raises(ConfigurationError, match=r"signing\.private_key"):
        release.fn(parse_config(signing(private_key=pair.private)))
    assert not Path("releases").exists()
    assert not Path("workspace").exists()


def unjoin(*arguments, **environment):
    return subprocess.run(
        [str(UNJOIN), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_the_command_makes_keys_and_shows_their_fingerprint(tmp_path):
    made = unjoin("keys", tmp_path / "keys", "--passphrase-from", VARIABLE, KEY_PASSPHRASE=WORDS)
    assert made.returncode == 0, made.stderr
    public = load_pem_public_key((tmp_path / "keys" / "public.pem").read_bytes())
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert hashlib.sha256(der).hexdigest() in made.stdout
    private = (tmp_path / "keys" / "private.pem").read_text()
    assert "ENCRYPTED" in private
    assert not any(line in made.stdout for line in private.splitlines())
    again = unjoin("keys", tmp_path / "keys")
    assert again.returncode == 2
    assert "never overwritten" in again.stderr


def test_the_command_without_its_passphrase_makes_nothing(tmp_path):
    made = unjoin("keys", tmp_path / "keys", "--passphrase-from", "NO_SUCH_PASSPHRASE")
    assert made.returncode == 2
    assert "--passphrase-from" in made.stderr
    assert not (tmp_path / "keys").exists()


def test_no_message_and_no_configuration_holds_the_key(pair):
    body = pair.private.read_text().splitlines()[1]
    config = parse_config(signing(private_key=pair.private))
    shown = config.model_dump_json() + repr(config)
    pair.private.chmod(0o640)
    shown += refused(private_key=pair.private)
    assert body not in shown
    assert base64.b64decode(body)[-32:].hex() not in shown
