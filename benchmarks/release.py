"""A whole release without Prefect, from Parquet to the published folder, and its audit.

python benchmarks/release.py [rows features] [privacy.l=3 ...]
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pandas as pd
from tables import correlated_integers

CONFIG = """\
[input]
path = "table.parquet"
[columns]
class = "class"
features = "rest"
[privacy]
k = 40
[fragmentation]
fragments = 2
[output]
name = "benchmark"
"""


def write_table(folder: Path, rows: int, features: int) -> None:
    """Write the table and its configuration."""
    codes, classes = correlated_integers(rows, features, seed=0)
    frame = pd.DataFrame(codes, columns=[f"f{number}" for number in range(features)])
    frame["class"] = [f"c{value}" for value in classes]
    connection = duckdb.connect()
    connection.register("frame", frame)
    connection.execute(f"COPY frame TO '{folder / 'table.parquet'}'")
    (folder / "release.toml").write_text(CONFIG, encoding="utf-8")


def timed(*arguments: str, folder: Path) -> tuple[float, float]:
    """Run the command; return its seconds and the peak memory of commands so far, in GB."""
    command = [str(Path(sys.executable).with_name("unjoin")), *arguments]
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True)
    seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9


def main() -> None:
    """Print the seconds and the peak memory of a release and of its audit."""
    numbers = [text for text in sys.argv[1:] if "=" not in text]
    rows, features = (int(text) for text in (numbers or ["1000000", "40"]))
    overrides = [part for text in sys.argv[1:] if "=" in text for part in ("--set", text)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder, rows, features)
        released, memory = timed("release", "release.toml", "--engine", "plain", *overrides, folder=folder)
        latest = folder / "releases" / "benchmark" / "latest"
        audited, audit_memory = timed("audit", str(latest), folder=folder)
        manifest = json.loads((latest / "release.json").read_text(encoding="utf-8"))
    classes = [fragment["equivalence_classes"] for fragment in manifest["fragments"]]
    changed = manifest["changed_class_values"]["share"]
    print(
        f"{rows:,} x {features}, equivalence classes {classes}, share of class values changed {changed:.4f}"
    )
    print(f"release {released:.1f} s, audit {audited:.1f} s, peak memory {max(memory, audit_memory):.2f} GB")


if __name__ == "__main__":
    main()
