"""The report's picture of attacks: how often each succeeds, beside its baseline."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.reports.pictures import BLUE, NARROW, ORANGE, short_label, svg_picture
from tasks.reports.report_attacks import Attacked, TriedAttack

LABEL = 34  # characters


class Style(NamedTuple):
    """How a rate is drawn: its name, its mark, and how far below the middle of its row."""

    label: str
    marker: str
    colour: str
    inside: str
    shift: float


WITH = Style("with the attack", "o", BLUE, BLUE, -0.17)
OTHERWISE = Style("otherwise", "D", ORANGE, "white", 0.17)


def attack_picture(attacked: Attacked) -> str:
    """Draw the success of each attack and its baseline; nothing if attacks failed.

    Bars are the intervals of those that leave something to chance.
    """
    attacks = attacked.attacks
    if not attacks:
        return ""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        rows = np.arange(len(attacks))
        _draw_rates(axes, attacks, WITH)
        _draw_rates(axes, attacks, OTHERWISE)
        axes.set_yticks(rows, [short_label(each.label, LABEL) for each in attacks], fontsize=7.5)
        axes.set_ylim(len(attacks) - 0.5, -0.5)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xticks(np.linspace(0, 1, 6))
        axes.set_xlabel("share of persons")
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper center", ncols=2, fontsize=8, handletextpad=0.5)

    label = f"How often each of {len(attacks)} attacks succeeded, and how often it would have otherwise"
    return svg_picture("attacks", label, (NARROW, 1.0 + 0.3 * len(attacks)), draw)


def _draw_rates(axes: Axes, attacks: Sequence[TriedAttack], style: Style) -> None:
    rates = [each.success if style is WITH else each.baseline for each in attacks]
    told = np.round([(rate.low, rate.value, rate.high) for rate in rates], 2)  # as finely as in words
    values, reach = told[:, 1], np.diff(told, axis=1).T
    drawn = np.array([each.drawn for each in attacks])
    axes.errorbar(
        values,
        np.arange(len(rates)) + style.shift,
        xerr=np.where(drawn, np.maximum(reach, 0), np.nan),
        fmt=style.marker,
        color=style.colour,
        markerfacecolor=style.inside,
        markersize=5,
        linewidth=1.3,
        capsize=2,
        label=style.label,
    )
