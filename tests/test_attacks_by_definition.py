"""The attacks held against what they are by definition, on tiny releases read from the other format."""

import json
from dataclasses import replace
from datetime import date
from itertools import combinations
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import attack_oracles as oracle
import linkage_oracles
import numpy as np
import pytest
import rate_oracles
import tiny_releases
from hypothesis import given, settings
from hypothesis import strategies as st
from published_folder import ClassOf, Fragment, Range, build

from validations.attacks.class_join import beliefs, isolated, isolating, join_classes, joined_candidates
from validations.attacks.covering import seen
from validations.attacks.files import read_files
from validations.attacks.inference import infer_values
from validations.attacks.linkage import link_fragments, linked, rebuilt
from validations.attacks.position import join_positions
from validations.attacks.success import attack, rate
from validations.attacks.targets import Targets
from validations.promises import read_promises

EPOCH = date(1970, 1, 1).toordinal()
TEXTS = {"categorical", "grouped", "class", "sensitive"}


class Attacked(NamedTuple):
    """A release as the attacks see it, as the oracles read it, and the targets."""

    fragments: list
    read: list[oracle.Fragment]
    targets: list[dict]
    per_class: bool

    def evidence(self, target, *, left_out):
        """Return what every fragment tells of the target's class, and the prior."""
        files = self.read
        if left_out and not self.per_class:
            files = [oracle.without_record(each, target, target["class"]) for each in files]
        found = [oracle.evidence(each, target, per_class=self.per_class) for each in files]
        return found, oracle.prior([oracle.told(each, per_class=self.per_class) for each in files])

    def posterior(self, target, *, left_out):
        return oracle.combination(*self.evidence(target, left_out=left_out))


def masked(values, kind):
    """Return values as the attacks hold them: days since 1970, fixed numbers without their point."""
    empty = "" if kind in TEXTS else 0
    dtype = object if kind in TEXTS else np.float64 if kind == "decimal" else np.int64
    held = {"date": lambda day: day - EPOCH, "fixed": lambda number: int(100 * number)}
    hold = held.get(kind.partition("_")[0], lambda value: value)
    missing = [value is None for value in values]
    present = [empty if value is None else hold(value) for value in values]
    return np.ma.array(np.array(present, dtype), mask=missing)


def groups_of(kinds):
    """Return what the groups are called that hold each value, of every feature with a hierarchy."""
    values = tiny_releases.GROUPS["*"]
    above = {v: [name for name, held in tiny_releases.GROUPS.items() if v in held] for v in values}
    return {name: above for name, kind in kinds.items() if kind == "grouped"}


def attacked(tiny, *, per_class, targets=None):
    targets = tiny.records if targets is None else targets
    kinds = tiny.kinds | {"class": "class", "s": "sensitive"}
    known = {name: masked([row[name] for row in targets], kind) for name, kind in kinds.items()}
    aimed_at = Targets(known, len(targets), groups_of(tiny.kinds))
    release = build(tiny.fragments, k=2, delta=0.5 if per_class else None)
    with TemporaryDirectory() as name:
        folder = release.write(Path(name))
        files = read_files(folder, promised(folder, release.manifest), aimed_at)
        read = oracle.read(folder, tiny_releases.GROUPS)
        return Attacked([seen(each) for each in files], read, targets, per_class)


def promised(folder, manifest):
    """Return the promises with sensitive attributes, whatever else a release with these has to promise."""
    named = [entry["sensitive"] for entry in manifest["fragments"]]
    entries = [entry | {"sensitive": []} for entry in manifest["fragments"]]
    stated = manifest | {"sensitive": [], "fragments": entries}
    (folder / "release.json").write_text(json.dumps(stated), encoding="utf-8")
    promises = read_promises(folder)
    fragments = zip(promises.fragments, named, strict=True)
    return replace(promises, fragments=tuple(replace(each, sensitive=tuple(own)) for each, own in fragments))


def chance():
    return np.random.default_rng(0)


@settings(max_examples=30, deadline=None)
@given(tiny_releases.releases(records=(2, 7)), st.booleans(), st.integers(1, 6), st.integers(1, 3))
def test_attacks_on_a_tiny_release_find_what_the_definitions_say(tiny, per_class, k, neighbours):
    release = attacked(tiny, per_class=per_class)
    same_candidates(release)
    same_beliefs(release)
    same_certain_classes(release)
    same_guesses(release)
    if len(release.read) > 1:
        same_isolated(release, k)
        same_positions(release)
        same_links(release, neighbours)


