"""A whole release of a very wide CSV table without Prefect: seconds of each step and the peak memory.

python benchmarks/wide.py [rows columns] [--classes=3] [--values=5] [privacy.k=40 ...]
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

FACTORS = 12
KINDS = {"integer": 0.4, "decimal": 0.3, "category": 0.25, "gaps": 0.05}  # shares of the columns
CONFIG = """\
[input]
path = "table.csv"
[columns]
class = "class"
features = "rest"
[privacy]
k = 10
[fragmentation]
fragments = 20
[output]
name = "wide"
[run]
keep_workspace = true
"""


def write_table(folder: Path, rows: int, columns: int, class_values: int, seed: int = 0) -> None:
    """Write the table and its configuration.

    Each column is a mix of a few of the latent factors and noise, told as whole numbers (2 to 1,000 values),
    decimals (with two digits, or with five and nearly as many values as records), categories (2 to 50), or
    whole numbers of which one in twenty is missing.
    """
    generator = np.random.default_rng(seed)
    factors = generator.standard_normal((rows, FACTORS), dtype=np.float32)
    kinds = np.repeat(list(KINDS), [round(share * columns) for share in KINDS.values()])
    frame = {f"x{place}": _scores(factors, generator) for place in range(len(kinds))}
    cells = [
        f"{_cell(kind, f'x{place}', generator)} AS {kind}_{place}"
        for place, kind in enumerate(kinds.tolist())
    ]
    score = _scores(factors, generator)
    thresholds = np.quantile(score, np.arange(1, class_values) / class_values)
    frame["class"] = np.searchsorted(thresholds, score)
    connection = duckdb.connect()
    connection.register("frame", frame)
    connection.execute(
        f"COPY (SELECT {', '.join(cells)}, 'c' || class AS class FROM frame) TO '{folder / 'table.csv'}'"
    )
    (folder / "release.toml").write_text(CONFIG, encoding="utf-8")


def _scores(factors: npt.NDArray[np.float32], generator: np.random.Generator) -> npt.NDArray[np.float32]:
    """Return numbers of mean 0 and deviation 1 that share three of the factors."""
    weights = generator.standard_normal(3, dtype=np.float32)
    signal = factors[:, generator.choice(FACTORS, 3, replace=False)] @ (weights / np.linalg.norm(weights))
    noise = generator.standard_normal(len(factors), dtype=np.float32)
    mixed: npt.NDArray[np.float32] = (signal + noise) / np.sqrt(np.float32(2))
    return mixed


def _cell(kind: str, column: str, generator: np.random.Generator) -> str:
    """Return an SQL expression that tells a number as a column of this kind does."""
    if kind == "decimal":
        return f"round({column}::DOUBLE * 10, {generator.choice([2, 5])})"
    if kind == "category":
        return f"'v' || floor(abs({column}) * {generator.integers(1, 15)})::INTEGER"
    whole = f"round({column} * {2 ** generator.integers(0, 8)})::INTEGER"
    return f"CASE WHEN hash({column}) % 20 = 0 THEN NULL ELSE {whole} END" if kind == "gaps" else whole


def main() -> None:
    """Print the seconds of each step of a release, the seconds of its audit, and the peak memory."""
    words = [text for text in sys.argv[1:] if not text.startswith("--") and "=" not in text]
    rows, columns = (int(text) for text in (words or ["100000", "1000"]))
    (class_values,) = [int(text[10:]) for text in sys.argv[1:] if text.startswith("--classes=")] or [3]
    overrides = [part for text in sys.argv[1:] if text[0] != "-" and "=" in text for part in ("--set", text)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder, rows, columns, class_values)
        print(f"{rows:,} x {columns:,}, {class_values} class values, {_megabytes(folder / 'table.csv')} MB")
        _run(folder, "release", "release.toml", "--engine", "plain", *overrides)
        _print_steps(folder)
        _run(folder, "audit", "releases/wide/latest")
        _print_release(folder / "releases" / "wide" / "latest")


def _run(folder: Path, *arguments: str) -> None:
    command = [str(Path(sys.executable).with_name("unjoin")), *arguments]
    start = time.perf_counter()
    ended = subprocess.run(command, cwd=folder, check=False)
    seconds, memory = (
        time.perf_counter() - start,
        resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9,
    )
    print(f"{arguments[0]}: exit {ended.returncode}, {seconds:.1f} s, peak memory so far {memory:.2f} GB")


def _print_steps(folder: Path) -> None:
    for store in folder.glob("workspace/*/store.duckdb"):
        steps = duckdb.connect(store, read_only=True).execute("SELECT step, seconds FROM steps").fetchall()
        for name, seconds in steps:
            print(f"  {seconds:7.2f} s  {name}")


def _print_release(folder: Path) -> None:
    manifest = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    classes = [fragment["equivalence_classes"] for fragment in manifest["fragments"]]
    print(
        f"equivalence classes {classes}, class values changed {manifest['changed_class_values']['share']:.4f}"
    )
    print(f"report {_megabytes(folder / 'report.html')} MB, all files {_megabytes(folder)} MB")


def _megabytes(place: Path) -> int:
    files = place.rglob("*") if place.is_dir() else [place]
    return round(sum(file.stat().st_size for file in files) / 1e6)


if __name__ == "__main__":
    main()
