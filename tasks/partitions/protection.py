"""What a release protects: k of the records, l and t of the class and the sensitive attributes.

Counts are wide here: first how often each class value occurs, then, attribute after attribute, how
often each sensitive value does. A record counts once in each attribute's range. Where persons count, not
records, the last value is one that everybody has.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.config import Config, Privacy
from tasks.domain import Domain
from tasks.hierarchies import read_ancestors
from tasks.loading.hierarchy import ancestor_codes
from tasks.partitions.closeness import Ground, Hierarchy
from tasks.partitions.diversity import Counts, entropy_level, recursive_level
from tasks.partitions.person_requirements import AllBorne, BorneValues, KPersons
from tasks.partitions.requirements import (
    All,
    AllValues,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    Of,
    RecursiveDiversity,
    Requirement,
    TCloseness,
)
from tasks.store import quoted

ALMOST = 1e-9  # what a level may lack to count as reached

Codes = npt.NDArray[np.int32]


class Attribute(NamedTuple):
    """The class or a sensitive attribute, and where its values stand in wide counts.

    Attributes
    ----------
    name
        Of its column.
    start, stop
        The range of its values, from the lowest to the highest where they have an order.
    places : ndarray of shape (codes,)
        Where each code stands. A missing value stands just before `start` and protects nobody.
    ground
        How far apart two values are.
    """

    name: str
    start: int
    stop: int
    places: npt.NDArray[np.int32]
    ground: Ground


class Protection(NamedTuple):
    """What groups of records must satisfy.

    Attributes
    ----------
    privacy
        What was asked.
    exact
        Whether the classes of a chunk must reach their segment's very level, or its whole part.
    complete
        Whether the classes of a chunk must hold all class values of their segment: for distinct l, and
        where there are sensitive attributes in any fragment.
    attributes
        The class, then the sensitive attributes of the fragment.
    overall : ndarray of shape (wide,)
        Counts of all records.
    persons
        Whether persons count.
    """

    privacy: Privacy
    exact: bool
    complete: bool
    attributes: tuple[Attribute, ...]
    overall: Counts
    persons: bool = False

    @property
    def wanted(self) -> All:
        """What was asked: of the table, of a segment, of an equivalence class that is not joined."""
        levels = (self._level(attribute) for attribute in self.attributes)
        return self._with([level for level in levels if level is not None])

    def of_chunk(self, segment: Counts) -> All:
        """Return what the classes of a segment's chunk must satisfy (paper, section 5, step 4).

        Parameters
        ----------
        segment : ndarray of shape (wide,)
            Counts of the segment's records.
        """
        of_class = self.attributes[0]
        own = self._own_levels(segment[of_class.start : of_class.stop])
        levels = (self._level(attribute) for attribute in self.attributes[1:])
        asked = [*(_of(of_class, level) for level in own), *(level for level in levels if level is not None)]
        return self._with(asked)

    def _with(self, levels: Sequence[Requirement]) -> All:
        of_class = self.attributes[0]
        k: Requirement = KAnonymity(self.privacy.k)
        if len(self.attributes) > 1:
            k = Of(of_class.name, of_class.start, of_class.stop, k)
        if self.persons:
            k = Of(of_class.name, len(self.overall) - 1, len(self.overall), KPersons(self.privacy.k))
        closeness = [] if self.privacy.t is None else list(self._closeness(self.privacy.t))
        return All((k, *levels, *closeness))

    def _level(self, attribute: Attribute) -> Requirement | None:
        """Return the diversity asked of an attribute."""
        l, c = self.privacy.l, self.privacy.c  # noqa: E741 - the field's own letters
        if l is None:
            return None
        if c is not None:
            return _of(attribute, RecursiveDiversity(c, int(l)))
        if self.privacy.l_model == "entropy":
            return _of(attribute, EntropyDiversity(l))
        return _of(attribute, BorneValues(int(l)) if self.persons else DistinctDiversity(int(l)))

    def _own_levels(self, counts: Counts) -> Iterator[Requirement]:
        """Return what a segment's own diversity asks of its classes."""
        l, c = self.privacy.l, self.privacy.c  # noqa: E741
        if self.complete:
            held = tuple(np.flatnonzero(counts).tolist())
            yield AllBorne(held) if self.persons else AllValues(held)
        if l is None:
            return
        if c is not None:
            reached = int(recursive_level(counts[None, :], c)[0])
            own_c = min(c, _own_ratio(counts, reached)) if self.exact else c
            yield RecursiveDiversity(own_c, reached)
        elif self.privacy.l_model == "entropy":
            own = float(entropy_level(counts[None, :])[0])
            yield EntropyDiversity(own if self.exact else max(l, np.floor(own + ALMOST)))

    def _closeness(self, t: float) -> Iterator[Requirement]:
        for attribute in self.attributes:
            overall = self.overall[attribute.start : attribute.stop]
            yield _of(attribute, TCloseness(t, overall, attribute.ground))


