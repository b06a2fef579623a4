"""The report's picture of risks: how many candidates records have, and how surely their class follows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.reports.pictures import BLUE, INK, LINK, NARROW, ORANGE, svg_picture
from tasks.risks.figures import ClassRevealed, Reidentification, Risks

Floats = npt.NDArray[np.float64]

STARTS = np.array([1, 2, 5, 10, 20, 50, 100, 1000])
GROUPS = ("1", "2-4", "5-9", "10-19", "20-49", "50-99", "100-999", "1,000+")
SHOWN = 8  # rows of one kind; more are shown as their mean
DARKEST = 0.6  # of the colour map, which dark text can still be read on
MARKS = (  # by what is known; colours alone do not tell them apart
    ("above_half", "above 0.5", "o", "white", INK),
    ("above_nine_tenths", "above 0.9", "s", LINK, INK),
    ("certain", "certain", "D", ORANGE, ORANGE),
    ("right", "most likely is right", "X", BLUE, BLUE),
)


class Row(NamedTuple):
    """Shares of records by their number of candidates, in one fragment or join, or in several on average."""

    label: str
    shares: Floats


def risk_picture(risks: Risks, k: int, one: str = "record") -> str:
    """Draw how many candidates records have, and how surely the class follows from what is known.

    Parameters
    ----------
    risks
    k
        Marked among the numbers of candidates.
    one
        What one of those is called who are counted.
    """
    rows = candidate_rows(risks.reidentification)
    heights = 1.0 + 0.24 * len(rows), 0.9 + 0.3 * len(risks.revealed)

    def draw(figure: Figure) -> None:
        above, below = figure.subplots(2, 1, height_ratios=heights)
        _draw_candidates(above, rows, k, one)
        _draw_revealed(below, risks.revealed, one)

    label = f"Shares of {one}s by how many candidates they have, and by how surely their class is known"
    return svg_picture("risks", label, (NARROW, sum(heights)), draw)


def candidate_rows(parts: Sequence[Reidentification]) -> list[Row]:
    """Return what the picture shows: fragments, pairs, all; many of a kind as their mean."""
    kinds = {
        "fragments": [part for part in parts if len(part.fragments) == 1],
        "pairs": [part for part in parts if len(part.fragments) == 2],  # noqa: PLR2004 - a pair
        "all": [part for part in parts if len(part.fragments) > 2],  # noqa: PLR2004
    }
    rows = []
    for kind, members in kinds.items():
        shares = [_grouped(part) for part in members]
        if len(members) > SHOWN:
            rows.append(Row(f"{len(members)} {kind}, mean", np.mean(shares, axis=0)))
        else:
            rows += [Row(_label(part), share) for part, share in zip(members, shares, strict=True)]
    return rows


def _label(part: Reidentification) -> str:
    match part.fragments:
        case (one,):
            return f"fragment {one}"
        case (one, other):
            return f"{one} and {other} joined"
    return f"all {len(part.fragments)} joined"


def _grouped(part: Reidentification) -> Floats:
    """Return the shares of records by group of the picture; without candidates nobody is in any."""
    lower = np.array([group.lower for group in part.candidates])
    shares = np.array([round(group.share, 2) for group in part.candidates])  # as finely as they are told
    found = lower > 0
    places = np.searchsorted(STARTS, lower[found], side="right") - 1
    grouped = np.zeros(len(STARTS))
    np.add.at(grouped, places, shares[found])
    return grouped


def _draw_candidates(axes: Axes, rows: Sequence[Row], k: int, one: str) -> None:
    axes.imshow([row.shares for row in rows], cmap="Blues", vmin=0, vmax=1 / DARKEST, aspect="auto")
    for y, row in enumerate(rows):
        for x, share in enumerate(row.shares):
            axes.text(x, y, _percent(share), ha="center", va="center", fontsize=6.5)
    axes.axvline(_place(k), color=ORANGE, linewidth=1.2, linestyle="--")
    axes.annotate(
        f"k = {k}", (_place(k), 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=7.5
    )
    axes.set_xticks(range(len(GROUPS)), GROUPS, fontsize=6.5)
    axes.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=7.5)
    axes.set_xticks(np.arange(len(GROUPS) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(f"candidates of a {one} (share of the {one}s)")


def _place(k: int) -> float:
    """Return where k is: between two groups, or within one by its logarithm."""
    edges = np.log([*STARTS, 10 * STARTS[-1]])
    return float(np.interp(np.log(k), edges, np.arange(len(edges)) - 0.5))


def _percent(share: float) -> str:
    if share <= 0:
        return ""
    return "<1 %" if share < 0.005 else f"{100 * share:.0f} %"  # noqa: PLR2004 - what would print as zero


def _draw_revealed(axes: Axes, revealed: Sequence[ClassRevealed], one: str) -> None:
    places = np.arange(len(revealed))
    shifts = np.linspace(-0.21, 0.21, len(MARKS))
    for (field, label, marker, face, edge), shift in zip(MARKS, shifts, strict=True):
        shares = [round(getattr(known, field), 2) for known in revealed]  # as finely as they are told
        axes.scatter(shares, places + shift, s=26, marker=marker, facecolor=face, edgecolor=edge, label=label)
    axes.set_yticks(places, [_known(known) for known in revealed], fontsize=7.5)
    axes.set_ylim(len(revealed) - 0.5, -0.5)
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel(f"share of the {one}s whose class is this probable")
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2, fontsize=7.5, handletextpad=0.2)


def _known(known: ClassRevealed) -> str:
    match known.knowledge:
        case "prior":
            return "nothing known"
        case "fragment":
            return f"fragment {known.fragment}"
    return "all fragments"
