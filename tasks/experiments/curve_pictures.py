"""The pictures of the experiments: a line per method, its mean over seeds within a band.

Marks and dashes tell the lines apart without colour; a line breaks where no seed has a release.
"""

import io
from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tasks.experiments.curves import Curve, Line, Place
from tasks.experiments.experiment_words import AXIS_NAMES, LINE_NAMES
from tasks.experiments.plots import CHANGED_SHOWN, LOSS_SHOWN, Panel, Plot
from tasks.reports.pictures import BLUE, GRID, INK, ORANGE, STYLE, WIDE, svg_picture

SVG = "http://www.w3.org/2000/svg"
DPI = 160
TALL, MORE = 3.1, 2.1
APART = 0.011  # of the x axis, between the marks of two lines


class Look(NamedTuple):
    """How a line is drawn."""

    colour: str
    marker: str
    dashes: str


LOOKS: dict[Line, Look] = {
    "unfragmented": Look(ORANGE, "P", "-"),
    "fragmented": Look(BLUE, "o", "-"),
    "naive": Look("#7a8794", "v", "-"),
    "dependency_graph": Look(BLUE, "s", "-"),
    "delta_selectivity": Look("#007a5a", "D", "-"),
    "min_distortion": Look("#b14a86", "o", "-"),
    "unfragmented_diversity": Look(ORANGE, "X", "--"),
    "diversity": Look(INK, "^", "--"),
    "majority": Look(INK, "", ":"),
}


class Picture(NamedTuple):
    """A plot, drawn.

    Attributes
    ----------
    svg
        An element that stands in a page, or alone as a file.
    """

    svg: str
    png: bytes


def picture(plot: Plot) -> Picture:
    """Draw a plot; the same figures give the same bytes."""
    size = WIDE, TALL + MORE * (len(plot.rows) - 1)
    drawn: list[Figure] = []

    def draw(figure: Figure) -> None:
        _draw(figure, plot)
        drawn.append(figure)

    svg = svg_picture(plot.name, plot.title, size, draw)
    return Picture(_described(svg, plot), _png(drawn[0]))


def _png(figure: Figure) -> bytes:
    """Return a figure that was laid out before as a file."""
    content = io.BytesIO()
    figure.set_layout_engine("none")
    with mpl.rc_context(STYLE):
        figure.savefig(content, format="png", dpi=DPI, metadata={"Software": None})
    return content.getvalue()


def _described(svg: str, plot: Plot) -> str:
    """Return an SVG with the words that stand in its place for who cannot see it."""
    root = ET.fromstring(svg)  # noqa: S314 - our own picture, not outside text
    del root.attrib["aria-label"]
    root.set("aria-labelledby", f"{plot.name}-title")
    root.set("aria-describedby", f"{plot.name}-desc")
    title = ET.Element("title", id=f"{plot.name}-title")
    title.text = plot.title
    description = ET.Element("desc", id=f"{plot.name}-desc")
    description.text = description_of(plot)
    root.insert(0, title)
    root.insert(1, description)
    root.set("xmlns", SVG)
    return ET.tostring(root, encoding="unicode")


def description_of(plot: Plot) -> str:
    """Return what a picture shows, in words: where each line starts and ends."""
    return " ".join(f"{panel.title}: {_ends_of(panel)}." for panel in plot.panels)


def _ends_of(panel: Panel) -> str:
    return "; ".join(
        f"{LINE_NAMES[curve.line]} {' to '.join(_ends(curve)) or 'without a release'}"
        for curve in panel.curves
    )


def _ends(curve: Curve) -> list[str]:
    known = [place for place in curve.places if place.mean is not None]
    ends = dict.fromkeys((*known[:1], *known[-1:]))
    return [f"{place.mean:.2f} ({AXIS_NAMES[curve.axis]} {place.x})" for place in ends]


