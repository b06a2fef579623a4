"""Verify k, l and t of a Parquet file with pycanon: check_with_pycanon.py FILE FEATURES.

A cell is a whole number, the same for the same text, which is the quickest kind of cell for pandas.
"""

import sys
from pathlib import Path

import pandas as pd
from costs import measured, tell
from pycanon.anonymity import k_anonymity, l_diversity, t_closeness


def verify(path: Path, features: int) -> tuple[int, int, float]:
    """Return the smallest class, the fewest class values of one and the largest distance of one."""
    frame = pd.read_parquet(path)
    names = [f"f{number}" for number in range(features)]
    found = k_anonymity(frame, names), l_diversity(frame, names, ["class"])
    return *found, t_closeness(frame, names, ["class"])


def main() -> None:
    """Verify the file, tell what was found and what it cost."""
    (k, l, t), cost = measured(lambda: verify(Path(sys.argv[1]), int(sys.argv[2])))  # noqa: E741
    tell(cost, k=int(k), l=int(l), t=float(t))


if __name__ == "__main__":
    main()
