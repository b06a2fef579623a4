"""The gate on the guarantee "records": a join rests on at least k records of every class that is joined."""

import itertools
import json
import tempfile
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest
from gate_oracles import joined_records, without_partner
from hypothesis import given, settings
from hypothesis import strategies as st
from protected_release import DISTINCT, achieved, broken, check, everything, one_class
from published_folder import Fragment, build, write_store

from tasks.errors import InputError
from tasks.reports.manifest import complete_manifest
from validations import class_joins, gather_joins, record_counts, record_shares, support_joins
from validations.class_counts import ClassCounts, TooCostlyError, write_distinct
from validations.gather import gather_evidence
from validations.partners import records_without_partner, rests_on_records
from validations.promises import read_promises
from validations.record_shares import record_share, smallest_record_share
from validations.selectivity import PublishedClass

K = 5


def fragments_of(*family):
    return [
        Fragment(
            {f"x{number}": "integer"}, [one_class(place, counts) for place, counts in enumerate(classes)]
        )
        for number, classes in enumerate(family)
    ]


def records(*family, **asked):
    """Return a release that claims to keep the guarantee, and does not state what would contradict that."""
    release = build(fragments_of(*family), k=K, guarantee="records", **asked)
    joins = release.manifest["joins"]
    if (joins["smallest_records"] or K) < K:
        joins["smallest_records"] = None
    return release


ON_ONE = [{"a": 1, "b": 4}], [{"a": 5}]
"""Joins to five rows, on one record of the first class."""


def test_k_rows_may_rest_on_one_record(tmp_path):
    verdict = check(records(*ON_ONE), tmp_path / "records")
    assert broken(verdict) == {"join_records"}
    assert achieved(verdict, "join_records") == ("1 record of one equivalence class in a join, of 1 choices")
    lie = records(*ON_ONE)
    lie.manifest["joins"]["smallest_records"] = K
    assert broken(check(lie, tmp_path / "lie")) == {"join_records", "manifest"}
    verdict = check(build(fragments_of(*ON_ONE), k=K), tmp_path / "join")
    assert verdict.success
    assert "join_records" not in {outcome.name for outcome in verdict.promises}


@pytest.mark.parametrize(("fewest", "kept"), [(K - 1, False), (K, True)])
def test_k_is_the_fewest_records_that_are_allowed(fewest, kept, tmp_path):
    release = records([{"a": fewest, "b": 5}], [{"a": fewest, "c": 5}])
    verdict = check(release, tmp_path)
    assert broken(verdict) == (set() if kept else {"join_records"})
    assert verdict.figures.smallest_records == fewest


def test_every_set_of_fragments_counts(tmp_path):
    family = [{"a": 2, "b": 5, "c": 5}], [{"a": 2, "b": 5, "d": 5}], [{"a": 2, "c": 5, "d": 5}]
    assert check(records(*family[:2]), tmp_path / "pair").success
    verdict = check(records(*family), tmp_path / "all")
    assert verdict.figures.smallest_records == 2
    assert broken(verdict) == {"join_records"}


@pytest.mark.parametrize("family", [([{"a": 5}, {"b": 6}],), ([{"a": 5}], [{"b": 5}])], ids=["one", "apart"])
def test_without_joins_no_records_are_lacking(family, tmp_path):
    verdict = check(records(*family), tmp_path)
    assert verdict.success
    assert achieved(verdict, "join_records") == "no join holds any rows"


def test_the_query_shows_the_evidence(tmp_path, monkeypatch):
    family = [{"a": 2, "b": 5, "c": 5}], [{"a": 2, "b": 5, "d": 5}], [{"a": 2, "c": 5, "d": 5}]
    verdict = check(records(*family), tmp_path)
    (query,) = (outcome.query for outcome in verdict.promises if outcome.name == "join_records")
    monkeypatch.chdir(tmp_path)
    assert dict(duckdb.sql(query).fetchall()) == {"1, 2": 7, "1, 3": 7, "2, 3": 7, "1, 2, 3": 2}


