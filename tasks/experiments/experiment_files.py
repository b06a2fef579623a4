"""The files of the experiments: their figures as CSV, and each file written as a whole or not at all."""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from tasks.errors import ConfigurationError
from tasks.experiments.curves import LINES, Found, curves
from tasks.experiments.figures import Figure


def figures_as_csv(figures: Iterable[Figure]) -> str:
    """Return every figure, a line each; no value where no release keeps what was asked."""
    lines = [(*figure.point, *figure[1:4], _exact(figure.value)) for figure in sorted(figures, key=_order)]
    return _csv(("data", "seed", "features", "k", "method", "bounds", "measure", "value"), lines)


def _order(figure: Figure) -> tuple[str | int, ...]:
    return *figure.point, LINES.index(figure.method), figure.bounds, figure.measure


def summary_as_csv(found: Iterable[Found]) -> str:
    """Return the places of every curve, a line each; the most frequent class alone is method "majority"."""
    heads = (
        "data",
        "axis",
        "x",
        "method",
        "bounds",
        "measure",
        "mean",
        "lowest",
        "highest",
        "seeds",
        "missing",
    )
    lines = [
        (
            *(curve.data, curve.axis, place.x, curve.line, curve.bounds or "", curve.measure),
            *map(_exact, (place.mean, place.lowest, place.highest)),
            *(place.seeds, place.missing),
        )
        for curve in curves(found)
        for place in curve.places
    ]
    return _csv(heads, lines)


def _exact(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def _csv(heads: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(lines)
    return text.getvalue()


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder, replacing those of the same names; a reader sees no half-written one.

    Raises
    ------
    ConfigurationError
        If the folder cannot be written.
    """
    try:
        for name, content in files.items():
            _write(content, folder / name)
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: cannot be written ({error.strerror})") from None


def remove_files(names: Iterable[str], folder: Path) -> None:
    """Remove files of a folder, those that are there.

    Raises
    ------
    ConfigurationError
        If one cannot be removed.
    """
    try:
        for name in names:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: cannot be removed ({error.strerror})") from None


def _write(content: bytes, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name}.part")
    try:
        part.write_bytes(content)
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)
