"""Disclosure risk by definition: records one by one, joins row by row, exact fractions."""

from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, reduce
from math import prod
from typing import NamedTuple

import pandas as pd
from hypothesis import strategies as st


class Record(NamedTuple):
    """An EC number in every fragment, the class in the input, and the class each fragment publishes."""

    ecs: tuple[int, ...]
    true: int
    published: tuple[int, ...]


def record(ecs, true, published=None):
    return Record(tuple(ecs), true, (true,) * len(ecs) if published is None else tuple(published))


@st.composite
def tables(draw, *, fragments=(1, 3), ecs=3, classes=4, records=(1, 9), changed=None):
    """Draw a tiny table; every EC number up to the largest of a fragment occurs."""
    m = draw(st.integers(*fragments))
    n = draw(st.integers(*records))
    columns = [draw(st.lists(st.integers(0, ecs - 1), min_size=n, max_size=n)) for _ in range(m)]
    numbered = [[sorted(set(column)).index(ec) for ec in column] for column in columns]
    values = st.integers(0, classes - 1)
    true = draw(st.lists(values, min_size=n, max_size=n))
    change = draw(st.booleans()) if changed is None else changed
    published = [draw(st.lists(values, min_size=n, max_size=n)) if change else true for _ in range(m)]
    return [
        Record(own, value, told)
        for own, value, told in zip(
            zip(*numbered, strict=True), true, zip(*published, strict=True), strict=True
        )
    ]


# --- candidates and joins -----------------------------------------------------------------------


def fragment_table(records, fragment):
    """Return a fragment as it is published: an EC and a class value in every row."""
    rows = [(r.ecs[fragment], r.published[fragment]) for r in records]
    return pd.DataFrame(rows, columns=[f"ec_{fragment}", "class"])


def join(records, fragments):
    """Return the rows of the class join of these fragments, none left out."""
    parts = [fragment_table(records, fragment) for fragment in fragments]
    return reduce(lambda left, right: left.merge(right, on="class"), parts)


def candidates(records, fragments):
    """Return for each record the rows that its ECs have in the join (in the fragment, if it is one)."""
    names = [f"ec_{fragment}" for fragment in fragments]
    rows = Counter(join(records, fragments)[names].itertuples(index=False, name=None))
    return [rows[tuple(r.ecs[fragment] for fragment in fragments)] for r in records]


def prosecutor(records, fragments):
    """Return 1 / candidates for each record; 0 where no row is left that could be taken for it."""
    return [Fraction(1, rows) if rows else Fraction(0) for rows in candidates(records, fragments)]


def marketer(records, fragments):
    """Return the mean of 1 / candidates over records."""
    return sum(prosecutor(records, fragments)) / len(records)


def rightly_picked(records, fragments):
    """Return the expected share of records that are hit when each is taken for one of its rows at random.

    A record whose class was changed in some of the fragments has no row of its own in the join.
    """
    own = [len({r.published[fragment] for fragment in fragments}) == 1 for r in records]
    chances = prosecutor(records, fragments)
    return sum((chance for chance, has in zip(chances, own, strict=True) if has), Fraction(0)) / len(records)


def uniques(records, fragments):
    return candidates(records, fragments).count(1)


def share_between(sizes, lower, upper):
    return Fraction(sum(lower <= size <= upper for size in sizes), len(sizes))


def bins(sizes):
    """Return (lower, upper, share) of 1, 2 to 4 and so on, up to the largest; of 0 where there is one."""
    bounds = [(0, 0), (1, 1), (2, 4), (5, 9), (10, 19), (20, 49), (50, 99)]
    bounds += [(10**power, 10 ** (power + 1) - 1) for power in range(2, 18)]
    kept = [(lower, upper) for lower, upper in bounds if lower <= max(sizes)]
    kept = kept if 0 in sizes else kept[1:]
    return [(lower, upper, share_between(sizes, lower, upper)) for lower, upper in kept]