def _of(attribute: Attribute, requirement: Requirement) -> Requirement:
    return Of(attribute.name, attribute.start, attribute.stop, requirement)


def _own_ratio(counts: Counts, level: int) -> float:
    """Return nearly the smallest c for which a segment is recursively (c, l)-diverse."""
    ordered = np.sort(counts)[::-1]
    return float(ordered[0] / ordered[level - 1 :].sum()) * (1 + ALMOST)


def read_protection(
    connection: duckdb.DuckDBPyConnection, config: Config, protected: Sequence[Domain]
) -> tuple[Protection, Codes]:
    """Return what is asked of groups of records, and where each record counts.

    Parameters
    ----------
    connection
        To the store.
    config
        Of the run.
    protected
        The domains of the class, then of the sensitive attributes that are protected together.

    Returns
    -------
    protection
    places : ndarray of shape (n,) or (n, attributes)
        Each record's places in wide counts.
    """
    attributes, end = [], 0
    for domain in protected:
        attributes.append(_attribute(connection, config, domain, end))
        end = attributes[-1].stop
    names = ", ".join(quoted(domain.name) for domain in protected)
    codes = connection.execute(f"SELECT {names} FROM codes").fetchnumpy()
    persons = config.columns.entity is not None
    places = places_of(attributes, [np.asarray(codes[domain.name]) for domain in protected], persons=persons)
    overall = np.bincount(places.ravel(), minlength=end + persons).astype(np.int64)
    exact = config.segmentation.level == "exact"
    distinct = config.privacy.l is not None and config.privacy.l_model == "distinct"
    complete = distinct or bool(config.columns.sensitive)
    return Protection(config.privacy, exact, complete, tuple(attributes), overall, persons), places


def places_of(attributes: Sequence[Attribute], codes: Sequence[Codes], *, persons: bool) -> Codes:
    """Return where each record counts in wide counts, shape (n,) or (n, attributes).

    Parameters
    ----------
    attributes
        The class, then the sensitive attributes that are protected together.
    codes
        Of each, shape (n,).
    persons
        Whether persons count.
    """
    columns = [attribute.places[column] for attribute, column in zip(attributes, codes, strict=True)]
    if persons:
        columns.append(np.full_like(columns[0], attributes[-1].stop))
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _attribute(
    connection: duckdb.DuckDBPyConnection, config: Config, domain: Domain, offset: int
) -> Attribute:
    missing = int(domain.missing)
    start, values = offset + missing, len(domain.values)
    ranks = np.arange(values)
    ground: Ground = "equal"
    if config.privacy.t_distance == "ordered":
        ground = "ordered"
        ranks[in_order(domain.values, config.columns.orders.get(domain.name))] = np.arange(values)
    elif config.privacy.t_distance == "hierarchical":
        ground = Hierarchy(ancestor_codes(read_ancestors(connection, domain.name)))
    places = np.concatenate([np.full(missing, offset), start + ranks]).astype(np.int32)
    return Attribute(domain.name, start, start + values, places, ground)


def in_order(values: npt.NDArray[np.object_], order: Sequence[str] | None) -> npt.NDArray[np.intp]:
    """Return the positions of values from the lowest to the highest: as ordered, else as numbers."""
    if order is None:
        return np.argsort(values.astype(np.float64), kind="stable")
    ranks = {value: rank for rank, value in enumerate(order)}
    return np.argsort([ranks[value] for value in values], kind="stable")
