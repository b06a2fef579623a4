"""The signature of a published folder, checked with the public key of whoever is to have published it."""

import base64
import hashlib
import os
import re
from io import FileIO
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from tasks.errors import InputError
from validations.findings import in_words
from validations.gate import Outcome
from validations.stated import SIGNATURE, Manifest, parse_manifest

FORM = re.compile(
    rb"algorithm: Ed25519\nkey: (sha256:[0-9a-f]{64})\nsignature: ([A-Za-z0-9+/]{86}==)\n", re.ASCII
)
NAMED = 3
VERSION = re.compile(r"\d{8}T\d{6}Z")


def check_signature(folder: Path, public_key: Path) -> Outcome:
    """Return whether a key has signed a folder as it is, with every file in it.

    Parameters
    ----------
    folder
        A published folder; it is only read.
    public_key
        The file of an Ed25519 public key in PEM, from a source that is not the folder.

    Raises
    ------
    InputError
        If there is no such key, or release.json cannot be read.
    """
    key = _read_key(public_key)
    fault, found = _judge(folder.resolve(), key)
    return Outcome(
        name="signature",
        title="The release is signed, and is as it was signed",
        asked=f"signed by the key {_fingerprint(key)}, every file as signed",
        achieved=found,
        success=not fault,
        query=None,
        note="DuckDB has no function that checks signatures.",
    )


def _judge(folder: Path, key: Ed25519PublicKey) -> tuple[bool, str]:
    """Return whether something is wrong, and what was found."""
    try:
        content = _read_file(folder / "release.json")
    except OSError as error:
        raise InputError(f"release.json cannot be read ({error.strerror})") from None
    fault = _unsigned(folder, key, content)
    if fault is None:
        manifest = parse_manifest(content)
        fault = _unlike(folder, key, manifest)
    if fault is not None:
        return True, fault
    return False, f"signed, release {manifest.name}, version {manifest.version}; every file as signed"


def _unsigned(folder: Path, key: Ed25519PublicKey, content: bytes) -> str | None:
    """Return why release.json is not signed by a key; None if it is."""
    try:
        form = FORM.fullmatch(_read_file(folder / SIGNATURE))
    except FileNotFoundError:
        return "not signed"
    except OSError:
        return f"{SIGNATURE} cannot be read"
    signature = base64.b64decode(form[2]) if form else b""
    if form is None or base64.b64encode(signature) != form[2]:
        return f"{SIGNATURE} is not a signature"
    if form[1].decode() != _fingerprint(key):
        return f"signed by another key, {form[1].decode()}"
    try:
        key.verify(signature, content)
    except InvalidSignature:
        return "release.json is not as it was signed"
    return None


def _unlike(folder: Path, key: Ed25519PublicKey, manifest: Manifest) -> str | None:
    """Return where a folder is not what its signed manifest states; None if it is."""
    if manifest.signature is None or manifest.signature.key != _fingerprint(key):
        return "release.json does not name the key"
    if VERSION.fullmatch(folder.name) and folder.name != manifest.version:
        return f"signed as version {manifest.version}, which is not the folder's"
    stated = _stated(manifest)
    changed = [name for name, digest in stated.items() if _digest(folder / name) != digest]
    added = _added(folder, {"release.json", SIGNATURE, *stated})
    if changed or added:
        names = f" ({', '.join(changed[:NAMED])}{', ...' * (len(changed) > NAMED)})" if changed else ""
        return (
            f"{in_words(len(changed), 'file', 'files')} not as signed{names}, "
            f"{in_words(added, 'file', 'files')} that nobody signed"
        )
    return None


def _stated(manifest: Manifest) -> dict[str, str]:
    fragments = {
        name: digest
        for each in manifest.fragments
        for name, digest in ((each.csv, each.sha256.csv), (each.parquet, each.sha256.parquet))
    }
    return fragments | manifest.documents


def _added(folder: Path, signed: set[str]) -> int:
    """Return how many entries of a folder are neither signed nor a folder of what is."""
    folders = {str(parent) for name in signed for parent in Path(name).parents}
    return sum(
        path.is_symlink() or str(path.relative_to(folder)) not in expected
        for place, subfolders, files in os.walk(folder)
        for names, expected in ((subfolders, folders), (files, signed))
        for path in (Path(place, name) for name in names)
    )


def _digest(path: Path) -> str | None:
    try:
        with _open(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _read_file(path: Path) -> bytes:
    with _open(path) as file:
        return file.read()


def _open(path: Path) -> FileIO:
    """Open a file that is itself in the folder, not behind a link; nothing waits for a writer of a pipe."""
    return FileIO(path, opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK))


def _fingerprint(key: Ed25519PublicKey) -> str:
    """Return what tells a key from any other: the SHA-256 of its DER form."""
    form = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return "sha256:" + hashlib.sha256(form).hexdigest()


def _read_key(path: Path) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: the public key cannot be read ({error.strerror})") from None
    except (ValueError, UnsupportedAlgorithm):
        raise InputError(f"{path}: is not a public key in PEM") from None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{path}: is not a public key of the kind Ed25519")
    return key
