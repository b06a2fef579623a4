"""What is kept: by hand, by the definition record by record, and from the published files."""

from fractions import Fraction
from itertools import combinations
from math import log, sqrt

import duckdb
import numpy as np
import oracles
import pandas as pd
import pytest
import utility_oracles
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from test_measures import as_partition
from test_release import fragments as published_fragments
from test_trial import loaded

from tasks.arrange import arrange_lines
from tasks.check_repeats import check_repeats
from tasks.chunks import anonymize_chunks
from tasks.domain import Domain
from tasks.enforce import enforce_non_reconstructibility
from tasks.fragment import fragment_features
from tasks.measure_release import measure_baseline, measure_release
from tasks.measure_utility import measure_utility
from tasks.merge import merge_chunks
from tasks.mutual_information import discretise, measure_mutual_information
from tasks.partitions.cells import CategoryCell, parse_cell
from tasks.partitions.mondrian import partition
from tasks.partitions.regions import CategoricalRegions, NumericRegions, regions
from tasks.partitions.requirements import KAnonymity
from tasks.segment import segment_records
from tasks.utility import kept, spread
from tasks.utility.binned import binned
from tasks.utility.kept import kept_of_feature, pair_information
from tasks.write import write_fragments

quick = settings(deadline=None, max_examples=60)
BINS = st.integers(2, 6)


def counts_of(labels, classes):
    counts = np.zeros((labels.max() + 1, max(classes) + 1))
    np.add.at(counts, (labels, classes), 1)
    return counts


def kept_of_column(values, kind, ecs, classes, bins=2):
    """Return what is kept of a column whose records are in the equivalence classes `ecs`."""
    codes, domain = oracles.encode(values, kind)
    found = as_partition(codes[:, None], np.array(ecs, dtype=np.int32))
    labels, (region,) = regions(codes[:, None], [domain], found, "tight")
    return kept_of_feature(region, binned(codes, domain, bins), counts_of(labels, classes))


# --- by hand ------------------------------------------------------------------------------------


def test_a_range_of_whole_numbers_lies_evenly_on_them():
    result = kept_of_column([0, 1, 2, 3], "integer", [0, 0, 0, 1], [0, 0, 1, 1])
    # 0, 1 and 2 are a third each of three records: two below the cut at 1.5, as there were
    assert result.distance == pytest.approx(0)
    assert result.mean_shift == pytest.approx(0)
    assert result.spread_ratio == pytest.approx(1)


def test_a_range_of_decimals_lies_evenly_between_its_bounds():
    result = kept_of_column([0.0, 1.0, 2.0, 3.0], "decimal", [0, 0, 0, 1], [0, 0, 1, 1])
    # three quarters of [0, 2] are below the cut at 1.5: 2.25 records instead of 2
    assert result.distance == pytest.approx(0.25 / 4)
    # class 0: 1.5 of 2 below the cut, class 1: 0.75 of 2
    assert result.information == pytest.approx(utility_oracles.information([[1.5, 0.75], [0.5, 1.25]]))


@pytest.mark.parametrize("kind, variance", [("integer", (5**2 - 1) / 12), ("decimal", 4**2 / 12)])
def test_mean_and_deviation_are_those_of_evenly_spread_values(kind, variance):
    result = kept_of_column([0, 0, 0, 4], kind, [0] * 4, [0] * 4)
    assert result.mean_shift == pytest.approx((2 - 1) / sqrt(3))
    assert result.spread_ratio == pytest.approx(sqrt(variance / 3))


def test_categories_of_a_set_are_equally_likely():
    result = kept_of_column(["a", "a", "b", "c"], "categorical", [0, 0, 0, 1], [0, 0, 1, 1])
    assert result.distance == pytest.approx(0.5 / 4)
    expected = utility_oracles.information([[1, 0.5], [1, 0.5], [0, 1]])
    assert result.information == pytest.approx(expected)
    assert result.mean_shift is result.spread_ratio is None


def test_half_of_a_cell_that_covers_numbers_and_missing_is_missing():
    result = kept_of_column([None, 4, 8, 8], "integer", [0, 0, 0, 1], [0, 0, 0, 0], bins=3)
    # 1.5 are missing instead of 1, and of the other 1.5 half are below the cut at 6: 0.75 instead of 1
    assert result.distance == pytest.approx(0.5 / 4)
    assert result.mean_shift == pytest.approx(((1.5 * 6 + 8) / 2.5 - 20 / 3) / sqrt(32 / 9))


def test_missing_alone_has_no_mean():
    result = kept_of_column([None, None, None], "integer", [0, 0, 1], [0, 1, 1])
    assert result == (0.0, 0.0, None, None)


def test_a_constant_has_no_deviation_to_measure_by():
    assert kept_of_column([7, 7, 7], "decimal", [0, 0, 1], [0, 1, 1]) == (0.0, 0.0, None, None)


