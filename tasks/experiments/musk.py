"""Musk, as the paper used it: clean2 followed by clean1, the first 5,000 rows for training."""

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tasks.errors import InputError
from tasks.experiments.download import fetch, keep
from tasks.experiments.figures import Dataset
from tasks.experiments.musk_files import (
    FEATURES,
    LARGEST,
    PARTS,
    faults_named,
    local_files,
    lzw_reader,
    read_part,
    unpacked,
)

UCI = "https://archive.ics.uci.edu/static/public"
TABLES = ("musk.csv.gz", "musk.csv")
UNCHECKED = frozenset(
    f"f{number}"
    for number in (
        *(44, 45, 52, 53, 71, 74, 77, 78, 79, 82, 85, 86, 90, 98, 100, 101),
        *(104, 105, 110, 111, 112, 113, 114, 119, 121, 128, 130, 135, 143, 144, 152, 153),
    )
)
CHECKED = tuple(feature for feature in FEATURES if feature not in UNCHECKED)


class Edition(NamedTuple):
    """Which rows a table of Musk must have.

    Attributes
    ----------
    training
        How many rows of clean2 are for training: the first.
    sha256
        Of the table as a text, see `digest`.
    """

    training: int
    sha256: str


PAPER = Edition(5000, "0453df3c5868f23e523cb1a6ac2f014a233f2694a418b5a3d853fac7e2255c67")


def load_musk(files: Path, site: str = UCI, edition: Edition = PAPER) -> Dataset:
    """Return Musk: 7,074 conformations, their shape in whole numbers, and whether they are musk.

    The first of these that is there is taken: `clean1.data` and `clean2.data` in the folder (as they are,
    ending in `.Z`, or in the repository's zips), with all 166 features; `musk.csv.gz` or `musk.csv` in the
    folder, with a column `part`, a class, and the features that it holds; the repository's zips, of which
    the unpacked files are kept in the folder. Whatever was taken is held against a known hash of its
    rows, their order, class values and parts, and 134 of the features; the other 32 features (`UNCHECKED`)
    are as their source has them.

    Parameters
    ----------
    files
        The folder.
    site
        Where the repository's files are, an address without its last part.
    edition
        What the rows are held against.

    Returns
    -------
    Dataset
        Its features in the order of their numbers, 1,017 musks and 3,983 others for training, 207 and 1,867
        for testing.

    Raises
    ------
    InputError
        If the files are damaged, cannot be downloaded, or are not the paper's; nothing new is kept then.
    ConfigurationError
        If a package to unpack them is not installed, or the folder cannot be written.

    Notes
    -----
    Source: the paper's section "Experimental Results"; UCI repository, Musk (Version 1) and (Version 2).
    """
    parts = local_files(files)
    if parts is not None:
        return _checked(_joined(_texts(parts), edition), edition, " and ".join(map(str, parts)))
    table = next(filter(Path.is_file, map(files.joinpath, TABLES)), None)
    if table is not None:
        return _checked(_read_table(table), edition, str(table))
    return _downloaded(files, site, edition)


def _texts(files: list[Path]) -> list[bytes]:
    texts = []
    for part, file in zip(PARTS, files, strict=True):
        with faults_named(str(file)):
            texts.append(unpacked(file.read_bytes(), file.name, part))
    return texts


def _downloaded(files: Path, site: str, edition: Edition) -> Dataset:
    """Fetch the repository's files; they are kept when they are found to be the right ones."""
    lzw_reader()
    texts = []
    for part in PARTS:
        url = f"{site}/{part.number}/{part.archive}"
        content = _fetched(url, files)
        with faults_named(url):
            texts.append(unpacked(content, part.archive, part))
    dataset = _checked(_joined(texts, edition), edition, site)
    for part, text in zip(PARTS, texts, strict=True):
        keep(text, files / part.file)
    return dataset


def _fetched(url: str, files: Path) -> bytes:
    try:
        return fetch(url, LARGEST)
    except InputError as error:
        raise InputError(f"{error}: put clean1.data and clean2.data into {files} instead") from None


def _joined(texts: list[bytes], edition: Edition) -> Dataset:
    """Return the rows of both parts, one below the other."""
    parts = []
    for part, text in zip(PARTS, texts, strict=True):
        with faults_named(part.file):
            parts.append(read_part(text))
    values, classes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Dataset("musk", FEATURES, values, classes, np.arange(len(classes)) >= edition.training)


def _read_table(path: Path) -> Dataset:
    """Read a table that has a header and the parts already one below the other."""
    with faults_named(str(path)):
        table = pd.read_csv(path, keep_default_na=False)
    missing = [column for column in ("part", "class", *CHECKED) if column not in table]
    if missing:
        raise InputError(f"musk: {path} has no column {missing[0]!r}")
    features = tuple(feature for feature in FEATURES if feature in table)
    values = table[list(features)].to_numpy()
    if values.dtype != np.int64:
        raise InputError(f"musk: {path} has features that are not whole numbers")
    test = table["part"].to_numpy() == "test"
    return Dataset("musk", features, values, table["class"].to_numpy(np.object_), test)


def _checked(dataset: Dataset, edition: Edition, source: str) -> Dataset:
    if digest(dataset) != edition.sha256:
        raise InputError(
            f"musk: {source} does not hold the table that the paper used ({len(dataset.values):,} rows were"
            f" found; sha256 of the table is not {edition.sha256[:12]}...)"
        )
    return dataset


def digest(dataset: Dataset) -> str:
    """Return the sha256 of Musk, in hexadecimal digits.

    It is of a text in ASCII, each line ended by a line feed: the header `part,f1,f2,...,class`, then for each
    row `train` or `test`, the features `CHECKED`, and the class value, separated by commas.

    Parameters
    ----------
    dataset
        With a test part, and the features `CHECKED` among others.
    """
    columns = [dataset.features.index(feature) for feature in CHECKED]
    parts = np.where(np.asarray(dataset.test), "test", "train")
    rows = zip(parts, dataset.values[:, columns].tolist(), dataset.classes, strict=True)
    lines = [",".join(["part", *CHECKED, "class"])]
    lines += [",".join([part, *map(str, row), label]) for part, row, label in rows]
    return hashlib.sha256(("\n".join(lines) + "\n").encode()).hexdigest()
