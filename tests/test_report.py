"""The report page: everything is in it, nothing comes from outside, and the words are true."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from made_up_release import OUTCOMES, changed, with_joins
from report_pages import VARIANTS, Page, rendered, words

from tasks.reports.page import _one_in as one_in
from tasks.reports.page import _share as share_in_words
from tasks.reports.page import render_report
from tasks.reports.pictures import visible_text
from tasks.reports.report_trials import LearnerResult, Learning, NumberChoice, NumberTrial


@pytest.fixture(scope="module", params=VARIANTS)
def variant(request):
    return VARIANTS[request.param], *rendered(request.param)


def test_every_element_is_closed(variant):
    assert variant[2].open == []


def test_every_entry_of_the_contents_leads_to_a_section(variant):
    _, text, page = variant
    contents = re.findall('href="#([a-z]+)"', text.partition("<nav")[2].partition("</nav>")[0])
    headings = [element["id"] for tag, element in page.elements if tag == "h2"]
    assert contents == headings[1:]
    assert [e["aria-labelledby"] for tag, e in page.elements if tag == "section"] == headings


def test_links_lead_only_into_the_page_or_to_the_release(variant):
    facts, _, page = variant
    files = {entry[kind] for entry in facts.manifest["fragments"] for kind in ("csv", "parquet")}
    for link in page.attributes("href", "src"):
        assert link.startswith(("#", "data:image/png;base64,")) or link in files | {
            "release.json",
            "validation/",
        }
    assert {link[1:] for link in page.attributes("href") if link.startswith("#")} <= set(
        page.attributes("id")
    )
    assert files <= set(page.attributes("href"))


def test_nothing_is_fetched_or_run(variant):
    _, text, page = variant
    assert not re.search(
        r"https?:|//[a-z]|@import|javascript:|\son\w+=", re.sub(r"base64,[\w+/=\s]+", "", text)
    )
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.elements}
    assert "default-src 'none'" in text


def test_ids_are_unique(variant):
    ids = variant[2].attributes("id")
    assert len(ids) == len(set(ids))


def test_every_picture_has_a_label(variant):
    facts, _, page = variant
    pictures = [element for tag, element in page.elements if tag == "svg"]
    assert {picture["role"] for picture in pictures} == {"img"}
    labels = [picture["aria-label"] for picture in pictures]
    assert len(labels) == len(set(labels)) == (3 if facts.risks is None else 7)
    for subject in ("Information loss", "mutual information", "sizes"):
        assert sum(subject in label for label in labels) == 1


def test_headings_are_in_order(variant):
    levels = [int(tag[1]) for tag, _ in variant[2].elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_every_table_has_a_caption_and_scopes(variant):
    _, text, page = variant
    assert text.count("<table") == text.count("<caption>")
    assert all("scope" in element for tag, element in page.elements if tag == "th")


def test_every_promise_fragment_and_feature_is_in_the_page(variant):
    facts, _, page = variant
    for outcome in facts.outcomes:
        assert outcome.title in page.text
        assert outcome.achieved in page.text
        assert outcome.query is None or " ".join(outcome.query.split()) in page.text
    for entry in facts.manifest["fragments"]:
        assert entry["sha256"]["csv"] in page.text
        assert entry["sha256"]["parquet"] in page.text
    for name in (*facts.features, *facts.sensitive):
        assert " ".join(visible_text(name).split()) in page.text


@pytest.mark.parametrize("variant", ["wide", "measured_odd"])
def test_the_same_facts_give_the_same_bytes(variant):
    assert render_report(VARIANTS[variant]) == rendered(variant)[0]


@pytest.mark.parametrize("variant", ["odd", "recursive"])
def test_odd_names_are_escaped(variant):
    text = rendered(variant)[0]
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\u202e" not in text
    assert r"line\nbreak" in text


def test_a_name_that_cannot_be_seen_is_written_as_an_escape():
    assert visible_text("a\u202eb\x00\ufffe\t") == r"a\u202eb\x00\ufffe\t"
    assert visible_text("Größe 血圧 \u200d") == "Größe 血圧 \u200d"


def test_the_summary_says_what_holds():
    text = words("thirty")
    assert "All 3 promises hold" in text
    assert "made on 27 November 2026, 03:00 UTC" in text
    assert "shared by at least 41 records (asked: 40)" in text
    assert "isolates fewer than 40 rows: each holds no row at all, or at least 57." in text
    assert "23 of 3,676 class values (0.6 %) were changed" in text
    assert "no record was left out" in text
    assert "with at least 12 records; the join condition promises nothing on this number" in text


def test_a_broken_promise_cannot_be_missed():
    broken = replace(OUTCOMES[2], achieved="17", success=False)
    text = Page(render_report(replace(VARIANTS["thirty"], outcomes=(*OUTCOMES[:2], broken)))).text
    assert "1 of 3 promises does not hold" in text
    assert "must not be used" in text
    assert "✗ does not hold" in text


def test_a_join_below_k_is_never_called_safe():
    text = Page(render_report(with_joins(VARIANTS["thirty"], smallest_join=3))).text
    assert "isolates" not in text
    assert "holds 3 rows: fewer than 40" in text


def test_one_fragment_has_nothing_to_join():
    text = words("one")
    assert "All features are in one file: there is nothing to join it with." in text
    assert "Fragments add up" not in text
    assert "Contribution" not in text


def test_class_values_per_class_are_explained():
    text = words("per_class")
    assert "at least 61.2 % give a join of 40 rows or more (asked: 50 %)" in text
    assert "Blank class cells." in text
    assert "were removed to reach this" in text
    assert "changed by the strategy" not in text
    assert "isolates" not in text


def test_the_record_condition_is_named_only_when_it_was_achieved():
    manifest = VARIANTS["thirty"].manifest
    guarantees = {**manifest["guarantees"], "guarantee": {"asked": "records", "achieved": "records"}}
    facts = with_joins(VARIANTS["thirty"], smallest_records=41)
    text = Page(render_report(changed(facts, guarantees=guarantees))).text
    assert "which the record condition (at least 40) asks for" in text


def test_joins_that_could_not_be_counted_are_not_called_empty():
    broken = replace(OUTCOMES[2], achieved="too costly to check", success=False)
    facts = replace(VARIANTS["thirty"], outcomes=(*OUTCOMES[:2], broken))
    text = Page(render_report(with_joins(facts, smallest_join=None, smallest_records=None))).text
    assert "holds was not established" in text
    assert "class value in common" not in text


def test_nothing_changed_is_said_so():
    none = {"total": 0, "share": 0.0, "per_fragment": [0, 0]}
    text = Page(render_report(changed(VARIANTS["thirty"], changed_class_values=none))).text
    assert "No class value was changed" in text
    assert "Counts by class are not exact" not in text


def number_trial(fragments, score, folds=3, *, chosen=False, feasible=True):
    error = 0.0125 if folds > 1 and score is not None else None
    cost = (None, None) if score is None else (0.2125, 0.045)
    return NumberTrial(fragments, folds, score, error, *cost, 2.5 * folds, feasible, chosen)


CHOICE = NumberChoice(
    "f_measure",
    1838,
    (
        number_trial(1, 0.6111),
        number_trial(2, 0.7222, chosen=True),
        number_trial(3, 0.7333),
        number_trial(4, None, 1, feasible=False),
        number_trial(5, None, 0),
    ),
)
LEARNING = Learning(
    1287,
    551,
    0.4321,
    (
        LearnerResult("tree", (0.51, 0.62, 0.63), (0.41, 0.42, 0.43), 0.93),
        LearnerResult("neighbours", (0.71, 0.52, 0.53), (0.31, 0.32, 0.33), 0.94),
    ),
)


def told(variant="thirty", **facts):
    page = Page(render_report(replace(VARIANTS[variant], **facts)))
    assert page.open == []
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.attributes("href") if link.startswith("#")} <= set(ids)
    pictures = [element["aria-label"] for tag, element in page.elements if tag == "svg"]
    return page.text, pictures


def test_nothing_is_said_of_trials_where_there_were_none():
    assert "How many fragments" not in words("thirty")
    assert "What can be learnt" not in words("thirty")


def test_the_choice_of_the_number_is_told_with_its_curve():
    text, pictures = told(choice=CHOICE)
    assert len(pictures) == 4
    assert "F-measure of trials with each number of fragments" in pictures[1]
    assert "Each trial released two thirds of 1,838 records the way" in text
    assert "Chosen is the lowest number within one standard error of the best, which is 3." in text
    assert "There was no time for 5: with a larger time budget" in text
    for row in (
        "1 0.611 0.013 0.212 4.5 % 3 7.5 tried",
        "2 0.722 0.013 0.212 4.5 % 3 7.5 chosen",
        "4 none none none none 1 2.5 not feasible",
        "5 none none none none 0 0.0 not tried: no time",
    ):
        assert row in text


def test_a_choice_on_one_fold_is_told_as_one():
    trials = (number_trial(1, -0.5, 1), number_trial(2, -0.25, 1, chosen=True))
    text, pictures = told(choice=NumberChoice("information_loss", 900, trials))
    assert "two thirds of a sample of 900 records" in text
    assert "judged by the sum of its information loss and its share of changed class values" in text
    assert "compared on one such third, so no standard error is known, and the best was chosen" in text
    assert "no time for all three thirds" in text
    assert "1 0.500 none 0.212 4.5 % 1 2.5 tried" in text
    assert "information loss and changed values" in pictures[1]


def test_one_number_that_was_tried_is_neither_called_the_best_nor_drawn():
    trials = (number_trial(1, 0.6, 1, chosen=True), number_trial(2, None, 0), number_trial(3, None, 0))
    text, pictures = told(choice=NumberChoice("f_measure", 1838, trials))
    assert "Chosen is 1, the only number that was tried." in text
    assert "There was no time for 2, 3: with a larger time budget" in text
    assert "best was" not in text
    assert "of the best" not in text
    assert len(pictures) == 3


def test_one_number_that_kept_what_was_asked_is_not_called_the_best():
    trials = (number_trial(1, 0.6, chosen=True), number_trial(2, None, 1, feasible=False))
    text, pictures = told(choice=NumberChoice("f_measure", 1838, trials))
    assert "Chosen is 1, the only number whose trials kept what was asked." in text
    assert "Not feasible: a trial, with two thirds of the records, did not keep what was asked" in text
    assert "of the best" not in text
    assert len(pictures) == 3


def test_f_measures_on_one_fold_have_an_error():
    trials = (
        number_trial(1, 0.5, 1)._replace(error=0.0421),
        number_trial(2, 0.7, 1, chosen=True)._replace(error=0.0321),
    )
    text, _ = told(choice=NumberChoice("f_measure", 1838, trials))
    assert "one such third. Chosen is the lowest number within one standard error of the best" in text
    assert "2 0.700 0.032" in text


def test_learning_that_failed_is_told_without_figures():
    text, pictures = told(learning=Learning(0, 0, None, (), "MemoryError"))
    assert "could not be tried: learning failed (MemoryError)" in text
    assert "Who always names" not in text
    assert len(pictures) == 3


def test_kept_out_records_that_helped_to_choose_are_mentioned():
    words_of_it = "The records that were kept out also helped to choose the number of fragments"
    assert words_of_it in told(choice=CHOICE, learning=LEARNING)[0]
    assert words_of_it not in told(learning=LEARNING)[0]


def test_what_can_be_learnt_is_told_with_a_picture():
    text, pictures = told(learning=LEARNING)
    assert "trained on a trial of this release with 30 % of the records kept out (551 of 1,838)" in text
    assert "Who always names the most frequent class value reaches 0.432." in text
    assert "decision tree 0.510 / 0.620 / 0.630 0.410 / 0.420 / 0.430 0.930" in text
    assert "nearest neighbours 0.710 / 0.520 / 0.530 0.310 / 0.320 / 0.330 0.940" in text
    assert "not feasible" not in text
    assert "Weighted F-measure of 2 classifiers" in pictures[1]


def test_a_trial_that_was_not_feasible_is_told_as_such():
    results = (LearnerResult("forest", (None,) * 3, (None,) * 3, 0.9),)
    text, _ = told(learning=LEARNING._replace(results=results))
    assert "random forest not feasible 0.900" in text
    assert "without the records that are kept out, no release keeps what was asked" in text


def test_one_fragment_is_compared_with_the_table_alone():
    results = tuple(result._replace(unfragmented=(None,) * 3) for result in LEARNING.results)
    text, _ = told("one", learning=LEARNING._replace(results=results, trained=100, tested=100))
    assert "decision tree 0.510 / 0.620 / 0.630 0.930" in text
    assert "50 % of a sample of 200 records kept out" in text
    assert "learnt from the table as it is released, and from the table as it is" in text
    assert "n fragments" not in text.partition("What can be learnt")[2].partition("As it is")[0]
    assert "In one table" not in text


def test_the_summary_tells_of_risks_and_attacks():
    text = words("measured").partition("Contents")[0].partition("Promises")[0]
    assert "picks the person's own record out of a fragment with a chance of at most 1 in 41 (risks)." in text
    assert (
        "most likely class, from all fragments together, is the true one for 93 % of the records, and "
        "certain for 31 %; who knows nothing of the person is right for 63 %."
    ) in text
    assert (
        "1 of 6 attacks that use the published files only told more about the persons than the same files "
        "without them. That is “class guessed”: it succeeded for 82 % of 1,000 persons, against "
        "71 %."
    ) in text
    assert "No attacks were tried." in words("thirty").partition("Contents")[0].partition("Promises")[0]


def test_attacks_that_gained_nothing_or_failed_are_told_as_such():
    attacks = VARIANTS["measured"].attacks
    dull = tuple(attack._replace(gained=False) for attack in attacks.attacks)
    text, _ = told("measured", attacks=attacks._replace(attacks=dull))
    assert "None of 6 attacks that use the published files only told more about the persons than" in text
    text, _ = told("measured", attacks=attacks._replace(attacks=(), candidates=(), failure="MemoryError"))
    assert "Attacks on the written files could not be tried." in text
    assert "Only some attacks were tried" not in text


def test_the_limits_of_risks_and_attacks_are_told():
    text = words("measured_one").partition("What is not promised")[2]
    assert "Risks are measured, not limited." in text
    assert "The population is as the publisher of this release states it, and was not checked." in text
    assert "as if they were independent" not in text
    assert "Only some attacks were tried." in text
    text = words("measured")
    assert "as if they were independent given the class, which they are not" in text
    assert "The population is as" not in text


def test_the_settings_are_told():
    text = words("thirty").rpartition("Provenance")[2]
    assert "privacy.k 40 privacy.enforcement min_distortion fragmentation.fragments 2" in text


def test_a_long_query_is_left_to_the_screen():
    long = replace(OUTCOMES[1], query="SELECT 1\n" * 40)
    text = render_report(replace(VARIANTS["thirty"], outcomes=(long, OUTCOMES[2])))
    assert text.count('<details class="screen"><summary>Every equivalence class') == 1
    assert "the query is long; it is in validation/k.json" in text
    assert "is long" not in rendered("thirty")[0]


def test_promises_without_a_query_are_named_with_the_reason():
    assert "Promises without a query Every file is the one the manifest names. Not here." in words("thirty")
    assert "without a query" not in words_of(replace(VARIANTS["thirty"], outcomes=OUTCOMES[1:]))


def test_what_a_query_does_not_show_is_told_beside_it():
    noted = replace(OUTCOMES[2], note="Only pairs are in it.")
    text = words_of(replace(VARIANTS["thirty"], outcomes=(*OUTCOMES[:2], noted)))
    assert "evidence query Only pairs are in it. SELECT 1" in text
    long = replace(noted, query="SELECT 1\n" * 40)
    text = words_of(replace(VARIANTS["thirty"], outcomes=(*OUTCOMES[:2], long)))
    assert "as it is on a screen. Only pairs are in it." in text


def test_versions_and_eta_are_explained_where_they_are_promised():
    explained = "A version of an EC is one way in which its records could have these values"
    assert explained in words("per_class")
    assert explained not in words("thirty")


def test_queries_come_after_the_limits_and_these_after_the_attacks():
    headings = [element["id"] for tag, element in rendered("measured")[1].elements if tag == "h2"]
    order = ["promises", "risks", "attacks", "limits", "evidence", "changes"]
    assert headings[1:7] == order


@pytest.mark.parametrize(
    "share, text",
    [
        *[(0, "0 %"), (1e-9, "less than 0.1 %"), (0.001, "0.1 %"), (0.5, "50 %"), (0.9994, "99.9 %")],
        *[(0.9996, "more than 99.9 %"), (1 - 1e-12, "more than 99.9 %"), (1, "100 %")],
    ],
)
def test_a_share_is_neither_all_nor_nothing_unless_it_is(share, text):
    assert share_in_words(share) == text


@pytest.mark.parametrize(
    "chance, text",
    [
        *[(0, "0"), (1, "1 in 1"), (0.7, "1 in 1.4"), (0.5, "1 in 2"), (0.1, "1 in 10"), (1 / 99, "1 in 99")],
        *[(1 / 569, "1 in 560"), (1e-6, "1 in 1,000,000")],
    ],
)
def test_a_small_chance_is_one_in_so_many(chance, text):
    assert one_in(chance) == text


def words_of(facts):
    return Page(render_report(facts)).text
