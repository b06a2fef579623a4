"""What any implementation must do at least: yardsticks.py TABLE LEVELS.

Told are one read of the file, and finding the lowest and the highest value of each column once per level of
a tree.
"""

import sys
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
from costs import measured, tell, timed


def read(path: Path) -> dict[str, npt.NDArray[np.int64]]:
    """Return the columns of a Parquet file."""
    with duckdb.connect() as connection:
        return connection.execute(f"FROM read_parquet('{path}')").fetchnumpy()


def pass_over(columns: npt.NDArray[np.int32], levels: int) -> None:
    """Find the extremes of each column, as often as there are levels."""
    for _ in range(levels):
        columns.min(axis=1)
        columns.max(axis=1)


def main() -> None:
    """Measure both."""
    columns, reading = measured(lambda: read(Path(sys.argv[1])))
    features = np.stack([column.astype(np.int32) for name, column in columns.items() if name != "class"])
    _, seconds, cpu = timed(lambda: pass_over(features, int(sys.argv[2])))
    tell(reading, passes={"seconds": seconds, "cpu": cpu})


if __name__ == "__main__":
    main()