def test_pairs_by_hand():
    codes, domain = oracles.encode([0, 0, 1, 1], "integer")
    values = binned(codes, domain, 2)
    columns = np.column_stack([codes, codes])
    for ecs, expected in [([0, 0, 1, 1], log(2)), ([0, 0, 0, 0], 0.0)]:
        labels, released = regions(
            columns, [domain] * 2, as_partition(columns, np.array(ecs, dtype=np.int32)), "tight"
        )
        (pair,) = pair_information(released, [values, values], np.bincount(labels))
        assert pair[:2] == (0, 1)
        assert pair.information == pytest.approx(expected)


def one_ec(categories):
    domain = Domain(
        "x", "categorical", np.array([f"{i:03}" for i in range(categories)], dtype=object), missing=False
    )
    codes = np.arange(categories, dtype=np.int32)
    region = CategoricalRegions(domain, (tuple(range(categories)),), np.zeros(1, dtype=np.intp))
    return region, binned(codes, domain, 2)


@pytest.mark.parametrize(
    "bins, pairs",
    [([100, 41, 40], [(0, 2)]), ([100, 40, 1], [(0, 1)]), ([141, 2], []), ([2], []), ([139, 1, 1], [(0, 1)])],
)
def test_pairs_are_those_of_the_first_features_whose_bins_fit(bins, pairs):
    released, values = zip(*map(one_ec, bins), strict=True)
    assert [pair[:2] for pair in pair_information(released, values, np.array([5]))] == pairs


# --- by the definition --------------------------------------------------------------------------


def are_apart(domain):
    """Tell whether neighbouring values differ by more than the rounding of fractions of their range."""
    return not domain.numeric or (np.diff(domain.positions[int(domain.missing) :]) > 1e-9).all()


def values_of(codes, domain):
    names = [None] * domain.missing + domain.values.tolist()
    return [names[code] for code in codes]


def region_of_rows(table, found, bounds):
    for label in found.labels:
        if bounds == "tight":
            yield list(map(oracles.tight_region, table.codes[found.labels == label].T, table.domains))
        else:
            box = zip(found.lower[label], found.upper[label], table.domains, strict=True)
            yield [oracles.cuts_region(lower, upper, domain) for lower, upper, domain in box]


@pytest.mark.parametrize("bounds", ["tight", "cuts"])
@given(table=oracles.tables(), k=st.integers(1, 8), bins=BINS, moved=st.integers(0, 3))
@quick
def test_what_is_kept_is_what_spreading_every_record_keeps(bounds, table, k, bins, moved):
    assume(all(are_apart(domain) for domain in table.domains))
    found = partition(
        table.codes, table.domains, table.classes, KAnonymity(min(k, len(table.codes))), "strict"
    )
    labels, released = regions(table.codes, table.domains, found, bounds)
    published = np.roll(table.classes, moved)  # class values need not be those of the input
    counts = counts_of(labels, published)
    rows = list(region_of_rows(table, found, bounds))
    spreads = []
    for place, domain in enumerate(table.domains):
        values = values_of(table.codes[:, place], domain)
        into = utility_oracles.Bins(values, domain.kind, bins)
        spreads.append([into.spread(row[place].covered, missing=row[place].missing) for row in rows])
        expected = expected_of(into, values, spreads[-1], [row[place] for row in rows], published)
        result = kept_of_feature(released[place], binned(table.codes[:, place], domain, bins), counts)
        assert_kept(result, expected)
    before = [binned(column, *rest, bins) for column, *rest in zip(table.codes.T, table.domains, strict=True)]
    pairs = pair_information(released, before, counts.sum(axis=1))
    assert [pair[:2] for pair in pairs] == list(combinations(range(len(table.domains)), 2))
    for first, second, information in pairs:
        joint = sum(
            np.outer(one, other).astype(float)
            for one, other in zip(spreads[first], spreads[second], strict=True)
        )
        assert information == pytest.approx(utility_oracles.information(joint), abs=1e-9)


def expected_of(into, values, spreads, cells, published):
    """Return information, distance, shift and ratio by the definition; None where it has none."""
    joint = np.zeros((into.number, max(published) + 1))
    for shares, class_value in zip(spreads, published, strict=True):
        joint[:, class_value] += [float(share) for share in shares]
    distance = np.abs(joint.sum(axis=1) - into.records).sum() / 2 / len(values)
    numbers = [value for value in values if value is not None]
    shift = ratio = None
    if into.kind != "categorical" and len(set(numbers)) > 1:
        mean, variance = utility_oracles.moments(numbers)
        ranges = [
            (Fraction(1, 1 + cell.missing), min(cell.covered), max(cell.covered))
            for cell in cells
            if cell.covered
        ]
        new_mean, new_variance = utility_oracles.moments_of_ranges(ranges, into.kind)
        shift = float(new_mean - mean) / sqrt(variance)
        ratio = sqrt(max(new_variance / variance, 0))
    return utility_oracles.information(joint), distance, shift, ratio


