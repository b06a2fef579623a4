"""Anonymize with anonymity-api's Mondrian: see contend.py."""

import sys

import pandas as pd
from anonymity_api import anonymity
from contend import contend


def anonymize(frame: pd.DataFrame, features: list[str], k: int) -> pd.DataFrame:
    """Return the records, in another order."""
    sys.setrecursionlimit(100_000)  # it calls itself for each feature that it tries
    return anonymity.k_anonymity(frame, features, k)


if __name__ == "__main__":
    contend(anonymize, r"(?P<lower>\d+) - (?P<upper>\d+)")
