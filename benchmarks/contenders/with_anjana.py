"""Anonymize with anjana, which generalises whole columns: see contend.py.

Each column's hierarchy has its values, ranges of ten, ranges of a hundred, and all. No record may be left
out, as none is by the others.
"""

import contextlib
import sys

import numpy as np
import pandas as pd
from anjana.anonymity import k_anonymity
from contend import contend

WIDTHS = (10, 100)


def anonymize(frame: pd.DataFrame, features: list[str], k: int) -> pd.DataFrame:
    """Return the records."""
    hierarchies = {name: hierarchy(np.unique(frame[name])) for name in features}
    with contextlib.redirect_stdout(sys.stderr):
        return k_anonymity(frame, [], features, k, 0, hierarchies)


def hierarchy(values: np.ndarray) -> dict[int, np.ndarray]:
    """Return the text of each value on each level."""
    levels = [values]
    for width in WIDTHS:
        first = values // width * width
        levels.append(np.array([f"[{low}, {low + width})" for low in first.tolist()], dtype=object))
    return dict(enumerate([*levels, np.full(len(values), "*", dtype=object)]))


if __name__ == "__main__":
    contend(anonymize, r"\[(?P<lower>\d+), (?P<upper>\d+)\)", whole="*")
