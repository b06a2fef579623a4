"""Figures of experiments that never ran: smooth formulas, so that every mean can be worked out."""

from itertools import product

from tasks.experiments.comparisons import ONE_TABLE
from tasks.experiments.curves import BOUNDS, STRATEGIES
from tasks.experiments.figures import Figure, Level, Point

METHODS = ("unfragmented", *STRATEGIES, "unfragmented_diversity", "diversity")
FEATURES, KS = (10, 20, 30, 40), (10, 20, 40, 60, 80, 100)
MAJORITY = {"musk": 0.853, "texture": 0.02}


def points_of(data, seeds):
    """The grid of the paper: every number of features at k = 40, every k with all features."""
    places = [(features, 40) for features in FEATURES] + [(40, k) for k in KS if k != 40]
    return [Point(data, seed, features, k) for seed in range(seeds) for features, k in places]


def loss(point, method, bounds):
    """Higher with features, k and seed; lower in fragments and with tight bounds."""
    grown = 0.5 + 0.01 * point.features + 0.0005 * (point.k - 40) + 0.005 * point.seed
    shrunk = grown * (0.8 if method in ONE_TABLE else 1.0) * (0.55 if bounds == "tight" else 1.0)
    return min(1.0, shrunk + (0.03 if "diversity" in method else 0.0))


def changed(point, method):
    """Of the strategies only."""
    shares = {"naive": 0.3, "dependency_graph": 0.1, "delta_selectivity": 0.08, "min_distortion": 0.02}
    return shares.get(method, 0.0) * point.k / 40


def f_measure(point, method, bounds, learner, form):
    """One that is no function of the loss alone."""
    start = 0.9 if learner == "tree" else 0.88
    kept = start - 0.15 * loss(point, method, bounds) - 0.2 * changed(point, method)
    return (
        kept - (0.03 if form == "midpoints" else 0.0) - (0.1 if method == "unfragmented_diversity" else 0.0)
    )


def figures_at(point, *, missing=()):
    """All figures of a point; None for the methods that are missing."""
    made = []
    for method, bounds in product(METHODS, BOUNDS):
        values = {
            "information_loss": loss(point, method, bounds),
            "changed": changed(point, method),
            "equivalence_classes": 1000 // point.k,
            "seconds": 0.25,
        } | {
            f"f_{learner}_{form}": f_measure(point, method, bounds, learner, form)
            for learner, form in product(("tree", "neighbours"), ("bounds", "midpoints"))
        }
        made += [
            Figure(point, method, bounds, measure, None if method in missing else value)
            for measure, value in values.items()
        ]
    return made


def made_up(names=("musk", "texture"), seeds=3):
    """Figures and levels; on texture with k = 100, naive has no release."""
    points = [point for name in names for point in points_of(name, seeds)]
    figures = [
        figure
        for point in points
        for figure in figures_at(
            point, missing=("naive",) if point.data == "texture" and point.k == 100 else ()
        )
    ]
    return figures, [Level(point, MAJORITY[point.data]) for point in points]
