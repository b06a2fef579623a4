"""The audit: a published folder, checked from its files alone, or beside the private store of its run."""

from pathlib import Path

from tasks.errors import InputError
from validations.gate import Verdict, check_folder
from validations.promises import read_published


def audit(folder: Path, store: Path | None = None) -> Verdict:
    """Recompute what a folder promises from the files in it.

    Parameters
    ----------
    folder
        A published folder.
    store
        The private store of the run that made it, if it was kept: with it joins within segments are
        checked too.

    Raises
    ------
    InputError
        If the folder holds no manifest that can be read, or there is no such store.
    """
    if store is not None and not store.is_file():
        raise InputError(f"{store}: there is no such store: give the file store.duckdb of a kept workspace")
    return check_folder(folder, read_published(folder), store)
