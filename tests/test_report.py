"""The report page: everything is in it, nothing comes from outside, and the words are true."""

import re
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from tasks.pictures import visible_text
from tasks.report import PlacedFeature, ReportFacts, render_report

VOID = {"meta", "br", "img", "hr", "link", "input"}
ODD_NAMES = (
    "<script>alert(1)</script>",
    'a"b, c',
    "line\nbreak",
    "long " * 60,
    "right\u202eleft",
    "$x_1$ & 'y'",
    "血圧",
)


@dataclass(frozen=True)
class Checked:
    name: str
    title: str
    asked: str
    achieved: str
    query: str | None = None
    success: bool = True


OUTCOMES = (
    Checked("hashes", "Every file is the one the manifest names", "equal hashes", "4 of 4 equal"),
    Checked(
        "k",
        "Every equivalence class holds at least k records",
        "at least 40",
        "41",
        'SELECT min(records)\nFROM (SELECT count(*) AS records FROM \'fragment_1.csv\' GROUP BY "a", "b")\n'
        "WHERE records < 40",
    ),
    Checked("joins", "Every join holds no row or at least k", "0 or at least 40", "at least 57", "SELECT 1"),
)


def cut(features, fragments):
    return [features[start::fragments] for start in range(fragments)]


def fragment_entry(number, features, sizes):
    return {
        "csv": f"fragment_{number}.csv",
        "parquet": f"fragment_{number}.parquet",
        "features": list(features),
        "equivalence_classes": len(sizes),
        "smallest_class": int(sizes.min()),
        "sha256": {"csv": f"{number}a" * 32, "parquet": f"{number}b" * 32},
    }


def release(features, parts, sizes, random):
    loss = {
        name: float(value) for name, value in zip(features, random.beta(2, 6, len(features)), strict=True)
    }
    whole = {name: min(1.0, value * 1.6 + 0.05) for name, value in loss.items()}
    several = len(parts) > 1
    number = {name: fragment for fragment, part in enumerate(parts, start=1) for name in part}
    return {
        "name": "breast cancer",
        "version": "20261127T030000Z",
        "unjoin_version": "0.1.0",
        "records": int(sizes[0].sum()),
        "class": "diagnosis",
        "class_values": "per_record",
        "enforcement": "min_distortion",
        "columns": [{"name": name, "kind": "decimal", "fragment": number[name]} for name in features],
        "guarantees": {
            "k": {"asked": 40, "achieved": 41},
            "guarantee": {"asked": "join", "achieved": "join"},
            "delta": {"asked": None, "achieved": None},
            "l": {"asked": None, "achieved": None},
            "l_model": {"asked": None, "achieved": None},
            "t": {"asked": None, "achieved": None},
        },
        "fragments": [fragment_entry(i, part, sizes[i - 1]) for i, part in enumerate(parts, start=1)],
        "joins": {
            "smallest_join": 57 if several else None,
            "smallest_records": 12 if several else None,
            "choices": 300 if several else 0,
        },
        "changed_class_values": {
            "total": 23 if several else 0,
            "share": 23 / int(sizes[0].sum()) / len(parts) if several else 0.0,
            "per_fragment": [23, *[0] * (len(parts) - 1)] if several else [0],
        },
        "suppressed_records": 0,
        "measures": {
            "information_loss": {
                "fragmented": float(np.mean(list(loss.values()))),
                "unfragmented": float(np.mean(list(whole.values()))),
                "features": loss,
                "unfragmented_features": whole,
            }
        },
        "limits": {"max_information_loss": None, "max_changed_class_values": None},
        "config_sha256": "c0ffee" * 10 + "abcd",
        "versions": {"numpy": "2.4.6", "duckdb": "2.0.1", "prefect": "3.9.1"},
        "validation": {"success": True, "path": "validation"},
    }


def made_up(features, fragments=2):
    random = np.random.default_rng(7)
    parts = cut(features, fragments)
    sizes = tuple(random.integers(41, 80, 30).astype(np.int64) for _ in parts)
    factors = random.normal(size=(len(features) + 1, 4))
    information = np.abs(factors @ factors.T) / 12
    placements = [
        PlacedFeature(name, number, step, float(random.normal() / 10) if fragments > 1 else None)
        for number, part in enumerate(parts, start=1)
        for step, name in enumerate(part)
    ]
    return ReportFacts(
        manifest=release(features, parts, sizes, random),
        outcomes=OUTCOMES,
        features=tuple(features),
        class_attribute="diagnosis",
        mutual_information=information,
        placements=tuple(placements),
        class_sizes=sizes,
        steps=(("load", 0.4), ("mutual information", 1.21), ("fragment", 0.02)),
    )


