"""Figures over seeds as curves: mean, lowest and highest along one of the paper's two x axes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Literal, NamedTuple, Protocol

from tasks.experiments.figures import Bounds, Figure, Level, Method, Point

Axis = Literal["features", "k"]
Line = Method | Literal["fragmented", "majority"]
AXES: tuple[Axis, ...] = ("features", "k")
BOUNDS: tuple[Bounds, ...] = ("cuts", "tight")
FIXED_K = 40  # of the paper's figures over the number of features
STRATEGIES: tuple[Method, ...] = ("naive", "dependency_graph", "delta_selectivity", "min_distortion")
LINES: tuple[Line, ...] = (
    "unfragmented",
    "fragmented",
    *STRATEGIES,
    "unfragmented_diversity",
    "diversity",
    "majority",
)
LOSS, CHANGED, MAJORITY = "information_loss", "changed", "f_majority"
SAME = 1e-9


class Placed(Protocol):
    """What has a place on the x axes."""

    @property
    def data(self) -> str:
        """Name of the data set."""

    @property
    def features(self) -> int:
        """How many."""

    @property
    def k(self) -> int:
        """Records that equivalence classes hold at least."""


class Found(NamedTuple):
    """A figure, or a level, as a line of a picture shows it.

    Attributes
    ----------
    line
        A method; "fragmented" for all strategies at once, "majority" for the most frequent class alone.
    bounds
        None for the majority, which no release changes.
    value
        None where no release keeps what was asked.
    """

    point: Point
    line: Line
    bounds: Bounds | None
    measure: str
    value: float | None


class Place(NamedTuple):
    """What the seeds give at one place of the x axis.

    Attributes
    ----------
    x
        Number of features, or k.
    mean, lowest, highest
        Of the seeds that have a figure; None where no seed has one.
    seeds
        How many have a figure.
    missing
        How many have none, since no release keeps what was asked.
    """

    x: int
    mean: float | None
    lowest: float | None
    highest: float | None
    seeds: int
    missing: int


class Curve(NamedTuple):
    """A line of a picture, its places from left to right."""

    data: str
    axis: Axis
    line: Line
    bounds: Bounds | None
    measure: str
    places: tuple[Place, ...]


def as_found(figures: Iterable[Figure], levels: Iterable[Level]) -> list[Found]:
    """Return figures and levels as one kind of thing."""
    return [
        *(Found(*figure) for figure in figures),
        *(Found(level.point, "majority", None, MAJORITY, level.majority) for level in levels),
    ]


def curves(found: Iterable[Found]) -> list[Curve]:
    """Return every curve along both x axes.

    Over the number of features, k is 40; over k, the number of features is the largest of the data set.
    A point where both are so is on both.

    Returns
    -------
    list of Curve
        By data set, axis, measure, line and bounds: the order of the input does not matter.
    """
    found = list(found)
    largest = largest_features(one.point for one in found)
    grouped: dict[Curve, list[Found]] = defaultdict(list)
    for one in found:
        for axis in axes_of(one.point, largest):
            grouped[Curve(one.point.data, axis, one.line, one.bounds, one.measure, ())].append(one)
    made = [curve._replace(places=_places(part, curve.axis)) for curve, part in grouped.items()]
    return sorted(made, key=_order)


def largest_features(points: Iterable[Placed]) -> dict[str, int]:
    """Return the largest number of features that each data set was tried with."""
    largest: dict[str, int] = {}
    for point in points:
        largest[point.data] = max(point.features, largest.get(point.data, 0))
    return largest


def axes_of(point: Placed, largest: Mapping[str, int]) -> Iterator[Axis]:
    """Yield the x axes that a point is on."""
    if point.k == FIXED_K:
        yield "features"
    if point.features == largest[point.data]:
        yield "k"


def x_of(point: Placed, axis: Axis) -> int:
    """Return where on an x axis a point is."""
    return point.features if axis == "features" else point.k


def _places(found: Iterable[Found], axis: Axis) -> tuple[Place, ...]:
    at: dict[int, list[float | None]] = defaultdict(list)
    for one in found:
        at[x_of(one.point, axis)].append(one.value)
    return tuple(_place(x, at[x]) for x in sorted(at))


def _place(x: int, values: Sequence[float | None]) -> Place:
    known = [value for value in values if value is not None]
    if not known:
        return Place(x, None, None, None, 0, len(values))
    return Place(x, fmean(known), min(known), max(known), len(known), len(values) - len(known))


def _order(curve: Curve) -> tuple[str, int, str, int, int]:
    bounds = -1 if curve.bounds is None else BOUNDS.index(curve.bounds)
    return curve.data, AXES.index(curve.axis), curve.measure, LINES.index(curve.line), bounds


def losses_at_once(found: Iterable[Found]) -> list[Found]:
    """Return the information loss of the strategies as one line, "fragmented", where they all agree.

    The strategies change class values and nothing else, so the loss of the features is the same with each
    (the paper's section 5.3). A strategy without a release at a point does not disagree.

    Returns
    -------
    list of Found
        For each point and bounds; none at all where two strategies disagree.
    """
    losses: dict[tuple[Point, Bounds | None], list[float | None]] = defaultdict(list)
    for one in found:
        if one.line in STRATEGIES and one.measure == LOSS:
            losses[one.point, one.bounds].append(one.value)
    merged = [(place, [value for value in values if value is not None]) for place, values in losses.items()]
    if any(known and max(known) - min(known) > SAME for _, known in merged):
        return []
    return [
        Found(point, "fragmented", bounds, LOSS, known[0] if known else None)
        for (point, bounds), known in merged
    ]
