"""How chunks are batched, and what is asked of them."""

import numpy as np
import pytest

from tasks.chunks import Batch, batches


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
