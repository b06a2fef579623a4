"""Reading the private key that signs, and refusing one that is not safe to use."""

import hashlib
import os
import stat
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from tasks.errors import ConfigurationError
from tasks.signing.settings import Signing

NOT_THE_OWNER = stat.S_IRWXG | stat.S_IRWXO


def read_key(signing: Signing) -> Ed25519PrivateKey | None:
    """Return the key that signs; None where nothing is signed.

    Raises
    ------
    ConfigurationError
        If there is no such key, others may read its file, or it is not an Ed25519 key.
    """
    if signing.private_key is not None:
        return _parse(_read(signing.private_key), "signing.private_key", signing.passphrase_from)
    if signing.private_key_from is not None:
        place = "signing.private_key_from"
        return _parse(from_environment(signing.private_key_from, place), place, signing.passphrase_from)
    return None


def from_environment(variable: str, setting: str) -> bytes:
    """Return the secret that an environment variable holds.

    Raises
    ------
    ConfigurationError
        If it is not set, or empty; the message names the setting only, in case a secret was put there.
    """
    secret = os.environb.get(os.fsencode(variable), b"")
    if not secret:
        raise ConfigurationError(f"{setting}: names an environment variable that is not set: set it")
    return secret


def fingerprint(key: Ed25519PrivateKey) -> str:
    """Return the SHA-256 of the public key's DER form, in hexadecimal."""
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(public).hexdigest()}"


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise ConfigurationError(f"signing.private_key: {path} is no file: `unjoin keys` makes one")
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & NOT_THE_OWNER:
                raise ConfigurationError(
                    f"signing.private_key: others than its owner can use {path} (mode {mode:04o}): "
                    "make it chmod 600, and a new key if others had access"
                )
            return file.read()
    except OSError as error:
        raise ConfigurationError(f"signing.private_key: {path} cannot be read ({error.strerror})") from None


def _parse(pem: bytes, setting: str, passphrase_from: str | None) -> Ed25519PrivateKey:
    passphrase = passphrase_from and from_environment(passphrase_from, "signing.passphrase_from")
    try:
        key = load_pem_private_key(pem, passphrase or None)
    except TypeError:
        told = "has no passphrase: leave out" if passphrase else "has a passphrase: set"
        raise ConfigurationError(f"{setting}: the key {told} signing.passphrase_from") from None
    except (ValueError, UnsupportedAlgorithm):
        wrong = ", or its passphrase is another" if passphrase else ""
        raise ConfigurationError(f"{setting}: holds no private key in PEM{wrong}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigurationError(f"{setting}: the key is not of the kind Ed25519: `unjoin keys` makes one")
    return key
