"""The report's section on risks, and its picture: what they tell of made-up figures."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from made_up_release import made_up, per_class, protected
from made_up_risks import bins, made_up_risks, spread
from report_pages import Page

from tasks.report import render_report
from tasks.reports.risk_pictures import candidate_rows, risk_picture
from tasks.risks.figures import Bin
from tasks.risks.reidentification import PAIRED

NAMES = [f"x{i}" for i in range(12)]


@pytest.fixture(autouse=True)
def no_other_pictures(monkeypatch):
    for name in ("information_loss_picture", "mutual_information_picture", "class_size_picture"):
        monkeypatch.setattr(f"tasks.reports.page.{name}", lambda *_: "")


def section(facts, risks):
    text = render_report(replace(facts, risks=risks))
    start = text.index('<section aria-labelledby="risks">')
    return Page(text[start : text.index("</section>", start) + len("</section>")])


@cache
def plain():
    return section(made_up(NAMES), made_up_risks(2))


@pytest.mark.parametrize("fragments, joins", [(1, 0), (2, 1), (4, 7), (5, 11), (8, 29), (9, 1)])
def test_every_fragment_and_every_join_has_a_line(fragments, joins):
    risks = made_up_risks(fragments)
    parts = [part for part in risks.reidentification if fragments <= PAIRED or len(part.fragments) != 2]
    page = section(made_up(NAMES, fragments), risks._replace(reidentification=tuple(parts)))
    medians = [label for label in page.attributes("data-label") if label == "Prosecutor, median"]
    assert len(medians) == fragments + joins
    assert ("Being in the table at all" in page.text) == (fragments > 1)
    folded = [tag for tag, _ in page.elements if tag == "details"]
    assert len(folded) == (joins > 8)
    assert ("Pairs of fragments are measured for up to 8 fragments only" in page.text) == (fragments > 8)


def test_shares_are_rounded_and_none_is_zero_that_is_not():
    text = plain().text
    assert "Fragment 1 1.2 % 2.4 % 1.2 % none" in text
    assert "48 % 91 % 25 % less than 1 % 88 %" in text
    assert (
        "Knowing all features, the most likely class is right for 93 % of the records, instead of 63 %."
        in text
    )


def test_the_extremes_of_joins_are_not_on_the_page():
    page = plain()
    labels = page.attributes("data-label")
    assert labels.count("Prosecutor, highest") == 2
    assert labels.count("Prosecutor, 19 of 20 records at most") == 1


def test_unique_records_are_told_by_their_number():
    risks = made_up_risks(2)
    *alone, pair = risks.reidentification
    text = section(made_up(NAMES), risks._replace(reidentification=(*alone, pair._replace(unique=3)))).text
    assert "Fragments 1 and 2 0.9 % 1.6 % 0.9 % 3" in text


def test_records_without_a_row_in_a_join_are_mentioned():
    risks = made_up_risks(2)
    *alone, pair = risks.reidentification
    pair = pair._replace(candidates=(Bin(0, 0, 0.02), *pair.candidates))
    text = section(made_up(NAMES), risks._replace(reidentification=(*alone, pair))).text
    assert "Records whose ECs join to no row, since class values were changed, are in no group." in text
    assert "are in no group" not in plain().text


def test_a_small_likelihood_is_told_as_such():
    text = section(made_up(NAMES, 3), made_up_risks(3)).text
    assert "for half of them it is at most 1 in 500, for 19 of 20 at most 1 in 270" in text
    risks = made_up_risks(3)
    small = risks.membership._replace(likelihood=spread(1e-6))
    text = section(made_up(NAMES, 3), risks._replace(membership=small)).text
    assert "for half of them it is at most 1 in 2,000,000, for 19 of 20 at most 1 in 1,100,000" in text


def test_the_journalist_has_figures_where_a_population_is_stated():
    without = plain()
    assert "no population was stated" in without.text
    assert not any(label.startswith("Journalist") for label in without.attributes("data-label"))
    stated = section(made_up(NAMES), made_up_risks(2, 60_000))
    assert "here 60,000 people" in stated.text
    assert "which is cautious" in stated.text
    assert stated.attributes("data-label").count("Journalist, highest") == 2


def test_what_limits_these_figures_is_told():
    text = plain().text
    assert "k-anonymity leaves the class in the open" in text
    assert "And fragments add up." in text
    assert "Part of this is what the data is for" in text
    assert "each is taken as equally likely" not in text
    assert "each is taken as equally likely" in section(per_class(made_up(NAMES)), made_up_risks(2)).text
    limited = section(protected(made_up(NAMES, sensitive=["illness"]), l=(2, 3)), made_up_risks(2)).text
    assert "per fragment, l limits what an EC tells, and not what all of them tell together" in limited
    assert "Sensitive attributes beside the class are not part of these figures." in limited
    assert "fragments add up" not in section(made_up(NAMES, 1), made_up_risks(1)).text


def test_every_cell_of_a_table_has_a_head():
    for fragments, population in [(1, None), (4, 9000)]:
        page = section(made_up(NAMES, fragments), made_up_risks(fragments, population))
        tables = [tag for tag, _ in page.elements if tag in ("table", "caption")]
        assert tables.count("table") == tables.count("caption")
        heads = [element for tag, element in page.elements if tag == "th"]
        assert all(element["scope"] in ("row", "col") for element in heads)


def test_rows_of_the_picture_are_fragments_then_pairs_then_all():
    labels = [row.label for row in candidate_rows(made_up_risks(3).reidentification)]
    assert labels == [
        *["fragment 1", "fragment 2", "fragment 3"],
        *["1 and 2 joined", "1 and 3 joined", "2 and 3 joined", "all 3 joined"],
    ]
    assert [row.label for row in candidate_rows(made_up_risks(9).reidentification)] == [
        *["9 fragments, mean", "36 pairs, mean", "all 9 joined"]
    ]


def test_many_of_a_kind_are_shown_by_their_mean():
    parts = list(made_up_risks(9).reidentification[:9])
    parts[0] = parts[0]._replace(candidates=bins(0.9, 0.1))
    (row,) = candidate_rows(parts)
    assert row.shares == pytest.approx([0.1, 0.1 / 9, 0, 0, 0.62 * 8 / 9, 0.38 * 8 / 9, 0, 0])


def test_large_groups_are_shown_together_and_records_without_candidates_in_none():
    (part, *_) = made_up_risks(2).reidentification
    groups = (Bin(0, 0, 0.25), Bin(1, 1, 0.0), Bin(1000, 9999, 0.5), Bin(10**4, 10**5 - 1, 0.25))
    (row,) = candidate_rows([part._replace(candidates=groups)])
    assert row.shares == pytest.approx([*np.zeros(7), 0.75])


@pytest.mark.parametrize("fragments", [1, 2, 12])
def test_the_picture_is_the_same_each_time_and_says_what_it_is(fragments):
    picture = risk_picture(made_up_risks(fragments), 40)
    assert picture == risk_picture(made_up_risks(fragments), 40)
    ((_, root), *_) = Page(picture).elements
    assert (root["role"], root["class"]) == ("img", "narrow")
    assert "how surely their class is known" in root["aria-label"]
    assert "k = 40" in picture


@pytest.mark.parametrize("k", [2, 1000, 10**7])
def test_k_is_marked_however_large(k):
    assert f"k = {k}" in risk_picture(made_up_risks(2), k)