@cache
def journalist(candidates, share, digits=40):
    """Return E[1/F | f] to about 12 digits, by summing C(h-1, f-1) p^f (1-p)^(h-f) / h term by term.

    `share` is the Fraction of the population that was sampled. The sum ends where all terms left
    over, a geometric series at most, are too small to matter.
    """
    with localcontext() as context:
        context.prec = digits
        p = Decimal(share.numerator) / Decimal(share.denominator)
        h, weight, total = candidates, p**candidates, Decimal(0)
        while True:
            total += weight / h
            growth = (1 - p) * h / (h + 1 - candidates)
            weight *= growth
            h += 1
            if growth < 1 and weight / h / (1 - growth) < total * Decimal("1e-12"):
                return total


# --- membership ---------------------------------------------------------------------------------


def membership(records):
    """Return for each record |join of its ECs| / |join of all fragments|; None if nothing joins."""
    fragments = range(len(records[0].ecs))
    everything = len(join(records, fragments))
    return [Fraction(rows, everything) if everything else None for rows in candidates(records, fragments)]


# --- what is known of the class -----------------------------------------------------------------


def prior(records):
    """Return the shares of the class values in the input."""
    return {value: Fraction(n, len(records)) for value, n in Counter(r.true for r in records).items()}


def published_prior(records):
    """Return the mean over fragments of the shares of the class values that they publish."""
    fragments = range(len(records[0].ecs))
    told = Counter(r.published[fragment] for r in records for fragment in fragments)
    return {value: Fraction(n, told.total()) for value, n in told.items()}


def shares(records, fragment, ec):
    """Return the shares of the class values published in an EC."""
    counts = Counter(r.published[fragment] for r in records if r.ecs[fragment] == ec)
    return {value: Fraction(n, counts.total()) for value, n in counts.items()}


def equal_shares(published_sets):
    """Return what a set of class values tells: each of its values is as likely."""
    return {value: Fraction(1, len(published_sets)) for value in published_sets}


def posterior(parts, before):
    """Return the probabilities prod_i f_i(c) / prior(c)^(m-1), normalised; None if none is left.

    `parts` holds a dict of shares for every fragment. What never occurs in the prior is impossible.
    """
    weights = {
        value: prod((part.get(value, Fraction(0)) for part in parts), start=Fraction(1))
        / share ** (len(parts) - 1)
        for value, share in before.items()
        if share
    }
    return normalised(weights)


def posterior_by_rows(records, ecs):
    """Return the posterior by drawing a class by its share, then a row of that class in each fragment.

    Independence given the class means that all rows of a class in the full join are as likely. For
    tables without changed class values.
    """
    fragments = range(len(ecs))
    names = [f"ec_{fragment}" for fragment in fragments]
    rows = join(records, fragments)
    hit = rows[(rows[names] == list(ecs)).all(axis=1)]
    weights = {}
    for value, share in prior(records).items():
        of_value = int((rows["class"] == value).sum())
        weights[value] = share * Fraction(int((hit["class"] == value).sum()), of_value)
    return normalised(weights)


def normalised(weights):
    total = sum(weights.values())
    kept = {value: weight / total for value, weight in weights.items() if weight} if total else None
    return kept or None


def posteriors(records, fragments, sets=None, before=None):
    """Return each record's posterior; `sets[fragment][ec]` holds class values where only these are told."""
    before = prior(records) if before is None else before
    return [
        posterior(
            [
                shares(records, fragment, r.ecs[fragment])
                if sets is None
                else equal_shares(sets[fragment][r.ecs[fragment]])
                for fragment in fragments
            ],
            before,
        )
        for r in records
    ]


def guess(probabilities, before):
    """Return the most likely class value; of equals the more frequent in the prior, then the first."""
    return min(probabilities, key=lambda value: (-probabilities[value], -before[value], value))


def share_right(records, found, before):
    return Fraction(
        sum(guess(each, before) == r.true for r, each in zip(records, found, strict=True)), len(records)
    )


def share_above(found, bound):
    return Fraction(sum(max(each.values()) > bound for each in found), len(found))


def share_certain(found):
    return Fraction(sum(len(each) == 1 for each in found), len(found))