def test_what_could_not_be_checked_is_not_kept(tmp_path, monkeypatch):
    release = records([{"a": 5, "b": 5}], [{"a": 10}])
    monkeypatch.setattr(record_counts, "LARGEST_SUPPORTS", -1)
    verdict = check(release, tmp_path)
    assert broken(verdict) == {"join_records", "manifest"}
    assert "too costly" in achieved(verdict, "join_records")
    release.tables[1].csv.clear()
    assert "join_records" in broken(check(release, tmp_path))


def test_enough_records_prove_joins_that_are_too_costly(tmp_path, monkeypatch):
    family = [{"a": 6, "b": 2}], [{"a": 7, "c": 1}], [{"a": 7, "d": 1}]
    release = records(*family)
    monkeypatch.setattr(class_joins, "LARGEST_PRODUCTS", -1)
    monkeypatch.setattr(support_joins, "LARGEST_COMPARISONS", -1)
    release.manifest["joins"]["smallest_join"] = None
    verdict = check(release, tmp_path)
    assert verdict.success
    assert achieved(verdict, "joins").startswith("at least 6 rows")
    family[0][0].update(a=4, b=4)
    verdict = check(records(*family), tmp_path)
    assert {"joins", "join_records"} <= broken(verdict)
    assert "too costly" in achieved(verdict, "joins")


CONTRADICTIONS = {
    "only joins achieved": (["guarantees", "guarantee", "achieved"], "join"),
    "nothing achieved": (["guarantees", "guarantee", "achieved"], None),
    "more achieved than asked": (["guarantees", "guarantee", "asked"], "join"),
    "an unknown guarantee": (["guarantees", "guarantee", "asked"], "SECRET"),
    "fewer than k records stated": (["joins", "smallest_records"], K - 1),
    "a share where records are known": (["joins", "smallest_record_share"], 0.9),
}