def assert_kept(result, expected):
    for figure, wanted in zip(result, expected, strict=True):
        assert (figure is None) == (wanted is None)
        if wanted is not None:
            assert figure == pytest.approx(float(wanted), abs=1e-6)


@given(table=oracles.tables(), bins=BINS)
@quick
def test_exact_values_keep_all(table, bins):
    _, ecs = np.unique(table.codes, axis=0, return_inverse=True)
    found = as_partition(table.codes, ecs.ravel().astype(np.int32))
    labels, released = regions(table.codes, table.domains, found, "tight")
    for column, domain, region in zip(table.codes.T, table.domains, released, strict=True):
        result = kept_of_feature(region, binned(column, domain, bins), counts_of(labels, table.classes))
        before = discretise(column, domain.size, numeric=domain.numeric, missing=domain.missing, bins=bins)
        assert result.information == pytest.approx(
            oracles.mutual_information(before, table.classes), abs=1e-9
        )
        assert result.distance == pytest.approx(0, abs=1e-12)
        assert result.mean_shift is None or result.mean_shift == pytest.approx(0, abs=1e-6)
        assert result.spread_ratio is None or result.spread_ratio == pytest.approx(1)


@given(table=oracles.tables(), bins=BINS)
@quick
def test_one_equivalence_class_tells_nothing_of_the_class(table, bins):
    found = as_partition(table.codes, np.zeros(len(table.codes), dtype=np.int32))
    labels, released = regions(table.codes, table.domains, found, "tight")
    for column, domain, region in zip(table.codes.T, table.domains, released, strict=True):
        result = kept_of_feature(region, binned(column, domain, bins), counts_of(labels, table.classes))
        assert result.information == pytest.approx(0, abs=1e-12)
        assert 0 <= result.distance <= 1


@given(table=oracles.tables(), bins=BINS)
@quick
def test_bins_are_those_of_mutual_information(table, bins):
    for column, domain in zip(table.codes.T, table.domains, strict=True):
        expected = discretise(column, domain.size, numeric=domain.numeric, missing=domain.missing, bins=bins)
        values = binned(column, domain, bins)
        assert_array_equal(values.bin_of(column), expected)
        assert_array_equal(values.records(), np.bincount(expected))


@pytest.mark.parametrize(
    "values, kind",
    [
        ([-(2**63), -(2**63) + 1, 0, 2**63 - 2, 2**63 - 1], "integer"),
        ([2**53, 2**53 + 1, 2**53 + 2], "integer"),
        ([-1.7e308, 0.0, 5e-324, 1e-300, 1.7e308], "decimal"),
        ([1.0, np.nextafter(1.0, 2.0), 1e300], "decimal"),
    ],
)
def test_extreme_numbers_are_kept_where_they_are_exact(values, kind):
    ecs = list(range(len(values)))
    result = kept_of_column(values, kind, ecs, [i % 2 for i in ecs], bins=len(values))
    assert result.distance == 0
    assert result.mean_shift == pytest.approx(0)
    assert result.spread_ratio == pytest.approx(1)
    whole = kept_of_column(values, kind, [0] * len(values), [0] * len(values), bins=len(values))
    assert 0 <= whole.distance <= 1


def test_blocks_do_not_change_the_figures(monkeypatch):
    rng = np.random.default_rng(5)
    codes, domain = oracles.encode(rng.normal(size=300).round(2).tolist(), "decimal")
    lower, upper = np.sort(rng.integers(0, domain.size, (2, 40)), axis=0).astype(np.int32)
    region = NumericRegions(domain, lower, upper, np.ones(40, dtype=bool), np.zeros(40, dtype=bool))
    values, counts = binned(codes, domain, 10), rng.integers(1, 9, (40, 3)).astype(float)
    whole = (
        kept_of_feature(region, values, counts),
        pair_information([region] * 2, [values] * 2, counts[:, 0]),
    )
    monkeypatch.setattr(spread, "CELLS_PER_BLOCK", 35)
    parts = (
        kept_of_feature(region, values, counts),
        pair_information([region] * 2, [values] * 2, counts[:, 0]),
    )
    assert_allclose(np.array(parts[0]), np.array(whole[0]))
    assert_allclose(parts[1], whole[1])
    assert kept.blocks(5, 10)[-1].tolist() == [3, 4]


# --- from the published files -------------------------------------------------------------------


