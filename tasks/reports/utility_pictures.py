"""The report's pictures of utility: what features tell of the class, and how far frequencies are off."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.reports.pictures import BLUE, INK, LABELLED_FEATURES, LINK, NARROW, short_label, svg_picture
from tasks.reports.report_utility import Utility

Floats = npt.NDArray[np.float64]


def information_kept_picture(utility: Utility) -> str:
    """Draw what each feature tells of the class before and after, who told most first."""
    features = sorted(utility.features, key=lambda feature: feature.information_before)
    before = np.array([feature.information_before for feature in features])
    after = np.array([feature.information_after for feature in features])

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        if len(features) <= LABELLED_FEATURES:
            _draw_dots(axes, before, after)
            _name_rows(axes, [feature.name for feature in features])
            axes.set_xlabel("nats that the feature tells of the class")
            axes.set_xlim(left=-0.02 * max(before.max(), after.max(), 0.01))
        else:
            _draw_lines(axes, before, after)
        figure.legend(loc="outside upper center", ncols=2, fontsize=8, handletextpad=0.5)

    label = f"What {len(features)} features tell of the class, before and in what is published"
    return svg_picture("kept", label, (NARROW, _height(len(features))), draw)


def distance_picture(utility: Utility) -> str:
    """Draw how far the distribution of each feature is from that of the input, the farthest first."""
    features = sorted(utility.features, key=lambda feature: feature.distance)
    distances = np.array([feature.distance for feature in features])

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        if len(features) <= LABELLED_FEATURES:
            rows = np.arange(len(features))
            axes.hlines(rows, 0, distances, color=LINK, linewidth=1.5)
            axes.scatter(distances, rows, s=26, color=BLUE, marker="o", zorder=3)
            _name_rows(axes, [feature.name for feature in features])
            axes.set_xlim(-0.02, 1.02)
            axes.set_xlabel("distance (0 same frequencies, 1 nothing in common)")
        else:
            axes.plot(_ranks(distances), distances, color=BLUE, linewidth=2)
            axes.set_ylim(-0.02, 1.02)
            axes.set_ylabel("distance")
            axes.set_xlabel("features, the farthest first")
            _lay_grid(axes, "y")

    label = f"How far the frequencies of {len(features)} features are from those of the input"
    return svg_picture("distance", label, (NARROW, _height(len(features))), draw)


def _height(features: int) -> float:
    return 1.0 + 0.16 * features if features <= LABELLED_FEATURES else 2.8


def _draw_dots(axes: Axes, before: Floats, after: Floats) -> None:
    rows = np.arange(len(before))
    axes.hlines(rows, before, after, color=LINK, linewidth=1.5)
    axes.scatter(before, rows, s=26, facecolor="white", edgecolor=INK, marker="o", label="before", zorder=3)
    axes.scatter(after, rows, s=26, color=BLUE, marker="o", label="as published", zorder=4)


def _draw_lines(axes: Axes, before: Floats, after: Floats) -> None:
    ranks = _ranks(before)
    axes.plot(ranks, before, color=INK, linewidth=1.5, linestyle="--", label="before", zorder=3)
    axes.scatter(ranks, after, s=7, color=BLUE, linewidths=0, label="as published", zorder=2)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("nats told of the class")
    axes.set_xlabel("features, who told most first")
    _lay_grid(axes, "y")


def _ranks(ascending: Floats) -> npt.NDArray[np.intp]:
    return np.arange(len(ascending), 0, -1)


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [short_label(name) for name in names], fontsize=7.5)
    axes.set_ylim(-0.7, len(names) - 0.3)
    _lay_grid(axes, "x")


def _lay_grid(axes: Axes, axis: Literal["x", "y"]) -> None:
    axes.grid(axis=axis)
    axes.set_axisbelow(True)
