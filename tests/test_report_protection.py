"""What the report says of l-diversity, t-closeness, sensitive attributes and segments is true."""

import re
from dataclasses import replace

import pytest
from made_up_release import made_up, protected, segmented, with_joins
from report_pages import VARIANTS, Page, words

from tasks.reports.page import render_report
from tasks.reports.pictures import visible_text


def test_the_summary_says_how_diverse_the_protected_attributes_are():
    assert (
        "In every such group (an equivalence class) the class attribute and each sensitive attribute take at "
        "least 3 different values (distinct l-diversity; asked 2, achieved 3). "
        "This is promised for each fragment by itself. Of fragments taken together, this is: whichever are "
        "joined on the class, the join of the groups that a record is in holds at least 2 different class "
        "values."
    ) in words("distinct")
    assert (
        "the class attribute is at least as diverse as 2.345678 equally frequent values "
        "(entropy l-diversity; asked 2, achieved 2.345678)"
    ) in words("entropy")
    assert (
        "the most frequent value of the class attribute and each sensitive attribute occurs less than 2.5 "
        "times as often as all but its 3 most frequent values together"
    ) in words("recursive")


def test_the_summary_says_how_close_the_protected_attributes_are():
    assert (
        "In every such group (an equivalence class) the shares of the values of the class attribute and the "
        "sensitive attribute are near those in the whole fragment: at most 21.0001 % of the records would "
        "have to take another value to match them (t-closeness, equal distance; asked 0.3, achieved 0.210001)"
    ) in words("equal")
    assert "at most 21 % of the way from the lowest to the highest on average" in words("ordered")
    assert "at most 0 % of the height of their hierarchy on average" in words("hierarchical")


@pytest.mark.parametrize("variant", ["distinct", "entropy", "recursive", "equal", "ordered", "hierarchical"])
def test_l_and_t_are_told_per_fragment_and_attribute(variant):
    facts = VARIANTS[variant]
    table = words(variant).partition("What every EC of a fragment reaches")[2]
    for number, entry in enumerate(facts.manifest["fragments"], 1):
        assert [reached["column"] for reached in entry["protected"]] == ["diagnosis", *entry["sensitive"]]
        for reached in entry["protected"]:
            name, role = reached["column"], "class" if reached["column"] == "diagnosis" else "sensitive"
            row = f"Fragment {number} {' '.join(visible_text(name).split())} ({role})"
            assert row in table
    asked = facts.manifest["guarantees"]
    assert ("l achieved" in table) == (asked["l"]["asked"] is not None)
    assert ("t achieved" in table) == (asked["t"]["asked"] is not None)
    assert "nothing bounds this" not in table


def test_nothing_is_said_of_l_and_t_when_they_were_not_asked():
    text = words("thirty")
    assert "diversity was asked for, so nothing bounds this" in text.replace(
        "l-diversity nor t-closeness", "diversity"
    )
    assert "Protected attributes" not in text
    assert "segment" not in text
    assert "sensitive" not in text


def test_joins_within_segments_are_explained():
    text = words("distinct")
    assert "joins promise holds within each: no join" in text
    assert "The smallest join of all, across segments too, holds 4 rows" in text
    assert (
        "that have records of one segment none or at least 40 at least 40 the files and the private store"
        in text
    )
    assert "of any segments not promised at least 4 the files" in text
    assert (
        "holds at least 2 different class values; if fragment 1 is joined, at least 3 different values of "
        "main illness; if fragment 2 is joined, at least 2 different values of second illness."
    ) in text
    assert "cannot be found again from the files alone" in text
    assert "all promises but the one about segments" in text
    assert "Joins across segments are not made safe." in text


def test_segments_without_a_common_class_value_promise_none():
    text = Page(render_report(segmented(VARIANTS["distinct"], values=0))).text
    assert "Every join of ECs that have records of one segment" not in text


@pytest.mark.parametrize(
    ("variant", "of_records", "told"),
    [
        ("distinct", (2, None), "l-diversity of the class at least 2 at least 2 Joins without"),
        ("distinct", (None, None), "l-diversity of the class at least 2 not computed Joins without"),
        ("recursive", (1, None), "l-diversity of the class not promised for joins at least 1 Joins"),
        ("ordered", (None, 0.910001), "t-closeness of the class not promised for joins at most 0.910001"),
    ],
)
def test_what_a_records_classes_tell_together_is_told(variant, of_records, told):
    text = Page(render_report(segmented(VARIANTS[variant], of_records=of_records))).text
    assert (
        "What the join of a record's own ECs tells of the class: the worst over all records and every" in text
    )
    assert told in text
    assert ("the first of the joined fragments" in text) == (variant == "ordered")


