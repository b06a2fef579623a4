"""Curves over seeds, the pairs that claims compare, and what becomes of the paper's claims: by hand."""

import numpy as np
import pytest
from made_up_experiments import figures_at, made_up, points_of

from tasks.experiments.claims import claims
from tasks.experiments.comparisons import (
    Pair,
    along,
    extremes,
    fragments_against_one_table,
    judged,
    losses_against_level,
    means,
    steps_along,
    strategies_against_each_other,
    strategies_once,
    tight_against_cuts,
)
from tasks.experiments.curves import (
    LOSS,
    STRATEGIES,
    Curve,
    Place,
    as_found,
    curves,
    losses_at_once,
)
from tasks.experiments.experiment_words import in_order, learner_and_form
from tasks.experiments.figures import Figure, Level, Point
from tasks.experiments.gains import Beside, gains, majority_of, tallies
from tasks.experiments.plots import Gap, plots


def loss_of(value, features=10, k=40, *, seed=0, method="unfragmented", bounds="cuts", data="musk"):
    return Figure(Point(data, seed, features, k), method, bounds, LOSS, value)


def f_of(value, measure="f_tree_bounds", **where):
    return loss_of(value, **where)._replace(measure=measure)


def curves_of(*figures, levels=()):
    return curves(as_found(figures, levels))


def test_a_place_is_the_mean_the_lowest_and_the_highest_of_the_seeds():
    (curve,) = (
        curve
        for curve in curves_of(loss_of(0.25, seed=0), loss_of(0.5, seed=1), loss_of(0.75, seed=2))
        if curve.axis == "features"
    )
    assert curve == Curve(
        "musk", "features", "unfragmented", "cuts", LOSS, (Place(10, 0.5, 0.25, 0.75, 3, 0),)
    )


def test_a_place_without_any_release_breaks_the_curve_and_one_with_some_counts_the_rest():
    figures = [
        *(loss_of(None, 10, seed=seed) for seed in (0, 1)),
        loss_of(0.5, 20, seed=0),
        loss_of(None, 20, seed=1),
    ]
    (curve,) = (curve for curve in curves_of(*figures) if curve.axis == "features")
    assert curve.places == (Place(10, None, None, None, 0, 2), Place(20, 0.5, 0.5, 0.5, 1, 1))


def test_a_point_lies_on_the_axes_that_fix_what_it_has():
    figures = [loss_of(0.1, 10), loss_of(0.2, 40), loss_of(0.3, 40, k=20), loss_of(0.4, 10, k=20)]
    places = {curve.axis: [(place.x, place.mean) for place in curve.places] for curve in curves_of(*figures)}
    assert places == {"features": [(10, 0.1), (40, 0.2)], "k": [(20, 0.3), (40, 0.2)]}


def test_the_largest_number_of_features_is_that_of_each_data_set():
    figures = [loss_of(0.1, 40, k=20), loss_of(0.2, 36, k=20, data="satimage"), loss_of(0.3, 36, k=20)]
    assert [(curve.data, curve.places[0].mean) for curve in curves_of(*figures)] == [
        ("musk", 0.1),
        ("satimage", 0.2),
    ]


def test_curves_do_not_depend_on_the_order_of_what_was_found():
    figures, levels = made_up(seeds=2)
    found = as_found(figures, levels)
    shuffled = [found[place] for place in np.random.default_rng(3).permutation(len(found))]
    assert curves(shuffled) == curves(found)


def test_the_most_frequent_class_alone_is_a_curve_without_bounds():
    levels = [Level(Point("musk", seed, 10, 40), value) for seed, value in ((0, 0.25), (1, 0.5))]
    assert curves_of(levels=levels)[0] == Curve(
        "musk", "features", "majority", None, "f_majority", (Place(10, 0.375, 0.25, 0.5, 2, 0),)
    )


def test_nothing_found_makes_no_curve_no_picture_and_no_claim_that_holds():
    assert curves([]) == []
    assert plots([]) == []
    assert tallies([], []) == []
    assert {claim.paper.points.holds for claim in claims([])} == {None}
    found = [(one.paper, one.all, one.reached, one.reached_above) for one in gains([], [])]
    assert found == [(None, None, None, None)] * 2


