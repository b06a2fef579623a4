"""The demo: a real table that ships with scikit-learn, and a configuration that releases it."""

import csv
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

CONFIG = """\
# A release of the breast cancer table (Wisconsin diagnostic) that ships with scikit-learn.

[input]
path = "breast_cancer.csv"

[columns]
class = "diagnosis"
features = "rest"

[privacy]
k = 5

[fragmentation]
fragments = 2

[output]
directory = "releases"
name = "breast_cancer"
"""

FORMS = ("mean {}", "{} error", "worst {}")
MEASURED = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave points",
    "symmetry",
    "fractal dimension",
)


def write_demo(folder: Path) -> Path:
    """Write the table and its configuration into a folder; return the configuration's path."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "breast_cancer.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(_table())
    config = folder / "release.toml"
    config.write_text(CONFIG, encoding="utf-8")
    return config


def _table() -> Iterator[list[str | float]]:
    """Yield the names of the columns, then the rows, from scikit-learn's file: importing it costs seconds."""
    original = distribution("scikit-learn").locate_file("sklearn/datasets/data/breast_cancer.csv")
    with Path(str(original)).open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        diagnoses = next(lines)[2:]
        yield [*(form.format(name) for form in FORMS for name in MEASURED), "diagnosis"]
        for *values, diagnosis in lines:
            yield [*map(float, values), diagnoses[int(diagnosis)]]
