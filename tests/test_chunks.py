"""How chunks are batched, and what is asked of them."""

import numpy as np
import pytest
from test_trial import loaded

from tasks.chunks import Batch, anonymize_chunks, batches
from tasks.fragment import fragment_features
from tasks.mutual_information import measure_mutual_information
from tasks.segment import segment_records
from tasks.store import open_store
from tasks.tables import read_codes, read_domains, read_fragments


def test_batches_cover_every_segment_of_every_fragment_once():
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 50, 40).tolist()
    planned = batches(sizes, [3, 7], cells=400)
    for fragment, width in enumerate((3, 7), 1):
        own = [batch for batch in planned if batch.fragment == fragment]
        covered = [segment for batch in own for segment in range(batch.first, batch.last + 1)]
        assert covered == list(range(40))
        cells = [width * sum(sizes[batch.first : batch.last + 1]) for batch in own]
        assert max(cells) <= 400 + width * max(sizes)
        assert len(own) <= width * sum(sizes) // 400 + 1


@pytest.mark.parametrize("sizes", [[1], [10_000_000], [2, 3]])
def test_little_work_is_one_batch_a_fragment(sizes):
    assert batches(sizes, [2, 1]) == [Batch(1, 0, len(sizes) - 1), Batch(2, 0, len(sizes) - 1)]


@pytest.mark.parametrize("bounds", ["cuts", "tight"])
def test_boxes_hold_the_records_of_their_chunk_and_end_where_its_values_do(tmp_path, small_table, bounds):
    store, config = loaded(
        tmp_path,
        small_table,
        privacy={"k": 5, "l": 2},
        segmentation={"min_segment": 40},
        anonymization={"bounds": bounds},
    )
    measure_mutual_information.function(store, config)
    fragment_features.function(store, config)
    planned = segment_records.function(store, config)
    with open_store(store) as connection:
        domains, _ = read_domains(connection)
        codes = {domain.name: read_codes(connection, [domain])[:, 0] for domain in domains}
        segments = connection.execute("SELECT segment FROM segments ORDER BY rowid").fetchnumpy()["segment"]
        fragments = read_fragments(connection)
    assert segments.max() > 0
    for batch in planned:
        with np.load(store.parent / anonymize_chunks.function(store, batch, config)) as chunked:
            own = np.column_stack(
                [codes[name] for name in codes if name in set(fragments[batch.fragment - 1])]
            )
            rows, labels = chunked["records"], chunked["labels"]
            lower, upper = chunked["lower"][labels], chunked["upper"][labels]
            assert ((own[rows] >= lower) & (own[rows] <= upper)).all()
            for segment in range(batch.first, batch.last + 1):
                inside = segments[rows] == segment
                assert (lower[inside].min(axis=0) == own[rows[inside]].min(axis=0)).all()
                assert (upper[inside].max(axis=0) == own[rows[inside]].max(axis=0)).all()