def _draw(figure: Figure, plot: Plot) -> None:
    columns = max(map(len, plot.rows))
    grid = figure.subplots(len(plot.rows), columns, sharex=True, sharey=True, squeeze=False)
    for row, panels in zip(grid, plot.rows, strict=True):
        row[0].set_ylabel(plot.quantity)
        for axes, panel in zip(row, panels, strict=False):
            _draw_panel(axes, panel, plot)
            _limit(axes, plot)
        for axes in row[len(panels) :]:
            axes.set_axis_off()
    for axes in grid[-1]:
        axes.set_xlabel(AXIS_NAMES[plot.axis])
    _draw_legend(figure, plot)


def _draw_legend(figure: Figure, plot: Plot) -> None:
    gaps = "; ".join(f"{LINE_NAMES[gap.line]} {gap.missing} of {gap.of}" for gap in plot.gaps)
    figure.legend(
        handles=[_key(line) for line in plot.lines],
        title=f"without a release: {gaps}" if gaps else None,
        title_fontsize=7.5,
        loc="outside lower center",
        ncols=3,
        fontsize=8,
        handlelength=3.2,
    )


def _draw_panel(axes: Axes, panel: Panel, plot: Plot) -> None:
    places = sorted({place.x for curve in plot.curves for place in curve.places})
    axes.set_title(panel.title, fontsize=8.5, loc="left")
    axes.set_xticks(places)
    axes.grid(axis="y", color=GRID)
    axes.set_axisbelow(True)
    marked = [line for line in plot.lines if line != "majority"]
    apart = APART * (places[-1] - places[0])
    for curve in panel.curves:
        if curve.line in marked:
            rank = marked.index(curve.line) - (len(marked) - 1) / 2
            _draw_curve(axes, curve.places, LOOKS[curve.line], apart * rank)
        else:
            _draw_majority(axes, curve, plot)


def _limit(axes: Axes, plot: Plot) -> None:
    """Show a share of all there is from 0: losses up to 1."""
    if plot.quantity == LOSS_SHOWN:
        axes.set_ylim(0, 1.02)
    elif plot.quantity == CHANGED_SHOWN:
        axes.set_ylim(bottom=0)


def _draw_majority(axes: Axes, curve: Curve, plot: Plot) -> None:
    """Draw the most frequent class's line; where it is far below all others, say where it is instead."""
    levels = [place.mean for place in curve.places if place.mean is not None]
    others = [place for one in plot.curves if one.line != "majority" for place in one.places]
    lowest = min((place.lowest for place in others if place.lowest is not None), default=1.0)
    highest = max((place.highest for place in others if place.highest is not None), default=0.0)
    if max(levels) > lowest - (highest - lowest) / 2:
        _draw_curve(axes, curve.places, LOOKS["majority"], 0.0)
        return
    label = f"{LINE_NAMES['majority']}: {max(levels):.2f} \N{DOWNWARDS ARROW}"
    axes.text(1, 0.01, label, transform=axes.transAxes, ha="right", va="bottom", fontsize=7.5)


def _draw_curve(axes: Axes, places: Sequence[Place], look: Look, shift: float) -> None:
    x = np.array([place.x for place in places]) + shift
    mean, lowest, highest = (
        _numbers([getattr(place, name) for place in places]) for name in ("mean", "lowest", "highest")
    )
    if any(place.seeds > 1 for place in places):
        axes.fill_between(x, lowest, highest, color=look.colour, alpha=0.12, linewidth=0)
    axes.plot(x, mean, **_style(look))


def _numbers(values: Sequence[float | None]) -> npt.NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values])


def _style(look: Look) -> dict[str, Any]:
    return {
        "color": look.colour,
        "linestyle": look.dashes,
        "linewidth": 1.4,
        "marker": look.marker,
        "markersize": 7 if look.marker in {"P", "X"} else 5,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
    }


def _key(line: Line) -> Line2D:
    return Line2D([], [], label=LINE_NAMES[line], **_style(LOOKS[line]))
