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


def plot(found: Sequence["Row"], series: Mapping[str, Sequence["Point"]], limit: int, path: Path) -> None:
    """Draw a row of plots per measure, one against each of rows, columns and k.

    A tool that was stopped has a cross at the limit, in seconds of CPU.
    """
    with mpl.rc_context({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(10, 6), layout="constrained")
        grid = figure.subplots(len(MEASURES), len(series), sharey="row")
        for axes_of, (measure, label) in zip(grid, MEASURES.items(), strict=True):
            for axes, (varied, points) in zip(axes_of, series.items(), strict=True):
                rows = [row for point in points for row in found if row[:3] == point]
                draw(axes, rows, measure, varied)
                name_axes(axes, varied, points)
            axes_of[0].set_ylabel(label)
        for axes, varied in zip(grid[0], series, strict=True):
            stopped = [row for row in found if row.outcome.startswith("stopped")]
            mark(axes, [row for row in stopped if row[:3] in series[varied]], varied, limit)
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        figure.savefig(path, dpi=110)


def draw(axes: Axes, rows: Sequence["Row"], measure: str, varied: str) -> None:
    """Draw each tool's line against what is varied."""
    for tool, style in STYLES.items():
        ended = [row for row in rows if row.tool == tool and getattr(row, measure)]
        xs, ys = ([getattr(row, name) for row in ended] for name in (varied, measure))
        if ended:
            axes.loglog(xs, ys, color=style.colour, marker=style.marker, ls=style.line, ms=4, label=tool)


def mark(axes: Axes, stopped: Sequence["Row"], varied: str, limit: int) -> None:
    """Draw a cross for each tool that was stopped."""
    for row in stopped:
        axes.plot(getattr(row, varied), limit, color=STYLES[row.tool].colour, marker="x", ms=6)


def name_axes(axes: Axes, varied: str, points: Sequence["Point"]) -> None:
    """Say what is varied and what is not."""
    fixed = {name: getattr(points[0], name) for name in points[0]._fields if name != varied}
    axes.set_title(", ".join(f"{name} {value:,}" for name, value in fixed.items()))
    axes.set_xlabel(varied)
    axes.set_xticks([getattr(point, varied) for point in points])
    axes.set_xticklabels([f"{getattr(point, varied):,}" for point in points])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(alpha=0.3)
