"""Measure unjoin, what is physically possible, and other tools that anonymize, on the same tables.

python benchmarks/peers.py [--quick] [--alone] [--limit=300] [--out=FOLDER]

Each measurement has a process of its own; what is timed is said in contenders/contend.py. Other tools run
once, and are stopped after a limit in seconds of CPU; one that was stopped is not tried where there is no
less to do: as many rows and columns or more, and the same k or a smaller one. A table is printed, and written
with plots into a folder.
"""

import csv
import math
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
from own_process import StoppedError, contend
from peer_environment import PEERS, without_peers
from peer_outputs import check_output
from peer_plots import plot
from tables import correlated_integers

from tasks.partitions.mondrian import WORTH_CALLING, WORTH_COMPILING

LOADED = "unjoin, compiled code loaded"
OTHERS = {"anonypy": "with_anonypy", "anonymity-api": "with_anonymity_api", "anjana": "with_anjana"}
REPEATS, LIMIT, SEED = 3, 300, 0


class Point(NamedTuple):
    """A table and the k that is asked."""

    rows: int
    columns: int
    k: int


class Row(NamedTuple):
    """What one tool made of a table, and its cost; None where it did not end, or made nothing."""

    rows: int
    columns: int
    k: int
    tool: str
    outcome: str
    seconds: float | None = None
    cpu: float | None = None
    megabytes: float | None = None
    peak: float | None = None
    records: int | None = None
    smallest_class: int | None = None
    loss: float | None = None


FULL = {
    "rows": [Point(rows, 40, 40) for rows in (1_000, 10_000, 100_000, 1_000_000)],
    "columns": [Point(5_000, columns, 40) for columns in (10, 40, 134)],
    "k": [Point(10_000, 40, k) for k in (5, 40, 200)],
}
QUICK = {
    "rows": [Point(rows, 10, 10) for rows in (200, 1_000)],
    "columns": [Point(200, columns, 10) for columns in (5, 10)],
    "k": [Point(200, 10, k) for k in (5, 10)],
}


