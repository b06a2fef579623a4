"""Random small tables with every kind of column, and random things to ask of their release."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

AWKWARD = [
    "a",
    "a ",
    "",
    "NA",
    "NULL",
    "{x}",
    "[1, 2]",
    " or missing",
    'q"uo',
    "two\nlines",
    "=1+1",
    "é",
    "é",
    "*",
]
DAYS = np.datetime64("2023-12-28") + np.arange(90)
COLUMNS = {
    "few": lambda rng, rows: rng.integers(-2, 3, rows),
    "many": lambda rng, rows: rng.integers(0, 4 * rows, rows),
    "huge": lambda rng, rows: 2**53 + rng.integers(0, rows // 3 + 1, rows),
    "scale": lambda rng, rows: [f"{number:.2f}" for number in rng.normal(0, 3, rows)],
    "float": lambda rng, rows: rng.normal(0, 10.0 ** rng.integers(-6, 6), rows),
    "day": lambda rng, rows: rng.choice(DAYS, rows).astype(str),
    "text": lambda rng, rows: rng.choice(AWKWARD, rows),
    "code": lambda rng, rows: [f"0{number}" for number in rng.integers(0, 30, rows)],
    "same": lambda _, rows: ["x"] * rows,
    "none": lambda _, rows: [""] * rows,
    "unique": lambda rng, rows: rng.permutation(rows) + 1000,
}


@st.composite
def releases(draw):
    """Draw a table and the settings of its release, without their places."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(1, 60))
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=6))
    frame = pd.DataFrame(
        {f"{kind} {place}": pd.Series(COLUMNS[kind](rng, rows)) for place, kind in enumerate(kinds)}
    ).astype(str)
    for name in draw(st.sets(st.sampled_from(list(frame)))):
        frame.loc[rng.random(rows) < draw(st.sampled_from([0.1, 0.9])), name] = ""
    classes = draw(st.integers(1, 4))
    frame["class"] = rng.choice(list("abcd")[:classes], rows, p=_skewed(classes))
    columns = {"class": "class", "features": draw(st.sampled_from(["rest", list(frame.columns[:-1])]))}
    dates = {name: "%Y-%m-%d" for name in frame if name.startswith("day")}
    return frame, {
        "input": {"dates": dates},
        "columns": columns,
        "privacy": draw(privacies),
        "fragmentation": {"fragments": draw(st.integers(1, 4)), "bins": draw(st.integers(2, 10))},
        "anonymization": {
            "mode": draw(st.sampled_from(["strict", "relaxed"])),
            "split": draw(st.sampled_from(["median", "infogain"])),
            "bounds": draw(st.sampled_from(["tight", "cuts"])),
        },
        "evaluation": {"attacks": draw(st.sampled_from([0, 3])), "learners": draw(learners)},
    }


def _skewed(classes):
    weights = 0.6 ** np.arange(classes)
    return weights / weights.sum()


learners = st.sampled_from([[], [], [], ["tree", "neighbours"]])
diversities = st.sampled_from(
    [
        {},
        {},
        {"l": 2},
        {"l": 1.5, "l_model": "entropy"},
        {"l": 2, "l_model": "recursive", "c": 1.5},
        {"t": 0.4},
    ]
)
strategies = st.sampled_from(
    [
        *({"enforcement": name} for name in ("none", "dependency_graph", "min_distortion", "coarsen")),
        {"enforcement": "naive"},
        {"enforcement": "delta_selectivity", "delta": 0.5},
    ]
)
privacies = st.builds(
    lambda k, guarantee, strategy, diversity: (
        {"k": k, "guarantee": guarantee} | (strategy if not diversity else {}) | diversity
    ),
    st.integers(2, 6),
    st.sampled_from(["join", "records"]),
    strategies,
    diversities,
)
