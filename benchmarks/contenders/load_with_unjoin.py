"""Load a Parquet file into the store of a run: load_with_unjoin.py TABLE STORE."""

import sys
from pathlib import Path

import pandas as pd  # noqa: F401 - loading imports it, which is not to be timed
from costs import measured, tell

from tasks.config import Config
from tasks.load import load_table


def main() -> None:
    """Load the table, tell the cost."""
    config = Config.model_validate(
        {
            "input": {"path": Path(sys.argv[1])},
            "columns": {"class": "class", "features": "rest"},
            "privacy": {"k": 2},
            "fragmentation": {"fragments": 1},
            "output": {"name": "table"},
        }
    )
    _, cost = measured(lambda: load_table(Path(sys.argv[2]), config))
    tell(cost)


if __name__ == "__main__":
    main()
