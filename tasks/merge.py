"""Step: bring the equivalence classes of each fragment together (paper, section 5, step 5).

Classes of different segments that release the same are one: nothing tells them apart any more.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from tasks.chunks import Batch, fragment_partition
from tasks.config import Config
from tasks.events import counted, progress
from tasks.partitions.anonymize import generalise
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
    with open_store(store) as connection:
        class_domain = read_class_domain(connection)
        classes = read_codes(connection, [class_domain])[:, 0]
        fragments = []
        for domains, (_, pairs) in zip(read_fragment_domains(connection), of_fragments, strict=True):
            partition = fragment_partition([store.parent / name for _, name in pairs], len(classes))
            columns, bounds = read_columns(connection, domains), config.anonymization.bounds
            fragments.append(generalise(columns, domains, classes, class_domain.size, partition, bounds))
            progress(len(fragments) / config.fragments)
        write_released(connection, fragments, class_domain)
    counted(equivalence_classes=sum(len(fragment.counts) for fragment in fragments))
    return [len(fragment.counts) for fragment in fragments]
