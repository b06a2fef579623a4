"""What the report tells of utility: rounded, named, drawn, and explained."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import duckdb
import pytest
from jinja2 import ChoiceLoader, DictLoader, Environment, PackageLoader, StrictUndefined
from made_up_utility import made_up_utility

from tasks.reports.pictures import visible_text
from tasks.reports.report_utility import (
    FeatureUtility,
    Utility,
    read_utility,
    stated_utility,
)
from tasks.reports.utility_pictures import distance_picture, information_kept_picture

PAGE = """
{% macro column(text) %}<bdi class="name">{{ text | name }}</bdi>{% endmacro %}
{% include 'report_utility.html.j2' %}
"""

NAMES = [f"feature {i}" for i in range(7)]


def section(utility, *, several=True, per_class=False, changed=0, drawn=True):
    """Return the section of the report, as HTML."""
    loader = ChoiceLoader([DictLoader({"page": PAGE}), PackageLoader("tasks.reports", "")])
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["name"] = visible_text
    environment.filters["decimals"] = "{:.3f}".format
    environment.filters["share"] = "{:.1%}".format
    environment.filters["number"] = lambda number, noun: f"{number} {noun}{'' if number == 1 else 's'}"
    return environment.get_template("page").render(
        utility=utility,
        k=40,
        several=several,
        per_class=per_class,
        changes={"total": changed},
        altered="removed" if per_class else "changed",
        information_kept_picture=information_kept_picture(utility) if drawn else "",
        distance_picture=distance_picture(utility) if drawn else "",
    )


class Words(HTMLParser):
    """A page's words and its elements."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def words(utility, **facts):
    return Words(section(utility, **facts, drawn=False)).text


def one(before, after, distance=0.2):
    return FeatureUtility("height", before, after, distance)


def kept(*features, pairs=(), class_distances=(0.0,)):
    return Utility(0.05, features, pairs, class_distances)


@pytest.fixture
def store():
    """A private store with what was measured."""
    with duckdb.connect() as connection:
        connection.execute("""
            CREATE TABLE utility (
                feature VARCHAR, information_before DOUBLE, information_after DOUBLE, distance DOUBLE,
                mean_shift DOUBLE, spread_ratio DOUBLE
            );
            INSERT INTO utility VALUES
                ('height', 0.12345, 0.06789, 0.98765, -0.12345, 1.23456),
                ('colour', 0.32, 0.35, 0.03, NULL, NULL);
        """)
        connection.execute("""
            CREATE TABLE pair_information (fragment BIGINT, pairs BIGINT, before DOUBLE, after DOUBLE);
            INSERT INTO pair_information VALUES (1, 3, 0.11111, 0.03555);
        """)
        connection.execute("""
            CREATE TABLE class_shift (fragment BIGINT, distance DOUBLE);
            INSERT INTO class_shift VALUES (1, 0.0049), (2, 0.0151);
        """)
        yield connection


def manifest(records, class_values="per_record"):
    return {"records": records, "class_values": class_values, "guarantees": {"k": {"asked": 5}}}


def test_the_manifest_states_figures_rounded_to_the_step(store):
    utility = read_utility(store, manifest(500))
    assert stated_utility(utility) == {
        "utility": {
            "rounded_to": 0.01,
            "information_before": 0.22,
            "information_after": 0.21,
            "distance": 0.51,
            "class_distances": [0.0, 0.02],
            "pairs": [{"fragment": 1, "pairs": 3, "before": 0.11, "after": 0.04}],
            "features": {
                "height": {"information_before": 0.12, "information_after": 0.07, "distance": 0.99},
                "colour": {"information_before": 0.32, "information_after": 0.35, "distance": 0.03},
            },
        }
    }
    assert json.loads(json.dumps(stated_utility(utility))) == stated_utility(utility)


def test_a_small_table_has_coarser_figures(store):
    features = stated_utility(read_utility(store, manifest(45)))["utility"]["features"]
    assert features == {
        "height": {"information_before": 0.2, "information_after": 0.0, "distance": 1.0},
        "colour": {"information_before": 0.4, "information_after": 0.4, "distance": 0.0},
    }


