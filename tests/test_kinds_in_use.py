"""Fixed numbers and dates where figures are computed: what is kept of them, what can be learnt from them."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tasks.domain import Domain
from tasks.learning.cell_numbers import features_of, references
from tasks.partitions.regions import NumericRegions
from tasks.utility.binned import binned
from tasks.utility.spread import spread


@pytest.mark.parametrize(
    "kind, of_domain, steps",
    [
        ("fixed", {"scale": 2}, [0, 100, 200, 300]),
        ("date", {}, [0, 1, 2, 3]),
        ("date", {"precision": "month"}, [0, 31, 59, 90]),
        ("date", {"precision": "year"}, [0, 365, 730, 1096]),
    ],
)
def test_fixed_numbers_and_dates_lie_on_their_own_steps(kind, of_domain, steps):
    domain = Domain("x", kind, np.array(steps), missing=False, **of_domain)
    codes = np.arange(4, dtype=np.int32)
    ones = np.array([True])
    region = NumericRegions(domain, codes[:1], codes[-1:], ones, ~ones)
    shares = spread(region, binned(codes, domain, 4))
    unit = steps[1] if kind == "date" else 1
    ends = np.array([-unit / 2, *((low + high) / 2 for low, high in pairwise(steps)), steps[-1] + unit / 2])
    assert_allclose(shares[0], np.diff(ends) / np.ptp(ends), atol=0.01)


def test_fixed_numbers_and_dates_can_be_learnt_from():
    for kind, of_domain in (("fixed", {"scale": 2}), ("date", {"precision": "quarter"})):
        domain = Domain("x", kind, np.array([0, 90, 181, 10**9]), missing=True, **of_domain)
        codes = np.arange(5, dtype=np.int32)
        present = codes > 0
        region = NumericRegions(domain, codes, codes, present, ~present)
        features = features_of([region], references([region], np.ones(5)), "midpoints")
        assert_allclose(features[1:, 0], np.array([0, 90, 181, 10**9]) / 10**9)
        assert features[:, 1].tolist() == [1, 0, 0, 0, 0]
