"""The report's pictures, as SVG text that can be placed in one HTML page together.

Text stays text, colours can be told apart by colour-blind readers, every picture has a label for
screen readers, and the same figures give the same bytes.
"""

import io
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

Floats = npt.NDArray[np.float64]

BLUE, ORANGE, INK = "#0072B2", "#D55E00", "#1b1f24"
LINK, GRID, BLANK = "#9aa5b1", "#d8dde3", "#dcdcdc"
LABELLED_FEATURES = 60
NARROW, WIDE = 4.3, 8.4
MARGIN = 0.02
NARROW_LABELS = 16
LOG_SCALE = 25
ONE_COLUMN = 4
BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "unjoin",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_mathtext": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "legend.frameon": False,
}


class Block(NamedTuple):
    """A run of neighbouring rows of the mutual information picture that belong to one fragment."""

    label: str
    size: int


def visible_text(text: str) -> str:
    r"""Return a name with its control, direction and unassigned characters written as escapes.

    >>> visible_text("a\nb")
    'a\\nb'
    """
    return "".join(
        character.encode("unicode_escape").decode()
        if character in BIDI_CONTROLS or unicodedata.category(character) in {"Cc", "Cn", "Cs", "Zl", "Zp"}
        else character
        for character in text
    )


def short_label(text: str, length: int = 22) -> str:
    """Return a name as it fits beside an axis: visible, and cut with an ellipsis when too long."""
    label = visible_text(text)
    return label if len(label) <= length else label[: length - 1] + "…"


def mutual_information_picture(matrix: Floats, names: Sequence[str], blocks: Sequence[Block]) -> str:
    """Draw the mutual information of every two columns as a heat map.

    Parameters
    ----------
    matrix : array of shape (rows, rows), nats
        Mutual information in the order to be drawn; nan is left blank.
    names : sequence of names, one per row
    blocks : sequence of Block
        The fragments, then the class; a line is drawn between neighbouring blocks.
    """
    labelled = len(names) <= LABELLED_FEATURES + 1
    width = WIDE if labelled and len(names) > NARROW_LABELS else NARROW

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        axes.spines[:].set_visible(False)
        top = max(float(np.nanmax(matrix)), 1e-9)
        interpolation = "none" if len(names) <= 2 * LABELLED_FEATURES else "auto"
        colours = mpl.colormaps["Blues"].with_extremes(bad=BLANK)
        image = axes.imshow(matrix, cmap=colours, vmin=0.0, vmax=top, interpolation=interpolation)
        _draw_blocks(axes, blocks)
        if labelled:
            _label_both_axes(axes, names, min(8.5, 0.62 * width * 72 / len(names)))
        else:
            axes.set_xticks([])
            axes.set_yticks([])
        bar = figure.colorbar(image, ax=axes, orientation="horizontal", shrink=0.7, aspect=35, pad=0.02)
        bar.set_label("mutual information (nats)")

    columns = sum(block.size for block in blocks[:-1])
    label = f"Heat map of the mutual information of {columns} columns and the class, by fragment"
    return svg_picture("information", label, (width, width * 1.08), draw)


def _draw_blocks(axes: Axes, blocks: Sequence[Block]) -> None:
    ends = np.cumsum([block.size for block in blocks])
    width = max(0.5, 1.3 - 0.06 * len(blocks))
    for end in ends[:-1] - 0.5:
        axes.axhline(end, color=ORANGE, linewidth=width)
        axes.axvline(end, color=ORANGE, linewidth=width)
    right = axes.secondary_yaxis("right")
    right.spines[:].set_visible(False)
    right.set_yticks(ends - np.array([block.size for block in blocks]) / 2 - 0.5)
    right.set_yticklabels([block.label for block in blocks])
    right.tick_params(length=0, rotation=0, labelsize=7.5)


def _label_both_axes(axes: Axes, names: Sequence[str], size: float) -> None:
    labels = [short_label(name) for name in names]
    axes.set_xticks(range(len(names)), labels, rotation=90, fontsize=size)
    axes.set_yticks(range(len(names)), labels, fontsize=size)
    axes.tick_params(length=0)


def information_loss_picture(names: Sequence[str], loss: Floats, one_table: Floats | None) -> str:
    """Draw each feature's information loss, the highest first.

    Parameters
    ----------
    names : sequence of p names
    loss : array of shape (p,), share of the feature's range
    one_table : array of shape (p,), likewise, or None
        The loss when nothing is fragmented; None when that is what was published.
    """
    order = np.argsort(loss, kind="stable")
    baseline = None if one_table is None else one_table[order]
    detailed = len(names) <= LABELLED_FEATURES
    height = 1.0 + 0.16 * len(names) if detailed else 2.8

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        if detailed:
            _draw_dumbbells(axes, [names[i] for i in order], loss[order], baseline)
        else:
            _draw_loss_curve(axes, loss[order], baseline)
        if baseline is not None:
            figure.legend(loc="outside upper center", ncols=2, fontsize=8, handletextpad=0.5)

    forms = "as published" if one_table is None else "published in fragments and in one table"
    return svg_picture("loss", f"Information loss of {len(names)} features, {forms}", (NARROW, height), draw)