def test_losses_of_strategies_are_one_line_where_they_agree():
    figures = [
        loss_of(None, method="delta_selectivity"),
        loss_of(0.5, method="naive"),
        loss_of(0.5, method="dependency_graph"),
        loss_of(0.7, method="diversity"),
        loss_of(None, 20, method="naive"),
    ]
    once = losses_at_once(as_found(figures, []))
    assert [(one.line, one.point.features, one.value) for one in once] == [
        ("fragmented", 10, 0.5),
        ("fragmented", 20, None),
    ]
    figures.append(loss_of(0.51, 20, method="min_distortion"))
    assert losses_at_once(as_found(figures, []))[1].value == 0.51
    figures.append(loss_of(0.52, 20, method="dependency_graph"))
    assert losses_at_once(as_found(figures, [])) == []


def test_fragments_are_paired_with_one_table_of_the_same_kind_point_and_bounds():
    figures = [
        loss_of(0.9),
        loss_of(0.8, method="unfragmented_diversity"),
        loss_of(0.5, method="naive"),
        loss_of(0.6, method="diversity"),
        loss_of(0.4, method="naive", bounds="tight"),
        loss_of(0.3, method="naive", seed=1),
        loss_of(None, method="min_distortion"),
    ]
    assert fragments_against_one_table(figures) == [
        Pair("musk", 10, 40, 0, "naive", "cuts", LOSS, 0.5, 0.9),
        Pair("musk", 10, 40, 0, "diversity", "cuts", LOSS, 0.6, 0.8),
    ]


def test_fragments_are_not_compared_where_one_table_has_no_release():
    assert fragments_against_one_table([loss_of(None), loss_of(0.5, method="naive")]) == []


def test_tight_losses_are_paired_with_those_of_cuts():
    figures = [
        loss_of(0.9),
        loss_of(0.5, bounds="tight"),
        loss_of(0.4, 20, bounds="tight"),
        f_of(0.3, bounds="tight"),
        f_of(0.2),
    ]
    assert tight_against_cuts(figures) == [Pair("musk", 10, 40, 0, "unfragmented", "tight", LOSS, 0.5, 0.9)]


def test_steps_along_an_axis_pair_each_place_with_the_one_before():
    figures = [loss_of(0.9, 40), loss_of(0.5, 10), loss_of(0.6, 20), loss_of(0.7, 20, seed=1)]
    assert [(pair.features, pair.found, pair.against) for pair in steps_along(figures, "features")] == [
        (20, 0.6, 0.5),
        (40, 0.9, 0.6),
    ]
    figures = [loss_of(0.9, 40, k=80), loss_of(0.5, 40, k=10), loss_of(None, 40)]
    assert steps_along(figures, "k") == []  # what lies between them is not known


def test_the_level_of_one_table_is_held_against_cuts_at_k_40_alone():
    figures = [
        loss_of(0.7),
        loss_of(0.3, bounds="tight"),
        loss_of(0.2, k=20),
        loss_of(0.1, 20),
        loss_of(0.4, method="naive"),
    ]
    assert [(pair.found, pair.against) for pair in losses_against_level(figures, 10, 0.65)] == [(0.7, 0.65)]


def test_losses_of_strategies_are_held_against_the_first():
    figures = [
        loss_of(0.5, method="naive"),
        loss_of(0.5, method="dependency_graph"),
        loss_of(0.6, method="min_distortion"),
        loss_of(0.9),
    ]
    pairs = strategies_against_each_other(figures)
    assert [(pair.method, pair.found, pair.against) for pair in pairs] == [
        ("dependency_graph", 0.5, 0.5),
        ("min_distortion", 0.6, 0.5),
    ]


def test_strategies_that_found_the_same_count_once():
    one = Pair("musk", 10, 40, 0, "naive", "cuts", LOSS, 0.5, 0.9)
    same, other = one._replace(method="min_distortion"), one._replace(method="delta_selectivity", found=0.6)
    diverse = one._replace(method="diversity")
    assert strategies_once([one, same, other, diverse]) == [one, other, diverse]


def test_means_are_of_the_seeds_that_have_both_figures():
    figures = [
        *(loss_of(value, seed=seed) for seed, value in enumerate((0.5, 0.75, 0.875))),
        *(loss_of(value, seed=seed, method="naive") for seed, value in enumerate((0.25, 0.5, None))),
    ]
    assert means(fragments_against_one_table(figures)) == [
        Pair("musk", 10, 40, None, "naive", "cuts", LOSS, 0.375, 0.625)
    ]


def test_extremes_are_of_relative_gains_and_leave_out_what_has_none():
    pairs = [
        Pair("musk", 10, 40, None, "naive", "cuts", "f_tree_bounds", found, against)
        for found, against in ((0.6, 0.5), (0.9, 0.8), (0.4, 0.8), (0.5, 0.0))
    ]
    lowest, highest = extremes(pairs)
    assert (lowest.found, highest.found) == (0.4, 0.6)
    assert highest.gain == pytest.approx(0.2)
    assert lowest.gain == -0.5
    assert extremes(pairs[3:]) is None