def per_class(facts):
    delta = {"asked": 0.5, "achieved": 0.6125}
    guarantees = {
        **facts.manifest["guarantees"],
        "delta": delta,
        "guarantee": {"asked": "join", "achieved": None},
    }
    joins = {"smallest_join": None, "smallest_records": None, "choices": 300}
    manifest = {**facts.manifest, "class_values": "per_class", "guarantees": guarantees, "joins": joins}
    return replace(facts, manifest={**manifest, "enforcement": "delta_selectivity"})


def changed(facts, **keys):
    return replace(facts, manifest={**facts.manifest, **keys})


THIRTY = [f"mean feature {i}" for i in range(30)]
VARIANTS = {
    "thirty": made_up(THIRTY),
    "wide": made_up([f"column_{i}" for i in range(134)]),
    "odd": made_up(list(ODD_NAMES), 3),
    "one": made_up(THIRTY[:6], 1),
    "per_class": per_class(made_up(THIRTY[:8])),
}


class Page(HTMLParser):
    """A page taken apart: the checks below read it."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())

    def attributes(self, *names):
        return [element[name] for _, element in self.elements for name in names if name in element]


@pytest.fixture(scope="module", params=VARIANTS)
def variant(request):
    facts = VARIANTS[request.param]
    text = render_report(facts)
    return facts, text, Page(text)


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
    for name in facts.features:
        assert " ".join(visible_text(name).split()) in page.text


def test_the_same_facts_give_the_same_bytes(variant):
    facts, text, _ = variant
    assert render_report(facts) == text


def test_odd_names_are_escaped():
    text = render_report(VARIANTS["odd"])
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\u202e" not in text
    assert r"line\nbreak" in text


def test_a_name_that_cannot_be_seen_is_written_as_an_escape():
    assert visible_text("a\u202eb\x00\ufffe\t") == r"a\u202eb\x00\ufffe\t"
    assert visible_text("Größe 血圧 \u200d") == "Größe 血圧 \u200d"


def test_the_summary_says_what_holds():
    text = Page(render_report(VARIANTS["thirty"])).text
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
    joins = {"smallest_join": 3, "smallest_records": 1, "choices": 9}
    text = Page(render_report(changed(VARIANTS["thirty"], joins=joins))).text
    assert "isolates" not in text
    assert "holds 3 rows: fewer than 40" in text


def test_one_fragment_has_nothing_to_join():
    text = Page(render_report(VARIANTS["one"])).text
    assert "There is nothing to join it with." in text
    assert "Fragments add up" not in text
    assert "Contribution" not in text


def test_class_values_per_class_are_explained():
    text = Page(render_report(VARIANTS["per_class"])).text
    assert "at least 61.2 % give a join of 40 rows or more (asked: 50 %)" in text
    assert "Blank class cells." in text
    assert "were removed to reach this" in text
    assert "changed by the strategy" not in text
    assert "isolates" not in text


def test_the_record_condition_is_named_only_when_it_was_achieved():
    manifest = VARIANTS["thirty"].manifest
    guarantees = {**manifest["guarantees"], "guarantee": {"asked": "records", "achieved": "records"}}
    joins = {"smallest_join": 57, "smallest_records": 41, "choices": 9}
    text = Page(render_report(changed(VARIANTS["thirty"], guarantees=guarantees, joins=joins))).text
    assert "which the record condition (at least 40) asks for" in text


def test_joins_that_could_not_be_counted_are_not_called_empty():
    unknown = {"smallest_join": None, "smallest_records": None, "choices": 9}
    broken = replace(OUTCOMES[2], achieved="too costly to check", success=False)
    facts = replace(VARIANTS["thirty"], outcomes=(*OUTCOMES[:2], broken))
    text = Page(render_report(changed(facts, joins=unknown))).text
    assert "holds was not established" in text
    assert "class value in common" not in text


def test_diversity_is_told_when_it_was_asked():
    manifest = VARIANTS["thirty"].manifest
    diversity = {"l": {"asked": 2, "achieved": 2.4}, "l_model": {"asked": "entropy", "achieved": "entropy"}}
    guarantees = {**manifest["guarantees"], **diversity}
    text = Page(render_report(changed(VARIANTS["thirty"], guarantees=guarantees))).text
    assert "l-diverse (entropy) with l = 2.4 (asked: 2)" in text
    assert "nothing bounds this" not in text


def test_nothing_changed_is_said_so():
    none = {"total": 0, "share": 0.0, "per_fragment": [0, 0]}
    text = Page(render_report(changed(VARIANTS["thirty"], changed_class_values=none))).text
    assert "No class value was changed" in text
    assert "Counts by class are not exact" not in text
