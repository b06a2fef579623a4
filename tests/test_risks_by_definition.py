"""The disclosure risks held against what they are by definition, on tiny tables."""

from collections import Counter
from fractions import Fraction
from math import prod

import numpy as np
import pytest
import risk_oracles as oracle
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.risks.combination import class_revealed, published_prior
from tasks.risks.membership import likelihoods
from tasks.risks.own_classes import class_sizes, join_rows
from tasks.risks.reidentification import journalist, prosecutor, reidentification
from tasks.risks.spread import binned, spread

VALUES = 4
MOST = 10**17
PARTS = {1: [(0,)], 2: [(0,), (1,), (0, 1)], 3: [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]}
QUANTILES = [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]

some = settings(max_examples=40, deadline=None)


def stored(records):
    """Return class counts, members and classes as the store has them."""
    members = [np.array(column, np.int32) for column in zip(*(r.ecs for r in records), strict=True)]
    counts = [np.zeros((int(column.max()) + 1, VALUES), np.int64) for column in members]
    for r in records:
        for fragment, (ec, value) in enumerate(zip(r.ecs, r.published, strict=True)):
            counts[fragment][ec, value] += 1
    return counts, members, np.array([r.true for r in records], np.int32)


def even(counts):
    """Return class counts where only the sets of class values are told."""
    told = counts > 0
    return counts.sum(axis=1, keepdims=True) * told / told.sum(axis=1, keepdims=True)


def spread_of(values):
    found = [float(value) for value in values]
    return pytest.approx((sum(found) / len(found), *np.quantile(found, QUANTILES)), abs=1e-12)


@some
@given(oracle.tables())
def test_candidates_are_rows_of_the_real_join(records):
    counts, members, _ = stored(records)
    for part in PARTS[len(members)]:
        expected = oracle.candidates(records, part)
        picked = [counts[i] for i in part], [members[i] for i in part]
        assert join_rows(*picked).tolist() == expected
        if len(part) == 1:
            assert class_sizes(members[part[0]]).tolist() == expected


@some
@given(oracle.tables(), st.integers(0, 30))
def test_reidentification_is_counted_record_by_record(records, others):
    counts, members, _ = stored(records)
    share = Fraction(len(records), len(records) + others)
    parts = PARTS[len(members)]
    found = list(reidentification(counts, members, len(records) + others))
    assert [each.fragments for each in found] == [tuple(i + 1 for i in part) for part in parts]
    for part, each in zip(parts, found, strict=True):
        candidates = oracle.candidates(records, part)
        picked = oracle.prosecutor(records, part)
        chances = [oracle.journalist(rows, share) if rows else 0 for rows in candidates]
        assert each.prosecutor == spread_of(picked)
        assert each.journalist == spread_of(chances)
        assert each.marketer == pytest.approx(float(oracle.marketer(records, part)))
        assert each.unique == oracle.uniques(records, part)
        assert each.candidates == binned(np.array(candidates))


@some
@given(oracle.tables())
def test_without_a_population_the_journalist_is_the_prosecutor(records):
    counts, members, _ = stored(records)
    assert all(each.journalist == each.prosecutor for each in reidentification(counts, members))


@pytest.mark.parametrize("candidates", [1, 2, 5, 19, 20, 21, 40, 49, 50, 51, 100, 400])
@pytest.mark.parametrize("share", ["1/100", "1/10", "49/100", "1/2", "51/100", "9/10", "999/1000", "1"])
def test_the_journalist_is_the_sum_of_the_negative_binomial(candidates, share):
    expected = oracle.journalist(candidates, Fraction(share))
    found = journalist(np.array([candidates]), float(Fraction(share)))
    assert found[0] == pytest.approx(float(expected), rel=1e-8)


def test_nobody_is_picked_where_there_is_no_candidate():
    assert prosecutor(np.array([0, 1, 4])).tolist() == [0, 1, 0.25]
    assert journalist(np.array([0]), 0.5).tolist() == [0]


