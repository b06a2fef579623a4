"""The comparison with other tools: what it measures, checks and leaves out, on a tiny table."""

import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import peers
import pytest
import verification
from own_process import CONTENDERS, StoppedError, contend
from peer_environment import PEERS
from peer_outputs import check_output
from peer_plots import plot
from peers import LOADED, OTHERS, Point, Row, measure, median, was_stopped, ways, write_table

from tasks.domain import Domain
from tasks.measures import information_loss
from tasks.partitions.anonymize import generalise
from tasks.partitions.mondrian import partition
from tasks.partitions.requirements import KAnonymity

POINT = Point(rows=200, columns=5, k=10)

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="memory is measured as Linux tells it"
)


def read(path):
    with duckdb.connect() as connection:
        return connection.execute(f"FROM read_parquet('{path}')").fetchnumpy()


def own_loss(columns, k):
    """The information loss as a release measures it."""
    encoded = [np.unique(columns[name], return_inverse=True) for name in columns if name != "class"]
    domains = [Domain(str(n), "integer", values, missing=False) for n, (values, _) in enumerate(encoded)]
    codes = np.column_stack([ranks for _, ranks in encoded]).astype(np.int32)
    classes = np.zeros(len(codes), dtype=np.int32)
    divided = partition(codes, domains, classes, KAnonymity(k), "strict")
    found = generalise(codes.T, domains, classes, 1, divided, "tight")
    return information_loss(found.regions, found.counts.sum(axis=1)).mean()


def test_every_tool_is_measured_and_its_output_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "REPEATS", 1)
    found = list(measure(POINT, OTHERS if PEERS.exists() else {}, 60, []))
    write_table(tmp_path / "table.parquet", POINT)
    for row in found:
        assert (row.outcome, row.seconds > 0, row.cpu > 0) == ("ended", True, True)
        if row.records is not None:
            assert (row.records, row.smallest_class >= POINT.k) == (POINT.rows, True)
    tools = {row.tool: row for row in found}
    assert tools["unjoin"].loss == pytest.approx(own_loss(read(tmp_path / "table.parquet"), POINT.k))
    assert tools["unjoin"].megabytes > 0
    series = {"rows": [POINT], "columns": [POINT], "k": [POINT]}
    stopped = Row(*POINT, "anjana", "stopped at 60 s")
    plot([*found, stopped], series, 60, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG")


def test_what_compiled_code_is_worth_is_measured_where_it_is_not_loaded_for_one_table(tmp_path):
    assert list(ways(Point(1_000, 100, 40))) == ["unjoin", LOADED]
    assert list(ways(Point(999, 100, 40))) == list(ways(Point(20_000, 100, 40))) == ["unjoin"]
    table, bounds = tmp_path / "table.parquet", tmp_path / "bounds.parquet"
    write_table(table, POINT)
    told = contend(Path(sys.executable), "with_unjoin", table, POINT.k, bounds, "loaded")
    assert told["cuts"]["cpu"] > 0
    assert check_output(bounds, table).records == POINT.rows


def test_outputs_are_checked_by_the_definitions(tmp_path):
    table, bounds = tmp_path / "table.parquet", tmp_path / "bounds.parquet"
    columns = "(f0, f1, class)"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (FROM (VALUES (0, 7, 'a'), (4, 7, 'b'), (8, 7, 'a')) AS t{columns}) TO '{table}'"
        )
        cells = "(f0_lower, f0_upper, f1_lower, f1_upper, class)"
        connection.execute(
            "COPY (FROM (VALUES (0, 4, 7, 7, 'a'), (0, 4, 7, 7, 'b'), (8, 8, 7, 7, 'a')) "
            f"AS t{cells}) TO '{bounds}'"
        )
    found = check_output(bounds, table)
    assert (found.records, found.k) == (3, 1)
    assert found.loss == pytest.approx((4 / 8 + 4 / 8 + 0) / 3 / 2)  # f1 is constant and loses nothing


def test_a_tool_that_was_stopped_is_not_tried_on_larger_tables():
    stopped = Row(1_000, 40, 40, "anonypy", "stopped at 60 s")
    assert was_stopped("anonypy", Point(1_000, 134, 5), [stopped])
    assert not was_stopped("anonypy", Point(5_000, 10, 40), [stopped])
    assert not was_stopped("anonypy", Point(5_000, 40, 200), [stopped])
    assert not was_stopped("anjana", Point(5_000, 40, 40), [stopped])
    assert not was_stopped("anonypy", Point(5_000, 40, 40), [stopped._replace(seconds=1.0)])


@pytest.mark.parametrize(
    ("script", "message"), [("while True: pass", "stopped at 1 s"), ("raise ValueError('why')", "why")]
)
def test_a_tool_that_does_not_end_is_told(tmp_path, monkeypatch, script, message):
    monkeypatch.setattr("own_process.CONTENDERS", tmp_path)
    (tmp_path / "endless.py").write_text(script, encoding="utf-8")
    with pytest.raises(StoppedError, match=message):
        contend(Path(sys.executable), "endless", limit=1)


def test_medians_are_of_what_was_told():
    told = [{"seconds": s, "cpu": 2 * s, "classes": 1} for s in (1.0, 9.0, 3.0)]
    assert median(told) == [3.0, 6.0]


@pytest.mark.parametrize(
    ("cell", "pattern", "bounds"),
    [
        ("7", r"(?P<lower>\d+)-(?P<upper>\d+)", (7, 7)),
        ("['3-17']", r"\['(?P<lower>\d+)(?:-(?P<upper>\d+))?'\]", (3, 17)),
        ("['3']", r"\['(?P<lower>\d+)(?:-(?P<upper>\d+))?'\]", (3, 3)),
        ("[10, 20)", r"\[(?P<lower>\d+), (?P<upper>\d+)\)", (10, 19)),
    ],
)
def test_cells_of_other_tools_are_read(monkeypatch, cell, pattern, bounds):
    monkeypatch.syspath_prepend(CONTENDERS)
    from contend import bounds_of

    assert bounds_of(cell, pattern) == bounds


def test_what_is_verified_is_what_the_file_holds(tmp_path):
    verification.write_files(tmp_path, 500, 3)
    told = contend(Path(sys.executable), "check_with_unjoin", tmp_path / "published.parquet", 3)
    frame = pd.DataFrame(read(tmp_path / "numbers.parquet"))
    classes = frame.groupby(["f0", "f1", "f2"])["class"]
    overall = frame["class"].value_counts(normalize=True)
    shares = pd.crosstab(classes.ngroup(), frame["class"], normalize="index")
    assert told["k"] == classes.size().min()
    assert told["l"] == classes.nunique().min()
    assert told["t"] == pytest.approx((shares - overall).abs().sum(axis=1).max() / 2)
