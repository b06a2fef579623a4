"""The report's pictures of trials: what each number of fragments gives, and what can be learnt."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tasks.reports.pictures import BLUE, INK, LINK, NARROW, ORANGE, svg_picture
from tasks.reports.report_trials import Learning, NumberChoice, NumberTrial, best_form


def number_picture(choice: NumberChoice) -> str:
    """Draw what the trials say of each number of fragments, the chosen one marked; nothing of one number."""
    if len(choice.judged) == 1:
        return ""

    def draw(figure: Figure) -> None:
        score, costs = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _draw_scores(score, choice)
        _draw_costs(costs, choice.judged)
        costs.set_xticks([trial.fragments for trial in choice.trials])
        costs.set_xlim(0.5, len(choice.trials) + 0.5)
        costs.set_xlabel("fragments")

    measured = "F-measure" if choice.objective == "f_measure" else "information loss and changed values"
    label = f"The {measured} of trials with each number of fragments, the chosen number marked"
    return svg_picture("number", label, (NARROW, 3.8), draw)


def _draw_scores(axes: Axes, choice: NumberChoice) -> None:
    sign = 1 if choice.objective == "f_measure" else -1
    numbers = [trial.fragments for trial in choice.judged]
    scores = [sign * (trial.score or 0.0) for trial in choice.judged]
    errors = [trial.error or 0.0 for trial in choice.judged]
    axes.errorbar(numbers, scores, errors, color=BLUE, marker="o", markersize=5, linewidth=1.5, capsize=3)
    (chosen,) = (place for place, trial in enumerate(choice.judged) if trial.chosen)
    axes.scatter(numbers[chosen], scores[chosen], s=90, color=ORANGE, marker="D", zorder=3, label="chosen")
    axes.set_ylabel("F-measure" if sign > 0 else "loss + changed")
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.legend(loc="best", fontsize=8)


def _draw_costs(axes: Axes, judged: Sequence[NumberTrial]) -> None:
    numbers = [trial.fragments for trial in judged]
    loss = [trial.information_loss or 0.0 for trial in judged]
    changed = [trial.changed or 0.0 for trial in judged]
    axes.plot(numbers, loss, color=INK, marker="o", markersize=4, label="information loss")
    axes.plot(numbers, changed, color=ORANGE, marker="s", markersize=4, linestyle="--", label="changed")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("share")
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.legend(loc="best", fontsize=8)


def learning_picture(learning: Learning) -> str:
    """Draw the F-measure of each learner, on the release and the table itself; nothing if learning failed."""
    majority = learning.majority
    if majority is None:
        return ""
    whole = [best_form(result.unfragmented) for result in learning.results]
    compared = any(measure is not None for measure in whole)
    released = [best_form(result.fragmented) for result in learning.results]
    bars = [("in fragments" if compared else "as released", BLUE, "", released)]
    if compared:
        bars.append(("in one table", LINK, "", whole))
    bars.append(("as it is", "white", "////", [result.raw for result in learning.results]))
    height = 0.8 / len(bars)

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        rows = np.arange(len(learning.results))
        for place, (name, colour, hatch, measures) in enumerate(bars):
            lengths = [measure or 0.0 for measure in measures]
            middle = rows + height * (place - (len(bars) - 1) / 2)
            drawn = axes.barh(
                middle, lengths, height, color=colour, edgecolor=INK, linewidth=0.6, hatch=hatch, label=name
            )
            texts = ["" if measure is None else f"{measure:.2f}" for measure in measures]
            axes.bar_label(drawn, texts, padding=2, fontsize=7)
        axes.axvline(majority, color=ORANGE, linestyle="--", linewidth=1.5, label="majority alone")
        axes.set_yticks(rows, [result.name for result in learning.results])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.1)
        axes.set_xticks(np.linspace(0, 1, 6))
        axes.set_xlabel("weighted F-measure (1 every class right)")
        figure.legend(loc="outside upper center", ncols=2, fontsize=8, handletextpad=0.5)

    label = (
        f"Weighted F-measure of {len(learning.results)} classifiers, on the release and on the table itself"
    )
    size = NARROW, 1.1 + 0.28 * len(bars) * len(learning.results)
    return svg_picture("learning", label, size, draw)
