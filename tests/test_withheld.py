"""What a release does not tell where so little is hidden that its figures could be solved for it."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from made_up_attacks import made_up_rate
from made_up_release import changed, made_up, per_class
from made_up_risks import bins, spread
from report_pages import Page, measured
from test_release import publish_plainly
from test_release import settings as settings_of

from tasks.measure_risks import risks
from tasks.report import _with_measurements, render_report
from tasks.reports.coarse import FEWEST, withholds
from tasks.reports.report_risks import stated_risks
from tasks.risks.figures import Membership

NAMES = [f"x{i}" for i in range(6)]


@pytest.mark.parametrize(
    "ecs, class_values, withheld",
    [
        ((20, 20), "per_record", False),
        ((19, 20), "per_record", True),
        ((500, 20, 19), "per_record", True),
        ((20, 20), "per_class", False),
        ((19, 500), "per_class", True),
        ((20,), "per_class", False),
        ((19,), "per_class", True),
        ((1,), "per_class", True),
        ((19,), "per_record", False),
        ((1,), "per_record", False),
    ],
)
def test_what_is_withheld_by_hand(ecs, class_values, withheld):
    fragments = [{"equivalence_classes": number} for number in ecs]
    assert withholds({"fragments": fragments, "class_values": class_values}) is withheld


# --- figures that are told nowhere ---------------------------------------------------------------


@pytest.fixture
def no_other_pictures(monkeypatch):
    for name in (
        *("information_loss_picture", "mutual_information_picture", "class_size_picture"),
        *("information_kept_picture", "distance_picture"),
    ):
        monkeypatch.setattr(f"tasks.reports.page.{name}", lambda *_: "")


RELEASES = {
    "two": made_up(NAMES),
    "three": made_up(NAMES, 3),
    "classes": per_class(made_up(NAMES)),
    "one of classes": per_class(made_up(NAMES, 1)),
}


def of_size(name, ecs):
    """Return a release, of which one fragment has so many equivalence classes."""
    facts = measured(RELEASES[name], 60_000)
    *others, last = facts.manifest["fragments"]
    return changed(facts, fragments=[*others, last | {"equivalence_classes": ecs}])


def other_joins(facts):
    parts = [
        part._replace(
            prosecutor=spread(0.9), journalist=spread(0.8), marketer=0.7, unique=6, candidates=bins(1.0)
        )
        if len(part.fragments) > 1
        else part
        for part in facts.risks.reidentification
    ]
    return replace(facts, risks=facts.risks._replace(reidentification=tuple(parts)))


def other_membership(facts):
    several = facts.risks.membership is not None
    membership = Membership(4711, spread(0.3)) if several else None
    return replace(facts, risks=facts.risks._replace(membership=membership))


def other_classes(facts):
    revealed = tuple(
        known._replace(largest=spread(0.8), above_half=0.7, above_nine_tenths=0.6, certain=0.5, right=0.55)
        for known in facts.risks.revealed
    )
    return replace(facts, risks=facts.risks._replace(revealed=revealed))


def with_attacks(facts, change):
    attacks = tuple(change(each) for each in facts.attacks.attacks)
    return replace(facts, attacks=facts.attacks._replace(attacks=attacks))


def other_successes(facts):
    return with_attacks(facts, lambda each: each._replace(success=made_up_rate(0.66), only_with=660))


def other_baselines(facts):
    return with_attacks(facts, lambda each: each._replace(baseline=made_up_rate(0.55), only_without=550))


def other_gains(facts):
    return with_attacks(facts, lambda each: each._replace(gained=not each.gained, excess=0.44))


def other_numbers(facts):
    return with_attacks(facts, lambda each: each._replace(success=each.success._replace(attempts=4711)))


def other_candidates(facts):
    candidates = tuple(rows._replace(quarter=47.0, median=471.0) for rows in facts.attacks.candidates)
    return replace(facts, attacks=facts.attacks._replace(candidates=candidates))


OF_FRAGMENTS = (other_joins, other_membership)
HIDDEN = (
    *OF_FRAGMENTS,
    *(other_classes, other_successes, other_baselines, other_gains, other_numbers, other_candidates),
)


def told(facts):
    """Return the page, and release.json."""
    return render_report(facts), json.dumps(_with_measurements(facts.manifest, facts))


@pytest.mark.usefixtures("no_other_pictures")
@pytest.mark.parametrize("name", RELEASES)
def test_withheld_figures_are_neither_on_the_page_nor_in_the_manifest(name):
    facts = otherwise = of_size(name, FEWEST - 1)
    for change in HIDDEN:
        otherwise = change(otherwise)
    page, manifest = told(facts)
    assert told(otherwise) == (page, manifest)
    stated = json.loads(manifest)
    assert stated["risks"].keys() == {"withheld", "population", "reidentification"}
    assert [part["fragments"] for part in stated["risks"]["reidentification"]] == [
        [number] for number in range(1, len(facts.manifest["fragments"]) + 1)
    ]
    assert "attacks" not in stated
    text = Page(page).text
    hidden = "how often each class value occurs" if "classes" in name else "hold the same people"
    assert text.count("has fewer than 20") == 2
    assert text.count(hidden) >= 2
    assert "This release is too small to tell here what came of them." in text
    assert "Being in the table at all" not in text


@pytest.mark.usefixtures("no_other_pictures")
@pytest.mark.parametrize("name", ["two", "one of classes"])
def test_every_such_figure_is_told_where_there_are_enough_classes(name):
    facts = of_size(name, FEWEST)
    page, manifest = told(facts)
    for change in HIDDEN:
        if name == "two" or change not in OF_FRAGMENTS:
            other_page, other_manifest = told(change(facts))
            assert other_page != page
            assert (other_manifest != manifest) == (change is not other_candidates)
    assert "has fewer than 20" not in page


@pytest.mark.usefixtures("no_other_pictures")
def test_that_attacks_failed_or_were_not_tried_is_told_all_the_same():
    facts = of_size("two", FEWEST - 1)
    assert "this release was asked for none" in render_report(replace(facts, attacks=None))
    failed = facts.attacks._replace(attacks=(), candidates=(), failure="MemoryError")
    page, manifest = told(replace(facts, attacks=failed))
    assert "the attacks failed (MemoryError)" in page
    assert "MemoryError" not in manifest


# --- what is told does not depend on what is hidden ----------------------------------------------

ONE = np.array([[15, 7], [3, 20]])
OTHER = np.array([[13, 9], [5, 18]])  # the same 45 records: 18 of the one class, 27 of the other


def linked(held):
    """Return the members of both fragments and the classes of records, given how many are in each pair."""
    rows = np.repeat(np.argwhere(held >= 0), held.ravel(), axis=0).astype(np.int32)
    return [rows[:, 0], rows[:, 1]], rows[:, 2]


def every_linkage():
    """Yield how many records are in each pair of ECs, by class value: all ways that the counts allow."""
    for both in product(*(range(min(ONE[0, c], OTHER[0, c]) + 1) for c in range(2))):
        held = np.empty((2, 2, 2), dtype=np.int64)
        held[0, 0] = both
        held[0, 1], held[1, 0] = ONE[0] - held[0, 0], OTHER[0] - held[0, 0]
        held[1, 1] = ONE[1] - held[1, 0]
        if (held >= 0).all():
            yield held


def test_what_is_told_of_few_classes_fits_every_linkage_of_them():
    hidden = list(every_linkage())
    assert len(hidden) == 4 * 8
    statements = {True: set(), False: set()}
    for held in hidden:
        members, classes = linked(held)
        assert (held.sum(axis=1) == ONE).all()
        assert (held.sum(axis=0) == OTHER).all()
        found = risks([ONE, OTHER], members, classes, population=600)
        for withheld, seen in statements.items():
            seen.add(json.dumps(stated_risks(found, withheld=withheld)))
    assert len(statements[True]) == 1
    assert len(statements[False]) > 20  # were all told, most of what is hidden would follow


def test_what_is_told_of_few_classes_fits_all_class_counts_where_values_are_told_once():
    statements = {True: set(), False: set()}
    members = [np.repeat(np.arange(2, dtype=np.int32), [23, 22])]
    for one, other in product(range(1, 23, 3), range(1, 22, 3)):
        counts = np.array([[one, 23 - one], [other, 22 - other]])
        classes = np.repeat(np.array([0, 1, 0, 1], dtype=np.int32), counts.ravel())
        found = risks([counts], members, classes, per_class=True)
        for withheld, seen in statements.items():
            seen.add(json.dumps(stated_risks(found, withheld=withheld)))
    assert len(statements[True]) == 1
    assert len(statements[False]) > 10


def table(*, shuffled):
    """Return 45 records; if shuffled, the pay of each is that of another of the same class."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 45)
    records = pd.DataFrame(
        {
            "patient": [f"P{row}" for row in range(45)],
            "age": age,
            "pay": 3 * age + rng.integers(0, 30, 45),
            "group": rng.choice(["sick", "well"], 45, p=[0.4, 0.6]),
        }
    )
    if shuffled:
        by_class = records.groupby("group")["pay"]
        records["pay"] = by_class.transform(lambda pay: pay.sample(frac=1, random_state=3).to_numpy())
    return records


