"""Runs the command as a person would, and reads back what it published by the grammar that the docs give."""

import contextlib
import csv
import io
import json
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import duckdb
import numpy as np
import oracles
from published_folder import days
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from flows.cli import main

CANARY = "Zanzibar4711"
EMPTY_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="1pt" height="1pt" viewBox="0 0 1 1"/>'


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    text: str

    @property
    def faults(self):
        """The lines that tell what is wrong, without those that tell of steps and remarks."""
        return [
            line
            for line in self.text.splitlines()
            if line.split(" ")[0] not in {"", "done", "note", "failed"}
        ]


class Cell(NamedTuple):
    """What a cell says: bounds of numbers or days, or categories; and whether it covers missing."""

    lower: object = None
    upper: object = None
    values: frozenset[str] = frozenset()
    missing: bool = False

    def covers(self, value):
        if value is None:
            return self.missing
        if isinstance(value, str):
            return value in self.values
        return self.lower is not None and self.lower <= value <= self.upper


NOTHING = Cell(missing=True)


class Fragment(NamedTuple):
    """A fragment as its files show it."""

    features: list[str]
    lines: list[tuple[Cell, ...]]
    classes: list[str]

    @property
    def counts(self):
        """Of every equivalence class how often each class value occurs."""
        found = {}
        for cells, value in zip(self.lines, self.classes, strict=True):
            found.setdefault(cells, Counter())[value] += 1
        return found

    def sizes(self, feature):
        """How many records each cell of a feature has, of a fragment that has this one alone."""
        assert self.features == [feature]
        return Counter(cells[0] for cells in self.lines)