def test_a_claim_holds_only_if_every_pair_agrees():
    pair = Pair("musk", 10, 40, 0, "naive", "cuts", LOSS, 0.5, 0.5)
    assert judged([], lambda _: True).holds is None
    assert judged([pair], lambda _: True) == (1, 1, ())
    found = judged([pair, pair._replace(seed=1)], lambda pair: pair.seed == 0)
    assert (found.holds, found.held, found.of, found.exceptions) == (False, 1, 2, (pair._replace(seed=1),))


def test_pairs_lie_along_an_axis_as_curves_do():
    here = Pair("musk", 10, 40, None, "naive", "cuts", "f_tree_bounds", 0.5, 0.5)
    pairs = [here, here._replace(features=40), here._replace(features=40, k=20), here._replace(k=20)]
    assert along(pairs, "features") == pairs[:2]
    assert along(pairs, "k") == pairs[1:3]


STATEMENTS = {
    "rises with dimensionality": 0,
    "rises with k": 1,
    "fragments below, k-anonymity": 2,
    "fragments below, l-diversity": 3,
    "strategies agree": 4,
    "classifiers at least as good": 5,
    "above 0.65 on the mean": 6,
    "above 0.65 with every seed": 7,
    "above 0.9 on the mean": 8,
    "above 0.9 with every seed": 9,
    "tight below cuts": 10,
}


def sound():
    """Losses of one seed with which every claim holds."""
    scale = {"unfragmented": 1.0, "unfragmented_diversity": 1.05, "diversity": 0.95}
    return [
        loss_of(
            (0.7 if features == 10 else 0.91 + k / 10000)
            * scale.get(method, 0.9)
            * (1 if bounds == "cuts" else 0.5),
            features,
            k,
            method=method,
            bounds=bounds,
        )
        for features, k in ((10, 40), (40, 40), (40, 100))
        for method in (*scale, *STRATEGIES)
        for bounds in ("cuts", "tight")
    ] + [
        f_of(0.8 if method == "unfragmented" else 0.85, measure, method=method, bounds=bounds)
        for method in ("unfragmented", "naive")
        for bounds in ("cuts", "tight")
        for measure in ("f_tree_bounds", "f_tree_midpoints")
    ]


def test_every_claim_holds_on_figures_made_for_it():
    found = claims(sound())
    assert len(found) == len(STATEMENTS)
    assert all(claim.paper.points.holds and claim.paper.means.holds for claim in found)
    assert all(claim.all is None or claim.all.points.holds for claim in found)


BROKEN = {
    "rises with dimensionality": [(loss_of(None, method="unfragmented_diversity"), 0.99)],
    "rises with k": [(loss_of(None, 40, 100, method="diversity"), 0.8)],
    "fragments below, k-anonymity": [
        (loss_of(None, method=method, bounds=bounds), value)
        for method in STRATEGIES
        for bounds, value in (("cuts", 0.7), ("tight", 0.35))
    ],
    "fragments below, l-diversity": [(loss_of(None, method="diversity"), 0.7 * 1.05)],
    "strategies agree": [(loss_of(None, method="min_distortion"), 0.62)],
    "classifiers at least as good": [(f_of(None, method="naive"), 0.79)],
    "tight below cuts": [(loss_of(None, method="diversity", bounds="tight"), 0.7 * 0.95)],
}


@pytest.mark.parametrize("statement", BROKEN)
def test_every_claim_fails_alone_on_figures_that_break_it(statement):
    replaced = {figure[:4]: value for figure, value in BROKEN[statement]}
    figures = [figure._replace(value=replaced.get(figure[:4], figure.value)) for figure in sound()]
    claim = claims(figures)[STATEMENTS[statement]]
    assert claim.paper.points.holds is False
    assert claim.paper.points.exceptions
    others = [one for place, one in enumerate(claims(figures)) if place != STATEMENTS[statement]]
    assert all(one.paper.points.holds for one in others)


