"""What the report, the terminal and the manifest tell where several records can be of one person."""

from dataclasses import replace

import pytest
from made_up_attacks import made_up_attacks
from made_up_release import changed, made_up, protected, segmented
from made_up_risks import made_up_risks
from report_pages import Page

from flows.terminal import _in_words
from tasks.reports.coarse import step_of_release, withholds
from tasks.reports.page import render_report
from tasks.reports.report_risks import stated_risks

NAMES = [f"x{i}" for i in range(6)]
PERSONS = {"number": 612, "smallest_class": 40, "smallest_join": 45, "smallest_records": 11, "l": None}


@pytest.fixture(autouse=True)
def no_other_pictures(monkeypatch):
    for name in ("information_loss_picture", "mutual_information_picture", "class_size_picture"):
        monkeypatch.setattr(f"tasks.reports.page.{name}", lambda *_: "")


def of_persons(facts, **figures):
    fragments = len(facts.manifest["fragments"])
    told = changed(facts, persons=PERSONS | figures)
    return replace(told, risks=made_up_risks(fragments), attacks=made_up_attacks(fragments, facts.sensitive))


def words(facts):
    return Page(render_report(facts)).text


def test_the_report_says_that_persons_are_counted():
    text = words(of_persons(made_up(NAMES)))
    assert "records of 612 persons with 6 features" in text
    assert "shared by records of at least 40 persons (asked: 40)" in text
    assert "a join that has any holds at least 45 combinations of persons" in text
    assert "the one about persons with the private store of the run as well, since the files do not" in text
    assert "persons were counted when the release was made, and cannot be counted from the files" in text
    assert "Several records of one person are not linked, and each can be found." in text
    assert "Records are counted, not people." not in text
    assert "A person counts once in a group and once in every figure" in text
    assert "over all persons" in text
    assert "over all records" not in text
    assert "One record of each person drawn was aimed at" in text


def test_without_persons_the_report_says_nothing_of_them():
    facts = made_up(NAMES)
    plain = replace(facts, risks=made_up_risks(2), attacks=made_up_attacks(2, ()))
    assert words(plain) == words(changed(plain, persons=None))
    assert "Records are counted, not people." in words(plain)
    assert "over all records" in words(plain)
    assert "One record of each person" not in words(plain)


def test_values_of_persons_of_their_own_are_told():
    facts = segmented(protected(made_up(NAMES), l=(2, 3)))
    text = words(of_persons(facts, l=2))
    assert "At least 2 values of each are borne by persons of their own" in text
    assert "those about segments and persons with the private store of the run as well" in text


def test_a_single_fragment_has_persons_too():
    text = words(of_persons(made_up(NAMES, 1), smallest_join=None, smallest_records=None))
    assert "shared by records of at least 40 persons" in text
    assert "combinations of persons" not in text.partition("Cost")[0]


def test_a_release_that_broke_its_promise_says_so():
    text = words(of_persons(made_up(NAMES), smallest_class=None, smallest_join=None))
    assert "how few was not established (asked: 40 persons)" in text


def few(facts):
    entries = [entry | {"equivalence_classes": 19} for entry in facts.manifest["fragments"]]
    return changed(facts, fragments=entries)


def test_how_many_persons_a_class_has_does_not_follow_from_the_files():
    one = made_up(NAMES, 1)
    assert not withholds(few(one).manifest)
    assert withholds(few(of_persons(one)).manifest)
    risks = made_up_risks(2)
    stated = stated_risks(risks, withheld=False, of_persons=True)
    assert {"unique_persons", "prosecutor"} < set(stated["reidentification"][0])
    assert all("largest" not in part["prosecutor"] for part in stated["reidentification"])
    assert stated_risks(risks, withheld=True, of_persons=True)["reidentification"] == []
    page = Page(render_report(few(of_persons(made_up(NAMES)))))
    assert "Prosecutor, median" not in page.attributes("data-label")
    assert "or how many persons an EC has" in page.text


def test_figures_are_rounded_by_persons():
    facts = of_persons(made_up(NAMES))
    assert step_of_release(facts.manifest) == 0.1
    assert step_of_release(changed(facts, persons=PERSONS | {"number": 40_000}).manifest) == 0.001


def test_the_terminal_says_that_persons_were_counted():
    manifest = made_up(NAMES).manifest
    sentences = _in_words({**manifest, "persons": PERSONS})
    assert (
        "Persons were counted, not only their records: each combination belongs to at least 40 of the "
        "612 persons, and no join isolates fewer than 45 combinations of persons."
    ) in sentences
    assert len(sentences) == len(_in_words(manifest)) + 1
