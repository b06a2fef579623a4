"""Values as ranks, whether they are found by flags, by a hash, or in texts."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.loading.encode import encode
from tasks.persons.stored import BLOCK, _mixed, mixed

LARGEST = 2**63 - 1


@given(st.lists(st.integers(-20, 20) | st.integers(-LARGEST - 1, LARGEST) | st.none()))
@example([-LARGEST - 1, LARGEST])
@example([5, 5 + 4 * 2])
@example([5, 5 + 4 * 2 + 1])
@example([None, 3, 3, None])
def test_whole_numbers_are_ranked_in_order(given_values):
    absent = [value is None for value in given_values]
    filled = np.array([0 if value is None else value for value in given_values], dtype=np.int64)
    codes, distinct, missing = encode(np.ma.array(filled, mask=absent))
    different = sorted({value for value in given_values if value is not None})
    assert distinct.tolist() == different
    assert missing == any(absent)
    assert codes.dtype == np.int32
    expected = [0 if value is None else different.index(value) + missing for value in given_values]
    assert codes.tolist() == expected


@pytest.mark.parametrize("values", [["b", "a", "b"], [2.5, -1.0, 2.5]])
def test_other_values_are_ranked_in_order(values):
    codes, distinct, missing = encode(np.ma.array(values))
    assert (codes.tolist(), distinct.tolist(), missing) == ([1, 0, 1], sorted(set(values)), False)


@pytest.mark.parametrize("words", [0, 1, BLOCK, BLOCK + 1])
def test_words_are_the_same_mixed_in_blocks(words):
    given_words = np.arange(words, dtype=np.uint64)
    assert_array_equal(mixed(given_words), _mixed(given_words))
