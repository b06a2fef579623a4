"""The step that anonymizes on a Dask cluster: two workers of one thread against one of them.

python benchmarks/dask_workers.py [rows features [times]]
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
from clusters import Cluster, cluster
from release import write_table

from tasks.chunks import Batch, anonymize_chunks
from tasks.cluster.connect import on_cluster
from tasks.config import Config
from tasks.fragment import fragment_features
from tasks.load import load_table
from tasks.mutual_information import measure_mutual_information
from tasks.read_config import read_config
from tasks.segment import segment_records
from tasks.store import create_workspace


def prepared(store: Path, config: Config) -> list[Batch]:
    """Run the steps that come before; print the seconds of the one that writes the files of workers."""
    for step in (load_table, measure_mutual_information, fragment_features):
        step(store, config)
    start = time.perf_counter()
    planned = segment_records(store, config)
    seconds = time.perf_counter() - start
    written = sum(path.stat().st_size for path in store.parent.glob("*.parquet")) / 1e9
    print(f"{len(planned)} pieces: {written:.2f} GB, cut and written in {seconds:.1f} s", flush=True)
    return planned


def anonymized(
    store: Path, planned: Sequence[Batch], config: Config, running: Cluster
) -> tuple[float, float]:
    """Return the seconds of the step, and the seconds of CPU that its workers took."""
    shared = config.run.model_copy(update={"scheduler": running.address})
    config = config.model_copy(update={"run": shared})
    with on_cluster(shared, store.parent):
        anonymize_chunks.map(store, planned[: len(running.workers)], config)  # loads what is compiled
        before, start = _cpu(running), time.perf_counter()
        anonymize_chunks.map(store, planned, config)
        return time.perf_counter() - start, _cpu(running) - before


def _cpu(running: Cluster) -> float:
    return sum(sum(psutil.Process(worker.pid).cpu_times()[:2]) for worker in running.workers)


def main() -> None:
    """Print what one worker and two take, and how much faster two are."""
    given = [int(text) for text in sys.argv[1:]]
    rows, features, times = given + [10_000_000, 40, 3][len(given) :]
    took: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder, rows, features)
        config = read_config(folder / "release.toml", ["run.engine=dask"])
        store = create_workspace(folder / "run")
        planned = prepared(store, config)
        for turn in range(times):
            for workers, seconds_taken in took.items():
                with cluster(folder / f"cluster_{turn}_{workers}", workers, os.environ) as running:
                    seconds, cpu = anonymized(store, planned, config, running)
                seconds_taken.append(seconds)
                print(f"{workers} workers: {seconds:.1f} s, {cpu:.1f} s of CPU", flush=True)
    one, two = (statistics.median(seconds) for seconds in took.values())
    print(f"{rows:,} x {features}: one {one:.1f} s, two {two:.1f} s, {one / two:.2f} times faster")


if __name__ == "__main__":
    main()
