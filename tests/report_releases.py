"""Small releases of every kind, made once by the flow itself: what their reports print must be true."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from flows.demo import write_demo
from flows.release import release
from tasks.read_config import parse_config, read_config

SENSITIVE = "line\nof 'work'"
CANARIES = ('Sankt "Anna", {b}', "ends or missing", "[canary")


def odd_table(rows=300):
    """A table with missing values, text that looks like cells, and names that need quotes and escapes."""
    rng = np.random.default_rng(5)
    label = rng.choice(list("abcdef"), size=rows, p=[0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
    shift = np.array([ord(value) - ord("a") for value in label])
    return pd.DataFrame(
        {
            "right\u202eleft": rng.integers(20, 60, rows) + 5 * shift,
            'a"b, c': np.where(rng.random(rows) < 0.1, np.nan, np.round(rng.normal(70, 9, rows) + shift, 1)),
            "it's $x_1$": rng.normal(170, 8, rows).round(2) - shift,
            "Größe 血圧": rng.choice(["Bonn", *CANARIES], rows),
            "<b>colour</b>": np.where(rng.random(rows) < 0.2, "", rng.choice(["brown", "blue"], rows)),
            "visits": rng.poisson(2 + shift),
            SENSITIVE: rng.choice(["x", "y", "z", ""], rows),
            'the "class"': label,
        }
    )


ASKED = {
    "three": ({}, {"fragments": 3}, ()),
    "per_class": ({"enforcement": "delta_selectivity", "delta": 0.5}, {"fragments": 2}, ()),
    "diverse": ({"l": 2, "t": 0.9}, {"fragments": 2}, (SENSITIVE,)),
}
"""What each release of the odd table is asked: privacy, fragmentation, sensitive attributes."""

VARIANTS = (*ASKED, "demo")


@cache
def home():
    return tempfile.TemporaryDirectory()  # removed when the tests end


@cache
def published(variant):
    """Return the published folder of a variant, and the table that it came from."""
    folder = Path(home().name, variant)
    if variant == "demo":
        config = read_config(write_demo(folder), ["run.engine=plain"])
        return release.fn(config), pd.read_csv(folder / "breast_cancer.csv")
    folder.mkdir()
    table = odd_table()
    table.to_csv(folder / "table.csv", index=False)
    privacy, fragmentation, sensitive = ASKED[variant]
    dropped = [] if sensitive else [SENSITIVE]
    asked = {
        "input": {"path": str(folder / "table.csv")},
        "columns": {
            "class": 'the "class"',
            "features": "rest",
            "sensitive": list(sensitive),
            "drop": dropped,
        },
        "privacy": {"k": 5, **privacy},
        "fragmentation": fragmentation,
        "limits": {"max_information_loss": 0.9, "max_changed_class_values": 0.9},
        "output": {"directory": str(folder / "releases"), "name": "people"},
        "run": {"workspace": str(folder / "workspace"), "engine": "plain"},
    }
    return release.fn(parse_config(asked)), table