@pytest.mark.parametrize(("place", "value"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_manifest_that_contradicts_the_guarantee_is_refused(place, value, tmp_path):
    release = records([{"a": 7}], [{"a": 7}])
    assert check(release, tmp_path).success
    changed(release.manifest, place, value)
    (tmp_path / "release.json").write_text(json.dumps(release.manifest))
    with pytest.raises(InputError, match=r"release\.json") as refused:
        read_promises(tmp_path)
    assert "SECRET" not in str(refused.value)


def changed(manifest, place, value):
    *way, last = place
    for step in way:
        manifest = manifest[step]
    manifest[last] = value


def test_coarser_classes_change_no_class_values(tmp_path):
    release = records([{"a": 5, "b": 5}], [{"a": 6, "b": 4}])
    release.manifest["enforcement"] = "min_distortion"
    assert broken(check(release, tmp_path)) == set()
    release.manifest["enforcement"] = "coarsen"
    (tmp_path / "release.json").write_text(json.dumps(release.manifest))
    with pytest.raises(InputError, match="changed"):
        read_promises(tmp_path)


# Class values per class: records are not known, the share of versions with enough of them is.


def versions(published):
    cuts = itertools.combinations(range(1, published.records), published.values - 1)
    return [tuple(b - a for a, b in itertools.pairwise((0, *cut, published.records))) for cut in cuts]


def share_by_definition(published, common, k):
    every = versions(published)
    return Fraction(sum(sum(version[:common]) >= k for version in every), len(every))


published_classes = st.integers(1, 9).flatmap(
    lambda n: st.builds(PublishedClass, st.integers(1, min(n, 5)), st.just(n))
)


@given(published_classes, st.integers(1, 5), st.integers(1, 11))
def test_a_share_is_that_of_the_versions(published, common, k):
    common = min(common, published.values)
    assert record_share(published, common, k) == share_by_definition(published, common, k)


supports = st.dictionaries(st.integers(1, 15), st.integers(4, 7), min_size=1, max_size=4)


@settings(max_examples=100, deadline=None)
@given(st.lists(supports, min_size=1, max_size=4), st.integers(2, 7))
def test_the_smallest_share_is_that_of_the_worst_choice(family, k):
    published = [
        {support: PublishedClass(support.bit_count(), n) for support, n in each.items()} for each in family
    ]
    found = []
    for size in range(2, len(family) + 1):
        for subset in itertools.combinations(published, size):
            for chosen in itertools.product(*subset):
                common = -1
                for support in chosen:
                    common &= support
                if common:
                    found += [
                        share_by_definition(each[support], common.bit_count(), k)
                        for each, support in zip(subset, chosen, strict=True)
                    ]
    assert smallest_record_share(published, k) == min(found, default=None)


@pytest.mark.parametrize(("values", "common"), [(2, 1), (4, 1), (4, 2), (4, 3), (3, 3)])
def test_a_share_does_not_fall_when_the_class_grows_or_more_is_common(values, common):
    for n, k in itertools.product(range(values, 14), range(1, 14)):
        share = record_share(PublishedClass(values, n), common, k)
        assert share <= record_share(PublishedClass(values, n + 1), common, k)
        assert share <= record_share(PublishedClass(values, n), min(common + 1, values), k)


def test_too_many_supports_are_refused(monkeypatch):
    monkeypatch.setattr(record_shares, "LARGEST_CHOICES", 0)
    with pytest.raises(TooCostlyError):
        smallest_record_share([{1: PublishedClass(1, 5)}, {1: PublishedClass(1, 5)}], 5)


PER_CLASS = [{"a": 5, "b": 2}], [{"a": 6, "c": 1}]
"""Of the 6 versions of either, 2 have five records or more with class a."""


@pytest.mark.parametrize(("delta", "kept"), [(0.333333, True), (0.333334, False)])
def test_delta_bounds_the_share_of_versions_with_k_records(delta, kept, tmp_path):
    release = records(*PER_CLASS, delta=delta)
    verdict = check(release, tmp_path)
    assert broken(verdict) == (set() if kept else {"join_records"})
    assert verdict.figures.smallest_record_share == 0.333333
    assert achieved(verdict, "join_records") == "smallest share 0.333333, of 1 choices"


def test_a_stated_share_is_compared(tmp_path):
    release = records(*PER_CLASS, delta=0.25)
    release.manifest["joins"]["smallest_record_share"] = 0.333333
    assert check(release, tmp_path).success
    release.manifest["joins"]["smallest_record_share"] = 0.4
    assert broken(check(release, tmp_path)) == {"manifest"}
    release.manifest["joins"]["smallest_record_share"] = 0.2
    with pytest.raises(InputError, match="share"):
        check(release, tmp_path)
    release.manifest["joins"]["smallest_record_share"] = None
    release.manifest["guarantees"]["guarantee"]["achieved"] = "records"
    with pytest.raises(InputError, match="guarantee"):
        check(release, tmp_path)


def test_a_share_that_could_not_be_found_is_not_reached(tmp_path, monkeypatch):
    monkeypatch.setattr(record_shares, "LARGEST_CHOICES", 0)
    verdict = check(records(*PER_CLASS, delta=0.25), tmp_path)
    assert broken(verdict) == {"join_records"}
    assert "too costly" in achieved(verdict, "join_records")


# Segments: the files do not name them, the private store does.

APART = [{"a": 5, "b": 5, "c": 3}, {"c": 1, "d": 5, "e": 5}]


def segmented(tmp_path, segments, counts=APART):
    fragments = fragments_of(counts, counts)
    members = [place for place, each in enumerate(counts) for _ in range(sum(each.values()))]
    store = write_store(
        tmp_path / f"store_{segments}", fragments, [members] * 2, [segments[m] for m in members]
    )
    release = build(fragments, k=K, protection=DISTINCT, scope="segments", guarantee="records")
    return release, store


def test_few_records_across_segments_are_allowed_where_so_promised(tmp_path):
    release, store = segmented(tmp_path, (0, 1))
    verdict = check(release, tmp_path / "release", store)
    assert verdict.success
    assert verdict.figures.smallest_records == 1
    assert verdict.figures.within_segments.records == K
    assert "checked at release with the private store" in asked_of(verdict, "join_records")
    assert achieved(verdict, "segments") == (
        "at least 5 rows, 5 records of an equivalence class, 3 class values"
    )
    release.manifest["joins"]["scope"] = "all"
    release.manifest["joins"]["smallest_records"] = None
    assert broken(check(release, tmp_path / "all", store)) == {"joins", "join_records"}


def asked_of(verdict, name):
    return next(outcome.asked for outcome in verdict.promises if outcome.name == name)


def test_few_records_within_a_segment_are_found_beside_the_store(tmp_path):
    counts = [{"a": 5, "b": 5, "c": 1}, {"c": 6, "d": 5}]
    release, store = segmented(tmp_path, (0, 0), counts)
    verdict = check(release, tmp_path / "release", store)
    assert broken(verdict) == {"segments"}
    assert verdict.figures.within_segments[0] == 6
    assert verdict.figures.within_segments.records == 1
    assert "segments" not in broken(check(build(fragments_of(counts, counts), k=K), tmp_path / "join", store))


def test_a_record_without_a_fit_class_breaks_the_promise_by_the_files_alone(tmp_path):
    fragments = fragments_of([{"a": 8, "b": 2}, {"b": 6}], [{"a": 4, "b": 6}, {"a": 4, "c": 2}])
    release = build(fragments, k=K, protection=DISTINCT, scope="segments", guarantee="records")
    folder = release.write(tmp_path)
    promises = replace(read_promises(folder), changed=(0, 0))
    joins = gather_evidence(folder, promises).joins
    assert joins.smallest_records == 4
    assert joins.without_record_partner == 6
    assert gather_evidence(folder, replace(promises, changed=(1, 2))).joins.without_record_partner == 3
    verdict = check(release, tmp_path)
    assert "join_records" in broken(verdict)
    assert "4 records without joins that rest on 5 records in some pair" in everything(verdict)


counts_of_classes = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 6), min_size=1)
families = st.lists(st.lists(counts_of_classes, min_size=1, max_size=6), min_size=2, max_size=3)


