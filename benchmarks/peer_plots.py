"""Draws what peers.py measured: time and memory against rows, columns and k, on logarithmic axes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from peers import Point, Row


class Style(NamedTuple):
    """How a tool is drawn."""

    colour: str
    marker: str
    line: str


STYLES = {
    "unjoin": Style("#1b4f8f", "o", "-"),
    "unjoin, cuts alone": Style("#1b4f8f", "o", "--"),
    "minimum and maximum per level": Style("#777777", "", ":"),
    "anonypy": Style("#c2571a", "s", "-"),
    "anonymity-api": Style("#2e7d32", "^", "-"),
    "anjana": Style("#8e2a7c", "D", "-"),
}
MEASURES = {"cpu": "seconds of CPU", "megabytes": "MB, imports left out"}


def plot(found: Sequence["Row"], series: Mapping[str, Sequence["Point"]], path: Path) -> None:
    """Draw a row of plots per measure, one against each of rows, columns and k."""
    with mpl.rc_context({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(10, 6), layout="constrained")
        grid = figure.subplots(len(MEASURES), len(series), sharey="row")
        for axes_of, (measure, label) in zip(grid, MEASURES.items(), strict=True):
            for axes, (varied, points) in zip(axes_of, series.items(), strict=True):
                draw(axes, found, measure, varied, points)
            axes_of[0].set_ylabel(label)
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        figure.savefig(path, dpi=110)


def draw(axes: Axes, found: Sequence["Row"], measure: str, varied: str, points: Sequence["Point"]) -> None:
    """Draw each tool's line against what is varied; a tool that did not end has no mark there."""
    for tool, style in STYLES.items():
        rows = [row for point in points for row in found if row[:3] == point and row.tool == tool]
        drawn = [(getattr(row, varied), getattr(row, measure)) for row in rows if getattr(row, measure)]
        if rows:
            xs, ys = zip(*drawn, strict=True) if drawn else ((), ())
            axes.loglog(xs, ys, color=style.colour, marker=style.marker, ls=style.line, ms=4, label=tool)
    fixed = {name: getattr(points[0], name) for name in points[0]._fields if name != varied}
    axes.set_title(", ".join(f"{name} {value:,}" for name, value in fixed.items()))
    axes.set_xlabel(varied)
    axes.set_xticks([getattr(point, varied) for point in points])
    axes.set_xticklabels([f"{getattr(point, varied):,}" for point in points])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(alpha=0.3)