def _draw_dumbbells(axes: Axes, names: Sequence[str], loss: Floats, baseline: Floats | None) -> None:
    rows = np.arange(len(names))
    axes.hlines(rows, loss, np.zeros_like(loss) if baseline is None else baseline, color=LINK, linewidth=1.5)
    if baseline is not None:
        axes.scatter(baseline, rows, s=22, color=ORANGE, marker="D", label="in one table", zorder=3)
    axes.scatter(loss, rows, s=26, color=BLUE, marker="o", label="in fragments", zorder=3)
    axes.set_yticks(rows, [short_label(name) for name in names], fontsize=7.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.set_xlabel("information loss (0 exact, 1 nothing left)")
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _draw_loss_curve(axes: Axes, loss: Floats, baseline: Floats | None) -> None:
    ranks = np.arange(len(loss), 0, -1)
    if baseline is not None:
        axes.scatter(
            ranks, baseline, s=7, color=ORANGE, marker="D", linewidths=0, label="in one table", zorder=2
        )
    axes.plot(ranks, loss, color=BLUE, linewidth=2, label="in fragments", zorder=3)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("information loss")
    axes.set_xlabel("features, the highest loss first")
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def class_size_picture(class_sizes: Sequence[npt.NDArray[np.int64]], k: int) -> str:
    """Draw how many equivalence classes hold how many records, one histogram per fragment.

    Parameters
    ----------
    class_sizes : per fragment, array of shape (ECs of the fragment,), records
    k : int
        Marked in every histogram.
    """
    edges = _size_edges(min(k, *(int(s.min()) for s in class_sizes)), max(int(s.max()) for s in class_sizes))
    columns = 1 if len(class_sizes) <= ONE_COLUMN else 2
    rows = -(-len(class_sizes) // columns)

    def draw(figure: Figure) -> None:
        panels = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
        for number, (axes, sizes) in enumerate(zip(panels, class_sizes, strict=False), start=1):
            _draw_sizes(axes, f"Fragment {number}", sizes, edges)
            axes.axvline(k - 0.5, color=ORANGE, linewidth=1.5, linestyle="--", label=f"k = {k}")
        for axes in panels[len(class_sizes) :]:
            axes.set_axis_off()
        panels[0].legend(loc="lower right", bbox_to_anchor=(1, 0.97), fontsize=8)
        figure.supxlabel("records in the equivalence class", fontsize=8)

    label = f"Histograms of the sizes of the equivalence classes, by fragment; k = {k}"
    return svg_picture("sizes", label, (NARROW, 0.8 + 1.15 * rows), draw)


def _draw_sizes(axes: Axes, title: str, sizes: npt.NDArray[np.int64], edges: Floats) -> None:
    axes.hist(sizes, bins=edges.tolist(), color=BLUE, edgecolor="white", linewidth=0.5)
    axes.set_title(title, fontsize=8.5, loc="left")
    axes.set_ylabel("ECs")
    axes.locator_params(axis="y", integer=True, nbins=4)
    axes.tick_params(labelbottom=True)
    if edges[-1] > LOG_SCALE * edges[0]:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")


def _size_edges(smallest: int, largest: int) -> Floats:
    if largest > LOG_SCALE * smallest:
        return np.geomspace(smallest - 0.5, largest + 0.5, 31, dtype=np.float64)
    step = -(-(largest - smallest + 1) // 30)
    return np.arange(smallest, largest + step + 1, step, dtype=np.float64) - 0.5


def svg_picture(name: str, label: str, size: tuple[float, float], draw: Callable[[Figure], None]) -> str:
    """Return what `draw` draws as an SVG element without a reference to anything outside it.

    Parameters
    ----------
    name : str
        Prefix of every id in the picture, so that several fit in one page.
    label : str
        Read aloud in the picture's place.
    size : (width, height), inches
    draw : callable
        Fills an empty figure.
    """
    text = io.StringIO()
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the browser has the font
        figure = Figure(figsize=size, layout="constrained", dpi=FigureCanvasSVG.fixed_dpi)
        FigureCanvasSVG(figure)
        draw(figure)
        drawn = _laid_out(figure)
        figure.savefig(
            text, format="svg", metadata={"Date": None}, transparent=True, bbox_inches=drawn, dpi=144
        )
    return _inline(text.getvalue(), name, label, "wide" if size[0] > NARROW else "narrow")


def _laid_out(figure: Figure) -> Bbox:
    """Lay a figure out, once; return the part of it to save, in inches.

    Left to itself, saving would draw everything once more to find out.
    """
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
    figure.set_layout_engine(None)
    return figure.get_tightbbox().padded(MARGIN)


def _inline(svg: str, name: str, label: str, width: str) -> str:
    root = ET.fromstring(svg)  # noqa: S314 - our own picture, not outside text
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key in [key for key in element.attrib if key.startswith("{")]:
            element.set(key.rpartition("}")[2], element.attrib.pop(key))
        _prefix_ids(element, name)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": label, "class": width}
    return ET.tostring(root, encoding="unicode")


def _prefix_ids(element: ET.Element, name: str) -> None:
    for key, value in element.attrib.items():
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key == "href" and value.startswith("#"):
            element.set(key, f"#{name}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, value.replace("url(#", f"url(#{name}-"))
