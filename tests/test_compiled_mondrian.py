"""Compiled Mondrian: the cuts of the plain one, to the last row and bound."""

import sys

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tasks.domain import Domain
from tasks.partitions import compiled_mondrian, mondrian
from tasks.partitions.mondrian import WORTH_CALLING, WORTH_COMPILING, partition
from tasks.partitions.requirements import All, DistinctDiversity, KAnonymity


def cut_plainly_and_compiled(codes, domains, k):
    classes = np.zeros(len(codes), dtype=np.int32)
    found = []
    for compiled in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mondrian, "is_worth_compiling", lambda _, compiled=compiled: compiled)
            found.append(partition(codes, domains, classes, KAnonymity(k), "strict"))
    return found


def assert_same(codes, domains, k):
    plain, found = cut_plainly_and_compiled(codes, domains, k)
    assert found.labels.dtype == plain.labels.dtype == np.int32
    for one, other in zip(plain, found, strict=True):
        assert_array_equal(one, other)


@given(oracles.tables(), st.integers(1, 6))
@settings(deadline=None, max_examples=200)
def test_it_makes_the_same_cuts(table, k):
    assert_same(table.codes, table.domains, min(k, len(table.codes)))


@given(oracles.tables(), st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_its_leaves_are_those_of_the_recursive_definition(table, k):
    k = min(k, len(table.codes))
    _, found = cut_plainly_and_compiled(table.codes, table.domains, k)
    expected = oracles.strict_mondrian(table.codes, table.domains, lambda rows: len(rows) >= k)
    groups = [np.flatnonzero(found.labels == label).tolist() for label in range(len(found.lower))]
    assert groups == [rows for rows, _ in expected]


def mixed_table(seed, rows):
    """Return columns of few and of many values, correlated, some with missing ones, of several kinds."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=rows)
    raw = [np.round((latent + rng.normal(size=rows)) * 4.0**power).astype(int) for power in range(-1, 8)]
    encoded = [
        oracles.encode([None if rng.random() < share else value for value in column.tolist()], kind)
        for column, share, kind in zip(
            raw, [0, 0.1, 0, 0.3, 0, 0, 0.05, 0, 0], ["integer"] * 4 + ["decimal"] * 5, strict=True
        )
    ]
    names = [f"v{value % 7}" for value in raw[4].tolist()]
    encoded.append(oracles.encode(names, "categorical"))
    return np.column_stack([codes for codes, _ in encoded]), [domain for _, domain in encoded]


@pytest.mark.parametrize("k", [2, 5, 40, 499, 500, 501, 1000, 1001])
def test_mixed_columns_are_cut_the_same(k):
    codes, domains = mixed_table(k, 1001)
    assert_same(codes, domains, k)


def test_many_rows_are_cut_the_same_with_any_number_of_threads(monkeypatch):
    codes, domains = mixed_table(1, 30_000)
    assert max(domain.size for domain in domains) > 10_000
    for cores in (1, 2, 7):
        monkeypatch.setattr(compiled_mondrian, "available_cores", lambda cores=cores: cores)
        assert_same(codes, domains, 10)


def test_codes_of_more_than_16_bits_are_cut_the_same():
    rng = np.random.default_rng(2)
    codes = np.column_stack([rng.permutation(70_000), rng.integers(0, 3, 70_000)]).astype(np.int32)
    domains = [
        Domain("a", "integer", np.arange(70_000), missing=False),
        Domain("b", "categorical", np.array(["x", "y", "z"], dtype=object), missing=False),
    ]
    assert_same(codes, domains, 25)


@pytest.mark.parametrize("size", [1 << 16, (1 << 16) - 1])
def test_domains_at_the_limit_of_16_bits(size):
    codes = np.repeat(np.array([0, 1, size - 2, size - 1], dtype=np.int32), 5)[:, None]
    assert_same(codes, [Domain("a", "integer", np.arange(size), missing=False)], 5)


def test_other_requirements_and_modes_are_left_to_the_plain_one(monkeypatch):
    def refuse(*_):
        raise AssertionError("these cuts are not compiled")

    monkeypatch.setattr(mondrian, "is_worth_compiling", lambda _: True)
    monkeypatch.setattr(compiled_mondrian, "partition_compiled", refuse)
    codes, domains = mixed_table(3, 200)
    classes = np.arange(200, dtype=np.int32) % 2
    partition(codes, domains, classes, DistinctDiversity(2), "strict")
    partition(codes, domains, classes, KAnonymity(5), "relaxed")
    partition(codes, domains, classes, KAnonymity(5), "strict", "infogain")
    partition(codes, domains, classes, KAnonymity(5), "strict", persons=np.arange(200, dtype=np.int32))
    partition(codes, domains, classes, All((KAnonymity(5), DistinctDiversity(2))), "strict")
    for k_alone in (KAnonymity(5), All((KAnonymity(5),))):
        with pytest.raises(AssertionError):
            partition(codes, domains, classes, k_alone, "strict")


def test_a_table_is_worth_it_that_is_large_or_where_the_code_is_loaded(monkeypatch):
    def worth(number):
        return mondrian.is_worth_compiling(np.zeros((number, 1), dtype=np.int32))

    assert worth(WORTH_CALLING)
    assert not worth(WORTH_CALLING - 1)
    monkeypatch.delitem(sys.modules, "tasks.partitions.compiled_mondrian")
    assert worth(WORTH_COMPILING)
    assert not worth(WORTH_COMPILING - 1)
