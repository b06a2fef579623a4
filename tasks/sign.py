"""Step: sign the manifest, which states the digest of every other file of the release."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from tasks.config import Config
from tasks.errors import ConfigurationError
from tasks.reports.manifest import MANIFEST, read_manifest
from tasks.signing.private_key import fingerprint, read_key
from tasks.steps import step

SIGNATURE = "release.json.sig"
ALGORITHM = "Ed25519"


def require_key(config: Config) -> None:
    """See before any work that a release can be signed, where it is to be.

    Raises
    ------
    ConfigurationError
        If it cannot.
    """
    read_key(config.signing)


def stated_signature(config: Config) -> dict[str, Any]:
    """Return what a manifest says of its signature: nothing where it has none."""
    key = read_key(config.signing)
    if key is None:
        return {}
    return {"signature": {"file": SIGNATURE, "algorithm": ALGORITHM, "key": fingerprint(key)}}


def stated_documents(staging: Path) -> dict[str, str]:
    """Return the SHA-256, in hexadecimal, of all files but the fragments and the manifest, by their names."""
    written = {MANIFEST}
    for fragment in read_manifest(staging)["fragments"]:
        written |= {fragment["csv"], fragment["parquet"]}
    files = {path.relative_to(staging).as_posix(): path for path in staging.rglob("*") if path.is_file()}
    return {
        name: hashlib.sha256(files[name].read_bytes()).hexdigest() for name in sorted(files.keys() - written)
    }


@step("sign the release")
def sign_release(store: Path, config: Config, staging: Path) -> None:  # noqa: ARG001 - as every step
    """Sign the bytes of release.json, where that is asked.

    Raises
    ------
    ConfigurationError
        If the key is not the one any more that the manifest and the report name.
    """
    key = read_key(config.signing)
    if key is None:
        return
    if read_manifest(staging)["signature"]["key"] != fingerprint(key):
        raise ConfigurationError("signing: the key was changed while the release was made: release it again")
    signature = base64.b64encode(key.sign((staging / MANIFEST).read_bytes())).decode()
    text = f"algorithm: {ALGORITHM}\nkey: {fingerprint(key)}\nsignature: {signature}\n"
    (staging / SIGNATURE).write_text(text, encoding="utf-8")
