"""The data sets of the experiments, by name."""

import os
from collections.abc import Iterable
from pathlib import Path

from tasks.errors import ConfigurationError
from tasks.experiments.figures import Dataset
from tasks.experiments.keel import KEEL, load_keel
from tasks.experiments.musk import load_musk

DATASETS = ("musk", *KEEL)


def known_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return each name once.

    Raises
    ------
    ConfigurationError
        If there is no data set of such a name.
    """
    each = tuple(dict.fromkeys(names))
    for name in each:
        if name not in DATASETS:
            raise ConfigurationError(f"{name}: no such data set; there are {', '.join(DATASETS)}")
    return each


def load_dataset(name: str, files: Path | None = None) -> Dataset:
    """Return a data set.

    Parameters
    ----------
    name
        One of `DATASETS`. Musk is read from files, or downloaded; the others come with a package.
    files
        The folder where Musk's files are, and where they are kept once they were downloaded; None for
        unjoin's folder in the user's cache.

    Returns
    -------
    Dataset

    Raises
    ------
    ConfigurationError
        If there is no such data set, or a package that it needs is not installed.
    InputError
        If its files cannot be had, or are not what the paper used.
    """
    known_names([name])
    if name == "musk":
        return load_musk(cache_folder() if files is None else files)
    return load_keel(name)


def cache_folder() -> Path:
    """Return where downloaded files are kept for this user (XDG base directories)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unjoin"