def test_a_small_release_tells_the_same_of_records_that_go_together_otherwise(tmp_path):
    releases = []
    for name, shuffled in (("together", False), ("shuffled", True)):
        asked = settings_of(tmp_path / name, table(shuffled=shuffled), k=20)
        asked |= {"fragmentation": {"fragments": 2}, "evaluation": {"attacks": 20}}
        releases.append(publish_plainly(asked))
    assert not table(shuffled=False).equals(table(shuffled=True))
    for file in ("fragment_1.csv", "fragment_2.csv"):
        assert len({(folder / file).read_bytes() for folder in releases}) == 1
    first, second = (json.loads((folder / "release.json").read_text("utf-8")) for folder in releases)
    assert [fragment["equivalence_classes"] for fragment in first["fragments"]] == [2, 2]
    assert first["risks"] == second["risks"]
    assert first["risks"]["withheld"]
    assert not {"attacks"} & (first.keys() | second.keys())
    pages = [(folder / "report.html").read_text("utf-8") for folder in releases]
    for start, end in (("<dt>Found", "<dt>Cost"), ('<section aria-labelledby="risks"', 'id="limits"')):
        one, other = (page.partition(start)[2].partition(end)[0] for page in pages)
        assert one == other != ""
    assert "The written files were attacked before they were published." in pages[0]