def written(folder, table, **privacy):
    """Run the steps of a release up to its files; return its store and configuration."""
    store, config = loaded(folder, table, privacy=privacy, fragmentation={"fragments": 2, "bins": 5})
    measure_mutual_information.function(store, config)
    fragment_features.function(store, config)
    batches = segment_records.function(store, config)
    chunks = [anonymize_chunks.function(store, batch, config) for batch in batches]
    merge_chunks.function(store, chunks, batches, config)
    for step in (enforce_non_reconstructibility, arrange_lines, measure_baseline, check_repeats):
        step.function(store, config)
    measure_release.function(store)
    (folder / "files").mkdir()
    write_fragments.function(store, config, folder / "files", "20261127T030000Z")
    return store, config


def in_units(cell, scale):
    """Return a cell of fixed numbers as one of whole numbers of their last digit."""
    if cell.lower is None:
        return cell
    return cell._replace(lower=int(cell.lower.scaleb(scale)), upper=int(cell.upper.scaleb(scale)))


def published_ecs(file, kinds):
    """Return the cells of each equivalence class of a file, and the weights of its class values."""
    for texts, group in file.groupby(list(file.columns[:-1]), sort=False):
        cells = {name: parse_cell(text, *kinds[name]) for name, text in zip(file, texts, strict=False)}
        cells |= {
            name: in_units(cells[name], scale)
            for name, (kind, scale) in kinds.items()
            if name in cells and kind == "fixed"
        }
        blank = (group["group"] == "").any()
        named = sorted(set(group["group"]) - {""})
        weights = (
            dict.fromkeys(named, len(group) / len(named)) if blank else dict(group["group"].value_counts())
        )
        yield cells, weights


def spread_cell(into, cell):
    if isinstance(cell, CategoryCell):
        return into.spread(cell.values, missing=cell.missing)
    return into.spread([] if cell.lower is None else [cell.lower, cell.upper], missing=cell.missing)


@pytest.mark.parametrize(
    "privacy", [{"enforcement": "min_distortion"}, {"enforcement": "delta_selectivity", "delta": 0.5}]
)
def test_the_stored_figures_are_those_of_the_published_files(tmp_path, small_table, privacy):
    store, config = written(tmp_path, small_table, **privacy)
    assert measure_utility.function(store, config) == 6
    with duckdb.connect(store, read_only=True) as connection:
        stored = {name: figures for name, *figures in connection.execute("FROM utility").fetchall()}
        of_pairs = connection.execute("SELECT pairs, before, after FROM pair_information").fetchall()
        class_shifts = connection.execute("SELECT distance FROM class_shift").fetchall()
        told = connection.execute(
            "SELECT name, kind, scale FROM columns WHERE role = 'feature' ORDER BY position"
        ).fetchall()
        source = connection.execute("SELECT * FROM source").df()
        rows = connection.execute("SELECT x, y, nats FROM mutual_information").fetchall()
    kinds = {name: (kind, scale) for name, kind, scale in told}
    assert "fixed" in {kind for kind, _ in kinds.values()}
    assert list(stored) == list(kinds)
    between = {(x, y): nats for x, y, nats in rows}
    values = {
        name: [None if pd.isna(value) else value for value in source[name].tolist()]
        for name in [*kinds, "group"]
    }
    for name, (kind, scale) in kinds.items():
        if kind == "fixed":
            values[name] = [None if value is None else round(value * 10**scale) for value in values[name]]
    bins = {
        name: utility_oracles.Bins(values[name], "integer" if kind == "fixed" else kind, 5)
        for name, (kind, _) in kinds.items()
    }
    class_values = sorted(set(values["group"]))
    wanted = np.array([values["group"].count(value) for value in class_values])
    files = published_fragments(tmp_path / "files")
    for file, (pairs, before, after), (shift,) in zip(files, of_pairs, class_shifts, strict=True):
        ecs = list(published_ecs(file, kinds))
        weights = np.array([[weights.get(value, 0) for value in class_values] for _, weights in ecs])
        assert shift == pytest.approx(np.abs(weights.sum(axis=0) - wanted).sum() / 2 / len(small_table))
        shares = {
            name: np.array([spread_cell(bins[name], cells[name]) for cells, _ in ecs], dtype=float)
            for name in file.columns[:-1]
        }
        for name, of_ecs in shares.items():
            joint = of_ecs.T @ weights
            distance = np.abs(joint.sum(axis=1) - bins[name].records).sum() / 2 / len(small_table)
            assert stored[name][0] == between[name, "group"]
            assert stored[name][1] == pytest.approx(utility_oracles.information(joint))
            assert stored[name][2] == pytest.approx(distance, abs=1e-9)
        expected = [
            utility_oracles.information(one.T @ (weights.sum(axis=1)[:, None] * other))
            for one, other in combinations(shares.values(), 2)
        ]
        assert (pairs, after) == (len(expected), pytest.approx(np.mean(expected)))
        assert before == pytest.approx(np.mean([between[pair] for pair in combinations(shares, 2)]))