def same_candidates(release):
    rows = [[len(oracle.covering_lines(read, target)) for target in release.targets] for read in release.read]
    assert [fragment.rows.tolist() for fragment in release.fragments] == rows
    if len(release.read) > 1:
        rows.append([joined(release, target) for target in release.targets])
    found = joined_candidates(release.fragments)
    assert [each.fragment for each in found] == [*range(1, len(release.read) + 1), None][: len(rows)]
    for each, own in zip(found, rows, strict=True):
        assert each[1:] == pytest.approx(tuple(np.quantile(np.array(own, float), [0, 0.25, 0.5, 0.75, 1])))


def joined(release, target):
    if not release.per_class:
        return oracle.joined_rows(release.read, target)
    found, _ = release.evidence(target, left_out=False)
    return sum(prod(each.get(value, 0) for each in found) for value in found[0])


def same_beliefs(release):
    domain = release.fragments[0].fragment.of_class.domain
    for left_out, belief in zip((False, True), beliefs(release.fragments), strict=True):
        priors = np.broadcast_to(belief.prior, belief.scores.shape)
        for target, scores, prior in zip(release.targets, belief.scores, priors, strict=True):
            expected = release.posterior(target, left_out=left_out) or {}
            _, before = release.evidence(target, left_out=left_out)
            assert prior == pytest.approx([float(before.get(value, 0)) for value in domain])
            found = np.exp(scores - max(scores.max(), -1e300))
            found = found / max(found.sum(), 1)
            assert found == pytest.approx([float(expected.get(value, 0)) for value in domain])


def same_certain_classes(release):
    found = next(each for each in join_classes(release.fragments, 1) if "certain" in each.subject)
    for left_out, measured in ((False, found.success), (True, found.baseline)):
        expected = [
            list(release.posterior(target, left_out=left_out) or {}) == [target["class"]]
            for target in release.targets
        ]
        assert (measured.successes, measured.attempts) == (sum(expected), len(expected))


def same_guesses(release):
    found = {each.subject: each for each in infer_values(release.fragments)}
    holders = [target for target in release.targets if target["s"] is not None]
    assert found.keys() == ({"class", "s"} if holders else {"class"})
    guessed = {"class": (class_guesses, release.targets), "s": (secret_guesses, holders)}
    for subject, each in found.items():
        guesses, targets = guessed[subject]
        for left_out, measured in ((False, each.success), (True, each.baseline)):
            # A value that only one record of a file has leaves nothing to guess from.
            if len(targets) > 1 or not left_out:
                sets = [guesses(release, target, left_out=left_out) for target in targets]
                own = [target[subject] for target in targets]
                sure = sum(value in some and len(some) == 1 for value, some in zip(own, sets, strict=True))
                possible = sum(value in some for value, some in zip(own, sets, strict=True))
                assert measured.attempts == len(targets)
                assert sure <= measured.successes <= possible


def class_guesses(release, target, *, left_out):
    evidence, before = release.evidence(target, left_out=left_out)
    return oracle.guesses(oracle.combination(evidence, before), before)


def secret_guesses(release, target, *, left_out):
    file = release.read[0]
    if left_out:
        file = oracle.without_record(file, target, target["s"], lambda row: row.sensitive[0])
    found = oracle.sensitive_counts(oracle.covering_rows(file, target), 0)
    return oracle.guesses(found or None, oracle.sensitive_counts(file.rows, 0))


def same_isolated(release, k):
    found = isolated(release.fragments, k).tolist()
    how = {"per_class": release.per_class}
    choices = [oracle.smallest_join(release.read, target, **how) for target in release.targets]
    # All rows that cover a target are joined: fewer than k only where some choice of one EC each is.
    assert not any(did and choice >= k for did, choice in zip(found, choices, strict=True))
    if not release.per_class:
        joins = [oracle.smallest_joined(release.read, target) for target in release.targets]
        assert found == [join is not None and join < k for join in joins]


def same_positions(release):
    chances = [oracle.position_success(release.read, target) for target in release.targets]
    found = join_positions(release.fragments, chance()).success
    assert found.attempts == len(chances)
    assert sum(each == 1 for each in chances) <= found.successes <= sum(each > 0 for each in chances)


