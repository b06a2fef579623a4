"""Steps: what the release costs and what it leaves, as one table of measures."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.domain import Domain
from tasks.measures import discernibility
from tasks.partitions.anonymize import divide, feature_loss, generalise
from tasks.partitions.partition import Partition
from tasks.partitions.protection import read_protection
from tasks.persons.stored import read_persons
from tasks.pieces.divide_pieces import divide_stored, pieces_of
from tasks.steps import step
from tasks.store import open_store, write_table
from tasks.tables import read_codes, read_columns, read_domains, read_sensitive_domains, write_feature_loss


@step("measure the unfragmented baseline")
def measure_baseline(store: Path, config: Config) -> int:
    """Anonymize all features as one fragment and store its loss; return its equivalence classes."""
    with open_store(store) as connection:
        domains, class_domain = read_domains(connection)
        partition, columns = _undivided(connection, config, domains, class_domain)
        classes, bounds = read_codes(connection, [class_domain])[:, 0], config.anonymization.bounds
        whole = generalise(columns, domains, classes, class_domain.size, partition, bounds)
        write_feature_loss(connection, "unfragmented", feature_loss([whole]))
    return len(whole.counts)


def _undivided(
    connection: duckdb.DuckDBPyConnection, config: Config, domains: Sequence[Domain], class_domain: Domain
) -> tuple[Partition, Iterable[npt.NDArray[np.int32]]]:
    """Return the equivalence classes of the table as one fragment, and the codes of each feature."""
    protected = [class_domain, *read_sensitive_domains(connection)]
    protection, places = read_protection(connection, config, protected)
    pieces = pieces_of(connection, config, domains)
    if pieces:
        return divide_stored(connection, config, domains, pieces), read_columns(connection, domains)
    codes, persons = read_codes(connection, domains), read_persons(connection, config)
    settings, seed = config.anonymization, config.run.seed
    return divide(codes, domains, places, protection.wanted, settings, seed, persons), codes.T


@step("measure the release")
def measure_release(store: Path) -> dict[str, float]:
    """Store and return the measures that need no learner."""
    with open_store(store) as connection:
        loss = dict(
            connection.execute(
                "SELECT release, avg(information_loss) FROM feature_loss GROUP BY release"
            ).fetchall()
        )
        sizes = connection.execute("SELECT records FROM equivalence_classes").fetchnumpy()["records"]
        ((changed,),) = connection.execute("SELECT sum(class_values) FROM changes").fetchall()
        cells = int(np.sum(sizes))
        measures = {
            "information_loss": loss["fragmented"],
            "information_loss_unfragmented": loss["unfragmented"],
            "changed_class_values": float(changed),
            "changed_class_values_share": float(changed) / cells,
            "equivalence_classes": float(len(sizes)),
            "mean_class_size": cells / len(sizes),
            "discernibility": float(discernibility(np.asarray(sizes))),
        }
        write_table(connection, "measures", {"name": list(measures), "value": list(measures.values())})
    return measures
