"""What a person sees of the experiments in the terminal."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from flows.terminal import ERRORS, TERMINAL, print_cells
from tasks.events import Event, listening
from tasks.experiments.experiment_page import FIGURES, PAGE, PICTURES
from tasks.experiments.experiment_words import BOUNDS_NAMES, LINE_NAMES, data_name
from tasks.experiments.overview import Overview
from tasks.experiments.results import RESULTS
from tasks.experiments.runs import MEASURES

PERIOD = 600.0  # seconds that tell the time left
LINES = 20  # of progress, where the output is not a terminal

Line = tuple[str, ...]


@contextmanager
def points_shown() -> Iterator[None]:
    """Show how many points are done and how long the others will take; some lines in a pipe."""
    columns = (
        *(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20)),
        *(
            TextColumn("{task.fields[items]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
        ),
    )
    disabled = not ERRORS.is_terminal
    with Progress(
        *columns, console=ERRORS, transient=True, disable=disabled, speed_estimate_period=PERIOD
    ) as bar:
        current = bar.add_task("starting", total=1.0, items="")

        def hear(event: Event) -> None:
            done = round(event.share * event.items)
            if event.kind == "started":
                bar.reset(current, description=event.step, total=1.0, items=_of(0, event))
            elif event.kind == "progress":
                bar.update(current, completed=event.share, items=_of(done, event))
                if disabled and done * LINES // event.items > (done - 1) * LINES // event.items:
                    ERRORS.print(f"{_of(done, event):<18}{escape(event.step):<44}{event.seconds:7.2f} s")
            elif event.kind != "counted":
                mark = "[green]done[/]" if event.kind == "finished" else "[red]failed[/]"
                ERRORS.print(f"{mark:<18}{escape(event.step):<44}{event.seconds:7.2f} s")

        with listening(hear):
            yield


def _of(done: int, event: Event) -> str:
    return f"{done} of {event.items}" if event.items else ""


def print_overviews(overviews: Sequence[Overview]) -> None:
    """Print a column for each data set: what is lost and what is learnt at best; plain in a pipe."""
    headings = ("", *(data_name(each.data) for each in overviews))
    lines = [*_head(overviews), *_loss_lines(overviews), *_f_lines(overviews)]
    if not TERMINAL.is_terminal:
        for line in (headings, *lines):
            print_cells(*line)
        return
    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(escape(heading), justify="right" if place else "left", no_wrap=place > 0)
    for line in lines:
        table.add_row(*map(escape, line))
    TERMINAL.print(table)


def print_place(folder: Path) -> None:
    """Say where the page, the figures and the results are."""
    for what, name in (("page", PAGE), ("figures", FIGURES), ("pictures", PICTURES), ("results", RESULTS)):
        TERMINAL.print(f"  {what:<9} {escape(str(folder / name))}", soft_wrap=True)


def _head(overviews: Sequence[Overview]) -> list[Line]:
    return [
        ("points", *(str(each.points) for each in overviews)),
        ("features, fewest and most", *(" to ".join(map(str, each.features)) for each in overviews)),
    ]


def _loss_lines(overviews: Sequence[Overview]) -> list[Line]:
    """Return the loss with the fewest and the most features, a line per kind of bounds and release."""
    return [
        (
            f"loss, {BOUNDS_NAMES[loss.bounds]}: {words}",
            *(" to ".join(map(_share, getattr(each.losses[place], release))) for each in overviews),
        )
        for place, loss in enumerate(overviews[0].losses)
        for release, words in (("unfragmented", "one table"), ("fragmented", "fragments"))
    ]


def _f_lines(overviews: Sequence[Overview]) -> list[Line]:
    """Return the best F-measure of each method on the records that test, and what takes no learning."""
    combinations = len(BOUNDS_NAMES) * sum(measure.startswith("f_") for measure in MEASURES)
    best = f"F on the test part, best of {combinations}"
    return [
        *(
            (f"{best}: {LINE_NAMES[method]}", *(_share(each.best_f[method]) for each in overviews))
            for method in overviews[0].best_f
        ),
        (f"F on the test part: {LINE_NAMES['majority']}", *(_share(each.majority) for each in overviews)),
    ]


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
