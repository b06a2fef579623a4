"""Step 3: make each fragment k-anonymous on its own (paper, section 3.2, step 2)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import duckdb
import numpy as np
import numpy.typing as npt

from tasks import mondrian
from tasks.config import Anonymization, Config
from tasks.domain import Domain
from tasks.measures import information_loss
from tasks.partition import Partition
from tasks.regions import NumericRegions, Regions, regions
from tasks.requirements import KAnonymity, Requirement
from tasks.steps import progress, step
from tasks.store import open_store, quoted, write_table
from tasks.tables import read_domains, read_fragments, write_class_counts

Codes = npt.NDArray[np.int32]


class Algorithm(Protocol):
    """What can stand in Mondrian's place: codes and class in, a class label per row out."""

    def __call__(
        self,
        codes: Codes,
        domains: Sequence[Domain],
        classes: Codes,
        requirement: Requirement,
        mode: Literal["strict", "relaxed"],
    ) -> Partition:
        """Divide the rows into equivalence classes that satisfy the requirement."""
        ...


ALGORITHMS: dict[str, Algorithm] = {"mondrian": mondrian.partition}


class Anonymized(NamedTuple):
    """A fragment's equivalence classes.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The class of every record.
    counts : ndarray of shape (E, class values)
        How often each class value occurs in each equivalence class.
    regions
        What is released of each feature.
    """

    labels: Codes
    counts: npt.NDArray[np.int64]
    regions: tuple[Regions, ...]


def anonymize(  # noqa: PLR0917 - what an algorithm needs, in its order
    codes: Codes,
    domains: Sequence[Domain],
    classes: Codes,
    class_values: int,
    requirement: Requirement,
    settings: Anonymization,
    seed: int,
) -> Anonymized:
    """Divide records into equivalence classes and generalise their features.

    Parameters
    ----------
    codes : ndarray of shape (n, features)
    domains
        One per feature.
    classes : ndarray of shape (n,)
        Codes of the class attribute.
    class_values
        How many class values there are.
    requirement
        What every equivalence class must satisfy.
    settings
        The algorithm and its options.
    seed
        Of the order in which relaxed cuts divide records with equal values.

    Raises
    ------
    InfeasibleError
        If the records as a whole do not satisfy the requirement.
    """
    algorithm = ALGORITHMS[settings.algorithm]
    if settings.mode == "relaxed":
        order = _forgotten_order(codes, classes, seed)
        partition = algorithm(codes[order], domains, classes[order], requirement, settings.mode)
        partition = partition._replace(labels=partition.labels[np.argsort(order)])
    else:
        partition = algorithm(codes, domains, classes, requirement, settings.mode)
    labels, released = regions(codes, domains, partition, settings.bounds)
    held = np.bincount(
        labels.astype(np.int64) * class_values + classes, minlength=(labels.max() + 1) * class_values
    )
    return Anonymized(labels, held.reshape(-1, class_values).astype(np.int64), released)


def _forgotten_order(codes: Codes, classes: Codes, seed: int) -> npt.NDArray[np.intp]:
    """Return an order of the records that tells nothing of the input's: sorted by content, then shuffled.

    A relaxed cut divides equal values by the order of records, which must not be that of the file.
    """
    by_content = np.lexsort((classes, *codes.T))
    return by_content[np.random.default_rng(seed).permutation(len(by_content))]


@step("anonymize the fragments")
def anonymize_fragments(store: Path, config: Config) -> list[int]:
    """Anonymize each fragment; return how many equivalence classes each has."""
    with open_store(store) as connection:
        domains, class_domain = read_domains(connection)
        fragments = []
        for features in read_fragments(connection):
            chosen = [domain for domain in domains if domain.name in set(features)]
            fragments.append(_anonymize_stored(connection, config, chosen, class_domain))
            progress(len(fragments) / config.fragmentation.fragments)
        write_table(
            connection,
            "members",
            {f"fragment_{number}": fragment.labels for number, fragment in enumerate(fragments, 1)},
        )
        _write_classes(connection, fragments, class_domain)
        for number, fragment in enumerate(fragments, 1):
            _write_regions(connection, number, fragment.regions)
        _write_loss(connection, "fragmented", fragments)
    return [len(fragment.counts) for fragment in fragments]


@step("measure the unfragmented baseline")
def measure_baseline(store: Path, config: Config) -> int:
    """Anonymize all features as one fragment and store its loss; return its equivalence classes."""
    with open_store(store) as connection:
        domains, class_domain = read_domains(connection)
        whole = _anonymize_stored(connection, config, domains, class_domain)
        _write_loss(connection, "unfragmented", [whole])
    return len(whole.counts)


def _anonymize_stored(
    connection: duckdb.DuckDBPyConnection, config: Config, domains: Sequence[Domain], class_domain: Domain
) -> Anonymized:
    """Anonymize some features of the stored table."""
    names = [domain.name for domain in domains]
    selected = ", ".join(quoted(name) for name in [*names, class_domain.name])
    columns = connection.execute(f"SELECT {selected} FROM codes").fetchnumpy()
    codes = np.column_stack([columns[name] for name in names])
    requirement = KAnonymity(config.privacy.k)
    classes = np.asarray(columns[class_domain.name])
    return anonymize(
        codes, domains, classes, class_domain.size, requirement, config.anonymization, config.run.seed
    )


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


def _write_loss(connection: duckdb.DuckDBPyConnection, release: str, fragments: Sequence[Anonymized]) -> None:
    """Store the information loss of each feature."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS feature_loss (release VARCHAR, feature VARCHAR, information_loss DOUBLE)"
    )
    connection.execute("DELETE FROM feature_loss WHERE release = ?", [release])
    rows = [
        (release, region.domain.name, float(loss))
        for fragment in fragments
        for region, loss in zip(
            fragment.regions,
            information_loss(fragment.regions, fragment.counts.sum(axis=1)),
            strict=True,
        )
    ]
    connection.executemany("INSERT INTO feature_loss VALUES (?, ?, ?)", rows)