@settings(deadline=None)
@given(st.lists(st.integers(0, 10).map(lambda n: n**4) | st.integers(0, 12), min_size=1, max_size=20))
@example([0])
@example([1, 2, 4, 5, 9, 10, 19, 20, 49, 50, 99, 100, 999, 1000])
def test_bins_grow_and_hold_every_record_once(sizes):
    assert [tuple(each) for each in binned(np.array(sizes))] == [
        (lower, upper, pytest.approx(float(share))) for lower, upper, share in oracle.bins(sizes)
    ]


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_spread_has_the_mean_and_the_quantiles(values):
    assert spread(np.array(values)) == spread_of(values)


@some
@given(oracle.tables(fragments=(2, 3)))
def test_membership_is_the_share_of_the_real_join(records):
    counts, members, _ = stored(records)
    expected = [float(likelihood or 0) for likelihood in oracle.membership(records)]
    assert likelihoods(counts, members) == pytest.approx(expected)


@settings(deadline=None)
@given(
    st.integers(2, 8).flatmap(
        lambda m: st.lists(
            st.lists(st.lists(st.integers(0, 10**6), min_size=3, max_size=3), min_size=2, max_size=2),
            min_size=m,
            max_size=m,
        )
    )
)
def test_rows_beyond_whole_numbers_of_64_bits_are_counted(counts):
    arrays = [np.array(each, np.int64) for each in counts]
    members = [np.array([0, 1], np.int32)] * len(counts)
    rows = [sum(prod(each[ec][c] for each in counts) for c in range(3)) for ec in (0, 1)]
    assert join_rows(arrays, members) == pytest.approx([min(n, MOST) for n in rows], rel=1e-12)
    everything = sum(prod(each[0][c] + each[1][c] for each in counts) for c in range(3))
    expected = [n / everything if everything else 0 for n in rows]
    assert likelihoods(arrays, members) == pytest.approx(expected, rel=1e-9)


@some
@given(oracle.tables(), st.booleans())
def test_what_reveals_the_class_is_the_posterior_of_each_record(records, only_sets):
    counts, members, classes = stored(records)
    sets = [[np.flatnonzero(row).tolist() for row in each] for each in counts] if only_sets else None
    told = [even(each) for each in counts] if only_sets else counts
    before = even_prior(told) if only_sets else oracle.published_prior(records)
    found = class_revealed(told, members, classes)
    assert published_prior(told) == pytest.approx([float(before.get(c, 0)) for c in range(VALUES)])
    same_knowledge(found[0], records, [before] * len(records), before)
    singles = [oracle.posteriors(records, [i], sets, before) for i in range(len(members))]
    rights = [oracle.share_right(records, each, before) for each in singles]
    best = rights.index(max(rights))
    assert found[1].fragment == best + 1
    same_knowledge(found[1], records, singles[best], before)
    assert [each.knowledge for each in found] == ["prior", "fragment", "combination"][: 1 + len(members)]
    if len(members) > 1:
        combined = oracle.posteriors(records, range(len(members)), sets, before)
        same_knowledge(found[2], records, [each or before for each in combined], before)


def even_prior(told):
    """Return the mean over fragments of the class shares that sets of class values tell."""
    total = Counter()
    for each in told:
        for row in each:
            values = np.flatnonzero(row).tolist()
            part = Fraction(round(row.sum()), round(each.sum())) / len(told) / len(values)
            total.update(dict.fromkeys(values, part))
    return dict(total)


def same_knowledge(found, records, posteriors, before):
    assert found.largest == spread_of([max(each.values()) for each in posteriors])
    assert found.above_half == pytest.approx(float(oracle.share_above(posteriors, Fraction(1, 2))))
    assert found.above_nine_tenths == pytest.approx(float(oracle.share_above(posteriors, Fraction(9, 10))))
    assert found.certain == pytest.approx(float(oracle.share_certain(posteriors)))
    assert found.right == pytest.approx(float(oracle.share_right(records, posteriors, before)))
