"""The report of each kind of made-up release, rendered once and taken apart."""

from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

from made_up_attacks import made_up_attacks
from made_up_release import made_up, per_class, protected, segmented
from made_up_risks import made_up_risks
from made_up_utility import made_up_utility

from tasks.reports.page import render_report

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


def measured(facts, population=None):
    """Give a release what was measured of its risks, of attacks on it and of what it keeps."""
    fragments = len(facts.manifest["fragments"])
    return replace(
        facts,
        risks=made_up_risks(fragments, population),
        attacks=made_up_attacks(fragments, facts.sensitive),
        utility=made_up_utility(facts.features, fragments),
    )


THIRTY = [f"mean feature {i}" for i in range(30)]
VARIANTS = {
    "thirty": made_up(THIRTY),
    "wide": made_up([f"column_{i}" for i in range(134)]),
    "odd": made_up(list(ODD_NAMES), 3),
    "one": made_up(THIRTY[:6], 1),
    "per_class": per_class(made_up(THIRTY[:8])),
    "distinct": segmented(
        protected(made_up(THIRTY[:8], sensitive=["main illness", "second illness"]), l=(2, 3)),
        sensitive=[("main illness", 3), ("second illness", 2)],
    ),
    "entropy": protected(made_up(THIRTY[:6], 1), l=(2, 2.345678), l_model="entropy"),
    "recursive": segmented(
        protected(
            made_up(list(ODD_NAMES[3:]), 3, sensitive=ODD_NAMES[:3]), l=(3, 4), l_model="recursive", c=2.5
        )
    ),
    "equal": protected(made_up(THIRTY[:6], 1, sensitive=["illness"]), t=(0.3, 0.210001)),
    "ordered": protected(made_up(THIRTY[:6]), t=(0.3, 0.21), t_distance="ordered"),
    "hierarchical": segmented(
        protected(
            made_up(THIRTY[:6], sensitive=["illness"]), l=(2, 2), t=(0.05, 0.0), t_distance="hierarchical"
        ),
        smallest_join=57,
    ),
}
MEASURED = {
    "measured": measured(VARIANTS["thirty"]),
    "measured_one": measured(VARIANTS["one"], 10**6),
    "measured_odd": measured(VARIANTS["odd"]),
    "measured_classes": measured(VARIANTS["per_class"]),
    "measured_values": measured(VARIANTS["distinct"], 10**6),
    "measured_wide": measured(made_up([f"column_{i}" for i in range(70)], 5)),
}
VARIANTS |= MEASURED


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


@cache
def rendered(variant):
    text = render_report(VARIANTS[variant])
    return text, Page(text)


def words(variant):
    return rendered(variant)[1].text
