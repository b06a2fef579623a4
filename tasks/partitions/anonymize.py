"""How records become equivalence classes: by an algorithm that can be another one, then generalised."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tasks.config import Anonymization
from tasks.domain import Domain
from tasks.measures import information_loss
from tasks.partitions import mondrian
from tasks.partitions.partition import Partition
from tasks.partitions.person_counts import first_seen
from tasks.partitions.regions import Regions, regions_of_columns
from tasks.partitions.requirements import Requirement

Codes = npt.NDArray[np.int32]


class Algorithm(Protocol):
    """What can stand in Mondrian's place: codes and class in, a class label per row out."""

    def __call__(  # noqa: PLR0917 - what an algorithm needs, in its order
        self,
        codes: Codes,
        domains: Sequence[Domain],
        classes: Codes,
        requirement: Requirement,
        mode: Literal["strict", "relaxed"],
        split: Literal["median", "infogain"],
        persons: Codes | None,
    ) -> Partition:
        """Divide the rows into equivalence classes that satisfy the requirement.

        With persons, it is asked how many of them have a value; see `tasks.partitions.mondrian.partition`.
        """
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


def divide(  # noqa: PLR0917 - what an algorithm needs, in its order
    codes: Codes,
    domains: Sequence[Domain],
    places: Codes,
    requirement: Requirement,
    settings: Anonymization,
    seed: int,
    persons: Codes | None = None,
) -> Partition:
    """Divide records into equivalence classes (ECs).

    Parameters
    ----------
    codes : ndarray of shape (n, features)
    domains
        One per feature.
    places : ndarray of shape (n,) or (n, attributes)
        Where each record counts, see `tasks.partitions.protection`.
    requirement
        What every EC must satisfy.
    settings
        The algorithm and its options.
    seed
        Of the order in which relaxed cuts divide records with equal values.
    persons : ndarray of shape (n,), optional
        Whom each record is of, where persons count.

    Raises
    ------
    InfeasibleError
        If the records as a whole do not satisfy the requirement.
    """
    algorithm = partial(ALGORITHMS[settings.algorithm], mode=settings.mode, split=settings.split)
    if settings.mode == "strict":
        return algorithm(codes, domains, places, requirement, persons=persons)
    order = _forgotten_order(codes, places, seed, persons)
    renumbered = None if persons is None else first_seen(persons[order])
    partition = algorithm(codes[order], domains, places[order], requirement, persons=renumbered)
    return partition._replace(labels=partition.labels[np.argsort(order)])


def generalise(  # noqa: PLR0917 - the records, their partition, and how it is released
    columns: Iterable[Codes],
    domains: Sequence[Domain],
    classes: Codes,
    class_values: int,
    partition: Partition,
    bounds: Literal["tight", "cuts"],
) -> Anonymized:
    """Return what each EC releases; ECs that release the same are one.

    Parameters
    ----------
    columns
        The codes of each feature, shape (n,); they are asked for one by one.
    domains
        One per feature.
    classes : ndarray of shape (n,)
        Codes of the class attribute.
    class_values
        How many class values there are.
    partition
        Of the records.
    bounds
        Whether the members' values or the cuts bound what is released.
    """
    labels, released = regions_of_columns(columns, domains, partition, bounds)
    cells = labels.astype(np.int64) * class_values + classes
    counts = np.bincount(cells, minlength=(int(labels.max()) + 1) * class_values)
    return Anonymized(labels, counts.reshape(-1, class_values).astype(np.int64), released)


def _forgotten_order(codes: Codes, places: Codes, seed: int, persons: Codes | None) -> npt.NDArray[np.intp]:
    """Return an order of the records that tells nothing of the input's: sorted by content, then shuffled.

    A relaxed cut divides equal values by the order of records, which must not be that of the file.
    """
    alike = () if persons is None else (persons,)
    by_content = np.lexsort((*alike, *places.T.reshape(-1, len(places)), *codes.T))
    return by_content[np.random.default_rng(seed).permutation(len(by_content))]


def feature_loss(fragments: Sequence[Anonymized]) -> dict[str, float]:
    """Return the information loss of each feature of some fragments."""
    return {
        region.domain.name: float(loss)
        for fragment in fragments
        for region, loss in zip(
            fragment.regions, information_loss(fragment.regions, fragment.counts.sum(axis=1)), strict=True
        )
    }
