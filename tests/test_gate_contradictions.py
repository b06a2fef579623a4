"""A manifest that no release with l or t can have is refused, without a value of the data in the message."""

import copy
import json
from dataclasses import replace

import pytest
from protected_release import (
    DISTINCT,
    FIRST,
    PROTECTIONS,
    SECOND,
    TREE,
    WITHIN,
    change,
    check,
    one_class,
)
from published_folder import Fragment, Protection, build

from tasks.errors import InputError
from validations.promises import read_promises


def write_manifest(release, folder):
    for entry in release.manifest["fragments"]:
        entry["sha256"] = {"csv": "0" * 64, "parquet": "0" * 64}
    (folder / "release.json").write_text(json.dumps(release.manifest))


@pytest.fixture
def two():
    return build([FIRST, SECOND], k=5, protection=DISTINCT, within=copy.deepcopy(WITHIN))


ASKED = [*PROTECTIONS, DISTINCT, Protection(t=0.5, t_distance="equal")]
CONTRADICTIONS = {
    "l without a model": (0, ["guarantees", "l_model", "asked"], None),
    "a model without l": (0, ["guarantees", "l", "asked"], None),
    "l of one": (0, ["guarantees", "l", "asked"], 1),
    "half an l": (0, ["guarantees", "l", "asked"], 2.5),
    "l that is no number": (0, ["guarantees", "l", "asked"], "SECRET"),
    "c beside distinct": (0, ["guarantees", "c", "asked"], 2.0),
    "recursive without c": (2, ["guarantees", "c", "asked"], None),
    "t without a distance": (0, ["guarantees", "t_distance", "asked"], None),
    "a distance without t": (0, ["guarantees", "t", "asked"], None),
    "t of one": (0, ["guarantees", "t", "asked"], 1.0),
    "another model achieved": (0, ["guarantees", "l_model", "achieved"], "entropy"),
    "another distance achieved": (0, ["guarantees", "t_distance", "achieved"], "ordered"),
    "another c achieved": (2, ["guarantees", "c", "achieved"], 3.0),
    "a figure for what was not asked": (3, ["guarantees", "t", "achieved"], 0.1),
    "per class beside l": (0, ["class_values"], "per_class"),
    "no sensitive attributes": (0, ["sensitive"], []),
    "a sensitive attribute twice": (0, ["sensitive"], ["diag", "diag"]),
    "a sensitive feature": (0, ["sensitive"], ["age"]),
    "a sensitive class": (0, ["sensitive"], ["class"]),
    "in two fragments": (0, ["fragments", 1, "sensitive"], ["diag"]),
    "in no fragment": (0, ["fragments", 0, "sensitive"], []),
    "nothing protected": (0, ["protected"], []),
    "the class placed": (0, ["protected", 0, "fragment"], 1),
    "an unplaced attribute": (0, ["protected", 1, "fragment"], None),
    "another fragment": (0, ["protected", 1, "fragment"], 2),
    "no such fragment": (0, ["protected", 1, "fragment"], 9),
    "another attribute protected": (0, ["protected", 1, "column"], "SECRET"),
    "an order beside equal distances": (0, ["protected", 1, "order"], ["SECRET"]),
    "an order with a value twice": (1, ["protected", 1, "order"], ["SECRET", "SECRET"]),
    "a hierarchy beside equal distances": (0, ["protected", 1, "hierarchy"], {"SECRET": ["*"]}),
    "no hierarchy": (2, ["protected", 1, "hierarchy"], None),
    "a hierarchy of uneven depth": (2, ["protected", 1, "hierarchy"], {"SECRET": ["*"], "2": ["x", "*"]}),
    "a hierarchy without levels": (2, ["protected", 1, "hierarchy"], {"SECRET": []}),
    "two roots": (2, ["protected", 1, "hierarchy"], {"SECRET": ["*"], "2": ["+"]}),
    "two parents": (
        2,
        ["protected", 1, "hierarchy"],
        {"SECRET": ["x", "y", "*"], "2": ["x", "z", "*"]},
    ),
    "a hierarchy of numbers": (2, ["protected", 1, "hierarchy"], {"SECRET": [1]}),
    "a fragment that states nothing": (0, ["fragments", 0, "protected"], []),
    "a fragment that states l unasked": (3, ["fragments", 0, "protected", 0, "t"], 0.1),
    "a fragment that states half an l": (0, ["fragments", 0, "protected", 0, "l"], 1.5),
    "an unknown scope": (0, ["joins", "scope"], "SECRET"),
    "figures of segments without attributes": (
        0,
        ["joins", "within_segments"],
        WITHIN | {"sensitive": []},
    ),
    "no figures of segments": (0, ["joins", "within_segments"], None),
    "fewer than k rows": (0, ["joins", "within_segments", "at_least"], 4),
    "fewer than l class values": (0, ["joins", "within_segments", "l"], 1),
    "no number of class values": (0, ["joins", "within_segments", "l"], None),
    "fewer than l sensitive values": (0, ["joins", "within_segments", "sensitive", 0, "l"], 1),
    "fewer than l sensitive values, by entropy": (1, ["joins", "within_segments", "sensitive", 0, "l"], 1),
    "no number of sensitive values": (1, ["joins", "within_segments", "sensitive", 0, "l"], None),
    "t of records unasked": (3, ["joins", "within_segments", "of_records", "t"], 0.1),
    "l of records unasked": (4, ["joins", "within_segments", "of_records", "l"], 2),
    "no l achieved": (0, ["guarantees", "l", "achieved"], None),
    "no t achieved": (0, ["guarantees", "t", "achieved"], None),
    "no model achieved": (0, ["guarantees", "l_model", "achieved"], None),
    "no distance achieved": (0, ["guarantees", "t_distance", "achieved"], None),
    "no c achieved": (2, ["guarantees", "c", "achieved"], None),
    "less than l achieved": (1, ["guarantees", "l", "achieved"], 1.499998),
    "more than t achieved": (0, ["guarantees", "t", "achieved"], 0.500002),
    "a root on two levels": (
        2,
        ["protected", 1, "hierarchy"],
        {"SECRET": ["x", "*", "*"], "2": ["y", "*", "*"]},
    ),
    "nothing but a root": (2, ["protected", 1, "hierarchy"], {"SECRET": ["*"] * 50, "2": ["*"] * 50}),
}