def test_class_shares_that_the_files_leave_open_are_not_told(store):
    utility = read_utility(store, manifest(500, "per_class"))
    assert stated_utility(utility)["utility"]["class_distances"] is None
    text = words(utility, per_class=True)
    assert "of the input is not stated" in text
    assert "differs from the input" not in text
    assert "differs from the input" in words(read_utility(store, manifest(500)))


def test_the_page_tells_to_which_step_and_why():
    text = words(made_up_utility(NAMES))
    assert "multiples of 0.005, at least the share of all records that 40 records are" in text


def test_a_feature_that_seems_to_tell_more_is_not_called_a_gain():
    utility = kept(one(0.1, 0.2), one(0.1, 0.1))
    assert utility.seeming == 1
    text = words(utility, several=False)
    assert "1 feature seems to tell more than before. That is no gain" in text
    assert "class values were" not in text
    assert "whose class values were changed look more alike" in words(utility, changed=3)
    assert "whose class values were removed" in words(utility, changed=3, per_class=True)
    assert "no gain" not in words(kept(one(0.2, 0.1)))


def test_the_summary_has_the_means():
    utility = kept(one(0.2, 0.1, 0.25), one(0.4, 0.3, 0.45), class_distances=(0.05, 0.0))
    text = words(utility)
    assert "a feature told 0.300 nats before, and tells 0.200 in the files" in text
    assert "35.0% of the records would" in text
    assert "by 5.0% of the records in fragment 1, 0.0% in fragment 2." in text
    assert "by 5.0% of the records." in words(utility._replace(class_distances=(0.05,)), several=False)


def test_pairs_are_told_where_they_are_measured():
    text = words(made_up_utility(NAMES))
    assert "0.210 and 0.080 nats in fragment 1 (91 pairs measured), 0.105 and 0.040 nats in" in text
    assert "Two features told of each other" in words(made_up_utility(NAMES, 1), several=False)
    assert "Two features" not in words(made_up_utility(NAMES[:1], 1), several=False)


def test_equally_likely_class_values_are_told_where_they_are_published_so():
    assert "and so are the class values" in words(made_up_utility(NAMES), per_class=True)
    assert "and so are the class values" not in words(made_up_utility(NAMES))


def test_the_section_is_well_formed_and_labelled():
    page = Words(section(made_up_utility(NAMES)))
    assert page.open == []
    tags = [tag for tag, _ in page.elements]
    assert [tag for tag in tags if tag in {"h2", "h3"}] == ["h2", "h3", "h3"]
    assert tags.count("caption") == tags.count("table") == 1
    assert all("scope" in attributes for tag, attributes in page.elements if tag == "th")
    assert [attributes["role"] for tag, attributes in page.elements if tag == "svg"] == ["img"] * 2
    assert not {"script", "img", "link"} & set(tags)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for name in NAMES:
        assert name in page.text


def test_odd_names_are_escaped():
    utility = made_up_utility(["<script>alert(1)</script>", "right\u202eleft", "$x_1$ & 'y'"])
    text = section(utility)
    assert "<script" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("picture", [information_kept_picture, distance_picture])
@pytest.mark.parametrize("features, named", [(1, True), (60, True), (61, False), (200, False)])
def test_up_to_sixty_features_are_named_in_the_pictures(picture, features, named):
    utility = made_up_utility([f"column_{i}" for i in range(features)])
    svg = picture(utility)
    assert svg == picture(utility)
    root = ET.fromstring(svg)  # noqa: S314 - our own picture
    texts = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert ("column_0" in texts) == named
    assert f"{features} features" in root.attrib["aria-label"]


@pytest.mark.parametrize("picture", [information_kept_picture, distance_picture])
def test_features_that_tell_nothing_can_be_drawn(picture):
    nothing = [FeatureUtility(f"x{i}", 0.0, 0.0, 0.0) for i in range(3)]
    assert picture(kept(*nothing)).startswith("<svg")


def test_features_are_drawn_in_the_order_of_what_they_told():
    utility = kept(*(FeatureUtility(name, told, 0.1, 0.1) for name, told in [("b", 0.1), ("a", 0.3)]))
    texts = [element.text for element in ET.fromstring(information_kept_picture(utility)).iter()]  # noqa: S314
    assert texts.index("b") < texts.index("a")  # rows are drawn from the lowest upwards
