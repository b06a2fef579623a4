"""The gate's smallest join of a pair: against all products, multiplied out one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from validations.class_counts import TooCostlyError
from validations.smallest_product import smallest_product


def multiplied_out(first, second):
    joins = [sum(a * b for a, b in zip(one, other, strict=True)) for one in first for other in second]
    return min((join for join in joins if join), default=None)


@st.composite
def two_tables(draw):
    """Draw class counts, of few or many alike rows, with few or many zeros, small or large."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = draw(st.integers(1, 6))
    tables = []
    for _ in range(2):
        counts = rng.integers(
            0, draw(st.sampled_from([2, 5, 40, 5000])), size=(draw(st.integers(1, 40)), values)
        )
        tables.append(counts * (rng.random(counts.shape) < draw(st.sampled_from([0.1, 0.5, 1]))))
    return tables


@pytest.mark.parametrize("block", [1, 3, 64])
@given(tables=two_tables())
@settings(deadline=None, max_examples=60)
def test_the_smallest_join_is_that_of_all_products(block, tables):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("validations.smallest_product.BLOCK", block)
        patch.setattr("validations.smallest_product.BOUNDED", 50)
        patch.setattr("validations.smallest_product.TOGETHER", 2)
        assert smallest_product(*tables) == multiplied_out(*(table.tolist() for table in tables))


@pytest.mark.parametrize("large", [2**12 + 1, 2**27 + 1, 2**30 + 1])
def test_the_smallest_join_is_exact_where_floating_point_is_not(large):
    table = np.array([[large, 1]])
    assert smallest_product(table, table) == large**2 + 1


def test_blocks_that_cannot_hold_the_smallest_join_are_not_multiplied_out(monkeypatch):
    many = np.random.default_rng(0).integers(20, 40, size=(500, 4))
    few = np.concatenate([many, [[1, 0, 0, 0]]])
    monkeypatch.setattr("validations.smallest_product.LARGEST_WORK", 20 * 64 * 64 * 4)
    assert smallest_product(few, many) == many[:, 0].min()
    with pytest.raises(TooCostlyError, match="multiplications of class counts"):
        smallest_product(many, many)


@pytest.mark.parametrize(
    ("first", "second"), [([[1, 0]], [[0, 5]]), ([[0, 0]], [[3, 5]]), (np.empty((0, 2)), [[3, 5]])]
)
def test_nothing_in_common_joins_to_nothing(first, second):
    assert smallest_product(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)) is None
