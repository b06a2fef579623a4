"""The audit: a published folder, checked from its files alone."""

from pathlib import Path

from validations.gate import Verdict, check_folder
from validations.promises import read_promises


def audit(folder: Path) -> Verdict:
    """Recompute what a folder promises from the files in it.

    Parameters
    ----------
    folder
        A published folder.

    Raises
    ------
    InputError
        If the folder holds no manifest that can be read.
    """
    return check_folder(folder, read_promises(folder))
