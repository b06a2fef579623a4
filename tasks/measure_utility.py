"""Step: what a user of the data keeps, the input against what is published."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.domain import Domain
from tasks.events import progress
from tasks.learning.learn import equal_shares
from tasks.memory import fragments_at_once
from tasks.steps import step
from tasks.store import add_rows, open_store, write_table
from tasks.tables import (
    read_class_counts,
    read_class_domain,
    read_codes,
    read_columns,
    read_domains,
    read_fragments,
    read_matrix,
    read_regions,
)
from tasks.utility.binned import binned
from tasks.utility.kept import Kept, Pair, kept_of_feature, pair_information, total_variation

Numbers = npt.NDArray[np.float64]


class _Fragment(NamedTuple):
    """What is kept of a fragment: of its features, of pairs of them, of its class shares."""

    features: list[Kept]
    pairs: list[Pair]
    class_shift: float


@step("measure what is kept")
def measure_utility(store: Path, config: Config) -> int:
    """Store what is kept of each feature, of pairs of features and of the class; return how many features.

    Tables: `utility`, a row per feature in input order; `pair_information`, a row per fragment, the means
    over its pairs; `class_shift`, a row per fragment, the distance of its class shares from the input's.
    """
    with open_store(store) as connection:
        domains, _ = read_domains(connection)
        place = {domain.name: number for number, domain in enumerate(domains)}
        fragments = [[place[name] for name in names] for names in read_fragments(connection)]
        matrix = read_matrix(connection)
        kept = list(_measure(connection, config, [[domains[i] for i in places] for places in fragments]))
        _write_features(connection, domains, matrix[-1], _in_input_order(fragments, kept))
        _write_pairs(connection, fragments, matrix, kept)
        numbers = list(range(1, len(kept) + 1))
        shifts = [fragment.class_shift for fragment in kept]
        write_table(connection, "class_shift", {"fragment": numbers, "distance": shifts})
    return len(domains)


def _measure(
    connection: duckdb.DuckDBPyConnection, config: Config, fragments: Sequence[Sequence[Domain]]
) -> Iterator[_Fragment]:
    class_domain = read_class_domain(connection)
    classes = np.bincount(read_codes(connection, [class_domain])[:, 0], minlength=class_domain.size)

    def measured(fragment: tuple[int, Sequence[Domain], Numbers]) -> _Fragment:
        number, domains, counts = fragment
        own = connection.cursor()
        regions = read_regions(own, number, domains)
        values = [
            binned(codes, domain, config.fragmentation.bins)
            for codes, domain in zip(read_columns(own, domains), domains, strict=True)
        ]
        return _Fragment(
            [kept_of_feature(*of, counts) for of in zip(regions, values, strict=True)],
            pair_information(regions, values, counts.sum(axis=1)),
            total_variation(classes, counts.sum(axis=0)),
        )

    numbers = range(1, len(fragments) + 1)
    asked = list(zip(numbers, fragments, _published_counts(connection, config), strict=True))
    with ThreadPoolExecutor(fragments_at_once(config.run, int(classes.sum()))) as measurers:
        for number, fragment in enumerate(measurers.map(measured, asked), 1):
            yield fragment
            progress(number / len(fragments))


def _published_counts(connection: duckdb.DuckDBPyConnection, config: Config) -> list[Numbers]:
    """Return the class counts as the files show them."""
    counts = read_class_counts(connection, "after")
    if config.privacy.enforcement != "delta_selectivity":
        return [after.astype(np.float64) for after in counts]
    sizes = connection.execute(
        "SELECT list(records ORDER BY ec) FROM equivalence_classes GROUP BY fragment ORDER BY fragment"
    ).fetchall()
    return [equal_shares(after, np.array(records)) for after, (records,) in zip(counts, sizes, strict=True)]


def _in_input_order(fragments: Sequence[Sequence[int]], kept: Sequence[_Fragment]) -> list[Kept]:
    placed = {
        place: of_feature
        for places, fragment in zip(fragments, kept, strict=True)
        for place, of_feature in zip(places, fragment.features, strict=True)
    }
    return [placed[place] for place in sorted(placed)]


def _write_features(
    connection: duckdb.DuckDBPyConnection, domains: Sequence[Domain], before: Numbers, kept: Sequence[Kept]
) -> None:
    connection.execute("""
        CREATE OR REPLACE TABLE utility (
            feature VARCHAR, information_before DOUBLE, information_after DOUBLE, distance DOUBLE,
            mean_shift DOUBLE, spread_ratio DOUBLE
        )
    """)
    rows = [
        (domain.name, information, *feature)
        for domain, information, feature in zip(domains, before.tolist(), kept, strict=False)
    ]
    add_rows(connection, "utility", rows)


def _write_pairs(
    connection: duckdb.DuckDBPyConnection,
    fragments: Sequence[Sequence[int]],
    before: Numbers,
    kept: Sequence[_Fragment],
) -> None:
    """Store the mean information of pairs; a fragment without a pair has no row."""
    connection.execute("""
        CREATE OR REPLACE TABLE pair_information (fragment BIGINT, pairs BIGINT, before DOUBLE, after DOUBLE)
    """)
    for number, (places, fragment) in enumerate(zip(fragments, kept, strict=True), 1):
        if fragment.pairs:
            informations = [before[places[pair.first], places[pair.second]] for pair in fragment.pairs]
            after = fmean(pair.information for pair in fragment.pairs)
            row = number, len(fragment.pairs), fmean(informations), after
            connection.execute("INSERT INTO pair_information VALUES (?, ?, ?, ?)", row)
