"""Making a pair of keys: a private one that signs, and the public one that others check with."""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tasks.errors import ConfigurationError
from tasks.signing.private_key import fingerprint

PRIVATE, PUBLIC = "private.pem", "public.pem"


class KeyPair(NamedTuple):
    """Where the two keys are, and what tells the pair from any other.

    Attributes
    ----------
    private, public
        The files.
    fingerprint
        Of the public key.
    """

    private: Path
    public: Path
    fingerprint: str


def make_keys(folder: Path, passphrase: bytes | None = None) -> KeyPair:
    """Make a pair of Ed25519 keys.

    Parameters
    ----------
    folder
        Gets `private.pem`, PKCS 8 in PEM of mode 0600, and `public.pem`; made with mode 0700 if it is
        not there.
    passphrase
        Encrypts the private key.

    Raises
    ------
    ConfigurationError
        If one of the files is there already, which is never overwritten, or they cannot be written.
    """
    key = Ed25519PrivateKey.generate()
    encryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    pair = KeyPair(folder / PRIVATE, folder / PUBLIC, fingerprint(key))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(((pair.private, private, 0o600), (pair.public, public, 0o644)))
    except FileExistsError as error:
        raise ConfigurationError(
            f"{error.filename}: exists, and is never overwritten: name another folder"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{folder}: keys cannot be written there ({error.strerror})") from None
    return pair


def _write(files: tuple[tuple[Path, bytes, int], ...]) -> None:
    """Write files that are not there yet, all of them or none."""
    made: list[Path] = []
    try:
        for path, content, mode in files:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            made.append(path)
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, mode)
                file.write(content)
                file.flush()
                os.fsync(descriptor)
    except OSError:
        for path in made:
            with suppress(OSError):
                path.unlink()
        raise
