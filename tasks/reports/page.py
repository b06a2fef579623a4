"""The report as one page: what its template is given, and how figures are written in it."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, PackageLoader, StrictUndefined

from tasks.reports.attack_pictures import attack_picture
from tasks.reports.coarse import step_of_release, withholds
from tasks.reports.learning_snippets import learning_snippet, short_learning_snippets
from tasks.reports.pictures import (
    Block,
    class_size_picture,
    information_loss_picture,
    mutual_information_picture,
    visible_text,
)
from tasks.reports.risk_pictures import risk_picture
from tasks.reports.snippets import reading_snippets
from tasks.reports.trial_pictures import learning_picture, number_picture
from tasks.reports.utility_pictures import distance_picture, information_kept_picture
from tasks.reports.wording import (
    closeness_in_words,
    diversity_in_words,
    figure,
    percent,
    protected_in_words,
    safe_only_within_segments,
)

if TYPE_CHECKING:
    from tasks.report import ReportFacts

Floats = npt.NDArray[np.float64]


class Member(NamedTuple):
    """A column as a row of its fragment's table; relevance and contribution in nats."""

    name: str
    sensitive: bool
    relevance: float
    step: int
    contribution: float | None


class FragmentView(NamedTuple):
    """A fragment as the page shows it."""

    number: int
    entry: Mapping[str, Any]
    members: tuple[Member, ...]
    median_class: float
    largest_class: int
    changed: int


class Affinity(NamedTuple):
    """Mean mutual information of two different features, in nats; None where there is no such pair."""

    within: float | None
    between: float | None


def render_report(facts: "ReportFacts") -> str:
    """Return the report as one HTML page that needs nothing from outside it."""
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            release=facts.manifest,
            repeats=facts.manifest["repeats"],
            rounding=step_of_release(facts.manifest),
            published=_in_words(facts.manifest["version"]),
            outcomes=facts.outcomes,
            broken=sum(not outcome.success for outcome in facts.outcomes),
            class_attribute=facts.class_attribute,
            features=facts.features,
            sensitive=facts.sensitive,
            only_within_segments=safe_only_within_segments(facts.manifest),
            fragments=_fragment_views(facts),
            dictionary=facts.dictionary,
            reading=reading_snippets(facts.manifest),
            learning_snippets=short_learning_snippets(facts.manifest),
            learning_program=learning_snippet(facts.manifest).text,
            affinity=_affinity(facts),
            information_picture=_information_picture(facts),
            loss_picture=_loss_picture(facts),
            size_picture=class_size_picture(facts.class_sizes, facts.manifest["guarantees"]["k"]["asked"]),
            steps=facts.steps,
            choice=facts.choice,
            number_picture=facts.choice and number_picture(facts.choice),
            learning=facts.learning,
            withheld=withholds(facts.manifest),
            risks=facts.risks,
            risk_picture=facts.risks
            and risk_picture(
                facts.risks,
                facts.manifest["guarantees"]["k"]["asked"],
                "person" if facts.manifest.get("persons") else "record",
            ),
            attacks=facts.attacks,
            attack_picture=facts.attacks and attack_picture(facts.attacks),
            utility=facts.utility,
            information_kept_picture=facts.utility and information_kept_picture(facts.utility),
            distance_picture=facts.utility and distance_picture(facts.utility),
            learning_picture=facts.learning and learning_picture(facts.learning),
        )
    )


