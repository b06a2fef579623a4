"""The picture of a comparison: what can be learnt against what it costs, a mark per variant.

Shape tells the strategy, shade the split, and the number in a mark how many fragments there are: all of it
can be told without colour.
"""

import io
from collections.abc import Callable
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tasks.comparing.compare import Comparison, Split, Tried
from tasks.comparing.recommend import barred, figures, mean_f
from tasks.config import Strategy
from tasks.reports.pictures import GRID, INK, LINK, ORANGE, STYLE
from tasks.trials.trial import Trial

SHAPES: dict[Strategy, str] = {
    "none": "h",
    "naive": "v",
    "dependency_graph": "s",
    "delta_selectivity": "D",
    "min_distortion": "o",
    "coarsen": "^",
}
SHADES: dict[Split, str] = {"median": "#9fc9e8", "infogain": "#0b3c66"}
ON_SHADES: dict[Split, str] = {"median": INK, "infogain": "white"}
EDGE = 0.25
SIZE, WIDTH, HEIGHT, DPI = 110, 9.0, 5.2, 160

Cost = Callable[[Trial], float]


def comparison_picture(comparison: Comparison, form: Literal["png", "svg"]) -> bytes:
    """Draw the mean F-measure of every variant against its loss, and against its changed class values.

    Parameters
    ----------
    comparison
        With at least one variant that has figures, or an empty picture is drawn.
    form
        Of the file.

    Returns
    -------
    bytes
        The file; the same figures give the same bytes.
    """
    content = io.BytesIO()
    metadata = {"Date": None} if form == "svg" else {"Software": None}
    with mpl.rc_context(STYLE):
        comparison_figure(comparison).savefig(content, format=form, dpi=DPI, metadata=metadata)
    return content.getvalue()


def comparison_figure(comparison: Comparison) -> Figure:
    """Return the picture before it is written as a file."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _draw(left, comparison, lambda trial: trial.information_loss, "information loss")
        _draw(right, comparison, lambda trial: trial.changed, "changed class values (share)")
        left.set_ylabel(f"mean weighted F-measure of {' and '.join(comparison.learners)}")
        figure.suptitle("number in a mark: fragments", fontsize=8, x=0.99, ha="right")
        figure.legend(handles=_legend(), loc="outside lower center", ncols=5, fontsize=8)
    return figure


def _draw(axes: Axes, comparison: Comparison, cost: Cost, label: str) -> None:
    axes.margins(0.14)
    _draw_references(axes, comparison)
    for one in comparison.tried:
        if one.trial is not None:
            _draw_variant(axes, one, comparison, cost)
    found = comparison.recommendation
    if found is not None:
        _draw_variant(axes, found.chosen, comparison, cost)
        place = (cost(figures(found.chosen)), mean_f(figures(found.chosen)))
        axes.scatter(*place, s=4.2 * SIZE, facecolors="none", edgecolors=ORANGE, linewidths=2, zorder=60)
        axes.annotate(
            "recommended",
            place,
            xytext=(0, 15),
            textcoords="offset points",
            ha=_beside_the_edge(axes, place[0]),
            fontweight="bold",
            zorder=61,
        )
    axes.set_xlabel(label)
    axes.grid(axis="both", color=GRID)
    axes.set_axisbelow(True)


def _beside_the_edge(axes: Axes, x: float) -> Literal["left", "center", "right"]:
    """Return the alignment of a label that keeps it from crossing an edge of the axes."""
    left, right = axes.get_xlim()
    share = (x - left) / (right - left)
    if share < EDGE:
        return "left"
    return "right" if share > 1 - EDGE else "center"


def _draw_references(axes: Axes, comparison: Comparison) -> None:
    """Draw two lines; where the lower one is far below all marks, say so instead."""
    raw, majority = comparison.references
    highest = sum(raw.values()) / len(raw)
    lowest = min((mean_f(one.trial) for one in comparison.tried if one.trial), default=majority)
    _draw_level(axes, highest, "the table itself", "--")
    if majority > lowest - (highest - lowest) / 2:
        _draw_level(axes, majority, "majority class only", ":")
    else:
        label = f"majority class only: {majority:.3f} \N{DOWNWARDS ARROW}"
        axes.text(1, 0, label, transform=axes.transAxes, ha="right", va="bottom", fontsize=7.5)


def _draw_level(axes: Axes, level: float, label: str, style: str) -> None:
    axes.axhline(level, color=INK, linewidth=1, linestyle=style)
    axes.annotate(
        label,
        (1, level),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 2),
        textcoords="offset points",
        ha="right",
        fontsize=7.5,
    )


def _draw_variant(axes: Axes, one: Tried, comparison: Comparison, cost: Cost) -> None:
    """Draw a mark with its number of fragments; an empty one if it does not keep what is asked."""
    trial, variant = figures(one), one.variant
    kept = not barred(one, comparison.config)
    layer = 30 if kept else 10
    face, ink = (SHADES[variant.split], ON_SHADES[variant.split]) if kept else ("white", INK)
    place = (cost(trial), mean_f(trial))
    axes.scatter(
        *place,
        s=SIZE if variant.fragments > 1 else 1.7 * SIZE,
        marker=SHAPES[variant.strategy] if variant.fragments > 1 else "P",
        facecolors=face,
        edgecolors=INK if kept else LINK,
        linewidths=2 if variant.guarantee == "records" and variant.fragments > 1 else 0.7,
        zorder=layer,
    )
    axes.annotate(
        str(variant.fragments), place, ha="center", va="center", fontsize=6.5, color=ink, zorder=layer
    )


def _legend() -> list[Line2D]:
    def mark(label: str, marker: str, **look: Any) -> Line2D:  # noqa: ANN401 - matplotlib's own
        settings: dict[str, Any] = {
            "markerfacecolor": "#c8ced4",
            "markeredgecolor": INK,
            "markersize": 8,
        } | look
        return Line2D([], [], linestyle="", marker=marker, label=label, **settings)

    return [
        *(mark(strategy, shape) for strategy, shape in SHAPES.items()),
        mark("one fragment", "P"),
        *(mark(f"{split} splits", "s", markerfacecolor=shade) for split, shade in SHADES.items()),
        mark("guarantee records", "s", markeredgewidth=2),
        mark("not what is asked", "s", markerfacecolor="white", markeredgecolor=LINK),
    ]
