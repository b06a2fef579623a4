"""Anonymize with anonypy's Mondrian: see contend.py."""

import anonypy
import pandas as pd
from contend import contend


def anonymize(frame: pd.DataFrame, features: list[str], k: int) -> pd.DataFrame:
    """Return a line for each class value of each equivalence class, with its count."""
    return pd.DataFrame(anonypy.Preserver(frame, features, "class").anonymize_k_anonymity(k))


if __name__ == "__main__":
    contend(anonymize, r"\['(?P<lower>\d+)(?:-(?P<upper>\d+))?'\]")
