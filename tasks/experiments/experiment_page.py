"""The page of the experiments, and all files beside it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from tasks.experiments.claims import PAPER_DATA, claims
from tasks.experiments.comparisons import Pair
from tasks.experiments.curve_pictures import Picture, picture
from tasks.experiments.curves import LOSS, STRATEGIES, Curve, Place, as_found
from tasks.experiments.experiment_files import (
    figures_as_csv,
    remove_files,
    summary_as_csv,
    write_files,
)
from tasks.experiments.experiment_words import (
    BOUNDS_NAMES,
    FORM_NAMES,
    LINE_NAMES,
    data_name,
    gain_in_words,
    in_order,
    learner_and_form,
    learner_name,
)
from tasks.experiments.figures import Figure, Level, Point
from tasks.experiments.gains import Beside, Tally, gains, tallies
from tasks.experiments.plots import Plot, plot_names, plots
from tasks.experiments.runs import TEST_SHARE
from tasks.version import __version__

PAGE, FIGURES, SUMMARY, PICTURES = "experiments.html", "figures.csv", "summary.csv", "pictures"
LISTED = 40  # exceptions to a claim


class Run(NamedTuple):
    """What was done with a data set."""

    data: str
    features: list[int]
    k: list[int]
    seeds: int
    points: int
    releases: int
    without: int
    majority: str


class Row(NamedTuple):
    """A line of a picture as a row of its table, a cell for each place of the x axis."""

    name: str
    cells: list[str]


class Shown(NamedTuple):
    """A picture with its table.

    Attributes
    ----------
    places
        Of the x axis.
    panels
        The title and the rows of each panel.
    seeds
        The most at any place.
    """

    plot: Plot
    svg: str
    places: list[int]
    panels: list[tuple[str, list[Row]]]
    seeds: int


def write_experiments(
    figures: Sequence[Figure], levels: Sequence[Level], folder: Path, missing: int = 0
) -> None:
    """Write the figures as CSV, the paper's pictures, and a page that tells what they say.

    Earlier files of the same names are replaced, each as a whole. Earlier pictures that this page does not
    show are removed.

    Parameters
    ----------
    figures, levels
        Of the points that are done; need not be all.
    folder
        It exists.
    missing
        How many points were planned but failed.

    Raises
    ------
    ConfigurationError
        If the folder cannot be written.
    """
    found = as_found(figures, levels)
    drawn = [(plot, picture(plot)) for plot in plots(found)]
    pictures = {
        f"{PICTURES}/{plot.name}.{form}": content
        for plot, made in drawn
        for form, content in (("svg", made.svg.encode()), ("png", made.png))
    }
    tables = {
        FIGURES: figures_as_csv(figures).encode(),
        SUMMARY: summary_as_csv(found).encode(),
    }
    page = render_experiments(figures, levels, drawn, missing)
    write_files(tables | pictures | {PAGE: page.encode()}, folder)
    known = (f"{PICTURES}/{name}.{form}" for name in plot_names() for form in ("svg", "png"))
    remove_files(set(known) - set(pictures), folder)


def render_experiments(
    figures: Sequence[Figure],
    levels: Sequence[Level],
    drawn: Iterable[tuple[Plot, Picture]],
    missing: int = 0,
) -> str:
    """Return the page, which needs nothing from outside it.

    Parameters
    ----------
    figures, levels
        Of the points that are done.
    drawn
        The pictures, in their order.
    missing
        How many points were planned but failed.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("tasks.experiments", ""), PackageLoader("tasks.reports", "")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"data": data_name, "gain": gain_in_words, "measure": _measure_in_words}
    environment.filters |= {"release": _release_in_words, "line": LINE_NAMES.__getitem__}
    environment.filters |= {"bounds": BOUNDS_NAMES.__getitem__, "beside": _beside_in_words}
    return environment.get_template("experiments.html.j2").render(
        unjoin_version=__version__,
        missing=missing,
        runs=_runs(figures, levels),
        claims=claims(figures),
        gains=gains(figures, levels),
        tallies=_by_data(tallies(figures, levels)),
        shown=[_shown(plot, made.svg) for plot, made in drawn],
        listed=LISTED,
        paper_data=PAPER_DATA,
        test_share=TEST_SHARE,
    )


def _runs(figures: Sequence[Figure], levels: Sequence[Level]) -> list[Run]:
    return [
        _run(
            data,
            [figure for figure in figures if figure.point.data == data and figure.measure == LOSS],
            [level.majority for level in levels if level.point.data == data],
        )
        for data in in_order(figure.point.data for figure in figures)
    ]


def _run(data: str, losses: Sequence[Figure], majority: Sequence[float]) -> Run:
    points: set[Point] = {figure.point for figure in losses}
    return Run(
        data,
        sorted({point.features for point in points}),
        sorted({point.k for point in points}),
        len({point.seed for point in points}),
        len(points),
        len(losses),
        sum(figure.value is None for figure in losses),
        _range(min(majority), max(majority)) if majority else "none",
    )


def _range(lowest: float, highest: float) -> str:
    low, high = f"{lowest:.3f}", f"{highest:.3f}"
    return low if low == high else f"{low} to {high}"


def _by_data(found: Iterable[Tally]) -> dict[str, tuple[list[Tally], list[Tally]]]:
    """Return the tallies of each data set: those over everything, and those of each learner and bounds."""
    parts: dict[str, tuple[list[Tally], list[Tally]]] = {}
    for tally in found:
        over_all, each = parts.setdefault(tally.data, ([], []))
        (over_all if tally.measure is None else each).append(tally)
    return parts


def _shown(plot: Plot, svg: str) -> Shown:
    places = sorted({place.x for curve in plot.curves for place in curve.places})
    panels = [(panel.title, [_table_row(curve, places) for curve in panel.curves]) for panel in plot.panels]
    seeds = max(place.seeds for curve in plot.curves for place in curve.places)
    return Shown(plot, svg, places, panels, seeds)


def _table_row(curve: Curve, places: Iterable[int]) -> Row:
    at = {place.x: place for place in curve.places}
    return Row(LINE_NAMES[curve.line], [_cell(at.get(x)) for x in places])


def _cell(place: Place | None) -> str:
    if place is None:
        return ""
    if place.mean is None or place.lowest is None or place.highest is None:
        return "no release"
    spread = f" ({_range(place.lowest, place.highest)})" if place.seeds > 1 else ""
    return f"{place.mean:.3f}{spread}"


def _beside_in_words(beside: Beside) -> str:
    """Return what the most frequent class alone reaches at the place of a pair."""
    if beside.majority is None:
        return "not known"
    return f"{beside.majority:.3f}{'' if beside.above else ', better than both'}"


def _measure_in_words(measure: str) -> str:
    learnt = learner_and_form(measure)
    return f"{learner_name(learnt[0])}, {FORM_NAMES[learnt[1]]}" if learnt else measure.replace("_", " ")


def _release_in_words(pair: Pair) -> str:
    """Return the release of a pair; the loss of a strategy is that of all."""
    of_all = pair.measure == LOSS and pair.method in STRATEGIES
    return LINE_NAMES["fragmented" if of_all else pair.method]
