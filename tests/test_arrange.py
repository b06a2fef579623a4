"""Class values that enforcement changed, given to records together with their sensitive values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.arrange import change_class_values


@st.composite
def changes(draw):
    combinations, values = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 6), min_size=values, max_size=values)
    together = np.array(draw(st.lists(row, min_size=combinations, max_size=combinations)))
    shares = draw(st.lists(st.integers(0, 3), min_size=values, max_size=values).filter(any))
    total = int(together.sum())
    after = np.array(shares) * total // sum(shares)
    after[0] += total - after.sum()
    return together, after


@given(changes())
def test_class_values_occur_as_wanted_and_sensitive_values_as_before(change):
    together, after = change
    found = change_class_values(together, after)
    assert (found >= 0).all()
    assert_array_equal(found.sum(axis=0), after)
    assert_array_equal(found.sum(axis=1), together.sum(axis=1))
    fewest = np.maximum(together.sum(axis=0) - after, 0).sum()
    assert np.maximum(together - found, 0).sum() == fewest


def test_nothing_wanted_changes_nothing():
    together = np.array([[2, 1], [0, 3]])
    assert_array_equal(change_class_values(together, together.sum(axis=0)), together)
