"""The files of Musk as the UCI repository gives them: where they are, how they are unpacked and read."""

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.errors import ConfigurationError, InputError

FEATURES = tuple(f"f{number}" for number in range(1, 167))
CLASSES = {"1.": "musk", "0.": "non-musk"}
LARGEST = 16 << 20  # bytes of a file, packed or not; the largest has less than a third


class Part(NamedTuple):
    """One of the two tables that make up Musk.

    Attributes
    ----------
    file
        Its name once it is unpacked.
    archive
        The repository's zip that holds it.
    number
        Of the data set in the repository.
    """

    file: str
    archive: str
    number: int

    @property
    def forms(self) -> tuple[str, str, str]:
        """Names of the files that can hold it."""
        return self.file, f"{self.file}.Z", self.archive


PARTS = (  # as the paper orders their rows
    Part("clean2.data", "musk+version+2.zip", 75),
    Part("clean1.data", "musk+version+1.zip", 74),
)


def local_files(folder: Path) -> list[Path] | None:
    """Return the files that hold the two parts, or None where one of them is missing."""
    found = [next(filter(Path.is_file, map(folder.joinpath, part.forms)), None) for part in PARTS]
    files = [file for file in found if file is not None]
    return files if len(files) == len(PARTS) else None


@contextmanager
def faults_named(source: str) -> Iterator[None]:
    """Say in one sentence that a file cannot be read; its text is not repeated."""
    try:
        yield
    except (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "damaged, or not what its name says"
        raise InputError(f"musk: {source} cannot be read ({reason})") from None


def unpacked(content: bytes, name: str, part: Part) -> bytes:
    """Return the text of a part from one of its forms.

    Raises
    ------
    ConfigurationError
        If it is packed with compress and the package that unpacks such files is not installed.
    ValueError
        If it is not what its name says.
    """
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            member = _member(archive, part)
            with archive.open(member) as file:
                return unpacked(_at_most(LARGEST, file.read(LARGEST + 1)), member, part)
    return lzw_reader()(content) if name.endswith(".Z") else content


def _member(archive: zipfile.ZipFile, part: Part) -> str:
    members = [name for name in archive.namelist() if PurePosixPath(name).name in part.forms[:2]]
    if not members:
        raise ValueError(f"no {part.file}")
    return members[0]


def _at_most(size: int, content: bytes) -> bytes:
    if len(content) > size:
        raise ValueError("too large")
    return content


def lzw_reader() -> Callable[[bytes], bytes]:
    """Return what unpacks files of Unix compress.

    Raises
    ------
    ConfigurationError
        If the package is not installed.
    """
    if find_spec("unlzw3") is None:
        raise ConfigurationError(
            "musk: its files end in .Z, which the package unlzw3 unpacks; where this project was checked out:"
            " .venv/bin/pip install -c constraints.txt '.[experiments]'"
        )
    from unlzw3 import unlzw  # noqa: PLC0415 - only the experiments need it

    reader: Callable[[bytes], bytes] = unlzw
    return reader


def read_part(text: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.object_]]:
    """Return the features and the class values of a part.

    A line holds the molecule's name, the conformation's, 166 whole numbers and the class, `1.` or `0.`.

    Parameters
    ----------
    text
        Of the unpacked file.

    Returns
    -------
    values : ndarray of shape (n, 166)
    classes : ndarray of shape (n,)
        "musk" or "non-musk".

    Raises
    ------
    ValueError
        If a line is another.
    """
    rows = [line.split(",") for line in text.decode("ascii").splitlines()]
    if any(len(row) != len(FEATURES) + 3 or row[-1] not in CLASSES for row in rows):
        raise ValueError("another format")
    values = np.array([row[2:-1] for row in rows]).reshape(-1, len(FEATURES)).astype(np.int64)
    return values, np.array([CLASSES[row[-1]] for row in rows], dtype=np.object_)
