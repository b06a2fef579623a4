"""Step: bring the equivalence classes of each fragment together (paper, section 5, step 5).

Classes of different segments that release the same are one: nothing tells them apart any more.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from tasks.chunks import Batch, fragment_partition
from tasks.config import Config
from tasks.domain import Domain
from tasks.events import counted, progress
from tasks.memory import fragments_at_once
from tasks.partitions.anonymize import Anonymized, generalise
from tasks.released import write_released
from tasks.steps import step
from tasks.store import open_store
from tasks.tables import read_class_domain, read_codes, read_columns, read_fragment_domains


@step("merge the chunks of each fragment")
def merge_chunks(store: Path, chunks: Sequence[Path], batches: Sequence[Batch], config: Config) -> list[int]:
    """Store the equivalence classes of each fragment; return how many each has.

    The files of the chunks stay, for a run that goes on from here.
    """
    of_fragments = groupby(zip(batches, chunks, strict=True), key=lambda pair: pair[0].fragment)
    files = [[store.parent / name for _, name in pairs] for _, pairs in of_fragments]
    with open_store(store) as connection:
        class_domain = read_class_domain(connection)
        classes = read_codes(connection, [class_domain])[:, 0]

        def merged(fragment: tuple[Sequence[Domain], Sequence[Path]]) -> Anonymized:
            domains, of_chunks = fragment
            partition = fragment_partition(of_chunks, len(classes))
            columns, bounds = read_columns(connection.cursor(), domains), config.anonymization.bounds
            return generalise(columns, domains, classes, class_domain.size, partition, bounds)

        asked = list(zip(read_fragment_domains(connection), files, strict=True))
        fragments = []
        with ThreadPoolExecutor(fragments_at_once(config.run, len(classes))) as mergers:
            for fragment in mergers.map(merged, asked):
                fragments.append(fragment)
                progress(len(fragments) / config.fragments)
        write_released(connection, fragments, class_domain)
    counted(equivalence_classes=sum(len(fragment.counts) for fragment in fragments))
    return [len(fragment.counts) for fragment in fragments]