@settings(max_examples=12, deadline=None)
@given(families, st.integers(2, 12), st.integers(0, 3))
def test_records_without_a_partner_are_those_of_the_definition(family, k, changes):
    family = [[Counter(each) for each in fragment] for fragment in family]
    with duckdb.connect() as connection:
        for number, fragment in enumerate(family, 1):
            connection.execute(
                f"CREATE TABLE class_counts_{number} (ec BIGINT, v0 BIGINT, v1 BIGINT, v2 BIGINT, v3 BIGINT)"
            )
            rows = [[ec, *(each[value] for value in "abcd")] for ec, each in enumerate(fragment)]
            connection.executemany(f"INSERT INTO class_counts_{number} VALUES (?, ?, ?, ?, ?)", rows)
            write_distinct(connection, number, f"class_counts_{number}")
        counts, every = ClassCounts(connection, len(family), 4), [changes] * len(family)
        found = records_without_partner(counts, rests_on_records, k, every)
    assert found == without_partner(family, k, every, joined_records)


segment_records = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1), st.sampled_from("abc")),
    min_size=1,
    max_size=14,
)


def fewest_by_definition(family, members, segments, k):
    """Return the fewest records, k for a segment where what all share proves it; and whether k is reached."""
    found, safe = [], True
    for segment in set(segments):
        within = [
            [own[place] for place in {m for m, at in zip(of, segments, strict=True) if at == segment}]
            for own, of in zip(family, members, strict=True)
        ]
        shared = set.intersection(*(set(counts) for own in within for counts in own))
        fewest = [n for chosen in itertools.product(*within) if (n := joined_records(chosen))]
        proven = all(sum(counts[value] for value in shared) >= k for own in within for counts in own)
        found += [k] if proven else [min(fewest)] if fewest else []
        safe &= all(n >= k for n in fewest)
    return min(found, default=None), safe


