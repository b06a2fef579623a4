"""Verify k, l and t of one published Parquet file: ours, as an audit does, and pycanon's.

python benchmarks/verification.py [rows columns] [--repeats=5] [--alone]

pycanon is measured once, where it is installed: see peers.py. What is timed starts with the file, imports
left out. Ours reads the file as it is published; pycanon's has whole numbers for cells, since pandas cannot
group what the published columns hold.
"""

import statistics
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
from own_process import contend
from peer_environment import PEERS, without_peers
from tables import correlated_integers

from tasks.domain import Domain
from tasks.partitions.mondrian import partition
from tasks.partitions.requirements import KAnonymity

K, SEED = 40, 0


def write_files(folder: Path, rows: int, columns: int) -> None:
    """Anonymize a table; write it as it is published, and with whole numbers for cells."""
    codes, classes = correlated_integers(rows, columns, SEED)
    domains = [
        Domain(f"f{number}", "integer", np.arange(size), missing=False)
        for number, size in enumerate(codes.max(axis=0) + 1)
    ]
    labels, lower, upper = partition(codes, domains, classes, KAnonymity(K), "strict")
    records = {"label": labels, "class": classes}
    boxes = {"label": np.arange(len(lower))}
    for number in range(columns):
        boxes |= {f"lower_{number}": lower[:, number], f"upper_{number}": upper[:, number]}
    cells = [
        f"{{'lower': lower_{number}::BIGINT, 'upper': upper_{number}::BIGINT, 'missing': false}}"
        for number in range(columns)
    ]
    numbers = [f"lower_{number} * 10000 + upper_{number}" for number in range(columns)]
    with duckdb.connect() as connection:
        connection.register("records", records)
        connection.register("boxes", boxes)
        for name, expressions in (("published", cells), ("numbers", numbers)):
            selected = ", ".join(f"{cell} AS f{number}" for number, cell in enumerate(expressions))
            connection.execute(
                f"COPY (SELECT {selected}, 'c' || class AS class FROM records JOIN boxes USING (label) "
                f"ORDER BY ALL) TO '{folder / name}.parquet' (COMPRESSION zstd)"
            )


def main() -> None:
    """Print what was found, and its cost, one line each."""
    words = [int(text) for text in sys.argv[1:] if text[0] != "-"]
    rows, columns = words or (1_000_000, 20)
    (repeats,) = [int(text[10:]) for text in sys.argv[1:] if text.startswith("--repeats=")] or [5]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, rows, columns)
        python = Path(sys.executable)
        ours = [
            contend(python, "check_with_unjoin", folder / "published.parquet", columns)
            for _ in range(repeats)
        ]
        print(f"rows {rows:,}, columns {columns}, k {K}")
        seconds, cpu = (statistics.median(each[what] for each in ours) for what in ("seconds", "cpu"))
        print(f"unjoin: {_found(ours[0])}; {seconds:.2f} s, {cpu:.2f} s of CPU (medians of {repeats})")
        if "--alone" in sys.argv or without_peers():
            return
        theirs = contend(PEERS, "check_with_pycanon", folder / "numbers.parquet", columns)
        print(f"pycanon: {_found(theirs)}; {theirs['seconds']:.2f} s, {theirs['cpu']:.2f} s of CPU")
        print(f"ratio: {theirs['seconds'] / seconds:.0f}, of CPU {theirs['cpu'] / cpu:.0f}")


def _found(told: dict[str, float]) -> str:
    return f"k = {told['k']}, l = {told['l']:g}, t = {told['t']:.6f}"


if __name__ == "__main__":
    main()
