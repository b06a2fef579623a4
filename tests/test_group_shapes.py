"""What merging classes loses where features have a hierarchy: that of the groups they then release."""

from itertools import product

import numpy as np
import tree_oracles as definitions
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tasks.coarsening.shapes import Shapes
from tasks.partitions.partition import Partition
from tasks.partitions.regions import regions

quick = settings(deadline=None, max_examples=40)
RECORDS = 12


@st.composite
def classes(draw, number=5):
    """Draw the regions of some classes, and their records."""
    table = draw(definitions.tables(records=RECORDS))
    labels = np.unique(draw(st.lists(st.integers(0, number - 1), min_size=RECORDS, max_size=RECORDS)))
    drawn = draw(st.lists(st.sampled_from(labels.tolist()), min_size=RECORDS, max_size=RECORDS))
    of_rows = np.unique(drawn, return_inverse=True)[1].astype(np.int32)
    boxes = np.zeros((RECORDS, len(table)), np.int32)
    codes = np.column_stack([column.codes for column in table])
    united, released = regions(
        codes, [column.domain for column in table], Partition(of_rows, boxes, boxes), "tight"
    )
    return released, np.bincount(united).astype(np.float64)


def loss_of(released, records, members):
    """Return the summed loss of some classes, merged, times their records."""
    labels = np.zeros(len(members), dtype=np.intp)
    merged = [region.take(np.array(members)).merged(labels) for region in released]
    return sum(region.loss()[0] for region in merged) * records[members].sum()


@given(classes())
@quick
def test_uniting_two_classes_loses_what_their_merged_regions_do(drawn):
    released, records = drawn
    shapes, number = Shapes(released, records), len(records)
    united = shapes.united_losses(np.arange(number), shapes)
    for one, other in product(range(number), repeat=2):
        if one != other:
            assert_allclose(united[one, other], loss_of(released, records, [one, other]), atol=1e-9)
    for one, loss in enumerate(shapes.losses()):
        assert_allclose(loss, loss_of(released, records, [one]), atol=1e-9)


@given(classes(), st.data())
@quick
def test_shapes_that_grow_cover_the_smallest_groups(drawn, data):
    released, records = drawn
    number = len(records)
    whole, order = Shapes(released, records), data.draw(st.permutations(range(number)))
    shapes, first = whole.copy(), np.array(order[:1])
    for step in range(1, number):
        shapes.unite(first, np.array(order[step : step + 1]))
        assert_allclose(shapes.losses()[first[0]], loss_of(released, records, order[: step + 1]), atol=1e-9)
    shapes.cover(order[0], np.array(order), whole)
    assert_allclose(shapes.losses()[order[0]], loss_of(released, records, order), atol=1e-9)
    shapes.reset(np.arange(number), whole)
    assert_allclose(shapes.losses(), whole.losses())


@given(classes())
@quick
def test_losses_without_each_class_are_those_of_the_others(drawn):
    released, records = drawn
    every = list(range(len(records)))
    found = Shapes(released, records).losses_without_each(np.array(every))
    for left, loss in enumerate(found):
        others = [one for one in every if one != left]
        assert_allclose(loss, loss_of(released, records, others) if others else 0, atol=1e-9)