@pytest.mark.parametrize(("asked", "place", "value"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_manifest_that_contradicts_itself_is_refused(asked, place, value, tmp_path):
    release = build([FIRST, SECOND], k=5, protection=ASKED[asked], within=copy.deepcopy(WITHIN))
    change(release.manifest, place, value)
    write_manifest(release, tmp_path)
    with pytest.raises(InputError, match=r"release\.json") as refused:
        read_promises(tmp_path)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(
    "place", [["sensitive"], ["protected"], ["joins", "scope"], ["joins", "within_segments"]]
)
def test_no_key_of_the_manifest_may_be_left_out(place, two, tmp_path):
    *way, last = place
    entry = two.manifest
    for step in way:
        entry = entry[step]
    del entry[last]
    write_manifest(two, tmp_path)
    with pytest.raises(InputError, match=last):
        read_promises(tmp_path)


@pytest.mark.parametrize(("protection", "fragments"), [(Protection(), 2), (DISTINCT, 1)])
def test_segments_need_l_or_t_and_several_fragments(protection, fragments, tmp_path):
    plain = [Fragment({name: "integer"}, [one_class(0, {"a": 3, "b": 3})]) for name in "xy"[:fragments]]
    release = build(plain, k=5, protection=protection, scope="segments")
    write_manifest(release, tmp_path)
    with pytest.raises(InputError, match="segments"):
        read_promises(tmp_path)


def test_a_draft_states_nothing_of_its_fragments(two, tmp_path):
    two.manifest["validation"]["success"] = None
    for entry in two.manifest["fragments"]:
        entry["protected"] = []
    assert check(two, tmp_path).success


def test_what_is_not_asked_need_not_be_reached(tmp_path):
    figures = [("at_least", None), ("l", 0)]
    asked = Protection(t=0.5, t_distance="equal")
    within = WITHIN | dict(figures) | {"sensitive": [{"column": "diag", "l": 0}]}
    assert check(build([FIRST, SECOND], k=5, protection=asked, within=within), tmp_path).success


def test_levels_and_distances_are_stated_rounded(tmp_path):
    release = build([FIRST, SECOND], k=5, protection=PROTECTIONS[1], within=WITHIN)
    for name, beside in (("l", 5e-7), ("t", -5e-7)):
        stated = release.manifest["guarantees"][name]
        stated["asked"] = stated["achieved"] + beside
    write_manifest(release, tmp_path)
    read_promises(tmp_path)


@pytest.mark.parametrize(
    "tree", [{"1": ["*", "*"]}, {"1": ["all", "*"], "2": ["all", "*"]}, {"1": ["*"], "2": ["*"]}, TREE]
)
def test_values_that_occur_may_share_a_lower_level(tree, tmp_path):
    asked = replace(PROTECTIONS[2], hierarchies=PROTECTIONS[2].hierarchies | {"diag": TREE})
    release = build([FIRST, SECOND], k=5, protection=asked, within=WITHIN)
    release.manifest["protected"][1]["hierarchy"] = tree
    write_manifest(release, tmp_path)
    read_promises(tmp_path)
