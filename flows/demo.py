"""The demo: a real table that ships with scikit-learn, and a configuration that releases it."""

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


def write_demo(folder: Path) -> Path:
    """Write the table and its configuration into a folder; return the configuration's path."""
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415 - a second that only the demo pays

    data = load_breast_cancer(as_frame=True)
    table = data.data.assign(diagnosis=data.target_names[data.target])
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "breast_cancer.csv", index=False)
    config = folder / "release.toml"
    config.write_text(CONFIG, encoding="utf-8")
    return config
