"""Releases by hand with l, t and sensitive attributes, and how the gate is asked about them."""

from collections import Counter

from published_folder import ClassOf, Fragment, Protection, Range

from validations.gate import check_folder
from validations.promises import read_promises

TREE = {
    "1": ["low", "number", "*"],
    "2": ["low", "number", "*"],
    "10": ["high", "number", "*"],
    "none": ["none", "none", "*"],
}
ORDER = ["none", "2", "10", "1"]
DISTINCT = Protection(l=2, l_model="distinct")


def one_class(place, counts, *values):
    return ClassOf((Range(place, place),), counts, [(value,) for value in values])


FIRST = Fragment(
    {"age": "integer"},
    [
        one_class(0, {"a": 3, "b": 2}, "1", "10", None, "2", "2"),
        one_class(1, {"a": 3, "b": 3}, "1", "1", "10", "1", "none", None),
    ],
    ("diag",),
)
SECOND = Fragment({"weight": "integer"}, [one_class(0, {"a": 2, "b": 3}), one_class(1, {"a": 4, "b": 2})])
MEMBERS = [0] * 5 + [1] * 6, [0] * 5 + [1] * 6
SEGMENTS = [0] * 5 + [1] * 6
WITHIN = {
    "at_least": 5,
    "l": 2,
    "sensitive": [{"column": "diag", "l": 3}],
    "of_records": {"l": None, "t": None},
}
"""What joins within these segments hold, without the figures of records' joins."""


PROTECTIONS = [
    Protection(l=2, l_model="distinct", t=0.5, t_distance="equal"),
    Protection(
        l=1.5, l_model="entropy", t=0.4, t_distance="ordered", orders={"diag": ORDER, "class": ["b", "a"]}
    ),
    Protection(
        l=2,
        l_model="recursive",
        c=2.5,
        t=0.4,
        t_distance="hierarchical",
        hierarchies={"diag": TREE, "class": {"a": ["*"], "b": ["*"]}},
    ),
]


def fragment_of(feature, listed, sensitive=()):
    """Return the fragment of records, each the place of its class, its class value and its values."""
    places = sorted({place for place, *_ in listed})
    classes = []
    for place in places:
        own = sorted((record[1:] for record in listed if record[0] == place), key=lambda each: each[0])
        counts = dict(Counter(value for value, *_ in own))
        values = [tuple(rest) for _, *rest in own] if sensitive else ()
        classes.append(ClassOf((Range(place, place),), counts, values))
    return Fragment({feature: "integer"}, classes, sensitive)


def check(release, folder, store=None):
    release.write(folder)
    return check_folder(folder, read_promises(folder), store)


def broken(verdict):
    return {outcome.name for outcome in verdict.promises if not outcome.success}


def achieved(verdict, name):
    return next(outcome.achieved for outcome in verdict.promises if outcome.name == name)


def everything(verdict):
    texts = " ".join(f"{o.title} {o.asked} {o.achieved} {o.query}" for o in verdict.promises)
    return texts + " ".join(document.result + document.suite for document in verdict.documents)


def change(manifest, place, value):
    *way, last = place
    for step in way:
        manifest = manifest[step]
    manifest[last] = value
