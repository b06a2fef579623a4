"""Step 6: what the release costs and what it leaves, as one table of measures."""

from pathlib import Path

import numpy as np

from tasks.measures import discernibility
from tasks.steps import step
from tasks.store import open_store, write_table


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