@pytest.mark.parametrize("features, level", [(10, 0.65), (40, 0.9)])
@pytest.mark.parametrize(
    "above, on_the_mean, with_every_seed",
    [((0.01, 0.01), True, True), ((-0.01, 0.02), True, False), ((0, 0), False, False)],
)
def test_a_level_is_exceeded_on_the_mean_or_with_every_seed(
    features, level, above, on_the_mean, with_every_seed
):
    figures = [loss_of(level + more, features, seed=seed) for seed, more in enumerate(above)]
    found = claims(figures)
    mean, every = (
        found[STATEMENTS[f"above {level:g} {where}"]] for where in ("on the mean", "with every seed")
    )
    assert (mean.paper.points.holds, every.paper.points.holds) == (on_the_mean, with_every_seed)
    assert mean.paper.means == mean.paper.points
    assert every.paper.means == every.paper.points
    assert (mean.paper.points.of, every.paper.points.of) == (1, 2)


def test_the_paper_column_is_of_musk_with_cuts_read_by_both_ends():
    broken = [
        f_of(0.1, "f_tree_midpoints", method="naive"),
        f_of(0.1, method="naive", bounds="tight"),
        f_of(0.5, data="texture"),
        f_of(0.1, method="naive", data="texture"),
    ]
    replaced = {figure[:4] for figure in broken}
    figures = [figure for figure in sound() if figure[:4] not in replaced] + broken
    claim = claims(figures)[STATEMENTS["classifiers at least as good"]]
    assert claim.paper.points.holds
    assert (claim.all.points.held, claim.all.points.of) == (2, 5)


def gaining():
    """Musk: with l-diversity 30 % better along the features, 60 % with a strategy over k."""
    whole, diverse = {"method": "unfragmented_diversity"}, {"method": "diversity"}
    return [
        f_of(0.5, seed=0, **whole),
        f_of(0.7, seed=1, **whole),
        f_of(0.9, seed=0, **diverse),
        f_of(0.66, seed=1, **diverse),  # 0.78 against 0.6
        f_of(0.5, features=40, k=20),
        f_of(0.8, features=40, k=20, method="naive"),
        f_of(0.5, features=40, k=20, bounds="tight"),
        f_of(0.4, features=40, k=20, bounds="tight", method="naive"),
    ]


def levels_of(*, at_10, at_20):
    return [
        *(Level(Point("musk", seed, 10, 40), value) for seed, value in enumerate(at_10)),
        Level(Point("musk", 0, 40, 20), at_20),
    ]


def test_gains_are_the_largest_on_the_means_over_seeds():
    diversity, over_k = gains(gaining(), levels_of(at_10=(0.4, 0.6), at_20=0.6))
    assert diversity.paper.highest.pair.gain == pytest.approx(0.3)
    assert diversity.paper.highest.majority == pytest.approx(0.5)
    assert over_k.paper.highest.pair.gain == pytest.approx(0.6)
    assert over_k.all.lowest.pair.gain == pytest.approx(-0.2)
    assert (diversity.reached, diversity.reached_above) == (True, True)
    assert (over_k.reached, over_k.reached_above) == (True, True)
    lower = [figure._replace(value=0.76) if figure.value == 0.8 else figure for figure in gaining()]
    assert not gains(lower, [])[1].reached


@pytest.mark.parametrize("majority, above", [(0.77, True), (0.78, False), (0.79, False)])
def test_a_gain_counts_only_above_the_most_frequent_class(majority, above):
    diversity, _ = gains(gaining(), levels_of(at_10=(majority, majority), at_20=0.6))
    assert (diversity.reached, diversity.reached_above) == (True, above)
    assert diversity.paper.above == (diversity.paper.highest if above else None)


def test_the_highest_gain_above_the_most_frequent_class_can_be_a_smaller_one():
    figures = [
        *gaining(),
        f_of(0.8, features=40, k=60),
        f_of(0.9, features=40, k=60, method="naive"),  # 12.5 %
    ]
    levels = [*levels_of(at_10=(0.1, 0.1), at_20=0.85), Level(Point("musk", 0, 40, 60), 0.85)]
    _, over_k = gains(figures, levels)
    assert over_k.paper.highest.pair.gain == pytest.approx(0.6)
    assert over_k.paper.above.pair.gain == pytest.approx(0.125)
    assert (over_k.reached, over_k.reached_above) == (True, False)


def test_one_table_above_the_most_frequent_class_is_above_it_as_well():
    pair = Pair("musk", 10, 40, None, "naive", "cuts", "f_tree_bounds", 0.4, 0.6)
    assert Beside(pair, 0.5).above
    assert not Beside(pair, 0.6).above
    assert not Beside(pair, None).above


def test_the_most_frequent_class_is_that_of_the_place():
    majority = majority_of(levels_of(at_10=(0.25, 0.75), at_20=0.6))
    pair = Pair("musk", 10, 40, None, "naive", "cuts", "f_tree_bounds", 0.4, 0.6)
    assert majority(pair) == 0.5
    assert majority(pair._replace(features=40, k=20)) == 0.6
    assert majority(pair._replace(k=20)) is None
    assert majority(pair._replace(data="texture")) is None


