"""Step: cut the rows into segments, within which every fragment is anonymized (paper, section 5).

All fragments cut their records into these segments first, whose numbers nobody else ever sees. The tree of
cuts is grown top-down, level by level, many nodes at a time.
"""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from tasks.chunks import Batch, batches, in_pieces
from tasks.config import Config, Diversity
from tasks.domain import Domain
from tasks.mutual_information import discretise
from tasks.partitions.gains import Block, Nodes, Sizes, Table, best_cuts, may_be_cut, x_log_x
from tasks.partitions.one_segment import Part, one_segment_suffices
from tasks.partitions.protection import read_protection
from tasks.partitions.requirements import Requirement, refuse_unreachable
from tasks.persons.stored import renumber_persons
from tasks.steps import step
from tasks.store import open_store, write_table
from tasks.tables import (
    read_class_domain,
    read_codes,
    read_domains,
    read_fragments,
    read_sensitive,
    read_sensitive_domains,
)

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

BINS = 255
BLOCK_CELLS = 1 << 19  # of a block, unless it is a single node


def segment(
    codes: Codes, domains: Sequence[Domain], classes: Codes, requirement: Requirement, smallest: Sizes
) -> Codes:
    """Cut the rows into segments: always by the allowed cut of the highest information gain on the class.

    A cut puts the codes up to some code of one feature to the left, the others to the right; missing
    lies left of all values. A feature of more than 255 values is cut between equal-frequency bins.
    Of equal gains the lowest feature's lowest cut is taken (paper, section 5, step 2).

    Parameters
    ----------
    codes : ndarray of shape (rows, features)
        Each value's rank in its feature's domain.
    domains
        The features' domains, in the order of the columns of `codes`.
    classes : ndarray of shape (rows,) or (rows, attributes)
        Class codes from 0. With several attributes the class comes first, and the codes of each
        attribute follow those of the one before.
    requirement
        What every segment must satisfy, for the counts of all codes in `classes`.
    smallest
        How many rows a segment needs.

    Returns
    -------
    ndarray of shape (rows,)
        Segment numbers from 0 in the order of the tree, which does not tell the order of the rows.

    Raises
    ------
    InfeasibleError
        If the whole table does not satisfy the requirement.
    """
    attributes = np.ascontiguousarray(classes.reshape(len(classes), -1).T)
    counts = np.bincount(attributes.ravel())[None, :]
    refuse_unreachable(requirement, counts[0])
    table = Table(requirement, smallest, int(attributes[0].max()) + 1, x_log_x(len(codes)))
    nodes = Nodes(np.array([len(codes)]), np.zeros(1, dtype=np.int64), counts)
    blocks = [Block(nodes, np.arange(len(codes), dtype=np.int32), _bins(codes, domains), attributes)]
    first = np.zeros(len(codes), dtype=np.int32)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while blocks:
            grown = pool.map(partial(_grow, table, first), blocks)
            blocks = [part for parts in grown for part in parts]
    return np.unique(first, return_inverse=True)[1].astype(np.int32)


def default_sizes(
    k: int,
    l: float | None,  # noqa: E741 - the field's own letter
    l_model: Diversity = "distinct",
) -> Sizes:
    """Return how small segments may be where nobody says: as k and l allow, see docs/segments.md.

    Parameters
    ----------
    k
        The fewest records of an equivalence class.
    l
        The diversity asked, if any.
    l_model
        How it is measured; entropy l needs one more value than l, since values are never equally frequent.
    """
    if l is None:
        return Sizes(k, 2)
    return Sizes(k, math.floor(l) + (l_model == "entropy"))


def _bins(codes: Codes, domains: Sequence[Domain]) -> npt.NDArray[np.uint8]:
    """Return each row's bin in each feature, shape (features, rows); a bin holds neighbouring codes."""
    bins = np.empty(codes.shape[::-1], dtype=np.uint8)
    for feature, domain in enumerate(domains):
        column = codes[:, feature]
        bins[feature] = (
            column
            if len(domain.values) <= BINS
            else discretise(column, domain.size, numeric=True, missing=domain.missing, bins=BINS)
        )
    return bins