def test_of_many_fragments_pairs_and_all_together_are_told():
    facts = segmented(protected(made_up([f"x{i}" for i in range(10)], 5), l=(2, 2)), of_records=(2, None))
    text = Page(render_report(facts)).text
    assert "the worst over all records and over every pair of fragments, and all together" in text


def test_a_join_below_k_within_segments_is_never_called_safe():
    text = Page(render_report(segmented(VARIANTS["distinct"], at_least=3))).text
    assert "isolates" not in text
    assert "holds 4 rows: fewer than 40" in text


def test_joins_that_are_safe_over_all_choices_need_no_segments():
    text = words("hierarchical")
    assert "isolates fewer than 40 rows: each holds no row at all, or at least 57." in text


def test_safe_joins_across_segments_are_called_asked_for_where_they_were():
    text = Page(render_report(with_joins(VARIANTS["distinct"], smallest_join=57, scope="all"))).text
    assert "of any segments none or at least 40 at least 57" in text
    assert "not made safe" not in text


def test_sensitive_attributes_are_named_where_they_are():
    text = words("distinct")
    assert "8 features, 2 sensitive attributes and the class diagnosis were published" in text
    assert "the sensitive attribute second illness (in fragment 2)" in text
    assert "main illness (sensitive)" in text
    assert "placed after all features, by the same rule" in text
    assert "Sensitive values are published as they are." in text
    assert "A missing sensitive value can be seen" in text
    assert "sensitive" not in words("ordered")


def test_affinity_counts_features_only():
    facts = VARIANTS["distinct"]
    information = facts.mutual_information.copy()
    information[8:, :8] = information[:8, 8:] = 100.0
    text = Page(render_report(replace(facts, mutual_information=information))).text
    assert re.search(r"share \d\.\d+ nats on average", text).group() in words("distinct")


@pytest.mark.parametrize(
    ("variant", "limit"), [("distinct", "skewness"), ("equal", "by up to t"), ("ordered", "more than t")]
)
def test_the_limits_of_l_and_t_are_told(variant, limit):
    text = words(variant).partition("What is not promised")[2]
    assert limit in text


@pytest.mark.parametrize(
    ("variant", "limited", "unlimited"),
    [
        ("distinct", True, None),
        ("hierarchical", True, "t"),
        ("recursive", False, "l"),
        ("ordered", False, "t"),
        ("equal", False, None),
        ("entropy", False, None),
    ],
)
def test_distinct_l_is_promised_for_fragments_taken_together_and_nothing_else(variant, limited, unlimited):
    text = words(variant)
    assert ("Of fragments taken together, this is: whichever are joined" in text) == limited
    assert ("Such a join is promised to hold at least 2 different class values" in text) == limited
    assert ("It is promised that at least 2 different class values are left" in text) == limited
    assert ("not for fragments taken together" in text) == (variant in ("recursive", "ordered"))
    limit = "does not limit this: it holds for each fragment by itself"
    assert (f"What is promised for {unlimited} {limit}" in text) == (limit in text) == (unlimited is not None)


def test_what_records_own_joins_tell_is_not_limited_by_what_was_asked_of_each_class():
    text = Page(render_report(segmented(VARIANTS["ordered"]))).text
    assert "What such a join tells of the class is not limited by the t of each EC:" in text
    assert "not limited by the l of each EC:" in words("recursive")
    assert "what else it tells of the class is not limited by the t of each EC:" in words("hierarchical")


def test_there_can_be_a_single_segment():
    assert "There can be a single segment, of all records; how many there are is not" in words("distinct")


@pytest.mark.parametrize(("smallest_join", "told", "proven"), [(4, "40", True), (1234, "1,234", False)])
def test_joins_within_segments_hold_what_all_joins_hold(smallest_join, told, proven):
    text = Page(render_report(segmented(VARIANTS["distinct"], smallest_join))).text
    assert f"that have records of one segment none or at least 40 at least {told} the files and" in text
    assert ("a bound that was proven: the smallest of them can hold more" in text) == proven
