"""What an attacker reads in the published CSV files, and how often each attack succeeds, by definition."""

import csv
import itertools
import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import NamedTuple

from published_folder import days

MISSING = " or missing"


# --- reading ------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """What a cell stands for: two bounds, or a set of categories; none of them where all is missing.

    Of a date the bounds are ordinals of days, of a feature with a hierarchy the categories its values.
    """

    bounds: tuple[float, float] | None
    categories: frozenset[str]
    missing: bool

    def covers(self, value):
        """Return whether a person with this value (None: missing) can be in the cell's row."""
        if value is None:
            return self.missing
        if isinstance(value, str):
            return value in self.categories
        return self.bounds is not None and self.bounds[0] <= value <= self.bounds[1]


class Row(NamedTuple):
    cells: tuple[Cell, ...]
    told: str | None  # the class value
    sensitive: tuple[str | None, ...]


class Fragment(NamedTuple):
    features: list[str]
    sensitive: list[str]
    rows: list[Row]


def read_cell(text, kind, groups=None):
    if not text:
        return Cell(None, frozenset(), missing=True)
    missing = text.endswith(MISSING)
    plain = text.removesuffix(MISSING)
    if kind == "date":
        first, last = (days(bound) for bound in (plain.strip("[]").split(", ") * 2)[:2])
        return Cell((first[0].toordinal(), last[1].toordinal()), frozenset(), missing)
    if kind == "fixed":
        bounds = [Decimal(bound) for bound in plain.strip("[]").split(", ")]
        return Cell((bounds[0], bounds[-1]), frozenset(), missing)
    if kind != "categorical":
        bounds = [float(bound) for bound in plain.strip("[]").split(", ")]
        return Cell((bounds[0], bounds[-1]), frozenset(), missing)
    values = json.loads(f"[{plain[1:-1]}]") if plain.startswith("{") else [plain]
    held = [(groups or {}).get(value, {value}) for value in values]
    return Cell(None, frozenset().union(*held), missing)


def read(folder, groups=None):
    """Return the fragments of a published folder, rows in the order of the files.

    `groups` are those of every feature with a hierarchy, by name, with the values that they hold.
    """
    manifest = json.loads((Path(folder) / "release.json").read_text(encoding="utf-8"))
    kinds = {
        column["name"]: (column["kind"], groups if "hierarchy" in column else None)
        for column in manifest["columns"]
    }
    return [read_fragment(Path(folder) / entry["csv"], entry, kinds) for entry in manifest["fragments"]]


def read_fragment(path, entry, kinds):
    with path.open(encoding="utf-8", newline="") as file:
        names, *lines = csv.reader(file)
    count = len(entry["features"])
    rows = [
        Row(
            tuple(read_cell(text, *kinds[name]) for name, text in zip(names[:count], line, strict=False)),
            line[-1] or None,
            tuple(text or None for text in line[count:-1]),
        )
        for line in lines
    ]
    return Fragment(entry["features"], entry.get("sensitive", []), rows)


# --- candidates and the class ---------------------------------------------------------------------


def covers(row, values):
    return all(cell.covers(value) for cell, value in zip(row.cells, values, strict=True))


def known(fragment, target):
    """Return the target's values of the fragment's features; the target is a dict."""
    return [target[name] for name in fragment.features]


def covering_lines(fragment, target):
    """Return the lines, from 0, whose cells cover the target."""
    return [line for line, row in enumerate(fragment.rows) if covers(row, known(fragment, target))]


def covering_rows(fragment, target):
    return [fragment.rows[line] for line in covering_lines(fragment, target)]


def covering_classes(fragment, target):
    """Return the rows of each EC that covers the target."""
    classes = {}
    for row in covering_rows(fragment, target):
        classes.setdefault(row.cells, []).append(row)
    return list(classes.values())


def told_counts(rows):
    """Return the published class values of rows with how often each is told; blanks tell nothing."""
    return Counter(row.told for row in rows if row.told is not None)


def weights(rows, *, per_class):
    """Return how many of an EC's rows have each class value, as far as the file tells."""
    counts = told_counts(rows)
    if not per_class:
        return {value: Fraction(n) for value, n in counts.items()}
    return {value: Fraction(len(rows), len(counts)) for value in counts}


