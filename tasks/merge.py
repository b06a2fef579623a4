"""Step: bring the equivalence classes of each fragment together (paper, section 5, step 5).

Classes of different segments that release the same are one: nothing tells them apart any more.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import duckdb

from tasks.chunks import Batch, fragment_partition
from tasks.config import Config
from tasks.domain import Domain
from tasks.events import counted, progress
from tasks.partitions.anonymize import Anonymized, generalise
from tasks.partitions.partition import Partition
from tasks.released import write_released
from tasks.steps import step
from tasks.store import open_store
from tasks.tables import read_codes, read_domains, read_fragments


@step("merge the chunks of each fragment")
def merge_chunks(store: Path, chunks: Sequence[Path], batches: Sequence[Batch], config: Config) -> list[int]:
    """Store the equivalence classes of each fragment; return how many each has.

    The files of the chunks stay, for a run that goes on from here.
    """
    of_fragments = groupby(zip(batches, chunks, strict=True), key=lambda pair: pair[0].fragment)
    with open_store(store) as connection:
        domains, class_domain = read_domains(connection)
        fragments = []
        for features, (_, pairs) in zip(read_fragments(connection), of_fragments, strict=True):
            chosen = [domain for domain in domains if domain.name in set(features)]
            partition = fragment_partition([store.parent / name for _, name in pairs])
            fragments.append(_generalised(connection, chosen, class_domain, partition, config))
            progress(len(fragments) / config.fragments)
        write_released(connection, fragments, class_domain)
    counted(equivalence_classes=sum(len(fragment.counts) for fragment in fragments))
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
