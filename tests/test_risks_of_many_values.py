"""Disclosure risk where ECs hold few of many class values."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from test_risks import VALUES, counted, quick, releases

from tasks.risks.combination import class_revealed, published_prior
from tasks.risks.membership import likelihoods
from tasks.risks.own_classes import join_rows
from tasks.risks.spread import spread

COPIES = 12  # so that any support is a small part of all class values


def copied(held):
    """Return class counts of copies of a fragment, each with class values of its own."""
    return np.kron(np.eye(COPIES, dtype=np.int64), held)


@given(releases(least=2))
@quick
def test_class_values_that_a_record_cannot_have_make_no_difference(release):
    _, members, classes, _ = release
    counts = [counted(ecs, classes) for ecs in members]
    tables = [copied(held) for held in counts]
    ecs = [
        np.concatenate([column + len(held) * i for i in range(COPIES)]).astype(np.int32)
        for column, held in zip(members, counts, strict=True)
    ]
    truth = np.concatenate([classes + VALUES * i for i in range(COPIES)])
    assert_array_equal(join_rows(tables, ecs), np.tile(join_rows(counts, members), COPIES))
    assert_allclose(likelihoods(tables, ecs) * COPIES, np.tile(likelihoods(counts, members), COPIES))
    once, often = (class_revealed(*each) for each in ((counts, members, classes), (tables, ecs, truth)))
    for known, same in zip(once[1:], often[1:], strict=True):
        assert known.fragment == same.fragment
        assert known[3:] == pytest.approx(same[3:])
        assert (known.largest.least, known.largest.largest) == pytest.approx(
            (same.largest.least, same.largest.largest)
        )


@pytest.fixture
def uneven():
    """Two fragments with 200 class values, in ECs of 1 to 400 records; some of the second's are changed."""
    rng = np.random.default_rng(5)
    classes = rng.integers(0, 200, 1500).astype(np.int32)
    sizes = [[400, 150, 150, *[50] * 10, *[10] * 20, *[1] * 100], [3] * 500]
    members = [rng.permutation(np.repeat(np.arange(len(each)), each)).astype(np.int32) for each in sizes]
    published = classes, np.where(rng.random(1500) < 0.3, rng.integers(0, 200, 1500), classes)
    counts = [np.zeros((len(each), 200), dtype=np.int64) for each in sizes]
    for held, ecs, values in zip(counts, members, published, strict=True):
        np.add.at(held, (ecs, values), 1)
    return counts, members, classes


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0,)])
def test_supports_of_all_sizes_give_what_whole_rows_give(uneven, order):
    counts, members = ([each[i] for i in order] for each in uneven[:2])
    rows = [held[ecs] for held, ecs in zip(counts, members, strict=True)]
    products = np.prod(rows, axis=0).sum(axis=1)
    assert_array_equal(join_rows(counts, members), products)
    everything = np.prod([held.sum(axis=0) for held in counts], axis=0).sum()
    assert_allclose(likelihoods(counts, members), products / everything, rtol=1e-12)


def test_supports_of_all_sizes_tell_what_whole_rows_tell(uneven):
    counts, members, classes = uneven
    prior = published_prior(counts)
    weights = counts[0][members[0]] * counts[1][members[1]] / prior
    contradicted = ~weights.any(axis=1)
    weights[contradicted] = prior
    weights /= weights.sum(axis=1, keepdims=True)
    likeliest = weights >= weights.max(axis=1, keepdims=True) - 1e-12
    named = np.where(likeliest, prior, -1).argmax(axis=1)
    combination = class_revealed(counts, members, classes)[-1]
    assert 0 < contradicted.mean() < 1
    assert combination.largest == pytest.approx(spread(weights.max(axis=1)))
    assert combination.certain == pytest.approx(np.mean(weights.max(axis=1) > 1 - 1e-12))
    assert combination.right == pytest.approx(np.mean(named == classes))