def _grow(table: Table, first: Codes, block: Block) -> list[Block]:
    """Cut the nodes of a block once; write to `first` where the segments that are done start."""
    cuts = best_cuts(table, block)
    sizes = block.nodes.sizes
    owner = np.repeat(np.arange(len(sizes)), sizes)
    cut = cuts.feature >= 0
    beyond = block.bins[np.maximum(cuts.feature, 0)[owner], np.arange(len(owner))] > cuts.bin[owner]
    side = 2 * owner + (beyond & cut[owner])
    children = _children(block.nodes, np.where(cut[:, None], cuts.left, block.nodes.counts), side)
    growing = np.repeat(cut, 2) & may_be_cut(table, children)
    ended = ~growing[side]
    first[block.rows[ended]] = children.first[side[ended]]
    places = np.argsort(side.astype(np.min_scalar_type(2 * len(sizes))), kind="stable")
    return _parts(block, Nodes(*(field[growing] for field in children)), places[growing[side[places]]])


def _children(nodes: Nodes, left: Ints, side: Ints) -> Nodes:
    """Return each node's left and right child in turn; an uncut node is its own left child."""
    counts = np.stack([left, nodes.counts - left], axis=1).reshape(-1, left.shape[1])
    sizes = np.bincount(side, minlength=len(counts))
    first = np.repeat(nodes.first, 2)
    first[1::2] += sizes[::2]
    return Nodes(sizes, first, counts)


def _parts(block: Block, nodes: Nodes, places: Ints) -> list[Block]:
    """Divide nodes and their rows into blocks that stay in a core's cache, or hold few nodes."""
    if not len(places):
        return []
    weights = len(block.bins) * (nodes.sizes + BINS) + nodes.counts.shape[1]
    starts = np.flatnonzero(np.diff(np.cumsum(weights) // BLOCK_CELLS, prepend=-1))
    stops = np.append(starts, len(nodes.sizes))[1:]
    rows = np.split(places, np.cumsum(nodes.sizes)[starts[1:] - 1])
    return [
        Block(
            Nodes(*(field[start:stop] for field in nodes)),
            block.rows[part],
            block.bins.take(part, axis=1),
            block.classes.take(part, axis=1),
        )
        for start, stop, part in zip(starts, stops, rows, strict=True)
    ]


@step("segment the records")
def segment_records(store: Path, config: Config) -> list[Batch]:
    """Store the segment of each record; return which chunks to anonymize together.

    Segments serve l and t; without them, with one fragment, or where persons count, whose records may lie
    in several, there is one segment. By default there also is only one where fragments lose little more in
    it than the table without fragments.
    """
    with open_store(store) as connection:
        domains, class_domain = read_domains(connection)
        protected = [class_domain, *read_sensitive_domains(connection)]
        protection, places = read_protection(connection, config, protected)
        segments = np.zeros(len(places), dtype=np.int32)
        if config.columns.entity is not None:
            renumber_persons(connection, config.run.seed)
        elif config.privacy.protects_values and config.fragments > 1:
            whole = Part(read_codes(connection, domains), domains, places, protection.wanted)
            segments = _segments(connection, config, whole)
        write_table(connection, "segments", {"segment": segments})
        widths = [len(features) for features in read_fragments(connection)]
        return in_pieces(store, connection, batches(np.bincount(segments).tolist(), widths), config)


def _segments(connection: duckdb.DuckDBPyConnection, config: Config, whole: Part) -> Codes:
    """Return the segment of each record.

    t alone asks nothing of a segment's class values: one segment leaves every equivalence class most room.
    """
    minimum, privacy = config.segmentation.min_segment, config.privacy
    refuse_unreachable(whole.requirement, np.bincount(whole.places.ravel()))
    if minimum is not None:
        return segment(*whole, Sizes(minimum, 1))
    only_t = privacy.l is None and not config.columns.sensitive
    if only_t or _is_one_segment(connection, config, whole):
        return np.zeros(len(whole.places), dtype=np.int32)
    return segment(*whole, default_sizes(privacy.k, privacy.l, privacy.l_model))


def _is_one_segment(connection: duckdb.DuckDBPyConnection, config: Config, whole: Part) -> bool:
    """Tell whether the fragments of the stored table lose little without a cut."""
    class_domain, sensitive = read_class_domain(connection), read_sensitive_domains(connection)
    fragments = []
    for features, beside in zip(read_fragments(connection), read_sensitive(connection), strict=True):
        chosen = [place for place, domain in enumerate(whole.domains) if domain.name in set(features)]
        protected = [class_domain, *(domain for domain in sensitive if domain.name in set(beside))]
        protection, places = read_protection(connection, config, protected)
        domains = [whole.domains[place] for place in chosen]
        requirement = protection.of_chunk(protection.overall)
        fragments.append(Part(whole.codes[:, chosen], domains, places, requirement))
    return one_segment_suffices(whole, fragments, config.anonymization, config.run.seed)