def same_links(release, neighbours):
    read, fragments = release.read[:2], release.fragments[:2]
    if linkage_oracles.rebuilt(*read):
        chances = [linkage_oracles.linkage_success(*read, target, neighbours) for target in release.targets]
        found = linked(rebuilt(*fragments), neighbours, chance())
        assert all(0 < each < 1 or each == did for each, did in zip(chances, found, strict=True))


@settings(deadline=None)
@given(
    st.integers(2, 5).flatmap(
        lambda m: st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=m, max_size=m)
    ),
    st.integers(1, 9),
)
def test_a_choice_isolates_if_some_of_its_ecs_join_to_fewer_than_k_rows(counts, k):
    joins = [
        sum(map(prod, zip(*several, strict=True)))
        for size in range(2, len(counts) + 1)
        for several in combinations(counts, size)
    ]
    found = isolating([np.array([own], float) for own in counts], k)
    assert found.tolist() == [any(0 < join < k for join in joins)]


def same_share(measured, expected):
    """Compare within five standard deviations."""
    assert abs(measured.value - expected) <= 5 * (0.25 / measured.attempts) ** 0.5


@pytest.mark.parametrize("target", [{"x0": 1, "x1": 0}, {"x0": 1, "x1": 5}, {"x0": 9, "x1": 3}])
def test_what_is_left_to_chance_succeeds_as_often_as_expected(target):
    """ECs of the two files share some lines, and some pairs of the rebuilt table."""
    cells = [[Range(0, 4), Range(5, 9)], [Range(0, 2), Range(3, 4), Range(5, 9)]]
    counts = [[{"a": 2, "b": 3}, {"a": 3, "b": 1}], [{"a": 2, "b": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 2}]]
    fragments = [
        Fragment({f"x{i}": "integer"}, [ClassOf((cell,), own) for cell, own in zip(*both, strict=True)])
        for i, both in enumerate(zip(cells, counts, strict=True))
    ]
    record = target | {"class": "a", "s": "u"}
    tiny = tiny_releases.Tiny([record] * 4000, fragments, {"x0": "integer", "x1": "integer"})
    release = attacked(tiny, per_class=False)
    position = join_positions(release.fragments, chance())
    same_share(position.success, oracle.position_success(release.read, record))
    same_share(position.baseline, oracle.position_by_chance(release.read, record))
    nearest_one, nearest_two = link_fragments(release.fragments, 2, chance())
    for neighbours, found in ((1, nearest_one), (2, nearest_two)):
        same_share(found.success, linkage_oracles.linkage_success(*release.read, record, neighbours))
        same_share(
            found.baseline,
            linkage_oracles.linkage_by_chance(len(linkage_oracles.rebuilt(*release.read)), neighbours),
        )


@settings(deadline=None)
@given(st.integers(1, 2000), st.floats(0, 1))
def test_a_rate_has_wilsons_interval(attempts, share):
    successes = round(share * attempts)
    found = rate(np.arange(attempts) < successes)
    assert (found.successes, found.attempts) == (successes, attempts)
    assert found.value == pytest.approx(successes / attempts)
    assert (found.low, found.high) == pytest.approx(rate_oracles.wilson(successes, attempts), abs=1e-7)


@settings(deadline=None)
@given(st.integers(1, 2000), st.floats(0, 1), st.floats(0, 1))
def test_the_excess_is_anonymeters_residual_risk(attempts, of_success, of_baseline):
    ways = [np.arange(attempts) < round(share * attempts) for share in (of_success, of_baseline)]
    found, rates = attack("position", "", *ways), [rate(each) for each in ways]
    middles = [(each.low + each.high) / 2 for each in rates]
    error = rate_oracles.residual_error(*middles, *((each.high - each.low) / 2 for each in rates))
    low, high = rate_oracles.residual(*middles) - error, rate_oracles.residual(*middles) + error
    expected = 0 if rates[1].value == 1 else rate_oracles.residual(*(each.value for each in rates))
    assert found.excess == pytest.approx(min(max(expected, 0), 1))
    if rates[1].value < 1:
        assert (found.excess_low, found.excess_high) == pytest.approx(
            (min(max(low, 0), 1), min(max(high, 0), 1)), abs=1e-4
        )
