"""What a person sees of a comparison in the terminal."""

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from flows.terminal import TERMINAL, print_cells
from tasks.comparing.compare import Comparison
from tasks.comparing.compare_words import (
    headings,
    recommendation_in_words,
    reference_rows,
    refusals,
    rows,
)

MARK, STRATEGY, GUARANTEE, SPLIT, SECONDS = 0, 1, 2, 3, -1  # columns
WIDE = 100  # characters, for what can be done without
LONGEST = len("delta_selectivity")

Line = tuple[str, ...]


def print_comparison(comparison: Comparison, advice: str) -> None:
    """Print the variants side by side, then the recommendation; a line per variant in a pipe.

    Parameters
    ----------
    comparison
        What was found.
    advice
        How to release what is recommended, to stand below the recommendation.
    """
    lines = [*rows(comparison), *reference_rows(comparison)]
    if TERMINAL.is_terminal:
        _print_table(headings(comparison), lines)
    else:
        for line in (headings(comparison), *lines):
            print_cells(*line)
    _print_sentences(refusals(comparison))
    if comparison.recommendation is not None:
        _print_sentences(recommendation_in_words(comparison))
        TERMINAL.print(f"\n{advice}", soft_wrap=True, markup=False)


def print_place(folder: Path) -> None:
    """Say where the figures and the picture are."""
    TERMINAL.print(f"  figures and picture  {escape(str(folder))}", soft_wrap=True)


def _print_table(headings: Line, lines: list[Line]) -> None:
    """Print what fits; a table that is still wider than the terminal is not squeezed."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    shown = _shown(headings, lines, TERMINAL.width)
    for place in shown:
        table.add_column(
            headings[place].replace(" ", "\n"),
            justify="left" if place <= SPLIT else "right",
            vertical="bottom",
            no_wrap=place != STRATEGY,
            min_width=LONGEST if place == STRATEGY else None,
        )
    for line in lines:
        cells = (escape(line[place]) for place in shown)
        table.add_row(*cells, style="bold green" if line[MARK] else None)
    width = max(TERMINAL.width, TERMINAL.measure(table).minimum)
    TERMINAL.print(table, width=width, crop=False)


def _shown(headings: Line, lines: list[Line], width: int) -> list[int]:
    """Return the columns to show: no guarantee where all have one, and no seconds where it is narrow."""
    shown = list(range(len(headings)))
    if width < WIDE:
        shown.pop(SECONDS)
    if len({line[GUARANTEE] for line in lines} - {"", "any"}) <= 1:
        shown.remove(GUARANTEE)
    return shown


def _print_sentences(sentences: list[str]) -> None:
    if sentences:
        TERMINAL.print()
    for sentence in sentences:
        TERMINAL.print(f"  {escape(sentence)}", soft_wrap=True)
