"""The audit: a published folder, checked from its files alone, or beside the private store of its run."""

from dataclasses import replace
from pathlib import Path

from tasks.errors import InputError
from validations.gate import Verdict, check_folder
from validations.promises import read_published
from validations.signature import check_signature


def audit(folder: Path, store: Path | None = None, public_key: Path | None = None) -> Verdict:
    """Recompute what a folder promises from the files in it.

    Parameters
    ----------
    folder
        A published folder.
    store
        The private store of the run that made it, if it was kept: with it joins within segments are
        checked too.
    public_key
        The public key of whoever is to have published it: the signature is checked too.

    Raises
    ------
    InputError
        If the folder holds no manifest that can be read, or there is no such store or key.
    """
    if store is not None and not store.is_file():
        raise InputError(f"{store}: there is no such store: give the file store.duckdb of a kept workspace")
    promises = read_published(folder)
    if public_key is None:
        return check_folder(folder, promises, store)
    signature = check_signature(folder, public_key)
    verdict = check_folder(folder, promises, store)
    return replace(
        verdict,
        promises=(*verdict.promises, signature),
        success=verdict.success and signature.success,
    )
