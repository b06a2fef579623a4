"""Which curves make up which picture: the paper's figures, for each data set."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tasks.experiments.comparisons import ONE_TABLE
from tasks.experiments.curves import (
    AXES,
    BOUNDS,
    CHANGED,
    FIXED_K,
    LINES,
    LOSS,
    MAJORITY,
    STRATEGIES,
    Axis,
    Curve,
    Found,
    Line,
    curves,
    largest_features,
    losses_at_once,
)
from tasks.experiments.experiment_words import (
    AXIS_NAMES,
    BOUNDS_NAMES,
    DATA_SETS,
    FORM_NAMES,
    LEARNERS,
    data_name,
    in_order,
    learner_and_form,
    learner_name,
)

LOSS_SHOWN, CHANGED_SHOWN, F_SHOWN = "information loss", "share of class values", "weighted F-measure"


class Panel(NamedTuple):
    """A pair of axes with its curves."""

    title: str
    curves: tuple[Curve, ...]


class Gap(NamedTuple):
    """How many releases of a line do not exist, since none keeps what was asked, of how many."""

    line: Line
    missing: int
    of: int


class Plot(NamedTuple):
    """A picture.

    Attributes
    ----------
    name
        Of its files, such as "musk_loss_features".
    title
        What is drawn against what, and what is fixed.
    quantity
        What the y axis shows.
    rows
        Panels from top to bottom, each row from left to right: bounds by cuts, then tight; one for both where
        the bounds make no difference.
    """

    name: str
    data: str
    axis: Axis
    title: str
    quantity: str
    rows: tuple[tuple[Panel, ...], ...]

    @property
    def panels(self) -> list[Panel]:
        """The panels of all rows."""
        return [panel for row in self.rows for panel in row]

    @property
    def curves(self) -> list[Curve]:
        """The curves of all panels, a curve once for each panel that shows it."""
        return [curve for panel in self.panels for curve in panel.curves]

    @property
    def lines(self) -> list[Line]:
        """The lines that any panel shows, each once."""
        shown = {curve.line for curve in self.curves}
        return [line for line in LINES if line in shown]

    @property
    def gaps(self) -> list[Gap]:
        """The lines for which some releases do not exist."""
        return [gap for gap in map(self._gap, self.lines) if gap.missing]

    def _gap(self, line: Line) -> Gap:
        releases = {
            (curve.bounds, place.x): place
            for curve in self.curves
            for place in curve.places
            if curve.line == line
        }
        missing = sum(place.missing for place in releases.values())
        return Gap(line, missing, missing + sum(place.seeds for place in releases.values()))


def plot_names() -> set[str]:
    """Return the name of every picture that there can be of a data set that comes by name."""
    return {
        f"{data}_{what}_{axis}"
        for data in DATA_SETS
        for what in ("loss", *LEARNERS, "changed")
        for axis in AXES
    }


def plots(found: Iterable[Found]) -> list[Plot]:
    """Return every picture that the figures are enough for, by data set: loss, F-measures, changed values."""
    found = list(found)
    return [
        plot
        for data in in_order(one.point.data for one in found)
        for plot in _plots_of([one for one in found if one.point.data == data])
        if any(place.seeds for curve in plot.curves for place in curve.places)
    ]


def _plots_of(found: Sequence[Found]) -> list[Plot]:
    drawn = curves(_drawn(found))
    (largest,) = largest_features(one.point for one in found).items()
    made = []
    for axis in AXES:
        along = [curve for curve in drawn if curve.axis == axis]
        made.append(_loss_plot(*largest, axis, along))
        made += [_learner_plot(*largest, axis, along, learner) for learner in _learners(found)]
        made.append(_changed_plot(*largest, axis, along))
    return made


def _drawn(found: Sequence[Found]) -> list[Found]:
    """Return the figures with the losses of the strategies as one, where they agree."""
    once = losses_at_once(found)
    rest = [one for one in found if not (once and one.measure == LOSS and one.line in STRATEGIES)]
    return rest + once


def _learners(found: Iterable[Found]) -> list[str]:
    parts = [learner_and_form(one.measure) for one in found]
    return sorted({part[0] for part in parts if part}, reverse=True)


def _loss_plot(data: str, largest: int, axis: Axis, along: Sequence[Curve]) -> Plot:
    losses = [curve for curve in along if curve.measure == LOSS]
    title = _title("Information loss", data, axis, largest)
    return Plot(f"{data}_loss_{axis}", data, axis, title, LOSS_SHOWN, (_row(losses, ""),))


def _changed_plot(data: str, largest: int, axis: Axis, along: Sequence[Curve]) -> Plot:
    changed = [curve for curve in along if curve.measure == CHANGED and curve.line in ONE_TABLE]
    title = _title("Changed class values", data, axis, largest)
    row = _row(changed, "")
    if len(row) == len(BOUNDS) and _without_bounds(row[0]) == _without_bounds(row[1]):
        row = (row[0]._replace(title="with either kind of bounds"),)
    return Plot(f"{data}_changed_{axis}", data, axis, title, CHANGED_SHOWN, (row,))


def _learner_plot(data: str, largest: int, axis: Axis, along: Sequence[Curve], learner: str) -> Plot:
    majority = [curve for curve in along if curve.measure == MAJORITY]
    rows = []
    for form, words in FORM_NAMES.items():
        learnt = [curve for curve in along if learner_and_form(curve.measure) == (learner, form)]
        if learnt:
            rows.append(_row(learnt, f", {words}", majority))
    title = _title(f"F-measure ({learner_name(learner)})", data, axis, largest)
    return Plot(f"{data}_{learner}_{axis}", data, axis, title, F_SHOWN, tuple(rows))


def _title(what: str, data: str, axis: Axis, largest: int) -> str:
    if axis == "features":
        return f"{data_name(data)}: {what} against the {AXIS_NAMES[axis]}, k = {FIXED_K}"
    return f"{data_name(data)}: {what} against {AXIS_NAMES[axis]}, {largest} features"


def _row(shown: Sequence[Curve], words: str, beside: Sequence[Curve] = ()) -> tuple[Panel, ...]:
    return tuple(
        Panel(f"{BOUNDS_NAMES[bounds]}{words}", (*part, *beside))
        for bounds in BOUNDS
        for part in [tuple(curve for curve in shown if curve.bounds == bounds)]
        if part
    )


def _without_bounds(panel: Panel) -> list[Curve]:
    return [curve._replace(bounds=None) for curve in panel.curves]