def main() -> None:
    """Measure all points; print and write the table, and draw the plots."""
    options = dict(text.lstrip("-").partition("=")[::2] for text in sys.argv[1:])
    out = Path(options.get("out", "peer-figures"))
    out.mkdir(parents=True, exist_ok=True)
    series = QUICK if "quick" in options else FULL
    limit = int(options.get("limit", LIMIT))
    others = {} if "alone" in options or without_peers() else OTHERS
    found: list[Row] = []
    print(line(Row._fields))
    for point in sorted({point for points in series.values() for point in points}):
        for row in measure(point, others, limit, found):
            found.append(row)
            print(line(row), flush=True)
    print_ratios(found)
    with (out / "peers.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([Row._fields, *found])
    plot(found, series, limit, out / "peers.png")
    print(f"written: {out / 'peers.csv'}, {out / 'peers.png'}")


def measure(point: Point, others: dict[str, str], limit: int, before: Sequence[Row]) -> Iterator[Row]:
    """Measure one point: ours, the yardsticks, and each other tool unless it was stopped before."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "table.parquet"
        write_table(table, point)
        yield from measure_ours(point, table, folder)
        for tool, contender in others.items():
            if was_stopped(tool, point, before):
                yield Row(*point, tool, "not tried")
            else:
                yield run_other(
                    Row(*point, tool, "ended"), contender, table, folder / f"{tool}.parquet", limit
                )


def was_stopped(tool: str, point: Point, before: Sequence[Row]) -> bool:
    """Return whether a tool did not end on a table that was not larger, with a k that was not smaller."""
    stopped = [row for row in before if row.tool == tool and row.seconds is None]
    return any(
        row.rows <= point.rows and row.columns <= point.columns and row.k >= point.k for row in stopped
    )


def measure_ours(point: Point, table: Path, folder: Path) -> Iterator[Row]:
    """Measure ours, and what is physically possible."""
    bounds, turns = folder / "bounds.parquet", range(REPEATS)
    for tool, loaded in ways(point).items():
        told = [contend(ours(), "with_unjoin", table, point.k, bounds, *loaded) for _ in turns]
        yield Row(*point, tool, "ended", *median(told), *check_output(bounds, table))
        yield Row(*point, f"{tool}, cuts alone", "ended", *median([each["cuts"] for each in told]))
    levels = math.ceil(math.log2(max(told[0]["classes"], 2)))
    least = [contend(ours(), "yardsticks", table, levels) for _ in turns]
    yield Row(*point, "minimum and maximum per level", "ended", *median([each["passes"] for each in least]))
    loads = [contend(ours(), "load_with_unjoin", table, folder / f"{turn}.duckdb") for turn in turns]
    yield Row(*point, "unjoin, loading", "ended", *median(loads))
    yield Row(*point, "one read of the file", "ended", *median(least))


def ways(point: Point) -> dict[str, tuple[str, ...]]:
    """Return what ours is called, and given, in a process of its own, and in one that has cut before."""
    worth = WORTH_CALLING <= point.rows * point.columns < WORTH_COMPILING
    return {"unjoin": ()} | ({LOADED: ("loaded",)} if worth else {})


def run_other(row: Row, contender: str, table: Path, bounds: Path, limit: int) -> Row:
    """Run another tool, and fill in its row."""
    try:
        told = contend(PEERS, contender, table, row.k, bounds, limit=limit)
    except StoppedError as error:
        return row._replace(outcome=str(error))
    return Row(*row[:5], *median([told]), *check_output(bounds, table))


def median(told: Sequence[dict[str, float]]) -> list[float]:
    """Return the medians of seconds, seconds of CPU, and megabytes without and with imports if told."""
    fields = [field for field in ("seconds", "cpu", "megabytes", "peak") if field in told[0]]
    return [statistics.median(each[field] for each in told) for field in fields]


def ours() -> Path:
    """Return the interpreter that has unjoin."""
    return Path(sys.executable)


def write_table(path: Path, point: Point) -> None:
    """Write the table of a point: whole numbers f0, f1, ..., and the class."""
    codes, classes = correlated_integers(point.rows, point.columns, SEED)
    columns = {f"f{number}": codes[:, number].copy() for number in range(point.columns)}
    cells = [*(f"{name}::BIGINT AS {name}" for name in columns), "'c' || class AS class"]
    with duckdb.connect() as connection:
        connection.register("columns", columns | {"class": classes})
        connection.execute(f"COPY (SELECT {', '.join(cells)} FROM columns) TO '{path}'")


def print_ratios(found: Sequence[Row]) -> None:
    """Print how many times longer each other tool takes than ours, where it ended."""
    of_ours = {(*row[:3], row.tool): row for row in found if row.tool.startswith("unjoin")}
    for row in found:
        if row.tool in OTHERS and row.seconds is not None:
            for tool in ways(Point(*row[:3])):
                whole, cuts = (of_ours[*row[:3], name] for name in (tool, f"{tool}, cuts alone"))
                print(
                    f"{row.rows:,} x {row.columns}, k {row.k}: {row.tool} takes {ratios(row, whole)} of "
                    f"{tool}, {ratios(row, cuts)} of the cuts alone"
                )


def ratios(row: Row, own: Row) -> str:
    """Return in words how many times the cost of one row is that of another; both ended."""
    seconds, cpu = ((getattr(row, name) or 0) / (getattr(own, name) or 1) for name in ("seconds", "cpu"))
    return f"{seconds:.0f} times the seconds ({cpu:.0f} of CPU)"


def line(row: Sequence[object]) -> str:
    """Return a line of the printed table."""
    cells = [f"{cell:.3g}" if isinstance(cell, float) else "" if cell is None else str(cell) for cell in row]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
