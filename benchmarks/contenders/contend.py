"""What the runs of other tools have in common: CONTENDER.py TABLE K OUT.

TABLE is a Parquet file of features f0, f1, ... (whole numbers from 0) and the class. OUT gets the bounds of
each record's cells: f0_lower, f0_upper, ... Only anonymizing is timed, from a data frame to the tool's own
result: neither imports nor files, nor making bounds of that result.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from costs import measured, tell

Anonymize = Callable[[pd.DataFrame, list[str], int], pd.DataFrame]


def contend(anonymize: Anonymize, cell: str, whole: str | None = None) -> None:
    """Anonymize the table, write the bounds, tell the cost.

    Parameters
    ----------
    anonymize
        Makes the tool's result of a table, its features and k: cells as texts, perhaps with a `count`.
    cell
        Pattern of the groups `lower` and `upper` in the text of a cell; other texts are whole numbers.
    whole
        The text that stands for a column's whole range.
    """
    frame = pd.read_parquet(sys.argv[1])
    features = [name for name in frame.columns if name != "class"]
    lowest, highest = frame[features].min(), frame[features].max()
    k, out = int(sys.argv[2]), Path(sys.argv[3])
    found, cost = measured(lambda: anonymize(frame.copy(), features, k))
    records = found.loc[found.index.repeat(found["count"])] if "count" in found else found
    bounds = {"class": records["class"].astype(str).to_numpy()}
    for name in features:
        codes, cells = pd.factorize(records[name].astype(str))
        ranges = [(lowest[name], highest[name]) if text == whole else bounds_of(text, cell) for text in cells]
        read = pd.DataFrame(ranges, columns=["lower", "upper"]).clip(lowest[name], highest[name])
        bounds[f"{name}_lower"] = read["lower"].to_numpy()[codes]
        bounds[f"{name}_upper"] = read["upper"].to_numpy()[codes]
    pd.DataFrame(bounds).to_parquet(out)
    tell(cost)


def bounds_of(text: str, cell: str) -> tuple[int, int]:
    """Return the lowest and the highest number that a cell stands for."""
    found = re.fullmatch(cell, text)
    if found is None:
        return int(text), int(text)
    return int(found["lower"]), int(found["upper"] or found["lower"]) - text.endswith(")")
