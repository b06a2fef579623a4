"""Clusters for tests, and tables whose chunks are anonymized here or there."""

import os
from pathlib import Path

import duckdb
import numpy as np
from clusters import cluster
from test_release import settings

from tasks.chunks import anonymize_chunks, fragment_partition
from tasks.cluster.connect import on_cluster
from tasks.config import RunSettings
from tasks.fragment import fragment_features
from tasks.load import load_table
from tasks.mutual_information import measure_mutual_information
from tasks.read_config import parse_config
from tasks.segment import segment_records
from tasks.store import create_workspace

HERE = Path(__file__).parent


def started(folder, workers):
    """Start a cluster in an empty folder, whose workers know the steps that tests map."""
    (folder / "cluster").mkdir(parents=True)
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return cluster(folder / "cluster", workers, os.environ | {"PYTHONPATH": os.pathsep.join(paths)})


def asks_for(address):
    return RunSettings(engine="dask", scheduler=address)


def asked(folder, table, *, engine="plain", scheduler=None, **sections):
    merged = settings(folder, table)
    for section, values in sections.items():
        merged[section] = {**merged.get(section, {}), **values}
    merged["evaluation"] = {"attacks": 0}
    merged["run"] |= {"engine": engine} | ({} if scheduler is None else {"scheduler": scheduler})
    return parse_config(merged)


def anonymized(store, config):
    """Return the batches of a table, and the classes of each fragment, once its chunks are anonymized."""
    folder = store.parent
    load_table.function(store, config)
    measure_mutual_information.function(store, config)
    fragment_features.function(store, config)
    planned = segment_records.function(store, config)
    with on_cluster(config.run, folder):
        paths = anonymize_chunks.map(store, planned, config)
    with duckdb.connect(store, read_only=True) as connection:
        ((records,),) = connection.execute("SELECT count(*) FROM codes").fetchall()
    numbers = sorted({batch.fragment for batch in planned})
    chosen = {
        number: [
            folder / path for batch, path in zip(planned, paths, strict=True) if batch.fragment == number
        ]
        for number in numbers
    }
    return planned, [fragment_partition(chosen[number], records) for number in numbers]


def assert_same_classes(folder, table, address, **sections):
    """Anonymize a table here and on a cluster; return the batches of the cluster."""
    _, expected = anonymized(create_workspace(folder / "plain"), asked(folder, table, **sections))
    config = asked(folder, table, engine="dask", scheduler=address, **sections)
    planned, found = anonymized(create_workspace(folder / "dask"), config)
    for one, other in zip(found, expected, strict=True):
        for array, wanted in zip(one, other, strict=True):
            assert array.dtype == wanted.dtype
            np.testing.assert_array_equal(array, wanted)
    return planned