@cache
def _environment() -> Environment:
    """Return what reads the templates, with the filters that they use."""
    environment = Environment(
        loader=PackageLoader("tasks.reports", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"name": visible_text, "number": _number, "decimals": _decimals}
    environment.filters |= {"share": _share, "floor_share": _floor_share, "one_in": _one_in}
    environment.filters |= {"whole": _whole, "chance": _chance}
    environment.filters |= {"figure": figure, "percent": percent}
    environment.filters |= {"protected": protected_in_words, "diversity": diversity_in_words}
    environment.filters |= {"closeness": closeness_in_words}
    return environment


def _fragment_views(facts: "ReportFacts") -> list[FragmentView]:
    changed = facts.manifest["changed_class_values"]["per_fragment"]
    return [
        FragmentView(
            number=number,
            entry=entry,
            members=members,
            median_class=float(np.median(sizes)),
            largest_class=int(sizes.max()),
            changed=changed[number - 1],
        )
        for number, (entry, members, sizes) in enumerate(
            zip(facts.manifest["fragments"], _members(facts), facts.class_sizes, strict=True), start=1
        )
    ]


def _members(facts: "ReportFacts") -> list[tuple[Member, ...]]:
    columns = (*facts.features, *facts.sensitive)
    relevance = dict(zip(columns, facts.mutual_information[-1].tolist(), strict=False))
    placed = {feature: (step, contribution) for feature, _, step, contribution in facts.placements}
    return [
        tuple(
            Member(name, role == "sensitive", relevance[name], *placed[name])
            for role in ("features", "sensitive")
            for name in entry[role]
        )
        for entry in facts.manifest["fragments"]
    ]


def _positions(facts: "ReportFacts") -> list[npt.NDArray[np.intp]]:
    """Return each fragment's columns as rows of the matrix, its sensitive attributes last."""
    index = {name: position for position, name in enumerate((*facts.features, *facts.sensitive))}
    return [
        np.array([index[name] for name in (*entry["features"], *entry["sensitive"])])
        for entry in facts.manifest["fragments"]
    ]


def _affinity(facts: "ReportFacts") -> Affinity:
    p = len(facts.features)
    fragment = np.empty(p, dtype=np.intp)
    for number, positions in enumerate(_positions(facts)):
        fragment[positions[positions < p]] = number
    first, second = np.triu_indices(p, 1)
    together = fragment[first] == fragment[second]
    information = facts.mutual_information[first, second]
    return Affinity(_mean(information[together]), _mean(information[~together]))


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _information_picture(facts: "ReportFacts") -> str:
    positions = _positions(facts)
    columns = len(facts.features) + len(facts.sensitive)
    thickness = 1 + columns // 61  # keeps the class visible beside hundreds of features
    order = np.concatenate([*positions, [columns] * thickness])
    blocks = [Block(f"fragment {number}", len(part)) for number, part in enumerate(positions, start=1)]
    names = (*facts.features, *facts.sensitive, facts.class_attribute)
    information = facts.mutual_information.copy()
    np.fill_diagonal(information, np.nan)
    return mutual_information_picture(
        information[np.ix_(order, order)], [names[i] for i in order], [*blocks, Block("class", thickness)]
    )


def _loss_picture(facts: "ReportFacts") -> str:
    loss = facts.manifest["measures"]["information_loss"]
    published, one_table = (
        np.array([loss[key][name] for name in facts.features])
        for key in ("features", "unfragmented_features")
    )
    several = len(facts.manifest["fragments"]) > 1
    return information_loss_picture(facts.features, published, one_table if several else None)


def _in_words(version: str) -> str:
    moment = datetime.strptime(version, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def _number(number: int, noun: str = "") -> str:
    return f"{number:,} {noun}{'' if number == 1 or not noun else 's'}".rstrip()


def _share(share: float) -> str:
    if 0 < share < 0.001:  # noqa: PLR2004 - what would print as zero
        return "less than 0.1 %"
    text = f"{100 * share:.1f} %".replace(".0 %", " %")
    return "more than 99.9 %" if share < 1 and text == "100 %" else text


def _whole(share: float) -> str:
    """Return a share in whole percent, as shares of persons are told."""
    if 0 < share < 0.005:  # noqa: PLR2004 - what would print as zero
        return "less than 1 %"
    return "more than 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"  # noqa: PLR2004 - as above


def _chance(chance: float) -> str:
    """Return a chance in percent, with two digits."""
    return _share(float(f"{chance:.2g}"))


def _floor_share(share: float) -> str:
    return _share(math.floor(share * 1000 + 1e-9) / 1000)


def _one_in(chance: float) -> str:
    """Return a chance as `1 in N`, N rounded down to two digits so that the chance is not understated."""
    if chance == 0:
        return "0"
    tenths = math.floor(10 / chance + 1e-9)
    unit = 10 ** (len(str(tenths)) - 2)
    return f"1 in {tenths // unit * unit / 10:,.1f}".removesuffix(".0")


def _decimals(number: float | None) -> str:
    return "none" if number is None else f"{number:.3f}".replace("-", "\N{MINUS SIGN}")
