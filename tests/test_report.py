"""The report page: everything is in it, nothing comes from outside, and the words are true."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from made_up_release import OUTCOMES, changed, with_joins
from report_pages import VARIANTS, Page, rendered, words

from tasks.pictures import visible_text
from tasks.report import render_report


@pytest.fixture(scope="module", params=VARIANTS)
def variant(request):
    return VARIANTS[request.param], *rendered(request.param)


def test_every_element_is_closed(variant):
    assert variant[2].open == []


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


def test_the_three_pictures_have_labels(variant):
    pictures = [element for tag, element in variant[2].elements if tag == "svg"]
    assert [picture["role"] for picture in pictures] == ["img"] * 3
    labels = [picture["aria-label"] for picture in pictures]
    for label, subject in zip(labels, ("mutual information", "Information loss", "sizes"), strict=True):
        assert subject in label


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


def test_the_same_facts_give_the_same_bytes(variant):
    facts, text, _ = variant
    assert render_report(facts) == text


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
    assert "There is nothing to join it with." in text
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
