"""A table larger than memory, in pieces: the equivalence classes of one run, to the last row and bound."""

import json
from dataclasses import replace

import duckdb
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pydantic import TypeAdapter
from test_compiled_mondrian import mixed_table
from test_release import publish_plainly
from test_release import settings as release_settings

from tasks import load
from tasks.chunks import Batch
from tasks.partitions import widths
from tasks.partitions.mondrian import partition
from tasks.partitions.requirements import KAnonymity
from tasks.pieces import divide_pieces, first_cuts
from tasks.pieces.divide_pieces import divide_stored
from tasks.pieces.first_cuts import Piece, cut_into_pieces
from tasks.read_config import parse_config
from tasks.store import write_table

CONFIG = {
    "input": {"path": "table.csv"},
    "columns": {"class": "class", "features": "rest"},
    "output": {"name": "pieces"},
}


@pytest.fixture(autouse=True)
def no_ranks(monkeypatch):
    """Let small nodes be cut as nodes of very many cells are: equally wide features in their order."""
    monkeypatch.setattr(widths, "RANKED_CELLS", 0)
    monkeypatch.setattr(first_cuts, "RANKED_CELLS", 0)


def cut_at_once_and_in_pieces(codes, domains, k, cells):
    config = parse_config({**CONFIG, "privacy": {"k": k}})
    classes = np.zeros(len(codes), dtype=np.int32)
    domains = [replace(domain, name=f'"{place}" f0') for place, domain in enumerate(domains)]
    with duckdb.connect() as connection:
        names = [domain.name for domain in domains]
        write_table(connection, "codes", dict(zip(names, codes.T, strict=True)))
        pieces = cut_into_pieces(connection, domains, k, cells)
        found = divide_stored(connection, config, domains, pieces)
    return pieces, found, partition(codes, domains, classes, KAnonymity(k), "strict")


def assert_same(codes, domains, k, cells):
    pieces, found, expected = cut_at_once_and_in_pieces(codes, domains, k, cells)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert_array_equal(one, other)
    assert sum(piece.records for piece in pieces) == len(codes)
    return pieces


@given(oracles.tables().filter(lambda table: len(table.codes) > 1), st.integers(2, 6), st.integers(1, 40))
@settings(deadline=None, max_examples=100)
def test_pieces_make_the_same_classes(table, k, cells):
    assert_same(table.codes, table.domains, min(k, len(table.codes)), cells)


@pytest.mark.parametrize("k", [2, 40, 500, 501])
def test_pieces_of_mixed_columns_make_the_same_classes(k):
    codes, domains = mixed_table(k, 1001)
    pieces = assert_same(codes, domains, k, 2000)
    assert len(pieces) > 1 or k == 501
    cells = [piece.records * len(domains) for piece in pieces]
    assert k > 40 or max(cells) <= 2000


def test_what_cannot_be_cut_stays_one_piece():
    codes, (domain,) = np.repeat(np.int32([0, 1]), [3, 9])[:, None], [oracles.encode([1, 2], "integer")[1]]
    assert len(assert_same(codes, [domain], 4, 1)) == 1
    assert len(assert_same(codes, [domain], 3, 1)) == 2


def test_equally_wide_features_are_told_apart_where_a_run_at_once_does(monkeypatch):
    rng = np.random.default_rng(4)
    codes = np.column_stack([np.sort(rng.integers(0, 9, 900)), rng.integers(0, 9, 900)]).astype(np.int32)
    domains = [oracles.encode(list(range(9)), "integer")[1]] * 2
    monkeypatch.setattr(widths, "RANKED_CELLS", 500)
    monkeypatch.setattr(first_cuts, "RANKED_CELLS", 500)
    pieces = assert_same(codes, domains, 5, 1)
    assert len(pieces) > 1
    assert max(2 * piece.records for piece in pieces) > 100


def test_a_release_in_pieces_is_the_same_to_the_last_byte(tmp_path, small_table, monkeypatch):
    releases, written, write = [], [], divide_pieces.write_piece
    for cells in (10**6, 500):
        asked = release_settings(tmp_path / str(cells), small_table)
        asked |= {"fragmentation": {"fragments": 2}, "evaluation": {"attacks": 0}}
        with monkeypatch.context() as patch:
            for module in (divide_pieces, load):
                patch.setattr(module, "cells_at_once", lambda _, cells=cells: cells)
            patch.setattr(
                "tasks.chunks.write_piece", lambda *args: (written.append(args[1].name), write(*args))
            )
            releases.append(publish_plainly(asked))
    assert {name.rsplit("_", 1)[0] for name in written} == {"chunks_1_0", "chunks_2_0"}
    for name in ("fragment_1.csv", "fragment_1.parquet", "fragment_2.csv", "fragment_2.parquet"):
        one, other = ((folder / name).read_bytes() for folder in releases)
        assert one == other
    one, other = (json.loads((folder / "release.json").read_text("utf-8")) for folder in releases)
    assert one["measures"] == other["measures"]


def test_a_run_that_goes_on_finds_the_pieces_again():
    planned = [Batch(1, 0, 0), Batch(2, 0, 0, Piece(7, (0, 2), (3, 4)), 1)]
    kept = TypeAdapter(list[Batch])
    assert kept.validate_json(kept.dump_json(planned)) == planned
    assert [batch.name for batch in planned] == ["chunks_1_0", "chunks_2_0_1"]
