"""The register of releases as a person sees it: a line per version, oldest first."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from flows.terminal import TERMINAL, print_cells
from tasks.errors import InputError
from tasks.read_config import read_config
from tasks.register import Entry, Listed, history

HEADINGS = ("version", "records", "fragments", "k", "l", "t", "guarantee", "promises kept", "state", "sha256")
SHORT = 12
"""Digits of a digest that a terminal shows."""


def read_history(place: Path) -> list[Listed]:
    """Return every version of a name.

    Parameters
    ----------
    place
        The folder of the name, or a configuration that publishes there.

    Raises
    ------
    InputError
        If there is no release, or the register or a file cannot be read.
    ConfigurationError
        If the configuration cannot be used.
    """
    if place.is_file():
        output = read_config(place).output
        place = output.directory / output.name
    listed = history(place)
    if not listed:
        raise InputError(
            f"{place}: holds no releases: name the folder of a release's name, or a configuration"
        )
    return listed


def is_sound(listed: Sequence[Listed]) -> bool:
    """Tell whether every version that is there is registered, with the files it has."""
    return all(each.state in {"as registered", "gone"} for each in listed)


def print_history(listed: Sequence[Listed]) -> None:
    """Print a table; in a pipe a line for each version, with tabs between cells and whole digests."""
    if not TERMINAL.is_terminal:
        for each in listed:
            print_cells(*_cells(each))
        return
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(
            heading, justify="right" if heading in {"records", "fragments", "k", "l", "t"} else "left"
        )
    for each in listed:
        *cells, state, digest = _cells(each)
        colour = "green" if is_sound([each]) else "red"
        table.add_row(*cells, f"[{colour}]{state}[/]", digest[:SHORT])
    TERMINAL.print(table)


def print_as_json(listed: Sequence[Listed]) -> None:
    """Print a JSON list: of each version its state, and all that the register says of it."""
    rows: list[dict[str, Any]] = [
        {"version": each.version, "state": each.state}
        | ({} if each.entry is None else each.entry.model_dump(mode="json"))
        for each in listed
    ]
    TERMINAL.file.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


def _cells(each: Listed) -> tuple[str, ...]:
    entry = each.entry
    if entry is None:
        return (each.version, *[""] * 7, each.state, "")
    return (
        each.version,
        str(entry.records),
        str(entry.fragments),
        *(_achieved(entry, name) for name in ("k", "l", "t", "guarantee")),
        "yes" if entry.promises_kept else "no",
        each.state,
        entry.sha256,
    )


def _achieved(entry: Entry, name: str) -> str:
    achieved = entry.guarantees[name]["achieved"]
    return "" if achieved is None else f"{achieved}"
