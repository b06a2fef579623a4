"""What a person sees of a comparison in the terminal."""

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from flows.terminal import TERMINAL
from tasks.comparing.compare import Comparison
from tasks.comparing.compare_words import (
    headings,
    recommendation_in_words,
    reference_rows,
    refusals,
    rows,
    settings_in_toml,
)

TEXTS = 5  # columns before the first figure


def print_comparison(comparison: Comparison) -> None:
    """Print the variants side by side, then the recommendation; a line per variant in a pipe."""
    lines = [*rows(comparison), *reference_rows(comparison)]
    if TERMINAL.is_terminal:
        _print_table(headings(comparison), lines)
    else:
        for line in (headings(comparison), *lines):
            TERMINAL.print("\t".join(line), soft_wrap=True, markup=False)
    _print_sentences(refusals(comparison))
    if comparison.recommendation is not None:
        _print_sentences(recommendation_in_words(comparison))
        TERMINAL.print(f"\n{settings_in_toml(comparison)}", soft_wrap=True, markup=False)


def print_place(folder: Path) -> None:
    """Say where the figures and the picture are."""
    TERMINAL.print(f"  figures and picture  {escape(str(folder))}", soft_wrap=True)


def _print_table(headings: tuple[str, ...], lines: list[tuple[str, ...]]) -> None:
    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < TEXTS - 1 else "right", overflow="fold")
    for line in lines:
        table.add_row(*map(escape, line), style="bold green" if line[0] else None)
    TERMINAL.print(table)


def _print_sentences(sentences: list[str]) -> None:
    if sentences:
        TERMINAL.print()
    for sentence in sentences:
        TERMINAL.print(f"  {escape(sentence)}", soft_wrap=True)
