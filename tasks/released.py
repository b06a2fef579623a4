"""How the equivalence classes of fragments, and what they release, are stored."""

from collections.abc import Sequence

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.domain import Domain
from tasks.partitions.anonymize import Anonymized, feature_loss
from tasks.partitions.regions import NumericRegions, Regions
from tasks.store import write_table
from tasks.tables import write_class_counts, write_feature_loss
from tasks.typed_values import as_typed, last_day

CLASSES_AT_ONCE = 122_880  # whose cells are in memory: as many as DuckDB keeps together


def write_released(
    connection: duckdb.DuckDBPyConnection, fragments: Sequence[Anonymized], class_domain: Domain
) -> None:
    """Store the equivalence classes of all fragments: their records, class counts, regions and loss."""
    write_table(
        connection,
        "members",
        {f"fragment_{number}": fragment.labels for number, fragment in enumerate(fragments, 1)},
    )
    _write_classes(connection, fragments, class_domain)
    for number, fragment in enumerate(fragments, 1):
        write_regions(connection, number, fragment.regions)
    write_feature_loss(connection, "fragmented", feature_loss(fragments))


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


def write_regions(connection: duckdb.DuckDBPyConnection, number: int, released: Sequence[Regions]) -> None:
    """Store what a fragment's classes release, as cells of a CSV file and as typed values.

    Columns are called f1, f2, ... in both tables, so that no feature's name can mean anything else.
    """
    classes = np.arange(len(released[0].keys()))
    for first in range(0, len(classes), CLASSES_AT_ONCE):
        block = [region.take(classes[first : first + CLASSES_AT_ONCE]) for region in released]
        _write_block(connection, number, block, add=first > 0)


def _write_block(
    connection: duckdb.DuckDBPyConnection, number: int, released: Sequence[Regions], *, add: bool
) -> None:
    texts = {f"f{index}": region.texts() for index, region in enumerate(released, 1)}
    write_table(connection, f"regions_{number}", texts, add=add)
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
    write_table(connection, f"typed_regions_{number}", parts, ", ".join(typed), add=add)


def _numeric_parts(index: int, region: NumericRegions) -> dict[str, npt.NDArray[np.generic]]:
    lower, upper = region.bounds()
    return {
        f"lower_{index}": lower,
        f"upper_{index}": upper,
        f"present_{index}": region.present,
        f"missing_{index}": region.missing,
    }


def _numeric_struct(index: int, region: NumericRegions) -> str:
    """Return the SQL for the typed value of a numeric feature; the upper bound of dates is a last day."""
    domain = region.domain
    first, last = (as_typed(f"{bound}_{index}", domain.kind, domain.scale) for bound in ("lower", "upper"))
    bounds = {"lower": first, "upper": last_day(last, domain.precision) if domain.kind == "date" else last}
    lower, upper = (
        f"{bound} := CASE WHEN present_{index} THEN {value} END" for bound, value in bounds.items()
    )
    return f"struct_pack({lower}, {upper}, missing := missing_{index}) AS f{index}"