def unjoin(*arguments):
    """Run the command in this process."""
    shown = io.StringIO()
    code = 0
    with (
        mock.patch.object(sys, "argv", ["unjoin", *map(str, arguments)]),
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(shown),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    return Ended(code, shown.getvalue())


def configuration(folder, table, /, **sections):
    """Write a configuration beside what it makes; a section is added to what is usual."""
    usual = {
        "input": {"path": str(table)},
        "columns": {"class": "class", "features": "rest"},
        "privacy": {"k": 2},
        "fragmentation": {"fragments": 1},
        "evaluation": {"attacks": 0},
        "output": {"directory": str(folder / "releases"), "name": "people"},
        "run": {"engine": "plain", "workspace": str(folder / "workspace")},
    }
    for name, section in sections.items():
        usual[name] = usual.get(name, {}) | section
    path = folder / "release.toml"
    text = [
        f"[{name}]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in of.items()) for name, of in usual.items()
    ]
    path.write_text("\n".join(text), encoding="utf-8")
    return path


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(held)}" for key, held in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def write_csv(folder, columns, *, name="table.csv", end="\n", encoding="utf-8"):
    """Write columns of texts; the place of the file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    (folder / name).write_bytes(text.getvalue().encode(encoding))
    return folder / name


def publish(folder, given, /, *, pictures=False, **sections):
    """Release columns of texts; return the published folder, and what was said."""
    table = given if isinstance(given, Path) else write_csv(folder, given)
    config = configuration(folder, table, **sections)
    with contextlib.nullcontext() if pictures else without_pictures():
        ended = unjoin("release", config)
    assert ended.code == 0, ended.text
    return (folder / "releases" / "people" / "latest").resolve(), ended.text


def without_pictures():
    """Draw no pictures: they have tests of their own, and take half the time."""
    return mock.patch(
        "matplotlib.figure.Figure.savefig",
        autospec=True,
        side_effect=lambda _, to, **__: to.write(EMPTY_PICTURE),
    )


def refuse(folder, code, given, /, **sections):
    """Have a release refused with an exit code; return what was said, which holds no value."""
    table = write_csv(folder, given) if isinstance(given, dict) else given
    config = configuration(folder, table, **sections)
    ended = unjoin("release", config)
    assert ended.code == code, ended.text
    assert "Traceback" not in ended.text
    assert CANARY not in ended.text
    assert nothing_published(folder)
    if code in {2, 3}:
        assert not list(folder.glob("workspace/*"))
    return ended


def nothing_published(folder):
    return not list((folder / "releases").rglob("*"))


def manifest_of(folder):
    return json.loads((folder / "release.json").read_text(encoding="utf-8"))


def read_fragments(folder):
    """Return every fragment from its CSV file, having compared it with its Parquet file."""
    manifest = manifest_of(folder)
    kinds = {column["name"]: column for column in manifest["columns"]}
    found = []
    for entry in manifest["fragments"]:
        names = [*entry["features"], *entry["sensitive"], manifest["class"]]
        header, *rows = csv.reader(io.StringIO((folder / entry["csv"]).read_bytes().decode(), newline=""))
        assert header == names
        width = len(entry["features"])
        lines = [tuple(map(read_cell, row[:width], (kinds[n] for n in entry["features"]))) for row in rows]
        assert lines == _of_parquet(folder / entry["parquet"], entry["features"])
        found.append(Fragment(entry["features"], lines, [row[-1] for row in rows]))
    return found


def read_cell(text, column):
    """Read a cell of a CSV file as docs/reading-a-release.md says."""
    if not text:
        return NOTHING
    known = text.removesuffix(" or missing")
    missing = known != text
    if column["kind"] == "categorical":
        listed = json.loads(f"[{known[1:-1]}]") if known.startswith("{") else [known]
        return Cell(values=frozenset(listed), missing=missing)
    lower, upper = known[1:-1].split(", ") if known.startswith("[") else (known, known)
    if column["kind"] == "date":
        return Cell(days(lower)[0], days(upper)[1], missing=missing)
    return Cell(Decimal(lower), Decimal(upper), missing=missing)


def _of_parquet(path, features):
    with duckdb.connect() as connection:
        rows = connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
    return [tuple(map(_typed, row[: len(features)])) for row in rows]


def _typed(cell):
    if isinstance(cell, list):
        return Cell(values=frozenset(cell) - {None}, missing=None in cell)
    if isinstance(cell["lower"], float):
        cell = {name: Decimal(repr(end)) if isinstance(end, float) else end for name, end in cell.items()}
    numbers = {name: Decimal(end) if type(end) is int else end for name, end in cell.items()}
    return Cell(**numbers)


def every_record_is_in(fragment, records, classes=None):
    """Whether records and lines can be matched, one to one, so that every line is true of its record.

    Parameters
    ----------
    records
        Of each feature its true value in every record: a Decimal, a date, a text, or None.
    classes
        Class value of every record; where it is not given, class values may be changed.
    """
    true = list(zip(*(records[name] for name in fragment.features), strict=True))
    fits = np.array(
        [
            [
                (classes is None or classes[place] == of_line)
                and all(cell.covers(value) for cell, value in zip(cells, values, strict=True))
                for cells, of_line in zip(fragment.lines, fragment.classes, strict=True)
            ]
            for place, values in enumerate(true)
        ]
    )
    matched = maximum_bipartite_matching(csr_array(fits.astype(np.int8)))
    return fits.shape[0] == fits.shape[1] and bool((matched >= 0).all())


def class_counts(fragments):
    """Return a row per equivalence class of each fragment, a column per class value."""
    values = sorted({value for fragment in fragments for value in fragment.classes})
    return [
        np.array([[of_class[value] for value in values] for of_class in fragment.counts.values()])
        for fragment in fragments
    ]


def assert_safe(fragments, k, guarantee="join"):
    """By the definitions: every equivalence class, and every join over every set of fragments."""
    counts = class_counts(fragments)
    assert min(int(of_class.sum(axis=1).min()) for of_class in counts) >= k
    assert not oracles.violating_choices(counts, k)
    if guarantee == "records":
        assert oracles.meets_record_condition(counts, k)
