"""What a person sees of the private folders that runs have left, and their removal."""

import sys
from collections.abc import Sequence
from pathlib import Path

from flows.terminal import TERMINAL, print_cells
from tasks.errors import ConfigurationError
from tasks.read_config import read_config
from tasks.retention import Left, left_behind
from tasks.workspace import sweep_staging


def clean_up(place: Path, older_than: float, *, dry_run: bool) -> None:
    """Show what runs have left, and remove it.

    Parameters
    ----------
    place
        A configuration, or a workspace.
    older_than
        Only what has not been changed for so many days.
    dry_run
        Remove nothing.

    Raises
    ------
    ConfigurationError
        If the place is neither, or a folder cannot be removed.
    """
    root, name, releases = _places(place)
    found = left_behind(root, name, older_than, remove=False)
    staged = [] if releases is None else sweep_staging(releases, remove=False)
    _show(found, staged)
    if not found and not staged:
        TERMINAL.print("nothing is left")
    elif not dry_run and _agreed():
        removed = left_behind(root, name, older_than, remove=True)
        if releases is not None:
            sweep_staging(releases, remove=True)
        TERMINAL.print(f"removed {_size(removed)}")


def _places(place: Path) -> tuple[Path, str | None, Path | None]:
    """Return the workspace, and where only what belongs to one release is meant its name and its folder."""
    if place.is_dir():
        return place, None, None
    if not place.exists():
        raise ConfigurationError(f"{place}: there is no such configuration or workspace")
    config = read_config(place)
    return config.run.workspace, config.output.name, config.output.directory / config.output.name


def _show(found: Sequence[Left], staged: Sequence[Path]) -> None:
    for each in found:
        print_cells(each.state, f"{each.days:.1f} days", _size([each]), str(each.path))
    for path in staged:
        print_cells("did not end", "", "", str(path))


def _size(found: Sequence[Left]) -> str:
    return f"{sum(each.size for each in found) / 1e6:.1f} MB"


def _agreed() -> bool:
    if not (TERMINAL.is_terminal and sys.stdin.isatty()):
        return True
    return TERMINAL.input("remove them? [y/N] ").strip().lower() in {"y", "yes"}