def added(several):
    total = Counter()
    for each in several:
        total.update(each)
    return {value: n for value, n in total.items() if n}


def evidence(fragment, target, *, per_class):
    """Return the weights of class values over the ECs that cover the target."""
    return added(weights(rows, per_class=per_class) for rows in covering_classes(fragment, target))


def without_record(fragment, target, value, own=lambda row: row.told):
    """Return a fragment without one row that covers the target and has its value, if there is such a row."""
    for line in covering_lines(fragment, target):
        if own(fragment.rows[line]) == value:
            return fragment._replace(rows=fragment.rows[:line] + fragment.rows[line + 1 :])
    return fragment


def shares(counts):
    total = sum(counts.values())
    return {value: Fraction(n) / total for value, n in counts.items()}


def combination(several, before):
    """Return prod_i f_i(c) / prior(c)^(m-1), normalised; None where no class value is left.

    `several` holds the evidence of every fragment; one that has none leaves the others as they are.
    """
    parts = [shares(each) for each in several if each]
    unscaled = {
        value: prod((part.get(value, Fraction(0)) for part in parts), start=Fraction(1))
        / share ** (len(parts) - 1)
        for value, share in before.items()
        if share
    }
    total = sum(unscaled.values())
    return {value: n / total for value, n in unscaled.items() if n} if total else None


def told(fragment, *, per_class):
    """Return the weights of the class values that a whole file tells."""
    classes = {}
    for row in fragment.rows:
        classes.setdefault(row.cells, []).append(row)
    return added(weights(rows, per_class=per_class) for rows in classes.values())


def prior(files):
    """Return the mean over files of the shares of class values; a file that tells none is left out."""
    parts = [shares(each) for each in files if each]
    return added({value: share / len(parts) for value, share in part.items()} for part in parts)


def guesses(found, before):
    """Return the set of the most likely values; of equal ones those most frequent in all."""
    likely = before if found is None else found
    largest = max(((share, before[value]) for value, share in likely.items()), default=None)
    return {value for value, share in likely.items() if (share, before[value]) == largest}


def sensitive_counts(rows, place):
    """Return how often rows have each value of a sensitive attribute; empty cells are no values."""
    values = (row.sensitive[place] for row in rows)
    return Counter(value for value in values if value is not None)


def smallest_join(fragments, target, *, per_class=False):
    """Return the fewest rows, but not none, in a join of two or more ECs that cover the target.

    Over all sets of fragments and all choices of one covering EC of each; None where nothing joins.
    Where only sets of class values are told, the rows expected if each is as likely.
    """
    covering = [
        [weights(rows, per_class=per_class) for rows in covering_classes(fragment, target)]
        for fragment in fragments
    ]
    sizes = [
        sum(prod(counts.get(value, 0) for counts in chosen) for value in chosen[0])
        for size in range(2, len(fragments) + 1)
        for several in itertools.combinations(covering, size)
        for chosen in itertools.product(*several)
    ]
    return min((size for size in sizes if size), default=None)


def joined_rows(fragments, target):
    """Return the rows of the join of all rows that cover the target, joined one by one."""
    rows = [covering_rows(fragment, target) for fragment in fragments]
    return sum(
        chosen[0].told is not None and len({row.told for row in chosen}) == 1
        for chosen in itertools.product(*rows)
    )


def smallest_joined(fragments, target):
    """Return the fewest rows, but not none, of the join in two or more fragments of all rows that cover."""
    sizes = [
        joined_rows(several, target)
        for size in range(2, len(fragments) + 1)
        for several in itertools.combinations(fragments, size)
    ]
    return min((size for size in sizes if size), default=None)


# --- position ---------------------------------------------------------------------------------------


def position_success(fragments, target):
    """Return the chance that a random line of those covering the target does so in every file."""
    first, *others = [set(covering_lines(fragment, target)) for fragment in fragments]
    return Fraction(len(first.intersection(*others)), len(first)) if first else Fraction(0)


def position_by_chance(fragments, target):
    """Return the same chance where the lines of the other files are in an order that tells nothing."""
    first, *others = [covering_lines(fragment, target) for fragment in fragments]
    count = len(fragments[0].rows)
    return prod((Fraction(len(lines), count) for lines in others), start=Fraction(bool(first)))
