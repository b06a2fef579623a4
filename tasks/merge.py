"""Step 6: bring the equivalence classes of each fragment together (paper, section 5, step 5).

Classes of different segments that release the same are one: nothing tells them apart any more.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.anonymize import Anonymized, feature_loss, generalise
from tasks.chunks import Batch, fragment_partition
from tasks.config import Config
from tasks.domain import Domain
from tasks.partition import Partition
from tasks.regions import NumericRegions, Regions
from tasks.steps import progress, step
from tasks.store import open_store, write_table
from tasks.tables import read_codes, read_domains, read_fragments, write_class_counts, write_feature_loss


@step("merge the chunks of each fragment")
def merge_chunks(store: Path, chunks: Sequence[Path], batches: Sequence[Batch], config: Config) -> list[int]:
    """Store the equivalence classes of each fragment; return how many each has."""
    of_fragments = groupby(zip(batches, chunks, strict=True), key=lambda pair: pair[0].fragment)
    with open_store(store) as connection:
        domains, class_domain = read_domains(connection)
        fragments = []
        for features, (_, pairs) in zip(read_fragments(connection), of_fragments, strict=True):
            chosen = [domain for domain in domains if domain.name in set(features)]
            partition = fragment_partition([path for _, path in pairs])
            fragments.append(_generalised(connection, chosen, class_domain, partition, config))
            progress(len(fragments) / config.fragments)
        write_table(
            connection,
            "members",
            {f"fragment_{number}": fragment.labels for number, fragment in enumerate(fragments, 1)},
        )
        _write_classes(connection, fragments, class_domain)
        for number, fragment in enumerate(fragments, 1):
            _write_regions(connection, number, fragment.regions)
        write_feature_loss(connection, "fragmented", feature_loss(fragments))
    for path in chunks:
        path.unlink()
    return [len(fragment.counts) for fragment in fragments]


def _generalised(
    connection: duckdb.DuckDBPyConnection,
    domains: Sequence[Domain],
    class_domain: Domain,
    partition: Partition,
    config: Config,
) -> Anonymized:
    codes = read_codes(connection, domains)
    classes = read_codes(connection, [class_domain])[:, 0]
    return generalise(codes, domains, classes, class_domain.size, partition, config.anonymization.bounds)


def _write_classes(
    connection: duckdb.DuckDBPyConnection, fragments: Sequence[Anonymized], class_domain: Domain
) -> None:
    """Store the size and the class counts of every equivalence class."""
    sizes = [fragment.counts.sum(axis=1) for fragment in fragments]
    write_table(
        connection,
        "equivalence_classes",
        {
            "fragment": np.repeat(np.arange(1, len(sizes) + 1), [len(size) for size in sizes]),
            "ec": np.concatenate([np.arange(len(size)) for size in sizes]),
            "records": np.concatenate(sizes),
        },
    )
    counts = [fragment.counts for fragment in fragments]
    write_class_counts(connection, class_domain, counts, counts)


def _write_regions(connection: duckdb.DuckDBPyConnection, number: int, released: Sequence[Regions]) -> None:
    """Store what a fragment's classes release, as cells of a CSV file and as typed values.

    Columns are called f1, f2, ... in both tables, so that no feature's name can mean anything else.
    """
    texts: dict[str, list[str] | npt.NDArray[np.intp]] = {
        f"f{index}": region.texts() for index, region in enumerate(released, 1)
    }
    write_table(connection, f"regions_{number}", texts)
    parts: dict[str, npt.NDArray[np.generic] | list[list[str | None]]] = {}
    typed = []
    for index, region in enumerate(released, 1):
        if isinstance(region, NumericRegions):
            parts |= _numeric_parts(index, region)
            typed.append(_numeric_struct(index, region))
        else:
            values = region.values()
            parts[f"values_{index}"] = [values[chosen] for chosen in region.chosen.tolist()]
            typed.append(f"CAST(values_{index} AS VARCHAR[]) AS f{index}")
    write_table(connection, "parts", parts)
    connection.execute(
        f"CREATE OR REPLACE TABLE typed_regions_{number} AS SELECT {', '.join(typed)} FROM parts"
    )
    connection.execute("DROP TABLE parts")


def _numeric_parts(index: int, region: NumericRegions) -> dict[str, npt.NDArray[np.generic]]:
    lower, upper = region.bounds()
    return {
        f"lower_{index}": lower,
        f"upper_{index}": upper,
        f"present_{index}": region.present,
        f"missing_{index}": region.missing,
    }


def _numeric_struct(index: int, region: NumericRegions) -> str:
    """Return the SQL for the typed value of a numeric feature."""
    number = "BIGINT" if region.domain.kind == "integer" else "DOUBLE"
    lower, upper = (
        f"{bound} := CASE WHEN present_{index} THEN CAST({bound}_{index} AS {number}) END"
        for bound in ("lower", "upper")
    )
    return f"struct_pack({lower}, {upper}, missing := missing_{index}) AS f{index}"
