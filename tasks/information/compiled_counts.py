"""The same joint entropies from compiled counts: for many pairs of columns with few values."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.compiled import compiled
from tasks.information.groups import CELLS_PER_GROUP, Group, Matrix, entropies_of_counts

LANES = 2
"""Tables that are counted in turn: a count that repeats need not wait for the one before it."""


class StackedGroups:
    """Groups of few joint values, whose rows stand below each other.

    Parameters
    ----------
    groups
        Each with no more joint values than `CELLS_PER_GROUP`.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups
        self._rows = np.stack([group.rows.astype(np.uint8) for group in groups])
        self._cells = np.array([group.cells for group in groups])
        self._columns = np.array([len(group.members) for group in groups])
        values = [sum(group.sizes) for group in groups]
        self._starts = np.cumsum([0, *values])
        self._places = np.zeros((len(groups), int(self._columns.max()), CELLS_PER_GROUP), dtype=np.int64)
        for place, group in enumerate(groups):
            for column, (start, held) in enumerate(zip(group.starts, group.values, strict=True)):
                self._places[place, column, : group.cells] = self._starts[place] + start + held

    def joint_entropies(self, place: int) -> Matrix:
        """Return what `Group.joint_entropies` does for the group at a place and all from there on."""
        group, others = self.groups[place], self.groups[place:]
        first, end = self._starts[place], self._starts[-1]
        pairs = np.zeros((sum(group.sizes), end - first), dtype=np.int64)
        _count_pairs(self._rows, self._cells, self._columns, self._places, place, pairs)
        starts = np.concatenate(
            [start + other.starts - first for start, other in zip(self._starts[place:], others, strict=False)]
        )
        return entropies_of_counts(pairs.astype(np.float64), group.starts, starts, len(group.rows))


@compiled
def _count_pairs(  # noqa: PLR0917 - arrays, known by their place
    rows: npt.NDArray[np.uint8],
    cells: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    first: int,
    pairs: npt.NDArray[np.int64],
) -> None:
    """Count how often the values of a group's columns meet those of the groups from it on.

    Parameters
    ----------
    rows : ndarray of shape (groups, n)
        The joint value of each record.
    cells, columns : ndarray of shape (groups,)
        How many joint values and columns each group has.
    places : ndarray of shape (groups, columns, cells)
        Where in `pairs` the value of a column stands that a joint value holds.
    first
        The group.
    pairs : ndarray of shape (values of the group, values from it on)
        Gets the counts.
    """
    records, base = rows.shape[1], places[first, 0, 0]
    tables = np.empty((LANES, CELLS_PER_GROUP * CELLS_PER_GROUP), dtype=np.uint32)
    mine = rows[first]
    for other in range(first, len(cells)):
        theirs, width = rows[other], cells[other]
        tables[:, : cells[first] * width] = 0
        for start in range(0, records - records % LANES, LANES):
            for lane in range(LANES):
                tables[lane, np.int64(mine[start + lane]) * width + theirs[start + lane]] += 1
        for row in range(records - records % LANES, records):
            tables[0, np.int64(mine[row]) * width + theirs[row]] += 1
        begin, end = places[other, 0, 0] - base, places[other, columns[other] - 1, width - 1] - base + 1
        line = np.empty(end - begin, dtype=np.int64)
        for cell in range(cells[first]):
            line[:] = 0
            for beside in range(width):
                count = np.int64(0)
                for lane in range(LANES):
                    count += tables[lane, cell * width + beside]
                for y in range(columns[other]):
                    line[places[other, y, beside] - base - begin] += count
            for x in range(columns[first]):
                pairs[places[first, x, cell] - base, begin:end] += line