def test_tallies_count_where_fragments_are_at_least_as_good():
    figures = [
        *(f_of(0.5, features=features) for features in (10, 20, 40)),
        *(f_of(value, features=x, method="naive") for x, value in ((10, 0.5), (20, 0.6), (40, 0.4))),
        f_of(0.5, "f_neighbours_bounds"),
        f_of(0.75, "f_neighbours_bounds", method="naive"),
    ]
    levels = [Level(Point("musk", 0, features, 40), 0.55) for features in (10, 20, 40)]
    together, neighbours, tree = tallies(figures, levels)
    assert (together.measure, together.bounds) == (None, None)
    assert (together.at_least.held, together.at_least.of) == (3, 4)
    ends = (together.found.lowest.pair.gain, together.found.highest.pair.gain)
    assert ends == (pytest.approx(-0.2), 0.5)
    assert (together.above.held, together.above.of) == (2, 4)
    assert tree.above.held == 1
    assert tree.found.above.pair.gain == pytest.approx(0.2)
    assert (neighbours.measure, neighbours.at_least.of) == ("f_neighbours_bounds", 1)
    assert (tree.measure, tree.at_least.held, tree.at_least.of) == ("f_tree_bounds", 2, 3)


def test_each_data_set_has_the_figures_of_the_paper():
    figures, levels = made_up(("texture", "musk"), 1)
    names = [plot.name for plot in plots(as_found(figures, levels))]
    assert names == [
        f"{data}_{shown}_{axis}"
        for data in ("musk", "texture")
        for axis in ("features", "k")
        for shown in ("loss", "tree", "neighbours", "changed")
    ]


def test_a_picture_has_a_panel_for_each_kind_of_bounds_and_way_to_read_a_range():
    figures, levels = made_up(("musk",), 1)
    shown = {plot.name: plot for plot in plots(as_found(figures, levels))}
    tree = shown["musk_tree_features"]
    assert [[panel.title for panel in row] for row in tree.rows] == [
        [f"{bounds}, learnt from {read} of a range" for bounds in ("bounds by cuts", "tight bounds")]
        for read in ("both ends", "the midpoint")
    ]
    assert "majority" in tree.lines
    assert {curve.measure for curve in tree.rows[1][0].curves} == {"f_tree_midpoints", "f_majority"}
    loss = shown["musk_loss_k"]
    assert loss.lines == ["unfragmented", "fragmented", "unfragmented_diversity", "diversity"]
    assert shown["musk_changed_k"].lines == [*STRATEGIES, "diversity"]


def test_changed_values_are_drawn_once_only_where_bounds_make_no_difference():
    figures = figures_at(Point("musk", 0, 10, 40))
    (changed,) = (plot for plot in plots(as_found(figures, [])) if plot.name == "musk_changed_features")
    assert [panel.title for panel in changed.panels] == ["with either kind of bounds"]
    figures = [
        figure._replace(value=0.5) if figure[1:4] == ("naive", "tight", "changed") else figure
        for figure in figures
    ]
    (changed,) = (plot for plot in plots(as_found(figures, [])) if plot.name == "musk_changed_features")
    assert [panel.title for panel in changed.panels] == ["bounds by cuts", "tight bounds"]


def test_strategies_that_disagree_on_the_loss_are_drawn_each():
    figures = [loss_of(0.5 + 0.1 * place, method=method) for place, method in enumerate(STRATEGIES)]
    (loss, _) = plots(as_found(figures, []))
    assert loss.lines == list(STRATEGIES)


def test_releases_that_do_not_exist_are_counted_once_per_picture():
    figures = [
        figure
        for point in points_of("musk", 2)
        for figure in figures_at(point, missing=("naive",) if point.k == 100 else ())
    ]
    shown = {plot.name: plot for plot in plots(as_found(figures, []))}
    assert shown["musk_tree_k"].gaps == [Gap("naive", 4, 24)]  # 2 seeds, 2 bounds; not again for each form
    assert shown["musk_tree_features"].gaps == []


def test_data_sets_come_in_the_order_of_the_paper_and_others_last():
    assert in_order(["zoo", "texture", "apes", "musk", "musk"]) == ["musk", "texture", "apes", "zoo"]


@pytest.mark.parametrize("measure", ["information_loss", "changed", "seconds", "f_majority"])
def test_other_measures_are_no_f_measures_of_a_learner(measure):
    assert learner_and_form(measure) is None
