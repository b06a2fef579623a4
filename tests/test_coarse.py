"""Stated figures are rounded to what k records can change, so that none tells of a few records."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_release import publish_plainly
from test_release import settings as settings_of

from tasks.domain import Domain
from tasks.partitions.regions import CategoricalRegions
from tasks.reports.coarse import all_coarse, coarse, step_of
from tasks.utility.binned import binned
from tasks.utility.kept import kept_of_feature

STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
CATEGORIES = 4


@pytest.mark.parametrize(
    "records, k, step",
    [
        (45, 5, 0.2),
        (50, 5, 0.1),
        (49, 5, 0.2),
        (10**7, 10, 0.001),
        (5000, 5, 0.001),
        (4999, 5, 0.002),
        (10, 5, 0.5),
        (9, 5, 1.0),
        (5, 5, 1.0),
        (6, 1, 0.2),
    ],
)
def test_steps_by_hand(records, k, step):
    assert step_of(records, k) == step


@given(k=st.integers(1, 500), more=st.integers(0, 10**6))
def test_the_step_is_the_smallest_that_k_records_cannot_exceed(k, more):
    records = k + more
    enough = [step for step in STEPS if step >= k / records]
    assert step_of(records, k) == min(enough, default=1.0)


@pytest.mark.parametrize(
    "value, step, stated",
    [
        (0.044, 0.2, 0.0),
        (0.034, 0.2, 0.0),
        (-0.09, 0.2, 0.0),
        (0.31, 0.2, 0.4),
        (0.3, 0.1, 0.3),
        (-0.149, 0.1, -0.1),
        (1.0, 0.002, 1.0),
        (0.9999, 0.05, 1.0),
        (2.3026, 0.005, 2.305),
        (0.4, 1.0, 0.0),
    ],
)
def test_figures_by_hand(value, step, stated):
    for result in (coarse(value, step), all_coarse(np.array([value]), step)[0]):
        assert result == stated
        assert not np.signbit(result) or stated < 0


@given(value=st.floats(-20, 20), step=st.sampled_from([*STEPS, 1.0]))
def test_figures_are_multiples_that_print_short(value, step):
    stated = coarse(value, step)
    assert abs(stated - value) <= step / 2 + 1e-9
    assert stated == round(stated, 3)
    assert round(stated * 1000) % round(step * 1000) == 0
    assert all_coarse(np.array([value]), step)[0] == stated


@given(data=st.data(), k=st.integers(2, 9))
@settings(deadline=None)
def test_fewer_than_half_of_k_records_change_a_stated_distance_by_a_step_at_most(data, k):
    """Two tables whose files are the same: every record is in one equivalence class of all categories."""
    records = data.draw(st.integers(max(k, CATEGORIES + 1), 12 * k))
    value = st.integers(0, CATEGORIES - 1)
    rest = records - CATEGORIES
    here = [*range(CATEGORIES), *data.draw(st.lists(value, min_size=rest, max_size=rest))]
    there = list(here)
    for row in data.draw(st.sets(st.integers(CATEGORIES, records - 1), max_size=(k - 1) // 2)):
        there[row] = data.draw(value)
    step = step_of(records, k)
    one, other = (coarse(distance(column), step) for column in (here, there))
    assert abs(one - other) <= step + 1e-9


def distance(column):
    domain = Domain("x", "categorical", np.array([*"abcd"], dtype=object), missing=False)
    region = CategoricalRegions(domain, (tuple(range(CATEGORIES)),), np.zeros(1, dtype=np.intp))
    values = binned(np.array(column, dtype=np.int32), domain, 2)
    return kept_of_feature(region, values, np.array([[float(len(column))]])).distance


def numbers(part):
    if isinstance(part, dict):
        return [number for value in part.values() for number in numbers(value)]
    if isinstance(part, list):
        return [number for value in part for number in numbers(value)]
    return [part]


@pytest.mark.parametrize("fragments", [1, 3])
def test_a_release_states_nothing_finer_of_its_input(tmp_path, small_table, fragments):
    asked = settings_of(tmp_path, small_table)
    asked["fragmentation"]["fragments"] = fragments
    folder = publish_plainly(asked)
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in ("release.json", "report.html")}
    for word in ("mean_shift", "spread_ratio", "Mean off by", "Deviation"):
        assert all(word not in text for text in texts.values())
    manifest = json.loads(texts["release.json"])
    step, loss = step_of(len(small_table), 10), manifest["measures"]["information_loss"]
    utility = dict(manifest["measures"]["utility"])
    assert utility.pop("rounded_to") == step
    pairs = [(pair["before"], pair["after"]) for pair in utility.pop("pairs")]
    of_one_table = numbers([loss["unfragmented"], loss["unfragmented_features"]])
    if fragments == 1:  # it is what the files hold
        assert of_one_table == numbers([loss["fragmented"], loss["features"]])
        of_one_table = []
    for figure in (*numbers(utility), *np.ravel(pairs), *of_one_table):
        assert figure == coarse(figure, step)