@settings(max_examples=6, deadline=None)
@given(segment_records, st.integers(2, 5))
def test_the_fewest_records_within_segments_are_those_of_the_definition(listed, k):
    segments = [segment for segment, *_ in listed]
    members, family = [], []
    for place in (1, 2):
        ecs = sorted({record[place] for record in listed})
        members.append([ecs.index(record[place]) for record in listed])
        family.append([Counter(record[3] for record in listed if record[place] == ec) for ec in ecs])
    fragments = fragments_of(*[[dict(sorted(each.items())) for each in own] for own in family])
    with tempfile.TemporaryDirectory() as name:
        release = build(fragments, k=k, protection=DISTINCT, scope="segments", guarantee="records")
        folder = release.write(Path(name) / "release")
        store = write_store(Path(name) / "store", fragments, members, segments)
        figures = gather_evidence(folder, read_promises(folder), store).figures.within_segments
    fewest, safe = fewest_by_definition(family, members, segments, k)
    assert figures.records == fewest
    assert (fewest is None or fewest >= k) == safe


def test_stated_records_within_segments_are_compared_and_reach_k(tmp_path):
    release, store = segmented(tmp_path, (0, 1))
    release.manifest["validation"]["success"] = True
    within = {"at_least": 5, "l": 3, "sensitive": [], "of_records": {"l": 3, "t": None}, "records": K}
    release.manifest["joins"]["within_segments"] = within
    assert check(release, tmp_path / "release", store).success
    within["records"] = K + 1
    assert broken(check(release, tmp_path / "release", store)) == {"manifest"}
    within["records"] = K - 1
    with pytest.raises(InputError, match="records"):
        check(release, tmp_path / "release", store)


def test_stated_records_within_segments_are_no_more_than_any_class_has(tmp_path):
    release, _ = segmented(tmp_path, (0, 1))
    release.manifest["validation"]["success"] = True
    within = {"at_least": 5, "l": 3, "sensitive": [], "of_records": {"l": 3, "t": None}}
    release.manifest["joins"]["within_segments"] = within
    within["records"] = max(sum(each.values()) for each in APART)
    assert check(release, tmp_path / "release").success
    within["records"] += 1
    assert broken(check(release, tmp_path / "release")) == {"manifest"}


def test_a_partner_test_that_is_too_costly_proves_nothing(tmp_path, monkeypatch):
    release, _ = segmented(tmp_path, (0, 1))

    def refuse(*_):
        raise TooCostlyError("SECRET bound")

    monkeypatch.setattr(gather_joins, "records_without_partner", refuse)
    assert broken(check(release, tmp_path / "release")) == {"joins", "join_records", "manifest"}


@pytest.mark.parametrize(
    ("asked", "per", "stated"),
    [("join", "per_record", "join"), ("records", "per_record", "records"), ("records", "per_class", None)],
)
def test_a_release_states_the_guarantee_that_it_achieved(asked, per, stated):
    empty = {"asked": None, "achieved": None}
    names = ("delta", "l", "l_model", "c", "t", "t_distance")
    manifest = {
        "class_values": per,
        "guarantees": {"k": empty, "guarantee": {"asked": asked, "achieved": None}}
        | dict.fromkeys(names, empty),
        "fragments": [],
        "joins": {},
        "validation": {},
    }
    figures = SimpleNamespace(
        smallest_class=(7,),
        smallest_join=None,
        smallest_records=8,
        smallest_record_share=0.5,
        choices=1,
        smallest_eta=None,
        smallest_l=None,
        largest_t=None,
        protected=[],
        within_segments=None,
        persons=None,
    )
    completed = complete_manifest(manifest, figures)
    assert completed["guarantees"]["guarantee"] == {"asked": asked, "achieved": stated}
    assert completed["joins"]["smallest_record_share"] == 0.5
